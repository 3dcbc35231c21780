"""Name the intents of sentences from labelled ones and from the intents' names, calibrated on held-out labels."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, softmax

from emu_core.errors import DataError, Fix
from emu_core.evaluation.arrays import Vectors, check_dimensions, check_length, id_keys, unit_vectors
from emu_core.evaluation.classifier import PENALTY_FOLDS, held_out_folds
from emu_core.evaluation.retrieval import nearest_rows
from emu_core.intents.answers import Answers
from emu_core.intents.calibration import (
    LEAST_OF_A_KIND,
    Agreement,
    Calibration,
    Shift,
    fitted_temperature,
    temperature_of,
)
from emu_core.intents.calibration_by_language import (
    STRANGE,
    Calibrations,
    Spoken,
    is_number,
    labelled_languages,
)
from emu_core.intents.completion import Completion, completed
from emu_core.intents.coverage import Surprise, expected_surprise, surprise
from emu_core.intents.examples import Examples, Units, rounded
from emu_core.intents.factors import Factors, Regression, Rule, stacked_weight
from emu_core.intents.fitting import Asked, Fitting, Part, Unseen
from emu_core.intents.kernel import Kernel
from emu_core.intents.known import learnt_weights, score, share_found
from emu_core.intents.languages import Subject, as_if_translated
from emu_core.intents.prototypes import Prototypes
from emu_core.intents.search import Found, Search, Weighing, joined
from emu_core.intents.space import SentenceSpace

NAME_STRENGTH = 10.0  # how many times the centred vector of its name an intent's weights are pulled towards
FITTED = 6_000  # sentences that regressions are fitted on in all folds together: of a large pool, one fold is held out
MOST_ASKED = 2_000  # held-out sentences to ask, which meet the whole rest of the pool
LEAST_ASKED = 30  # with fewer, nothing is calibrated
LEAST_OF_LANGUAGE = 100  # right answers with which a language has its own calibration
LEAST_UNLABELLED = 30  # sentences of a language from which its scores are shifted
PROMISED = 0.95  # the share of right answers to new sentences that the threshold keeps
# How far a language's scores are raised at most, of the way from left-out intents to known ones.
SHIFTED = 0.9
MOST_TRANSLATED = 400  # sentences that are asked as if translated, into each built-in language
_KEPT = 0.97  # the share of those to held-out sentences, which are more like the rest of the pool than new ones are
_SIGNS = 4  # of a known intent, and one more where there are sentences with none
# Numbers that `fit` measures and `state` holds.
_STORED = (
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


class IntentModel:
    """From vectors of labelled sentences, and of the intents' names, to the intents of other sentences.

    With x a vector in the `SentenceSpace` of the labelled sentences and names, and x' that vector evened out,

        p(c) ~ softmax(W x + b)[c] * density(c; x')

    The vectors of a joined encoder are completed in languages that one of its parts never learnt (`Completion`). The
    first factor is a logistic regression whose ridge pulls W towards `name_strength_` times the centred vectors of
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
        part_languages: Sequence[Sequence[str]] = (),
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
            part_languages: by part, the languages that it has learnt, see `Completion`; none where that is not known.
            reference: by language, vectors of the same sentences, see `SentenceSpace`.
            unseen: sentences to calibrate on where fewer than `LEAST_ASKED` of the pool may be asked.
            compact: whether to round vectors to two bytes a number, in which they are then stored.
            sample_weight: (P,), how much each sentence counts in the regression, above 0; None for 1. The density,
                and all that is measured, count each once.

        Raises:
            DataError: a vector is zero or not finite, or the lengths differ.
        """
        reference = reference or {}
        examples = Examples.of(vectors, intents, names or {}, none, is_compact=compact)
        self.intents_ = examples.intents
        size, order = len(examples.units), examples.order
        check_length(ids, size, "ids")
        languages = languages or [""] * size
        check_length(languages, size, "languages")
        may_be_asked = np.zeros(size, dtype=bool)
        may_be_asked[slice(None) if asked is None else asked] = True
        intents, ids, languages = ([of[row] for row in order] for of in (intents, ids, languages))
        groups = np.unique(id_keys(ids, size), return_inverse=True)[1]
        labelled = labelled_languages(languages)
        is_own = np.isin(np.asarray(languages, dtype=object), ["", *labelled])
        space = SentenceSpace.fit(examples.dim, dims=dims, reference=reference)
        self._completions = Completion.of_parts(
            space.dims,
            part_languages,
            np.concatenate([examples.units[is_own], examples.names]),
            np.concatenate([groups[is_own], size + np.arange(len(examples.names))]),
            reference,
        )
        units = completed(self._completions, examples.units, languages, labelled)
        examples = self._examples = replace(examples, units=rounded(units, is_compact=compact))
        weights = None if sample_weight is None else sample_weight[order]
        fitting = Fitting.of(examples, space, groups, languages, weights)
        self._search = Search.of(examples, space)
        self._calibrations = Calibrations(labelled, {"": Calibration(threshold, None)})
        self._begin()
        folds = held_out_folds(intents, ids)
        rows = np.flatnonzero(may_be_asked[order] & (folds >= 0))
        new = Asked(examples.units, examples.labels, fitting.languages, folds).of(rows)
        if len(rows) < LEAST_ASKED and unseen is not None:
            new = self._others(unseen)
        if len(new.units) >= LEAST_ASKED:
            none_keys = id_keys(none_ids or [""] * len(examples.none), len(examples.none))
            self._calibrate(fitting, new, folds, threshold, none_keys, reference)
        else:
            self._fit = fitting.of_all(self.name_strength_)
        return self

    def _begin(self) -> None:
        """Set what is measured to what holds until then."""
        self.name_strength_ = NAME_STRENGTH if len(self._examples.names) else 0.0
        self.rule_ = Rule.BOTH
        self.weights_: dict[str, float] = {}
        self._known: NDArray[np.float64] | None = None  # weights of the signs, the intercept first
        self._subject: Subject | None = None
        self._surprise = Surprise()
        self._prototypes = Prototypes.none(len(self.intents_), self._examples.dim)
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

    def _others(self, unseen: Unseen) -> Asked:
        """Return the unseen sentences of the known intents."""
        number = {intent: row for row, intent in enumerate(self.intents_)}
        rows = np.array(
            [row for row, intent in enumerate(unseen.intents) if intent in number], dtype=np.int64
        )
        labels = np.array([number[unseen.intents[row]] for row in rows], dtype=np.int64)
        units = self._checked(unseen.vectors, unseen.languages)
        units = rounded(units, is_compact=self._examples.is_compact)
        self.unseen_ = len(rows)
        languages = np.asarray(unseen.languages, dtype=object)
        return Asked(units[rows], labels, languages[rows], np.full(len(rows), -1))

    def _calibrate(
        self,
        fitting: Fitting,
        asked: Asked,
        folds: NDArray[np.int64],
        threshold: float | None,
        none_keys: NDArray[np.int64],
        reference: Mapping[str, Vectors],
    ) -> None:
        """Choose what decides, learn what a known intent looks like, and calibrate the answers, by language too."""
        parts, are_chosen = self._parts(fitting, asked, folds)
        truth = np.concatenate([part.asked.labels for part in parts])
        languages = np.concatenate([part.asked.languages for part in parts])
        usual = self._answered(parts)
        found = usual[0]
        is_right = found.labels == truth
        if are_chosen:
            self._weigh(parts, truth, languages, is_right)
        own = self._answered(parts, by_language=True) if self.weights_ else usual
        self.accuracy_ = 100 * float((own[0].labels == truth).mean())
        if threshold is None:
            self._learn_known(fitting, asked, folds, none_keys)
        scores = score(found.signs, self._known)
        self.median_ = float(np.median(scores))
        self.right_, self.agreement_ = float(is_right.mean()), Agreement.of(found.is_one, found.margins)
        self._calibrate_rows("", np.arange(len(truth)), truth, usual, scores, threshold)
        for code in sorted(set(languages) - {""}):
            rows = np.flatnonzero(languages == code)
            if is_right[rows].sum() >= LEAST_OF_LANGUAGE:
                self._calibrate_rows(code, rows, truth, own, scores, threshold)
        self._subject = Subject.of(
            fitting.x,
            self._examples.labels,
            fitting.groups,
            fitting.languages.tolist(),
            self._search.space,
            reference,
        )
        if threshold is None:
            self._expect(parts, reference)
        self._measure_others(parts, truth, none_keys)

    def _parts(self, fitting: Fitting, asked: Asked, folds: NDArray[np.int64]) -> tuple[list[Part], bool]:
        """Fit on all sentences, by what is chosen where some are held out in turn; return these, and whether it was.

        Where the labels of the pool are learnt by the encoder, what decides can't be chosen on them.
        """
        size = len(self._examples.units)
        count = min(PENALTY_FOLDS, max(1, FITTED // size))
        drawn = np.random.default_rng(0).permutation(np.flatnonzero(asked.folds < count))[:MOST_ASKED]
        of_parts = [
            (asked.of(np.sort(part)), folds == fold)
            for fold in range(count)
            if len(part := drawn[asked.folds[drawn] == fold])
        ]
        if not of_parts:
            self._fit = fitting.of_all(self.name_strength_)
            return [Part(asked.of(np.sort(drawn)), np.zeros(size, dtype=bool), self._fit)], False
        self.name_strength_, self.rule_, parts = fitting.choose(of_parts, self.name_strength_)
        self._fit = fitting.of_all(self.name_strength_)
        return parts, True

    def _answered(
        self, parts: Sequence[Part], *, by_language: bool = False
    ) -> tuple[Found, NDArray[np.float64]]:
        """Return the answers to held-out sentences, and the log-probabilities (Q, k); or those with their weights."""
        found: list[Found] = []
        log_p: list[NDArray[np.float64]] = []
        for part in parts:
            units, codes = part.asked.units, part.asked.languages if by_language else ()
            weighing = self._weighing(codes, len(units), is_calibrated=False)
            found.append(self._search.ask(units, 1, part.fit, weighing, is_hidden=part.is_hidden))
            log_p.append(self._search.log_probabilities(units, part.fit, weighing))
        return joined(found), np.concatenate(log_p)

    def _calibrate_rows(
        self,
        code: str,
        rows: NDArray[np.intp],
        truth: NDArray[np.int64],
        answered: tuple[Found, NDArray[np.float64]],
        scores: NDArray[np.float64],
        threshold: float | None,
    ) -> None:
        """Calibrate a language, or "" for all others, on some of the held-out sentences."""
        found, log_p = answered
        is_right = (found.labels == truth)[rows]
        if threshold is None and is_right.any():
            threshold = float(np.quantile(scores[rows][is_right], 1 - _KEPT, method="lower"))
        temperature = fitted_temperature(log_p[rows], truth[rows])
        if code and temperature is None:
            temperature = self._calibrations.usual.temperature
        self._calibrations.held_out[code] = Calibration(threshold, temperature)
        sharpness = self._calibrations.sharpness([code] * len(rows), len(rows))
        self._surprise.by_language[code] = surprise(
            log_softmax(sharpness[:, None] * log_p[rows], axis=1), truth[rows]
        )

    def _weigh(
        self,
        parts: Sequence[Part],
        truth: NDArray[np.int64],
        languages: NDArray[np.object_],
        is_right: NDArray[np.bool_],
    ) -> None:
        """Choose the weight of the kernel in each language that is calibrated by itself."""
        factors = [part.fit.factors(self._search.space.neutral(part.asked.units)) for part in parts]
        by_regression, by_kernel = (np.concatenate(of_all) for of_all in zip(*factors, strict=True))
        for code in sorted(set(languages) - {""}):
            rows = np.flatnonzero(languages == code)
            is_enough = is_right[rows].sum() >= LEAST_OF_LANGUAGE
            if is_enough and (~is_right[rows]).sum() >= LEAST_OF_A_KIND:
                of_language = by_regression[rows], by_kernel[rows]
                weight = stacked_weight(of_language, truth[rows], self.rule_.weight)
                if weight != self.rule_.weight:
                    self.weights_[code] = weight

    def _weighing(
        self, languages: Spoken, count: int, *, is_calibrated: bool = True, by_prototypes: bool = True
    ) -> Weighing:
        """Return how the factors of so many sentences are weighed."""
        weighing = Weighing.even(self.rule_.weight, count)
        spoken = np.asarray(languages, dtype=object)
        for code, weight in self.weights_.items() if len(languages) else ():
            weighing.weights[spoken == code] = weight
        if is_calibrated:
            weighing.sharpness[:] = self._calibrations.sharpness(languages, count)
        if by_prototypes and set(languages) & set(self._prototypes.languages):
            return replace(weighing, prototypes=self._prototypes, languages=list(languages))
        return weighing

    def _learn_known(
        self, fitting: Fitting, asked: Asked, folds: NDArray[np.int64], none_keys: NDArray[np.int64]
    ) -> None:
        """Learn the weights of the signs from intents that are left out, and measure how many of them are found."""
        left_out = fitting.left_out(self._search, asked, folds, self.name_strength_, self.rule_.weight)
        if left_out is None:
            return
        signs, is_known = left_out.signs, left_out.is_known
        if min(is_known.sum(), (~is_known).sum()) < LEAST_ASKED:
            return
        of_none = self._signs_of_none(none_keys) if self.none_of_these else signs[:0]
        self._known = learnt_weights(signs[is_known], signs[~is_known], of_none)
        self.by_cosine_ = False
        scores = score(signs, self._known)
        self.gap_ = float(np.median(scores[is_known]) - np.median(scores[~is_known]))
        of_new = share_found(
            signs, is_known, left_out.is_right, left_out.parts, left_out.intents, of_none, 1 - _KEPT
        )
        if of_new is not None:
            self.new_found_, self.new_asked_ = 100 * of_new, int((~is_known).sum())

    def _signs_of_none(self, none_keys: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the signs of a known intent of the sentences with none of them, (M, s)."""
        units = self._examples.none
        weighing = self._weighing((), len(units))
        return self._search.ask(units, 1, self._fit, weighing, none_keys=none_keys).signs

    def _expect(self, parts: Sequence[Part], reference: Mapping[str, Vectors]) -> None:
        """See how scores and probabilities fall in languages without labels, by which as many right answers are kept.

        Held-out sentences are asked as if they were translated into each built-in language. The key "" is for all
        other languages. Nothing is expected where the language of the labels is not known.
        """
        labelled = self._calibrations.labelled
        others = sorted(set(reference) - {*labelled, *self._calibrations.held_out})
        most = max(1, MOST_TRANSLATED // len(parts))
        scores: dict[str, NDArray[np.float64]] = {}
        log_p: list[NDArray[np.float64]] = []
        labels: list[NDArray[np.int64]] = []
        for code in others if labelled else ():
            found, first = [], len(log_p)
            for part in parts:
                rows = np.random.default_rng(0).permutation(len(part.asked.units))[:most]
                asked = part.asked.of(rows)
                moved = as_if_translated(asked.units, asked.languages.tolist(), reference, code)
                weighing = self._weighing((), len(moved))
                of_part = self._search.ask(moved, 1, part.fit, weighing, is_hidden=part.is_hidden)
                found.append(score(of_part.signs, self._known)[of_part.labels == asked.labels])
                log_p.append(self._search.log_probabilities(moved, part.fit, weighing))
                labels.append(asked.labels)
            scores[code] = np.concatenate(found)
            self._surprise.abroad[code] = surprise(
                np.concatenate(log_p[first:]), np.concatenate(labels[first:])
            )
        if scores:
            scores[""] = np.concatenate(list(scores.values()))
            self._surprise.abroad[""] = surprise(np.concatenate(log_p), np.concatenate(labels))
        at = self._calibrations.usual.threshold
        for code, of_right in scores.items():
            if len(of_right) and at is not None:
                lowest = float(np.quantile(of_right, 1 - _KEPT, method="lower"))
                self._calibrations.expected[code] = max(0.0, at - lowest)

    def _measure_others(
        self, parts: Sequence[Part], truth: NDArray[np.int64], none_keys: NDArray[np.int64]
    ) -> None:
        """Measure how many sentences of left-out intents, by cosines alone, and of none of the intents are found."""
        threshold = self._calibrations.usual.threshold
        if threshold is None:
            return
        if self.by_cosine_ and len(self.intents_) > 1 and self.median_ is not None:
            units = np.concatenate([part.asked.units for part in parts])
            _, nearest = nearest_rows(units, truth, self._examples.units, self._examples.labels)
            self.new_found_, self.new_asked_ = 100 * float((nearest[:, 0] < threshold).mean()), len(nearest)
            self.gap_ = self.median_ - float(np.median(nearest[:, 0]))
        if self.none_of_these:
            scores = score(self._signs_of_none(none_keys), self._known)
            self.none_found_ = 100 * float((scores < threshold).mean())

    @property
    def shape(self) -> tuple[int, int]:
        """The number of labelled sentences, and the length of their vectors."""
        return len(self._examples.units), self._examples.dim

    @property
    def threshold_(self) -> float | None:
        """A cosine if `by_cosine_`, or a score from 0 to 1, below which no intent is known; None for none."""
        threshold = self._calibrations.usual.threshold
        return threshold if threshold is None or self.by_cosine_ else float(expit(threshold))

    @property
    def languages_(self) -> tuple[str, ...]:
        """The languages that are calibrated by themselves."""
        return self._calibrations.by_themselves

    @property
    def names_that_count(self) -> int:
        """The number of intents whose names or descriptions count."""
        return len(self._examples.names) if self.name_strength_ else 0

    @property
    def none_of_these(self) -> int:
        """The number of labelled sentences with none of the intents."""
        return len(self._examples.none)

    @property
    def has_confidence(self) -> bool:
        """Whether there are probabilities of right answers."""
        return self._calibrations.usual.temperature is not None

    @property
    def calibrated_languages(self) -> tuple[str, ...]:
        """The languages that labels calibrate: each with enough of them, and the only one of the pool."""
        labelled = self._calibrations.labelled
        only = labelled if len(labelled) == 1 and not self.unseen_ else ()
        return tuple(sorted({*self.languages_, *only}))

    @property
    def adapted_languages(self) -> tuple[str, ...]:
        """The languages that unlabelled sentences calibrate."""
        return self._calibrations.adapted

    @property
    def strange_languages(self) -> tuple[str, ...]:
        """The languages whose unlabelled sentences may be about something else than the labelled ones."""
        return self._calibrations.strange

    @property
    def prototype_languages(self) -> tuple[str, ...]:
        """The languages in which unlabelled sentences also decide."""
        return tuple(sorted(self._prototypes.languages))

    @property
    def can_adapt(self) -> bool:
        """Whether unlabelled sentences can change an answer."""
        return len(self.intents_) > 1

    def adapted(self, unlabelled: Mapping[str, Vectors]) -> "IntentModel":
        """Return the model adapted to unlabelled sentences, by language.

        They also decide then, with those of other languages that the model is adapted to: see `Prototypes`. The median
        score of a language's sentences is moved up to that of held-out ones, so that as many right answers are kept; by
        no more than `SHIFTED` of the way from left-out intents to known ones, and only so far as they are about the
        same as the labelled ones (`Subject.likeness`): by what translations let expect where that is not sure, and not
        at all for strangers, which must not look like known ones. The temperature is raised until the mean confidence
        is the share of right answers that is to be expected where regression, kernel and nearest sentence agree so
        often (`Agreement.expected`). The surprise of the right intents is what the probabilities then let expect
        (`expected_surprise`).

        Args:
            unlabelled: by language, vectors (M, d) of its sentences; fewer than `LEAST_UNLABELLED` change nothing, and
                neither do those of a language that labels calibrate. Where they are about something else than the
                labelled ones, they do not decide.

        Raises:
            DataError: a vector is zero or not finite, or of another length.
        """
        units = {
            code: self._checked(of, [code] * len(of))
            for code, of in unlabelled.items()
            if self.can_adapt
            and len(of) >= LEAST_UNLABELLED
            and code
            and code not in self.calibrated_languages
        }
        neutral = {code: self._search.space.neutral(of) for code, of in units.items()}
        evened = {code: self._fit.space.evened(x) for code, x in neutral.items()}
        found = {code: self._answered_without_prototypes(of, code) for code, of in units.items()}
        subject = self._subject
        likeness = {code: subject.likeness(x, code) if subject else 1.0 for code, x in neutral.items()}
        alike = [code for code in units if likeness[code] >= STRANGE]
        other = type(self).__new__(type(self))
        other.__dict__.update(
            self.__dict__,
            _prototypes=self._prototypes.met(
                {code: evened[code] for code in alike},
                {code: softmax(found[code].scores, axis=1) for code in alike},
            ),
            _calibrations=self._calibrations.without_shifts(units),
        )
        if self.median_ is None or self.gap_ is None or self.agreement_ is None or self.right_ is None:
            return other
        shifts, surprises = dict[str, Shift](), dict(self._surprise.by_language)
        for code, of in found.items():
            codes = [code] * len(of.labels)
            usual = other._calibrations.sharpness(codes, len(codes))[:, None]
            scores = usual * (of.scores + other._prototypes.log_densities(evened[code], codes))
            up = max(0.0, self.median_ - float(np.median(score(of.signs, self._known))))
            ends = [0.0, other._calibrations.shift(code).score, min(up, SHIFTED * max(0.0, self.gap_))]
            higher, sharpness = float(np.interp(likeness[code], [0.0, STRANGE, 1.0], ends)), 1.0
            if self.has_confidence:
                share = Agreement.of(of.is_one, of.margins).expected(self.right_, self.agreement_)
                sharpness = 1 / max(1.0, temperature_of(scores, share))
                surprises[code] = expected_surprise(log_softmax(sharpness * scores, axis=1))
            shifts[code] = Shift(higher, sharpness, likeness[code])
        other._calibrations = other._calibrations.shifted(shifts)
        other._surprise = replace(self._surprise, by_language=surprises)
        return other

    def _answered_without_prototypes(self, units: Units, code: str) -> Found:
        """Return the answers to sentences in a language by labels and names alone."""
        weighing = self._weighing([code] * len(units), len(units), is_calibrated=False, by_prototypes=False)
        return self._search.ask(units, 1, self._fit, weighing, keeps_scores=True)

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
        units = self._checked(vectors, languages)
        if k < 1:
            raise DataError(f"can't find {k} neighbours; ask for 1 or more")
        weighing = self._weighing(languages, len(units))
        found = self._search.ask(units, k, self._fit, weighing, keeps_scores=coverage is not None)
        return Answers(
            found.labels,
            found.margins,
            found.rows,
            found.cosines,
            found.confidence if self.has_confidence else np.full(len(units), np.nan),
            self._calibrations.is_known(score(found.signs, self._known), languages),
            None if coverage is None else self._sets(log_softmax(found.scores, axis=1), coverage, languages),
        )

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
        units = self._checked(vectors, languages)
        return np.exp(self._log_probabilities(units, languages))

    def probabilities(self, vectors: Vectors, languages: Sequence[str] = ()) -> NDArray[np.float64]:
        """Return the probability of each of k intents for sentences (Q, d), (Q, k).

        The highest is that of the predicted intent. They are not calibrated. `languages` are those of `predict`.

        Raises:
            DataError: as `predict`.
        """
        units = self._checked(vectors, languages)
        return np.exp(self._log_probabilities(units, languages, is_calibrated=False))

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
        units = self._checked(vectors, languages)
        return self._sets(self._log_probabilities(units, languages), coverage, languages)

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
            is_labelled = not code or code in self._calibrations.labelled
            most[spoken == code] = self._surprise.bound(coverage, code, is_labelled=is_labelled)
        order = np.argsort(-log_p, axis=1, kind="stable")
        counts = np.maximum((-log_p <= most[:, None]).sum(axis=1), 1)
        return [row[:count] for row, count in zip(order, counts, strict=True)]

    def scores(self, vectors: Vectors) -> NDArray[np.float64]:
        """Return how like the sentences of known intents each of (Q, d) is, (Q,), in any unit."""
        units = self._checked(vectors, ())
        weighing = self._weighing((), len(units))
        return score(self._search.ask(units, 1, self._fit, weighing).signs, self._known)

    def _checked(self, vectors: Vectors, languages: Sequence[str]) -> Units:
        """Return sentences' vectors (Q, d) with length 1, completed where a part never learnt their language.

        Raises:
            DataError: they are others than those of the examples, or have other languages.
        """
        units = unit_vectors(vectors)
        check_dimensions(units, self._examples.units)
        return completed(self._completions, units, languages, self._calibrations.labelled)

    def _log_probabilities(
        self, units: Units, languages: Sequence[str], *, is_calibrated: bool = True
    ) -> NDArray[np.float64]:
        """Return the log-probabilities of the intents, (Q, k)."""
        weighing = self._weighing(languages, len(units), is_calibrated=is_calibrated)
        return self._search.log_probabilities(units, self._fit, weighing)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a fitted model predicts with, as values for JSON and as arrays."""
        subject = self._subject
        completions = [of.state(number) for number, of in enumerate(self._completions)]
        arrays = {
            **self._examples.arrays(),
            **({} if self._known is None else {"known": self._known}),
            "weight": self._fit.regression.weight,
            "bias": self._fit.regression.bias,
            "bare_weight": self._fit.bare.weight,
            "bare_bias": self._fit.bare.bias,
            **self._fit.space.arrays(),
            **({} if subject is None else subject.arrays()),
            **self._surprise.arrays(),
            **self._prototypes.arrays(),
            **{name: array for _, of_one in completions for name, array in of_one.items()},
        }
        facts = {name: getattr(self, name) for name in _STORED} | {
            "compact_": self._examples.is_compact,
            "rule": self.rule_.value,
            "intents": list(self.intents_),
            **self._calibrations.facts(),
            "subject_languages": None if subject is None else list(subject.languages),
            "prototype_languages": list(self._prototypes.languages),
            "completions": [of_one for of_one, _ in completions],
        }
        return facts, arrays

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model whose `state` this is. Raises KeyError, TypeError or ValueError for anything else."""
        self = cls()
        examples = self._examples = Examples.from_arrays(
            facts["intents"], arrays, is_compact=bool(facts["compact_"])
        )
        self.intents_ = examples.intents
        for name in _STORED:
            setattr(self, name, {"weights_": {}, **facts}[name])  # models of before had no weights
        self.rule_ = Rule(facts["rule"])
        self.agreement_ = None if self.agreement_ is None else Agreement(*self.agreement_)
        self._known = arrays.get("known")
        self._calibrations = Calibrations.from_facts(facts)
        self._check_stored()
        k, dim = len(self.intents_), examples.dim
        regression = Regression.from_arrays(arrays["weight"], arrays["bias"], k, dim)
        bare = Regression.from_arrays(arrays["bare_weight"], arrays["bare_bias"], k, dim)
        self._subject = None
        if facts["subject_languages"] is not None:
            self._subject = Subject.from_arrays(facts["subject_languages"], arrays, dim)
        space = SentenceSpace.from_arrays(arrays, dim)
        self._search = Search.of(examples, space)
        names = slice(None) if self.name_strength_ else slice(0)
        x = np.concatenate([space.neutral(examples.units), space.neutral(examples.names)[names]])
        labels = np.concatenate([examples.labels, examples.name_labels[names]])
        self._fit = Factors(space, regression, Kernel.of(space.evened(x), labels, k), bare)
        self._surprise = Surprise.from_arrays(arrays)
        # Models of before had neither.
        self._prototypes = Prototypes.from_arrays(facts.get("prototype_languages", ()), arrays, k, dim)
        self._completions = [
            Completion.from_state(of_one, arrays, number, dim)
            for number, of_one in enumerate(facts.get("completions", ()))
        ]
        return self

    def _check_stored(self) -> None:
        """Raise a ValueError unless the numbers that were read go together."""
        known = self._known
        measured = (
            self.accuracy_,
            self.new_found_,
            self.new_asked_,
            self.none_found_,
            self.median_,
            self.right_,
            self.gap_,
            self.unseen_,
        )
        signs = _SIGNS + bool(self.none_of_these)
        are_whole = (
            all(number is None or is_number(number) for number in measured)
            and all(
                is_number(number) and number >= 0
                for number in (self.name_strength_, *(self.agreement_ or ()))
            )
            and self.by_cosine_ == (known is None)
            and (known is None or (known.dtype == np.float64 and known.shape == (signs + 1,)))
            and (known is None or bool(np.isfinite(known).all()))
            and all(
                isinstance(code, str) and isinstance(weight, float | int) and 0 <= weight <= 1
                for code, weight in self.weights_.items()
            )
        )
        if not are_whole:
            raise ValueError("not the state of an intent model")
