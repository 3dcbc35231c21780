"""Name the intents of sentences from labelled ones and from the intents' names, calibrated on held-out labels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, Self, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, logsumexp

from emu_core.errors import DataError, Fix
from emu_core.evaluation.arrays import Vectors, check_dimensions, check_length, codes, id_keys, unit_vectors
from emu_core.evaluation.classifier import PENALTY_FOLDS, held_out_folds
from emu_core.evaluation.pool_search import Pool
from emu_core.evaluation.retrieval import nearest_rows
from emu_core.intents.calibration import (
    LEAST_OF_A_KIND,
    Agreement,
    Calibration,
    Shift,
    fitted_temperature,
    temperature_of,
)
from emu_core.intents.coverage import Surprise, expected_surprise, surprise
from emu_core.intents.factors import Factors, Regression, Rule, stacked_weight, weighted
from emu_core.intents.kernel import Kernel
from emu_core.intents.known import learnt_weights, score, share_found
from emu_core.intents.languages import Subject, as_if_translated
from emu_core.intents.regression import MANY, sampled_rows
from emu_core.intents.space import SentenceSpace
from emu_core.threads import one_thread_for_small_products

NO_INTENT = "no known intent"
"""What is predicted for a sentence that is like none of the labelled ones."""
NAME_STRENGTH = 10.0  # how many times the centred vector of its name an intent's weights are pulled towards
ERRORS, ERRORS_OF_ONE_LANGUAGE = (
    1.0,
    2.0,
)  # standard errors of the folds by which a simpler model must be ahead
MANY_LABELS = (
    2_000  # sentences of one language from which a regression can be seen to be ahead of both factors
)
FITTED = 6_000  # sentences that regressions are fitted on in all folds together: of a large pool, one fold is held out
MOST_ASKED = 2_000  # held-out sentences to ask, which meet the whole rest of the pool
LEAST_ASKED = 30  # with fewer, nothing is calibrated
LEAST_OF_LANGUAGE = 100  # right answers with which a language has its own calibration
LEAST_UNLABELLED = 30  # sentences of a language from which its scores are shifted
PROMISED = 0.95  # the share of right answers to new sentences that the threshold keeps
SHIFTED = (
    0.75  # of the way from left-out intents to known ones, by which a language's scores are raised at most
)
MOST_TRANSLATED = 400  # sentences that are asked as if translated, into each built-in language
ON_SUBJECT = 0.5  # likeness from which sentences count as being about the same
_KEPT = 0.97  # the share of those to held-out sentences, which are more like the rest of the pool than new ones are
_WORK = (
    6e8  # numbers that a regression multiplies in each step at most; of a larger pool, a sample is fitted on
)
_LEAST_FITTED = 3_000  # that a sample has at least
_SORTED_BY = 3  # numbers of a vector
_INTENT_PARTS, _PARTS_ASKED = 8, 4  # parts of the intents, of which some are left out in turn
_MOST_OF_A_PART = 350  # sentences to ask then, of known and of new intents
# Numbers that `fit` measures and `state` holds.
_STORED = (
    "compact_",
    "name_strength_",
    "accuracy_",
    "by_cosine_",
    "new_found_",
    "new_asked_",
    "none_found_",
    "median_",
    "agreement_",
    "right_",
    "gap_",
    "unseen_",
    "weights_",
)


class PredictionFacts(TypedDict):
    """The choices and measurements that were made on labelled sentences."""

    pool: int  # number of labelled sentences
    names: int  # number of intents whose names or descriptions count
    rule: str  # what decides, a value of `Rule`
    accuracy: float | None  # percent of right predictions of held-out sentences
    threshold: float | None  # no intent is known below it
    threshold_is_cosine: bool  # of the nearest sentence; otherwise a score from 0 to 1
    threshold_is_given: bool  # and not learnt
    new_found: float | None  # percent of the sentences of left-out intents that are below
    none_of_these: int  # number of sentences that are labelled as none of the intents
    none_found: float | None  # percent of those that are below
    adapted: list[str]  # languages whose scores are shifted by unlabelled sentences
    notes: list[str]


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers to Q sentences.

    Attributes:
        labels: (Q,) numbers of the most probable intents, see `IntentModel.intents_`.
        margins: (Q,) the highest cosine to a sentence of that intent, minus the highest to one of another; NaN where
            there is no other.
        rows: (Q, n) the nearest labelled sentences, the nearest first; -1 where there are fewer.
        cosines: (Q, n), NaN there.
        confidence: (Q,) probability that the label is right, if the sentence has one of the intents; NaN if it can't be
            calibrated.
        is_known: (Q,) whether the sentence is like those of the known intents.
        sets: the numbers of the intents that each sentence may have, as `IntentModel.sets` returns them; None if no
            coverage was asked for.
    """

    labels: NDArray[np.int64]
    margins: NDArray[np.float32]
    rows: NDArray[np.int64]
    cosines: NDArray[np.float32]
    confidence: NDArray[np.float64]
    is_known: NDArray[np.bool_]
    sets: list[NDArray[np.int64]] | None = None


@dataclass(frozen=True, eq=False)
class _Found:
    """The answers to Q sentences before calibration; see `Answers`."""

    labels: NDArray[np.int64]
    margins: NDArray[np.float32]
    rows: NDArray[np.int64]
    cosines: NDArray[np.float32]
    confidence: NDArray[np.float64]
    is_one: NDArray[np.bool_]  # (Q,) whether regression and kernel name one intent
    signs: NDArray[np.float64]  # (Q, s) signs of a known intent, see `IntentModel._signs`
    scores: NDArray[np.float64]  # (Q, k) of each intent, (Q, 0) where they are not kept


class Unseen(NamedTuple):
    """Labelled sentences that are neither in the pool nor learnt by the encoder: vectors (Q, d), intents, languages."""

    vectors: Vectors
    intents: Sequence[str]
    languages: Sequence[str]


@dataclass(frozen=True, eq=False)
class _Asked:
    """Q sentences whose answers are seen: of the pool, from which their fold is hidden then, or others, of fold -1."""

    units: NDArray[np.float32]
    labels: NDArray[np.int64]
    languages: NDArray[np.object_]
    folds: NDArray[np.int64]

    def of(self, rows: NDArray[Any]) -> "_Asked":
        """Return some of them."""
        return _Asked(*(array[rows] for array in vars(self).values()))


@dataclass(frozen=True, eq=False)
class _Part:
    """Sentences that are asked, the rows of the pool that are hidden meanwhile, and what is fitted on the others."""

    asked: _Asked
    is_hidden: NDArray[np.bool_]
    fit: Factors


class IntentModel:
    """From vectors of labelled sentences, and of the intents' names, to the intents of other sentences.

    With x a vector in the `SentenceSpace` of the labelled sentences and names, and x' that vector evened out,

        p(c) ~ softmax(W x + b)[c] * density(c; x')

    The first factor is a logistic regression whose ridge pulls W towards `name_strength_` times the centred vectors of
    the names (`weights_with_prior`); the second is a kernel density of the labelled sentences (`Kernel`). The names are
    examples of their intents, too, so that an intent needs no labelled sentence.

    `fit` divides the labelled sentences into folds (translations and repeats, of one id, together), and predicts some
    of them from the rest. Names count for nothing, or the regression decides alone, only if that is ahead by `ERRORS`
    standard errors of the folds. If all labels are in one language, whose folds say little about others, it must be
    `ERRORS_OF_ONE_LANGUAGE`, and the regression needs `MANY_LABELS` labelled sentences, too: in its own language it
    often is ahead, and in others behind. In a language with `LEAST_OF_LANGUAGE` right answers to its own held-out
    sentences, the density has a weight of its own, as its power: the one by which the intents of these sentences are
    least surprising (`stacked_weight`). The confidence is the probability of the answer at the temperature by which the
    intents of held-out sentences are least surprising. Sentences of a language with `LEAST_OF_LANGUAGE` right answers
    are calibrated by that language, all others by all languages together, unless `adapted` has seen unlabelled
    sentences of theirs.

    Whether an intent is known depends on the cosine of the nearest sentence, on the highest logits with and without
    names, on the lead of the most probable intent and, if there are sentences with none of the intents, on the cosine
    of the nearest of those. A logistic regression weighs them: its examples are held-out sentences of known intents,
    and, as the others, sentences of intents that are left out (Shu et al. 2017 call them unseen classes) and those with
    none. Below the score that `_KEPT` of the right answers to held-out sentences reach, no intent is known. In a
    language without labels that is the score that these reach as if they were translated (`as_if_translated`), until
    the model is `adapted` to sentences in it.

    Attributes:
        intents_: the intents, by number.
        name_strength_: how strongly the names count; 0 for not at all.
        rule_: whether both factors decide.
        weights_: by language with a weight of its own, the power of the density there.
        accuracy_: percent of right answers to held-out sentences; None with too few.
        threshold_: a cosine if `by_cosine_`, or a score from 0 to 1, below which no intent is known; None for none.
        by_cosine_: whether the cosine of the nearest sentence alone decides on that.
        new_found_: percent of sentences of left-out intents below the threshold, in the mean of these intents; None if
            not measured.
        new_asked_: the number of those sentences.
        none_found_: percent of the sentences with none of the intents below the threshold; None without any.
        median_: the median score of held-out sentences, which those of other languages are shifted to.
        right_: the share of right answers to them where the kernel has the same weight in every language.
        agreement_: how often what answers them agrees then.
        unseen_: number of sentences outside of the pool that it is calibrated on; 0 where those of the pool are.
        gap_: how far `median_` is above the median score of sentences of left-out intents.
        languages_: the languages that are calibrated by themselves.
    """

    def fit(
        self,
        vectors: Vectors,
        intents: Sequence[str],
        ids: Sequence[str],
        *,
        names: Mapping[str, Vectors] | None = None,
        languages: Sequence[str] = (),
        asked: NDArray[np.intp] | None = None,
        threshold: float | None = None,
        none: Vectors | None = None,
        none_ids: Sequence[str] = (),
        dims: Sequence[int] = (),
        reference: Mapping[str, Vectors] | None = None,
        unseen: Unseen | None = None,
        compact: bool = False,
        sample_weight: NDArray[np.float64] | None = None,
    ) -> "IntentModel":
        """Store the labelled sentences, choose what decides, and calibrate.

        Args:
            vectors: (P, d).
            intents: P intents.
            ids: P ids; "" is none, and the same id means translations of each other.
            names: by intent, also of some without a sentence, the vector (d,) of its name or description.
            languages: P language codes; none for one calibration.
            asked: rows that may be held out, such as those that the encoder was not trained on; None takes all.
            threshold: a cosine that the nearest sentence must reach, instead of the threshold that is learnt.
            none: (M, d), sentences with none of the intents.
            none_ids: M ids, which may be those of the pool.
            dims: the lengths of the parts of a joined encoder's vectors; none for a single encoder.
            reference: by language, vectors of the same sentences, see `SentenceSpace`.
            unseen: sentences to calibrate on where fewer than `LEAST_ASKED` of the pool may be asked.
            compact: whether to round vectors to two bytes a number, in which they are then stored.
            sample_weight: (P,), how much each sentence counts in the regression, above 0; None for 1. The density,
                and all that is measured, count each once.

        Raises:
            DataError: a vector is zero or not finite, or the lengths differ.
        """
        names = dict(sorted((names or {}).items()))
        self.compact_ = compact
        self._units = self._rounded(unit_vectors(vectors))
        size = len(self._units)
        check_length(intents, size, "intents")
        check_length(ids, size, "ids")
        languages = languages or [""] * size
        check_length(languages, size, "languages")
        may_be_asked = np.zeros(size, dtype=bool)
        may_be_asked[slice(None) if asked is None else asked] = True
        # What is drawn of the rows must not depend on their order.
        self._order = np.lexsort((*self._units.T[:_SORTED_BY], np.asarray(intents, dtype=object).astype(str)))
        self._units, may_be_asked = self._units[self._order], may_be_asked[self._order]
        intents, ids, languages = ([of[row] for row in self._order] for of in (intents, ids, languages))
        self._sample_weight = None if sample_weight is None else sample_weight[self._order]
        self.intents_ = tuple(dict.fromkeys([*intents, *names]))
        self._labels = codes(intents, size, "intents")
        self._name_labels = np.array([self.intents_.index(name) for name in names], dtype=np.int64)
        self._names = np.zeros((0, self._units.shape[1]), dtype=np.float32)
        if names:
            self._names = self._rounded(unit_vectors(np.stack(list(names.values()))))
            check_dimensions(self._names, self._units)
        self._pool = Pool(self._units, self._labels)
        self._languages = np.asarray(languages, dtype=object)
        self._none = np.zeros((0, self._units.shape[1]), dtype=np.float32)
        if none is not None and len(none):
            self._none = self._rounded(unit_vectors(none))
            check_dimensions(self._none, self._units)
        self._none_keys = id_keys(none_ids or [""] * len(self._none), len(self._none))
        self._keys = np.unique(id_keys(ids, size), return_inverse=True)[1]
        self._space = SentenceSpace.fit(self._units.shape[1], dims=dims, reference=reference)
        self._map()
        self._labelled_languages = tuple(sorted(set(languages) - {""}))
        self._begin()
        self._calibrations = {"": Calibration(threshold, None)}
        folds = held_out_folds(intents, ids)
        rows = np.flatnonzero(may_be_asked & (folds >= 0))
        new = _Asked(self._units, self._labels, self._languages, folds).of(rows)
        if len(rows) < LEAST_ASKED and unseen is not None:
            new = self._others(unseen)
        if len(new.units) >= LEAST_ASKED:
            self._calibrate(new, folds, threshold, reference or {})
        else:
            self._fit = self._fitted(np.ones(size, dtype=bool))
        self._finish()
        return self

    def _begin(self) -> None:
        """Set what is measured to what holds until then."""
        self.name_strength_ = NAME_STRENGTH if len(self._names) else 0.0
        self.rule_ = Rule.BOTH
        self.weights_: dict[str, float] = {}
        self._known: NDArray[np.float64] | None = None  # weights of the signs, the intercept first
        self._shifts: dict[str, Shift] = {}
        self._expected: dict[str, float] = {}
        self._subject: Subject | None = None
        self._surprise = Surprise()
        self.accuracy_: float | None = None
        self.by_cosine_ = True
        self.new_found_: float | None = None
        self.new_asked_ = 0
        self.none_found_: float | None = None
        self.median_: float | None = None
        self.right_: float | None = None
        self.agreement_: Agreement | None = None
        self.gap_: float | None = None
        self.unseen_ = 0

    def _rounded(self, units: NDArray[np.float32]) -> NDArray[np.float32]:
        return units.astype(np.float16).astype(np.float32) if self.compact_ else units

    def _map(self) -> None:
        """Map sentences and names into the space."""
        self._x, self._name_x = self._space.neutral(self._units), self._space.neutral(self._names)

    def _finish(self) -> None:
        """Set the attributes that follow from the calibrations, and drop what only fitting needs."""
        self.threshold_ = self._calibrations[""].threshold
        if self.threshold_ is not None and not self.by_cosine_:
            self.threshold_ = float(expit(self.threshold_))
        self.languages_ = tuple(sorted(filter(None, self._calibrations)))
        del self._x, self._name_x  # of use to `_fitted` alone, and as large as the vectors
        self._sample_weight = None

    def _fitted(
        self,
        is_met: NDArray[np.bool_],
        most: int | None = None,
        strength: float | None = None,
        *,
        with_bare: bool = True,
    ) -> Factors:
        """Fit regression and kernel on some rows of the pool, a sample of many, and on the names that count.

        `with_bare` says whether the regression without names is needed, too.

        Names whose intent has no such row count if they are of intents without any, which nothing leaves out.
        """
        strength = self.name_strength_ if strength is None else strength
        k, d = len(self.intents_), self._x.shape[1]
        rows = np.flatnonzero(is_met)
        met = np.bincount(self._labels[rows], minlength=k) > 0
        labelled = np.bincount(self._labels, minlength=k) > 0
        counts = (met | ~labelled)[self._name_labels] if strength else np.zeros(len(self._names), dtype=bool)
        if most is None:
            most = max(_LEAST_FITTED, int(_WORK / (min(k, MANY) * d)))
        sample = rows[sampled_rows(np.unique(self._labels[rows], return_inverse=True)[1].tolist(), most)]
        names, name_labels = self._name_x[counts], self._name_labels[counts]
        prior = np.zeros((k, d))
        if len(names):
            prior[name_labels] = strength * (names - names.mean(axis=0))
        x, labels = np.concatenate([self._x[rows], names]), np.concatenate([self._labels[rows], name_labels])
        weights = None if self._sample_weight is None else self._sample_weight[sample]
        # A name is no repeat of any sentence.
        groups = np.concatenate([self._keys[rows], len(self._keys) + np.arange(len(names))])
        with one_thread_for_small_products():
            space = self._space.evening(x, np.unique(labels, return_inverse=True)[1], groups)
            regression = Regression.fit(
                np.concatenate([self._x[sample], names]),  # freed before the kernel takes as much
                np.concatenate([self._labels[sample], name_labels]),
                prior,
                None if weights is None else np.concatenate([weights, np.ones(len(names))]),
            )
            bare = regression
            if with_bare and len(names):
                bare = Regression.fit(self._x[sample], self._labels[sample], np.zeros((k, d)), weights)
        x = space.evened(x)
        return Factors(space, regression, Kernel.of(x, labels, k), bare)

    def _others(self, unseen: Unseen) -> _Asked:
        """Return the unseen sentences of the pool's intents."""
        number = {intent: row for row, intent in enumerate(self.intents_)}
        rows = np.array(
            [row for row, intent in enumerate(unseen.intents) if intent in number], dtype=np.int64
        )
        labels = np.array([number[unseen.intents[row]] for row in rows], dtype=np.int64)
        units = self._rounded(unit_vectors(unseen.vectors))
        check_dimensions(units, self._units)
        self.unseen_ = len(rows)
        languages = np.asarray(unseen.languages, dtype=object)
        return _Asked(units[rows], labels, languages[rows], np.full(len(rows), -1))

    def _calibrate(
        self,
        asked: _Asked,
        folds: NDArray[np.int64],
        threshold: float | None,
        reference: Mapping[str, Vectors],
    ) -> None:
        # First some folds are held out in turn, to choose what decides.
        count = min(PENALTY_FOLDS, max(1, FITTED // len(self._units)))
        drawn = np.random.default_rng(0).permutation(np.flatnonzero(asked.folds < count))[:MOST_ASKED]
        of_parts = [
            (asked.of(np.sort(part)), folds == fold)
            for fold in range(count)
            if len(part := drawn[asked.folds[drawn] == fold])
        ]
        if of_parts:
            parts = self._choose(of_parts)
            self._fit = self._fitted(np.ones(len(self._units), dtype=bool))
        else:  # the labels of the pool are learnt: what decides can't be chosen on them
            self._fit = self._fitted(np.ones(len(self._units), dtype=bool))
            parts = [_Part(asked.of(np.sort(drawn)), np.zeros(len(self._units), dtype=bool), self._fit)]
        truth = np.concatenate([part.asked.labels for part in parts])
        languages = np.concatenate([part.asked.languages for part in parts])

        usual = self._answered(parts)
        found = usual[0]
        is_right = found.labels == truth
        if of_parts:
            self._weigh(parts, truth, languages, is_right)
        own = self._answered(parts, by_language=True) if self.weights_ else usual
        self.accuracy_ = 100 * float((own[0].labels == truth).mean())
        # Then what a known intent looks like is learnt, and the answers are calibrated, also by language.
        if threshold is None:
            self._learn_known(asked, folds)
        score = self._score(found.signs)
        self.median_ = float(np.median(score))
        self.right_, self.agreement_ = float(is_right.mean()), Agreement.of(found.is_one, found.margins)
        self._calibrate_rows("", np.arange(len(truth)), truth, usual, score, threshold)
        for code in sorted(set(languages) - {""}):
            rows = np.flatnonzero(languages == code)
            if is_right[rows].sum() >= LEAST_OF_LANGUAGE:
                self._calibrate_rows(code, rows, truth, own, score, threshold)
        self._subject = Subject.of(
            self._x, self._labels, self._keys, self._languages.tolist(), self._space, reference
        )
        if threshold is None:
            self._expected = self._expected_shifts(parts, reference)
        overall = self._calibrations[""].threshold
        if overall is None:
            return
        if self.by_cosine_ and len(self.intents_) > 1:
            units = np.concatenate([part.asked.units for part in parts])
            _, nearest = nearest_rows(units, truth, self._units, self._labels)
            self.new_found_, self.new_asked_ = 100 * float((nearest[:, 0] < overall).mean()), len(nearest)
            self.gap_ = self.median_ - float(np.median(nearest[:, 0]))
        if len(self._none):
            signs = self._search(self._none, 1, none_keys=self._none_keys).signs
            self.none_found_ = 100 * float((self._score(signs) < overall).mean())

    def _answered(
        self, parts: Sequence[_Part], *, by_language: bool = False
    ) -> tuple[_Found, NDArray[np.float64]]:
        """Return the answers to held-out sentences, and the log-probabilities (Q, k); or those with their weights."""
        found: list[_Found] = []
        log_p: list[NDArray[np.float64]] = []
        for part in parts:
            units, codes = part.asked.units, part.asked.languages if by_language else ()
            found.append(self._search(units, 1, codes, fit=part.fit, is_hidden=part.is_hidden))
            log_p.append(self._log_probabilities(units, part.fit, codes, is_calibrated=False))
        return _joined(found), np.concatenate(log_p)

    def _calibrate_rows(
        self,
        code: str,
        rows: NDArray[np.intp],
        truth: NDArray[np.int64],
        answered: tuple[_Found, NDArray[np.float64]],
        score: NDArray[np.float64],
        threshold: float | None,
    ) -> None:
        """Calibrate a language, or "" for all others, on some of the held-out sentences."""
        found, log_p = answered
        is_right = (found.labels == truth)[rows]
        if threshold is None and is_right.any():
            threshold = float(np.quantile(score[rows][is_right], 1 - _KEPT, method="lower"))
        temperature = fitted_temperature(log_p[rows], truth[rows])
        if code and temperature is None:
            temperature = self._calibrations[""].temperature
        self._calibrations[code] = Calibration(threshold, temperature)
        self._surprise.by_language[code] = surprise(
            log_softmax(self._sharpness([code] * len(rows), len(rows))[:, None] * log_p[rows], axis=1),
            truth[rows],
        )

    def _weigh(
        self,
        parts: Sequence[_Part],
        truth: NDArray[np.int64],
        languages: NDArray[np.object_],
        is_right: NDArray[np.bool_],
    ) -> None:
        """Choose the weight of the kernel in each language that is calibrated by itself."""
        factors = [part.fit.factors(self._space.neutral(part.asked.units)) for part in parts]
        by_regression, by_kernel = (np.concatenate(of_all) for of_all in zip(*factors, strict=True))
        for code in sorted(set(languages) - {""}):
            rows = np.flatnonzero(languages == code)
            is_enough = is_right[rows].sum() >= LEAST_OF_LANGUAGE
            if is_enough and (~is_right[rows]).sum() >= LEAST_OF_A_KIND:
                of_language = by_regression[rows], by_kernel[rows]
                weight = stacked_weight(of_language, truth[rows], self.rule_.weight)
                if weight != self.rule_.weight:
                    self.weights_[code] = weight

    def _weights(self, languages: Sequence[str] | NDArray[np.object_], count: int) -> NDArray[np.float64]:
        """Return the weight of the kernel for each of so many sentences, (Q,)."""
        weights = np.full(count, self.rule_.weight)
        spoken = np.asarray(languages, dtype=object)
        for code, weight in self.weights_.items() if len(languages) else ():
            weights[spoken == code] = weight
        return weights

    def _sharpness(self, languages: Sequence[str] | NDArray[np.object_], count: int) -> NDArray[np.float64]:
        """Return what the scores of so many sentences are multiplied by to calibrate them, (Q,)."""
        sharpness = np.ones(count)
        for rows, calibration, shift in self._by_language(languages, count):
            sharpness[rows] = shift.sharpness / (calibration.temperature or 1.0)
        return sharpness

    def _expected_shifts(self, parts: Sequence[_Part], reference: Mapping[str, Vectors]) -> dict[str, float]:
        """Return how much scores in languages without labels are to be raised, so that as many right answers are kept.

        Held-out sentences are asked as if they were translated into each built-in language. The key "" is for all
        other languages. Nothing is expected where the language of the labels is not known.
        """
        others = sorted(set(reference) - {*self._labelled_languages, *self._calibrations})
        most = max(1, MOST_TRANSLATED // len(parts))
        scores: dict[str, NDArray[np.float64]] = {}
        log_p: list[NDArray[np.float64]] = []
        labels: list[NDArray[np.int64]] = []
        for code in others if self._labelled_languages else ():
            found, first = [], len(log_p)
            for part in parts:
                rows = np.random.default_rng(0).permutation(len(part.asked.units))[:most]
                asked = part.asked.of(rows)
                moved = as_if_translated(asked.units, asked.languages.tolist(), reference, code)
                of_part = self._search(moved, 1, fit=part.fit, is_hidden=part.is_hidden)
                found.append(self._score(of_part.signs)[of_part.labels == asked.labels])
                log_p.append(self._log_probabilities(moved, part.fit, ()))
                labels.append(asked.labels)
            scores[code] = np.concatenate(found)
            self._surprise.abroad[code] = surprise(
                np.concatenate(log_p[first:]), np.concatenate(labels[first:])
            )
        if scores:
            scores[""] = np.concatenate(list(scores.values()))
            self._surprise.abroad[""] = surprise(np.concatenate(log_p), np.concatenate(labels))
        at = self._calibrations[""].threshold
        return {
            code: max(0.0, at - float(np.quantile(score, 1 - _KEPT, method="lower")))
            for code, score in scores.items()
            if len(score) and at is not None
        }

    def _shift(self, code: str) -> Shift:
        """Return how answers in a language are calibrated; "" is an unknown one."""
        if code in self._shifts:
            return self._shifts[code]
        if not code or code in self._labelled_languages or code in self._calibrations:
            return Shift(0.0, 1.0)
        return Shift(self._expected.get(code, self._expected.get("", 0.0)), 1.0)

    def _choose(self, of_parts: Sequence[tuple[_Asked, NDArray[np.bool_]]]) -> list[_Part]:
        """Choose whether names and the kernel count, and return what is fitted without each part."""
        strengths = (self.name_strength_, 0.0) if self.name_strength_ else (0.0,)
        fits = {
            strength: [
                self._fitted(~is_hidden, strength=strength, with_bare=False) for _, is_hidden in of_parts
            ]
            for strength in strengths
        }
        one_language = len(self._labelled_languages) < 2
        rules = [Rule.BOTH]
        if not one_language or len(self._units) >= MANY_LABELS:
            rules.append(Rule.REGRESSION)
        right_of: dict[tuple[float, Rule], NDArray[np.float64]] = {}
        for strength, of_strength in fits.items():
            for rule in rules:
                right_of[strength, rule] = np.concatenate(
                    [
                        fit.scores(self._space.neutral(asked.units), rule.weight).argmax(axis=1)
                        == asked.labels
                        for (asked, _), fit in zip(of_parts, of_strength, strict=True)
                    ]
                ).astype(float)
        usual = next(iter(right_of))
        best = max(right_of, key=lambda candidate: right_of[candidate].mean())
        ahead = right_of[best] - right_of[usual]
        errors = ERRORS_OF_ONE_LANGUAGE if one_language else ERRORS
        if ahead.mean() <= errors * ahead.std() / np.sqrt(len(ahead)):
            best = usual
        self.name_strength_, self.rule_ = best
        without_names = fits[0.0]
        return [
            _Part(asked, is_hidden, replace(fit, bare=bare.regression))
            for (asked, is_hidden), fit, bare in zip(
                of_parts, fits[self.name_strength_], without_names, strict=True
            )
        ]

    @property
    def shape(self) -> tuple[int, int]:
        """The number of labelled sentences, and the length of their vectors."""
        size, dim = self._units.shape
        return size, dim

    @property
    def names_that_count(self) -> int:
        """The number of intents whose names or descriptions count."""
        return len(self._names) if self.name_strength_ else 0

    @property
    def none_of_these(self) -> int:
        """The number of labelled sentences with none of the intents."""
        return len(self._none)

    @property
    def has_confidence(self) -> bool:
        """Whether there are probabilities of right answers."""
        return self._calibrations[""].temperature is not None

    @property
    def calibrated_languages(self) -> tuple[str, ...]:
        """The languages that labels calibrate: each with enough of them, and the only one of the pool."""
        only = self._labelled_languages if len(self._labelled_languages) == 1 and not self.unseen_ else ()
        return tuple(sorted({*self.languages_, *only}))

    @property
    def adapted_languages(self) -> tuple[str, ...]:
        """The languages that unlabelled sentences calibrate."""
        return tuple(sorted(code for code, shift in self._shifts.items() if shift.likeness >= ON_SUBJECT))

    @property
    def strange_languages(self) -> tuple[str, ...]:
        """The languages whose unlabelled sentences are about something else than the labelled ones."""
        return tuple(sorted(set(self._shifts) - set(self.adapted_languages)))

    def adapted(self, unlabelled: Mapping[str, Vectors]) -> "IntentModel":
        """Return the model calibrated for other languages by unlabelled sentences in them.

        The median score of a language's sentences is moved up to that of held-out ones, so that as many right answers
        are kept; by no more than `SHIFTED` of the way from left-out intents to known ones, and only so far as they are
        about the same as the labelled ones (`Subject.likeness`), since sentences with none of the intents must not look
        like known ones. The temperature is raised until the mean confidence is the share of right answers that is to be
        expected where regression, kernel and nearest sentence agree so often (`Agreement.expected`); the surprise of
        the right intents is what the probabilities then let expect (`expected_surprise`).

        Args:
            unlabelled: by language, vectors (M, d) of its sentences; fewer than `LEAST_UNLABELLED` change nothing, and
                neither do those of a language that labels calibrate.

        Raises:
            DataError: a vector is zero or not finite, or of another length.
        """
        if self.median_ is None or self.gap_ is None or self._subject is None:
            return self
        shifts, surprises = dict(self._shifts), dict(self._surprise.by_language)
        for code, vectors in unlabelled.items():
            if not code or code in self.calibrated_languages or len(vectors) < LEAST_UNLABELLED:
                continue
            units = unit_vectors(vectors)
            check_dimensions(units, self._units)
            found = self._search(units, 1, keeps_scores=True)
            up = self.median_ - float(np.median(self._score(found.signs)))
            likeness = self._subject.likeness(self._space.neutral(units), code)
            higher = likeness * min(max(0.0, up), SHIFTED * max(0.0, self.gap_))
            sharpness = 1.0
            if self.has_confidence and self.agreement_ is not None and self.right_ is not None:
                share = Agreement.of(found.is_one, found.margins).expected(self.right_, self.agreement_)
                sharpness = 1 / max(1.0, temperature_of(found.scores, share))
                surprises[code] = expected_surprise(log_softmax(sharpness * found.scores, axis=1))
            shifts[code] = Shift(higher, sharpness, likeness)
        other = type(self).__new__(type(self))
        other.__dict__.update(
            self.__dict__, _shifts=shifts, _surprise=replace(self._surprise, by_language=surprises)
        )
        return other

    def _learn_known(self, asked: _Asked, folds: NDArray[np.int64]) -> None:
        """Learn the weights of the signs from intents that are left out, and measure how many of them are found."""
        k, draws = len(self.intents_), np.random.default_rng(0)
        part_of_intent = draws.permutation(k) % min(_INTENT_PARTS, k)
        is_other = asked.folds < 0
        signs: list[NDArray[np.float64]] = []
        kinds: list[NDArray[np.int64]] = []
        is_right: list[NDArray[np.bool_]] = []
        places: list[NDArray[np.int64]] = []
        truths: list[NDArray[np.int64]] = []
        for part in range(min(_PARTS_ASKED, k)):
            is_hidden = (part_of_intent[self._labels] == part) | (folds == part)
            if is_other.all():
                is_hidden = part_of_intent[self._labels] == part
            if len(set(self._labels[~is_hidden])) < 2:
                continue
            fit = self._fitted(~is_hidden, _LEAST_FITTED)
            is_new = part_of_intent[asked.labels] == part
            has_class = np.isfinite(fit.regression.bias)[asked.labels]
            is_known = ~is_new & (is_other | (asked.folds == part)) & has_class
            for number, of_kind in enumerate((is_new, is_known)):
                rows = draws.permutation(np.flatnonzero(of_kind))[:_MOST_OF_A_PART]
                if not len(rows):
                    continue
                found = self._search(asked.units[rows], 1, fit=fit, is_hidden=is_hidden)
                signs.append(found.signs)
                kinds.append(np.full(len(rows), number))
                places.append(np.full(len(rows), part))
                truths.append(asked.labels[rows])
                is_right.append(found.labels == asked.labels[rows])
        if not signs:
            return
        kind, right, asked_signs = np.concatenate(kinds), np.concatenate(is_right), np.concatenate(signs)
        if np.bincount(kind, minlength=2).min() < LEAST_ASKED:
            return
        of_none = (
            self._search(self._none, 1, none_keys=self._none_keys).signs
            if len(self._none)
            else asked_signs[:0]
        )
        self._known = learnt_weights(asked_signs[kind == 1], asked_signs[kind == 0], of_none)
        self.by_cosine_ = False
        score = self._score(asked_signs)
        self.gap_ = float(np.median(score[kind == 1]) - np.median(score[kind == 0]))
        place, truth = np.concatenate(places), np.concatenate(truths)
        of_new = share_found(asked_signs, kind == 1, right, place, truth, of_none, 1 - _KEPT)
        if of_new is not None:
            self.new_found_, self.new_asked_ = 100 * of_new, int((kind == 0).sum())

    def predict(
        self, vectors: Vectors, k: int = 3, languages: Sequence[str] = (), coverage: float | None = None
    ) -> Answers:
        """Return the answers to sentences, given their vectors (Q, d), with the k nearest labelled sentences.

        Args:
            vectors: (Q, d).
            k: number of nearest sentences to return.
            languages: Q language codes, "" for an unknown one; none for unknown ones.
            coverage: share of sentences whose intent is to be in their set, see `sets`; None for no sets.

        Raises:
            DataError: a vector is zero or not finite, or of another length than those of the labelled sentences; or the
                coverage is not between 0 and 1.
        """
        units = unit_vectors(vectors)
        check_dimensions(units, self._units)
        if k < 1:
            raise DataError(f"can't find {k} neighbours; ask for 1 or more")
        found = self._search(units, k, languages, keeps_scores=coverage is not None)
        score, is_known = self._score(found.signs), np.ones(len(units), dtype=bool)
        for rows, calibration, shift in self._by_language(languages, len(units)):
            if calibration.threshold is not None:
                is_known[rows] = score[rows] + shift.score >= calibration.threshold
        sets = None
        if coverage is not None:
            sets = self._sets(log_softmax(found.scores, axis=1), coverage, languages)
        return Answers(
            found.labels, found.margins, found.rows, found.cosines, found.confidence, is_known, sets
        )

    def _by_language(
        self, languages: Sequence[str] | NDArray[np.object_], count: int
    ) -> Iterator[tuple[NDArray[np.intp], Calibration, Shift]]:
        """Yield the rows of each language, with how they are calibrated."""
        spoken = np.asarray(languages if len(languages) else [""] * count, dtype=object)
        for code in set(spoken.tolist()):
            calibration = self._calibrations.get(code, self._calibrations[""])
            yield np.flatnonzero(spoken == code), calibration, self._shift(code)

    def calibrated_probabilities(
        self, vectors: Vectors, languages: Sequence[str] = ()
    ) -> NDArray[np.float64]:
        """Return the probability of each of k intents for sentences (Q, d) that have one of them, (Q, k).

        The highest is the confidence of `predict`. Where that is not known, they are those of `probabilities`.

        Args:
            vectors: (Q, d).
            languages: Q language codes, "" for an unknown one; none for unknown ones.

        Raises:
            DataError: as `predict`.
        """
        units = unit_vectors(vectors)
        check_dimensions(units, self._units)
        return np.exp(self._log_probabilities(units, self._fit, languages))

    def probabilities(self, vectors: Vectors, languages: Sequence[str] = ()) -> NDArray[np.float64]:
        """Return the probability of each of k intents for sentences (Q, d), (Q, k).

        The highest is that of the predicted intent. They are not calibrated. `languages` are those of `predict`.

        Raises:
            DataError: as `predict`.
        """
        units = unit_vectors(vectors)
        check_dimensions(units, self._units)
        return np.exp(self._log_probabilities(units, self._fit, languages, is_calibrated=False))

    def sets(
        self, vectors: Vectors, coverage: float, languages: Sequence[str] = ()
    ) -> list[NDArray[np.int64]]:
        """Return which intents a sentence may have, so that the right one is among them as often as asked for.

        An intent is in if it is at most as surprising as the right ones of so many held-out sentences in that language,
        see `Surprise`: of all where few are known, and in a language without labels of those asked as if translated, or
        as the unlabelled sentences let expect where the model is `adapted`. The most probable intent is always in.

        Args:
            vectors: (Q, d).
            coverage: share of sentences whose intent is to be in their set, above 0 and below 1.
            languages: Q language codes, "" for an unknown one; none for unknown ones.

        Returns:
            The numbers of each sentence's intents, the most probable first; all where nothing is calibrated or the
            held-out sentences are too few.

        Raises:
            DataError: as `predict`; or the coverage is not between 0 and 1.
        """
        units = unit_vectors(vectors)
        check_dimensions(units, self._units)
        return self._sets(self._log_probabilities(units, self._fit, languages), coverage, languages)

    def _sets(
        self, log_p: NDArray[np.float64], coverage: float, languages: Sequence[str]
    ) -> list[NDArray[np.int64]]:
        """Return the sets of sentences whose log-probabilities (Q, k) are known."""
        if not 0 < coverage < 1:
            raise DataError(
                f"can't cover a share of {coverage:g}; name one above 0 and below 1: ", Fix("coverage")
            )
        spoken = np.asarray(languages or [""] * len(log_p), dtype=object)
        most = np.empty(len(log_p))
        for code in set(spoken.tolist()):
            is_labelled = not code or code in self._labelled_languages
            most[spoken == code] = self._surprise.bound(coverage, code, is_labelled=is_labelled)
        order = np.argsort(-log_p, axis=1, kind="stable")
        counts = np.maximum((-log_p <= most[:, None]).sum(axis=1), 1)
        return [row[:count] for row, count in zip(order, counts, strict=True)]

    def _log_probabilities(
        self,
        units: NDArray[np.float32],
        fit: Factors,
        languages: Sequence[str] | NDArray[np.object_],
        *,
        is_calibrated: bool = True,
    ) -> NDArray[np.float64]:
        """Return the log-probabilities of the intents, (Q, k)."""
        weights = self._weights(languages, len(units))
        sharpness = self._sharpness(languages, len(units)) if is_calibrated else np.ones(len(units))
        parts = []
        for block, _ in self._pool.parts(units):
            # In float64, as the kernel enlarges a rounding that depends on a sentence's neighbours.
            exact: NDArray[Any] = self._space.neutral(units[block]).astype(np.float64)
            parts.append(log_softmax(sharpness[block, None] * fit.scores(exact, weights[block]), axis=1))
        return np.concatenate(parts)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a fitted model predicts with, as values for JSON and as arrays."""
        kind = np.float16 if self.compact_ else np.float32
        arrays: dict[str, NDArray[Any] | None] = {
            "units": self._units.astype(kind),
            "labels": self._labels,
            "order": self._order,
            "names": self._names.astype(kind),
            "name_labels": self._name_labels,
            "none": self._none.astype(kind),
            "known": self._known,
            "weight": self._fit.regression.weight,
            "bias": self._fit.regression.bias,
            "bare_weight": self._fit.bare.weight,
            "bare_bias": self._fit.bare.bias,
            **self._fit.space.arrays(),
            **({} if self._subject is None else self._subject.arrays()),
            **self._surprise.arrays(),
        }
        facts = {name: getattr(self, name) for name in _STORED} | {
            "rule": self.rule_.value,
            "intents": list(self.intents_),
            "calibrations": {code: list(astuple(of)) for code, of in self._calibrations.items()},
            "shifts": {code: list(shift) for code, shift in self._shifts.items()},
            "expected": self._expected,
            "labelled_languages": list(self._labelled_languages),
            "subject_languages": None if self._subject is None else list(self._subject.languages),
        }
        return facts, {name: array for name, array in arrays.items() if array is not None}

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model whose `state` this is. Raises KeyError, TypeError or ValueError for anything else."""
        self = cls()
        stored = [arrays[name] for name in ("units", "names", "none")]
        if any(array.dtype != (np.float16 if facts["compact_"] else np.float32) for array in stored):
            raise ValueError("vectors of another type than the model's")
        self._units, self._names, self._none = (array.astype(np.float32) for array in stored)
        self._labels, self._name_labels = arrays["labels"], arrays["name_labels"]
        self._order = arrays["order"]
        self._known = arrays.get("known")
        regression = Regression(arrays["weight"], arrays["bias"])
        bare = Regression(arrays["bare_weight"], arrays["bare_bias"])
        for name in _STORED:
            setattr(self, name, {"weights_": {}, **facts}[name])  # models of before had no weights
        self.rule_ = Rule(facts["rule"])
        self.intents_ = tuple(facts["intents"])
        self._shifts = {code: Shift(*numbers) for code, numbers in dict(facts["shifts"]).items()}
        self._calibrations = {code: Calibration(*of) for code, of in dict(facts["calibrations"]).items()}
        self.agreement_ = None if self.agreement_ is None else Agreement(*self.agreement_)
        self._expected = dict(facts["expected"])
        self._labelled_languages = tuple(facts["labelled_languages"])
        self._check_stored(regression, bare)
        self._subject = None
        if facts["subject_languages"] is not None:
            self._subject = Subject.from_arrays(facts["subject_languages"], arrays, self._units.shape[1])
        self._space = SentenceSpace.from_arrays(arrays, self._units.shape[1])
        self._pool = Pool(self._units, self._labels)
        self._map()
        names = slice(None) if self.name_strength_ else slice(0)
        kernel = Kernel.of(
            self._space.evened(np.concatenate([self._x, self._name_x[names]])),
            np.concatenate([self._labels, self._name_labels[names]]),
            len(self.intents_),
        )
        self._fit = Factors(self._space, regression, kernel, bare)
        self._surprise = Surprise.from_arrays(arrays)
        self._finish()
        return self

    def _check_stored(self, *regressions: Regression) -> None:
        """Raise a ValueError unless all that was read goes together."""
        (size, dim), k = self._units.shape, len(self.intents_)
        known, count = self._known, len(self._names)
        arrays: list[tuple[NDArray[Any], type, tuple[int, ...]]] = [
            (self._units, np.float32, (size, dim)),
            (self._labels, np.int64, (size,)),
            (self._names, np.float32, (count, dim)),
            (self._name_labels, np.int64, (count,)),
            (self._none, np.float32, (len(self._none), dim)),
        ]
        for regression in regressions:
            arrays.append((regression.weight, np.float32, (k, dim)))
            # -inf is that of an unseen intent
            arrays.append((np.maximum(regression.bias, 0), np.float32, (k,)))
        if known is not None:
            arrays.append((known, np.float64, (5 + bool(len(self._none)),)))
        numbers = (
            self.accuracy_,
            self.new_found_,
            self.new_asked_,
            self.none_found_,
            self.median_,
            self.right_,
            self.gap_,
            self.unseen_,
            *(self.agreement_ or ()),
            *chain.from_iterable(map(astuple, self._calibrations.values())),
        )
        labels = np.concatenate([self._labels, self._name_labels])
        are_whole = (
            size > 0
            and all(
                array.dtype == kind and array.shape == shape and np.isfinite(array).all()
                for array, kind, shape in arrays
            )
            and self._order.dtype == np.int64
            and np.array_equal(np.sort(self._order), np.arange(size))
            and labels.min() >= 0
            and labels.max() < k
            and len(set(self.intents_)) == k
            and all(isinstance(intent, str) for intent in self.intents_)
            and all(
                number is None or (isinstance(number, float | int) and np.isfinite(number))
                for number in numbers
            )
            and all(
                isinstance(number, float | int) and np.isfinite(number) and number >= 0
                for number in (
                    self.name_strength_,
                    *(self.agreement_ or ()),
                    *chain.from_iterable(self._shifts.values()),
                    *self._expected.values(),
                )
            )
            and all(
                isinstance(code, str) for code in (*self._shifts, *self._expected, *self._labelled_languages)
            )
            and "" in self._calibrations
            and all(of.temperature is None or of.temperature > 0 for of in self._calibrations.values())
            and self.by_cosine_ == (known is None)
            and all(
                isinstance(code, str) and isinstance(weight, float | int) and 0 <= weight <= 1
                for code, weight in self.weights_.items()
            )
        )
        if not are_whole:
            raise ValueError("not the state of an intent model")

    def scores(self, vectors: Vectors) -> NDArray[np.float64]:
        """Return how like the sentences of known intents each of (Q, d) is, (Q,), in any unit."""
        units = unit_vectors(vectors)
        check_dimensions(units, self._units)
        return self._score(self._search(units, 1).signs)

    def _score(self, signs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how like a known intent's sentences each is, (Q,)."""
        return score(signs, self._known)

    def _search(
        self,
        units: NDArray[np.float32],
        k: int,
        languages: Sequence[str] | NDArray[np.object_] = (),
        *,
        fit: Factors | None = None,
        is_hidden: NDArray[np.bool_] | None = None,
        none_keys: NDArray[np.int64] | None = None,
        keeps_scores: bool = False,
    ) -> _Found:
        """Answer unit vectors (Q, d).

        Args:
            units: (Q, d).
            k: number of nearest sentences to find.
            languages: Q language codes, for the weights of the kernel there; none for the usual one.
            fit: what is fitted on the rows that are met; None takes that of the whole pool.
            is_hidden: (P,) rows of the pool that are not met.
            none_keys: (Q,) keys of sentences with none of the intents, if the units are those.
            keeps_scores: whether the scores of all intents are returned, too.
        """
        fit = fit or self._fit
        k = min(k, len(self._units))
        found: list[_Found] = []
        usual, weights = self.rule_.weight, self._weights(languages, len(units))
        sharpness = self._sharpness(languages, len(units))
        for block, cosines in self._pool.parts(units, is_hidden):
            rows, best = cosines.nearest(k)
            x = self._space.neutral(units[block])
            factors = fit.factors(x)
            scores = weighted(factors, usual)
            # Whether an intent is known is told by the same signs in every language.
            lead = np.log1p(fit.leads(x, scores, usual)) if scores.shape[1] > 1 else np.zeros(len(x))
            if (weights[block] != usual).any():
                scores = weighted(factors, weights[block])
            scores = sharpness[block, None] * scores
            labels = scores.argmax(axis=1)
            confidence = np.full(len(x), np.nan)
            if self.has_confidence:
                confidence = np.exp(-logsumexp(scores - scores.max(axis=1, keepdims=True), axis=1))
            margins = cosines.margins(labels, rows, best)
            keys = None if none_keys is None else none_keys[block]
            signs = self._signs(units[block], best[:, 0], fit, x, lead, keys)
            absent = np.isneginf(best)
            rows[absent], best[absent] = -1, np.nan
            rows = np.where(rows < 0, -1, self._order[rows])
            kept = scores if keeps_scores else scores[:, :0]
            is_one = factors[0].argmax(axis=1) == factors[1].argmax(axis=1)
            cosines_of = np.clip(best, -1, 1)
            found.append(_Found(labels, margins, rows, cosines_of, confidence, is_one, signs, kept))
        return _joined(found)

    def _signs(
        self,
        units: NDArray[np.float32],
        nearest: NDArray[np.float32],
        fit: Factors,
        x: NDArray[np.float32],
        lead: NDArray[np.float64],
        none_keys: NDArray[np.int64] | None,
    ) -> NDArray[np.float64]:
        """Return signs of a known intent (B, s).

        They are the nearest cosine, the highest logit of the regression without names, how far that of the regression
        with names is above the mean, the lead of the most probable intent, and the nearest cosine of none, negated.
        """
        logits = fit.regression.logits(x)[:, np.isfinite(fit.regression.bias)]
        signs = [nearest, fit.bare.logits(x).max(axis=1), logits.max(axis=1) - logits.mean(axis=1), lead]
        if len(self._none):
            cosines = units @ self._none.T
            if none_keys is not None:
                cosines[none_keys[:, None] == self._none_keys] = -1
            signs.append(-cosines.max(axis=1))
        return np.stack([sign.astype(np.float64) for sign in signs], axis=1)


def _joined(found: Sequence[_Found]) -> _Found:
    parts = zip(*(vars(part).values() for part in found), strict=True)
    return _Found(*map(np.concatenate, parts))
