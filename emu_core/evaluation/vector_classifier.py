"""Predict intents from labelled sentences: by their votes, by a regression or by both, calibrated on held-out ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, softmax

from emu_core.errors import DataError
from emu_core.evaluation.arrays import Vectors, check_dimensions, check_length, codes, id_keys, unit_vectors
from emu_core.evaluation.calibration import Calibration, arrays_of, calibrations_from, fitted_probability
from emu_core.evaluation.classifier import PENALTY_FOLDS, held_out_folds
from emu_core.evaluation.intent_regression import MANY, sampled_rows, weights_of_all
from emu_core.evaluation.pool_search import Pool
from emu_core.evaluation.retrieval import TIE, nearest_rows
from emu_core.threads import one_thread_for_small_products

NO_INTENT = "no known intent"
"""What is predicted for a sentence that is like none of the labelled ones."""
VOTES = (1, 3, 5, 10)  # numbers of voting neighbours to choose from
NEAR = 10  # nearest sentences whose kernel is multiplied with the regression's probabilities
KERNEL_TEMPERATURE = 0.05
INVERSE_PENALTY = 30.0  # C of the regression
TOLERANCE = 1e-4  # of its gradient: a smaller one changes no answer
FITTED = 6_000  # sentences that regressions are fitted on in all folds together: of a large pool, one fold is held out
MOST_ASKED = 2_000  # held-out sentences to ask, which meet the whole rest of the pool
LEAST_ASKED = 30  # with fewer, nothing is calibrated
LEAST_OF_LANGUAGE = 100  # right answers with which a language has its own calibration
UNMEASURED_VOTES = 3  # if a pool of `LEAST_ASKED` or more has fewer to ask than that
PROMISED = 0.95  # the share of right answers to new sentences that the threshold keeps
_KEPT = 0.97  # the share of those to held-out sentences, which are more like the rest of the pool than new ones are
_WORK = (
    6e8  # numbers that a regression multiplies in each step at most; of a larger pool, a sample is fitted on
)
_LEAST_FITTED = 3_000  # that a sample has at least
_INTENT_PARTS, _PARTS_ASKED = 4, 2  # parts of the intents, of which some are left out in turn
_STORED = ("votes_", "accuracy_", "by_cosine_", "new_found_", "none_found_")  # numbers that `fit` measures
_MOST_OF_A_PART = 700  # sentences to ask then, of known and of new intents


class PredictionFacts(TypedDict):
    """The choices and measurements that were made on a pool of labelled sentences."""

    pool: int  # number of labelled sentences
    rule: str  # what decides, a value of `Rule`
    votes: int  # number of nearest sentences that vote, if they do
    accuracy: float | None  # percent of right predictions of held-out sentences
    threshold: float | None  # no intent is known below it
    threshold_is_cosine: bool  # of the nearest sentence; otherwise a score from 0 to 1
    threshold_is_given: bool  # and not learnt
    new_found: float | None  # percent of the sentences of left-out intents that are below
    none_of_these: int  # number of sentences that are labelled as none of the intents
    none_found: float | None  # percent of those that are below
    notes: list[str]


class Rule(StrEnum):
    """The rule that decides on the intent of a sentence."""

    NEIGHBOURS = "neighbours"
    """The nearest labelled sentences vote, weighted by cosine."""
    REGRESSION = "regression"
    """A logistic regression on the vectors."""
    BOTH = "both"
    """The product of the regression's probabilities and a kernel density of the nearest sentences."""


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of the pool for Q sentences.

    Attributes:
        labels: (Q,) numbers of the predicted intents, see `VectorClassifier.intents_`.
        margins: (Q,) the highest cosine to a sentence of that intent, minus the highest to one of another; NaN where
            there is no other.
        rows: (Q, k) the nearest sentences of the pool, the nearest first; -1 where there are fewer.
        cosines: (Q, k), NaN there.
        confidence: (Q,) probability that the label is right, if the pool has the intent; NaN if it can't be calibrated.
        is_known: (Q,) whether the sentence is like those of the known intents.
    """

    labels: NDArray[np.int64]
    margins: NDArray[np.float32]
    rows: NDArray[np.int64]
    cosines: NDArray[np.float32]
    confidence: NDArray[np.float64]
    is_known: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Regression:
    """A regression over k intents: weights (k, d) and biases (k,), -inf for an intent that it was not fitted on."""

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]

    @classmethod
    def fit(
        cls,
        units: NDArray[np.float32],
        labels: NDArray[np.int64],
        rows: NDArray[np.int64],
        *,
        most: int | None = None,
    ) -> "_Regression | None":
        """Fit it on some rows of unit vectors (P, d), or on a sample of them; None with a single intent."""
        present, classes = np.unique(labels[rows], return_inverse=True)
        if len(present) < 2:
            return None
        k = int(labels.max()) + 1
        if most is None:
            most = max(_LEAST_FITTED, int(_WORK / (min(len(present), MANY) * units.shape[1])))
        sample = sampled_rows(classes.tolist(), most)
        with one_thread_for_small_products():
            fitted = weights_of_all(units[rows[sample]], classes[sample], INVERSE_PENALTY, TOLERANCE)
        weight, bias = np.zeros((k, units.shape[1]), dtype=np.float32), np.full(k, -np.inf, dtype=np.float32)
        weight[present], bias[present] = fitted
        return cls(weight, bias)

    def logits(self, units: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return (Q, k)."""
        logits: NDArray[np.float32] = units @ self.weight.T + self.bias
        return logits


@dataclass(frozen=True, eq=False)
class _Found:
    """The answers to Q sentences before calibration; see `Answers`."""

    labels: NDArray[np.int64]
    margins: NDArray[np.float32]
    rows: NDArray[np.int64]
    cosines: NDArray[np.float32]
    certainty: NDArray[np.float64]  # (Q,) how far the answer is ahead of the next
    signs: NDArray[np.float64]  # (Q, s) signs of a known intent, see `VectorClassifier._signs`


@dataclass(frozen=True, eq=False)
class _Part:
    """Rows of the pool that are asked, all that are hidden meanwhile, and a regression on the others."""

    rows: NDArray[np.int64]
    is_hidden: NDArray[np.bool_]
    regression: _Regression | None


class VectorClassifier:
    """A classifier of sentence vectors by a pool of labelled ones, which chooses between neighbours and a regression.

    `fit` divides the pool into folds (translations and repeats, of one id, together), and predicts some of it from the
    rest. It takes the `Rule` and the number of `VOTES` with the highest accuracy, the simplest among equals. The
    confidence is an isotonic regression of right answers on the certainty: the margin of neighbours, or the lead of
    the most probable intent in log-probability. Sentences of a language with `LEAST_OF_LANGUAGE` right answers are
    calibrated by that language, all others by all languages together.

    Whether an intent is known depends on the cosine of the nearest sentence, on the regression's highest logit and, if
    there are sentences with none of the intents, on the cosine of the nearest of those. A logistic regression weighs
    the three: its examples are held-out sentences of known intents, and, as the others, sentences of intents that are
    left out (Shu et al. 2017 call them unseen classes) and those with none. Below the score that `_KEPT` of the right
    answers to held-out sentences reach, no intent is known.

    Attributes:
        intents_: the intents, by number.
        rule_: what decides.
        votes_: the number of nearest neighbours that vote, if they do.
        accuracy_: percent of right answers to held-out sentences; None with too few.
        threshold_: a cosine if `by_cosine_`, or a score from 0 to 1, below which no intent is known; None for none.
        by_cosine_: whether the cosine of the nearest sentence alone decides on that.
        new_found_: percent of sentences of left-out intents below the threshold; None if not measured.
        none_found_: percent of the sentences with none of the intents below the threshold; None without any.
        languages_: the languages that are calibrated by themselves.
    """

    def fit(
        self,
        vectors: Vectors,
        intents: Sequence[str],
        ids: Sequence[str],
        *,
        languages: Sequence[str] = (),
        asked: NDArray[np.intp] | None = None,
        threshold: float | None = None,
        none: Vectors | None = None,
        none_ids: Sequence[str] = (),
    ) -> "VectorClassifier":
        """Store the pool, choose the rule and calibrate.

        Args:
            vectors: (P, d).
            intents: P intents.
            ids: P ids; "" is none, and the same id means translations of each other.
            languages: P language codes; none for one calibration.
            asked: rows that may be held out, such as those that the encoder was not trained on; None takes all.
            threshold: a cosine that the nearest sentence must reach, instead of the threshold that is learnt.
            none: (M, d), sentences with none of the intents.
            none_ids: M ids, which may be those of the pool.

        Raises:
            DataError: a vector is zero or not finite, or the lengths differ.
        """
        self._units = unit_vectors(vectors)
        size = len(self._units)
        check_length(intents, size, "intents")
        self.intents_ = tuple(dict.fromkeys(intents))
        self._labels = codes(intents, size, "intents")
        self._pool = Pool(self._units, self._labels)
        languages = languages or [""] * size
        check_length(languages, size, "languages")
        self._languages = np.asarray(languages, dtype=object)
        self._none = np.zeros((0, self._units.shape[1]), dtype=np.float32)
        if none is not None and len(none):
            self._none = unit_vectors(none)
            check_dimensions(self._none, self._units)
        self._none_keys = id_keys(none_ids or [""] * len(self._none), len(self._none))
        self.rule_, self.votes_ = Rule.NEIGHBOURS, UNMEASURED_VOTES if size >= LEAST_ASKED else 1
        self._regression: _Regression | None = None
        self._known: NDArray[np.float64] | None = None  # weights of the signs, the intercept first
        self.accuracy_: float | None = None
        self.by_cosine_ = True
        self.new_found_: float | None = None
        self.none_found_: float | None = None
        self._calibrations = {"": Calibration(threshold, None)}
        folds = held_out_folds(intents, ids)
        may_be_asked = np.zeros(size, dtype=bool)
        may_be_asked[slice(None) if asked is None else asked] = True
        rows = np.flatnonzero(may_be_asked & (folds >= 0))
        if len(rows) >= LEAST_ASKED:
            self._calibrate(rows, folds, threshold)
        self._finish()
        return self

    def _finish(self) -> None:
        """Set the attributes that follow from the calibrations."""
        self.threshold_ = self._calibrations[""].threshold
        if self.threshold_ is not None and not self.by_cosine_:
            self.threshold_ = float(expit(self.threshold_))
        self.languages_ = tuple(sorted(filter(None, self._calibrations)))

    def _calibrate(self, rows: NDArray[np.int64], folds: NDArray[np.int64], threshold: float | None) -> None:
        # First some folds are held out in turn, and the rule with the most right answers is chosen.
        count = min(PENALTY_FOLDS, max(1, FITTED // len(self._units)))
        drawn = np.random.default_rng(0).permutation(rows[folds[rows] < count])[:MOST_ASKED]
        parts = [
            _Part(np.sort(part), folds == fold, self._fitted(folds != fold))
            for fold in range(count)
            if len(part := drawn[folds[drawn] == fold])
        ]
        self.rule_, self.votes_ = self._chosen(parts)
        found = _joined(
            [
                self._search(
                    self._units[part.rows],
                    NEAR,
                    self.rule_,
                    self.votes_,
                    regression=part.regression,
                    is_hidden=part.is_hidden,
                )
                for part in parts
            ]
        )
        asked = np.concatenate([part.rows for part in parts])
        truth = self._labels[asked]
        is_right = found.labels == truth
        self.accuracy_ = 100 * float(is_right.mean())
        self._regression = self._fitted(np.ones(len(self._units), dtype=bool))
        # Then what a known intent looks like is learnt, and the answers are calibrated, also by language.
        if threshold is None:
            self._learn_known(rows, folds)
        score = self._score(found.signs)
        languages = self._languages[asked]
        for code in ("", *sorted(set(languages))):
            of_language = (languages == code) if code else np.ones(len(asked), dtype=bool)
            if code and (of_language & is_right).sum() < LEAST_OF_LANGUAGE:
                continue
            at = threshold
            if at is None and is_right.any():
                at = float(np.quantile(score[of_language & is_right], 1 - _KEPT, method="lower"))
            probability = fitted_probability(found.certainty[of_language], is_right[of_language])
            if code and probability is None:
                probability = self._calibrations[""].probability
            self._calibrations[code] = Calibration(at, probability)
        overall = self._calibrations[""].threshold
        if overall is None:
            return
        if self.by_cosine_ and len(self.intents_) > 1:
            keys = self._labels
            _, nearest = nearest_rows(self._units[asked], keys[asked], self._units, keys)
            self.new_found_ = 100 * float((nearest[:, 0] < overall).mean())
        if len(self._none):
            signs = self._search(self._none, 1, self.rule_, self.votes_, none_keys=self._none_keys).signs
            self.none_found_ = 100 * float((self._score(signs) < overall).mean())

    @property
    def shape(self) -> tuple[int, int]:
        """The number of labelled sentences, and the length of their vectors."""
        size, dim = self._units.shape
        return size, dim

    @property
    def has_confidence(self) -> bool:
        """Whether there are probabilities of right answers."""
        return self._calibrations[""].probability is not None

    def _chosen(self, parts: Sequence[_Part]) -> tuple[Rule, int]:
        """Return the rule with the most right answers to held-out sentences, and the number of neighbours that vote."""
        candidates = [(Rule.NEIGHBOURS, votes) for votes in VOTES]
        if all(part.regression is not None for part in parts):
            candidates += [(Rule.BOTH, NEAR), (Rule.REGRESSION, NEAR)]
        right = dict.fromkeys(candidates, 0)
        for part in parts:
            units, is_met = self._units[part.rows], np.where(part.is_hidden, 0, 1)
            none_met, k = np.zeros(len(units), dtype=np.int64), min(NEAR, len(self._units))
            rows, cosines = nearest_rows(units, none_met, self._units, is_met, k)
            logits = None if part.regression is None else part.regression.logits(units)
            for rule, votes in candidates:
                labels, _ = self._decided(rule, votes, rows, cosines, logits)
                right[rule, votes] += int((labels == self._labels[part.rows]).sum())
        return max(candidates, key=right.__getitem__)

    def _fitted(self, is_met: NDArray[np.bool_], most: int | None = None) -> _Regression | None:
        return _Regression.fit(self._units, self._labels, np.flatnonzero(is_met), most=most)

    def _learn_known(self, rows: NDArray[np.int64], folds: NDArray[np.int64]) -> None:
        """Learn the weights of the signs from intents that are left out, and measure how many of them are found."""
        from sklearn.linear_model import LogisticRegression

        k, draws = len(self.intents_), np.random.default_rng(0)
        part_of_intent = draws.permutation(k) % min(_INTENT_PARTS, k)
        signs: list[NDArray[np.float64]] = []
        kinds: list[NDArray[np.int64]] = []
        is_right: list[NDArray[np.bool_]] = []
        for part in range(min(_PARTS_ASKED, k)):
            is_new, is_held_out = part_of_intent[self._labels] == part, folds == part
            regression = self._fitted(~is_new & ~is_held_out, _LEAST_FITTED)
            if regression is None:
                continue
            has_class = np.isfinite(regression.bias)[self._labels]
            for number, of_kind in enumerate((is_new, ~is_new & is_held_out & has_class)):
                asked = draws.permutation(rows[of_kind[rows]])[:_MOST_OF_A_PART]
                if not len(asked):
                    continue
                found = self._search(
                    self._units[asked],
                    1,
                    Rule.REGRESSION,
                    1,
                    regression=regression,
                    is_hidden=is_new | is_held_out,
                )
                signs.append(found.signs)
                kinds.append(np.full(len(asked), number))
                is_right.append(found.labels == self._labels[asked])
        if not signs:
            return
        kind, right, asked_signs = np.concatenate(kinds), np.concatenate(is_right), np.concatenate(signs)
        if np.bincount(kind, minlength=2).min() < LEAST_ASKED:
            return
        of_none = (
            self._search(
                self._none, 1, Rule.REGRESSION, 1, regression=self._regression, none_keys=self._none_keys
            ).signs
            if len(self._none)
            else asked_signs[:0]
        )
        wide = np.concatenate([asked_signs, of_none])
        kinds_of_all = np.concatenate([kind, np.full(len(of_none), 2)])
        # Known and other sentences have the same weight, and so have the two kinds of others.
        count = np.bincount(kinds_of_all, minlength=3)
        share = np.array([0.25 if count[2] else 0.5, 0.5, 0.25]) / np.maximum(count, 1)
        mean, scale = wide.mean(axis=0), np.maximum(wide.std(axis=0), 1e-6)
        learnt = LogisticRegression().fit(
            (wide - mean) / scale, kinds_of_all == 1, len(wide) * share[kinds_of_all]
        )
        slopes = learnt.coef_[0] / scale
        self._known = np.array([learnt.intercept_[0] - slopes @ mean, *slopes])
        self.by_cosine_ = False
        score = self._score(asked_signs)
        if (right & (kind == 1)).any():
            at = np.quantile(score[right & (kind == 1)], 1 - _KEPT, method="lower")
            self.new_found_ = 100 * float((score[kind == 0] < at).mean())

    def predict(self, vectors: Vectors, k: int = 3, languages: Sequence[str] = ()) -> Answers:
        """Return the answers to sentences, given their vectors (Q, d), with the k nearest sentences of the pool.

        Args:
            vectors: (Q, d).
            k: number of nearest sentences to return.
            languages: Q language codes, "" for an unknown one; none for unknown ones.

        Raises:
            DataError: a vector is zero or not finite, or of another length than the pool's.
        """
        units = unit_vectors(vectors)
        check_dimensions(units, self._units)
        if k < 1:
            raise DataError(f"can't find {k} neighbours; ask for 1 or more")
        found = self._search(units, k, self.rule_, self.votes_)
        score = self._score(found.signs)
        spoken = np.asarray(languages or [""] * len(units), dtype=object)
        confidence, is_known = np.full(len(units), np.nan), np.ones(len(units), dtype=bool)
        for code in set(spoken.tolist()):
            rows = np.flatnonzero(spoken == code)
            calibration = self._calibrations.get(code, self._calibrations[""])
            if calibration.threshold is not None:
                is_known[rows] = score[rows] >= calibration.threshold
            measured = rows[np.isfinite(found.certainty[rows])]
            if calibration.probability is not None and len(measured):
                confidence[measured] = calibration.probability.predict(found.certainty[measured])
        nearest, cosines = found.rows[:, :k], found.cosines[:, :k]
        return Answers(found.labels, found.margins, nearest, cosines, confidence, is_known)

    def probabilities(self, vectors: Vectors) -> NDArray[np.float64]:
        """Return the share of each of k intents in the decision on sentences (Q, d), (Q, k).

        They are the probabilities of the regression, alone or multiplied with the density of the nearest sentences, or
        shares of the votes; the highest is that of the predicted intent. They are not calibrated.

        Raises:
            DataError: as `predict`.
        """
        units = unit_vectors(vectors)
        check_dimensions(units, self._units)
        shares = np.zeros((len(units), len(self.intents_)))
        k = min(NEAR, len(self._units))
        for block, part in self._pool.parts(units):
            rows, cosines = part.nearest(k)
            logits = None if self._regression is None else self._regression.logits(units[block])
            if self.rule_ is not Rule.NEIGHBOURS and logits is not None:
                shares[block] = softmax(self._scores(self.rule_, rows, cosines, logits), axis=1)
                continue
            voters, weights = rows[:, : self.votes_], _votes(cosines[:, : self.votes_])
            queries = np.arange(len(voters))
            totals = np.zeros((len(voters), len(self.intents_)))
            np.add.at(totals, (queries[:, None], self._labels[voters]), weights)
            # Of equals, the intent of the nearest sentence is predicted.
            elected = self._elected(voters, cosines[:, : self.votes_])
            totals[queries, elected] = np.nextafter(totals.max(axis=1), np.inf)
            shares[block] = totals / totals.sum(axis=1, keepdims=True)
        return shares

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a fitted classifier predicts with, as values for JSON and as arrays."""
        regression = self._regression
        arrays: dict[str, NDArray[Any] | None] = {
            "units": self._units,
            "labels": self._labels,
            "none": self._none,
            "known": self._known,
            "weight": None if regression is None else regression.weight,
            "bias": None if regression is None else regression.bias,
        }
        facts = {name: getattr(self, name) for name in _STORED} | {
            "rule": self.rule_.value,
            "intents": list(self.intents_),
            "thresholds": {code: calibration.threshold for code, calibration in self._calibrations.items()},
        }
        arrays |= arrays_of(self._calibrations)
        return facts, {name: array for name, array in arrays.items() if array is not None}

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the classifier whose `state` this is. Raises KeyError, TypeError or ValueError for anything else."""
        self = cls()
        self._units, self._labels, self._none = (arrays[name] for name in ("units", "labels", "none"))
        self._known = arrays.get("known")
        self._regression = _Regression(arrays["weight"], arrays["bias"]) if "weight" in arrays else None
        for name in _STORED:
            setattr(self, name, facts[name])
        self.rule_, self.intents_ = Rule(facts["rule"]), tuple(facts["intents"])
        self._check_stored()
        self._pool = Pool(self._units, self._labels)
        self._calibrations = calibrations_from(facts["thresholds"], arrays)
        self._finish()
        return self

    def _check_stored(self) -> None:
        """Raise a ValueError unless all that was read goes together."""
        (size, dim), k = self._units.shape, len(self.intents_)
        regression, known = self._regression, self._known
        signs = 1 + (regression is not None) + bool(len(self._none))
        arrays: list[tuple[NDArray[Any], type, tuple[int, ...]]] = [
            (self._units, np.float32, (size, dim)),
            (self._labels, np.int64, (size,)),
            (self._none, np.float32, (len(self._none), dim)),
        ]
        if known is not None:
            arrays.append((known, np.float64, (1 + signs,)))
        if regression is not None:
            arrays.append((regression.weight, np.float32, (k, dim)))
            arrays.append(
                (np.maximum(regression.bias, 0), np.float32, (k,))
            )  # -inf is that of an unseen intent
        numbers = (self.accuracy_, self.new_found_, self.none_found_)
        are_whole = (
            size > 0
            and all(
                array.dtype == kind and array.shape == shape and np.isfinite(array).all()
                for array, kind, shape in arrays
            )
            and self._labels.min() >= 0
            and self._labels.max() < k
            and len(set(self.intents_)) == k
            and all(isinstance(intent, str) for intent in self.intents_)
            and all(number is None or isinstance(number, float | int) for number in numbers)
            and isinstance(self.votes_, int)
            and self.votes_ >= 1
            and self.by_cosine_ == (known is None)
            and (self.rule_ is Rule.NEIGHBOURS or regression is not None)
        )
        if not are_whole:
            raise ValueError("not the state of a classifier")

    def scores(self, vectors: Vectors) -> NDArray[np.float64]:
        """Return how like the sentences of known intents each of (Q, d) is, (Q,), in any unit."""
        return self._score(self._search(unit_vectors(vectors), 1, self.rule_, self.votes_).signs)

    def _score(self, signs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how like a known intent's sentences each is, (Q,): the nearest cosine, or the log-odds learnt."""
        if self._known is None:
            return signs[:, 0]
        score: NDArray[np.float64] = signs @ self._known[1:] + self._known[0]
        return score

    def _search(
        self,
        units: NDArray[np.float32],
        k: int,
        rule: Rule,
        votes: int,
        *,
        regression: _Regression | None = None,
        is_hidden: NDArray[np.bool_] | None = None,
        none_keys: NDArray[np.int64] | None = None,
    ) -> _Found:
        """Answer unit vectors (Q, d).

        Args:
            units: (Q, d).
            k: number of nearest sentences to find, at least.
            rule: what decides, and with
            votes: how many neighbours.
            regression: the regression; None takes that of the whole pool.
            is_hidden: (P,) rows of the pool that are not met.
            none_keys: (Q,) keys of sentences with none of the intents, if the units are those.
        """
        regression = regression or self._regression
        k = min(max(k, votes), len(self._units))
        found: list[_Found] = []
        for block, cosines in self._pool.parts(units, is_hidden):
            rows, best = cosines.nearest(k)
            logits = None if regression is None else regression.logits(units[block])
            labels, lead = self._decided(rule, votes, rows, best, logits)
            margins = cosines.margins(labels, rows, best)
            signs = self._signs(
                units[block], best[:, 0], logits, None if none_keys is None else none_keys[block]
            )
            absent = np.isneginf(best)
            rows[absent], best[absent] = -1, np.nan
            certainty = margins.astype(np.float64) if lead is None else lead
            found.append(_Found(labels, margins, rows, np.clip(best, -1, 1), certainty, signs))
        return _joined(found)

    def _decided(
        self,
        rule: Rule,
        votes: int,
        rows: NDArray[np.int64],
        cosines: NDArray[np.float32],
        logits: NDArray[np.float32] | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
        """Return the intents (B,), and how far each is ahead (B,); None for neighbours, whose margin says it."""
        if rule is Rule.NEIGHBOURS or logits is None:
            return self._elected(rows[:, :votes], cosines[:, :votes]), None
        scores = self._scores(rule, rows, cosines, logits)
        labels = scores.argmax(axis=1)
        first, second = (np.partition(scores, -rank, axis=1)[:, -rank] for rank in (1, 2))
        return labels, first - second

    def _scores(
        self, rule: Rule, rows: NDArray[np.int64], cosines: NDArray[np.float32], logits: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """Return the logarithm of how likely each intent is by the regression or both, (B, k), but for a constant."""
        scores = logits.astype(np.float64)
        if rule is Rule.BOTH:
            density = self._density(rows[:, :NEAR], cosines[:, :NEAR], scores.shape)
            scores = log_softmax(scores, axis=1) + density
        return scores

    def _density(
        self, rows: NDArray[np.int64], cosines: NDArray[np.float32], shape: tuple[int, ...]
    ) -> NDArray[np.float64]:
        """Return the log of a kernel density of the nearest sentences for each intent, (B, k).

        An intent without a sentence among them has half the kernel of the last: it can't have a nearer one.
        """
        kernel = np.exp((np.nan_to_num(cosines.astype(np.float64), nan=-np.inf) - 1) / KERNEL_TEMPERATURE)
        density = np.repeat(
            kernel.min(axis=1, keepdims=True, where=kernel > 0, initial=1) / 2, shape[1], axis=1
        )
        np.add.at(density, (np.arange(len(rows))[:, None], self._labels[rows]), kernel)
        return np.log(density)

    def _elected(self, rows: NDArray[np.int64], cosines: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the intent with the largest sum of cosines over (B, v) rows, (B,); of equals the nearest one's."""
        labels = self._labels[rows]
        weights = _votes(cosines)
        same = labels[:, :, None] == labels[:, None, :]  # (B, v, v)
        totals = (same * weights[:, None, :]).sum(axis=2)
        first = (totals >= totals.max(axis=1, keepdims=True) - TIE).argmax(axis=1)
        return np.take_along_axis(labels, first[:, None], axis=1)[:, 0]

    def _signs(
        self,
        units: NDArray[np.float32],
        nearest: NDArray[np.float32],
        logits: NDArray[np.float32] | None,
        none_keys: NDArray[np.int64] | None,
    ) -> NDArray[np.float64]:
        """Return signs of a known intent (B, s): the nearest cosine, the highest logit, and that of none, negated."""
        signs = [nearest.astype(np.float64)]
        if logits is not None:
            signs.append(logits.max(axis=1).astype(np.float64))
        if len(self._none):
            cosines = units @ self._none.T
            if none_keys is not None:
                cosines[none_keys[:, None] == self._none_keys] = -1
            signs.append(-cosines.max(axis=1).astype(np.float64))
        return np.stack(signs, axis=1)


def _votes(cosines: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the weight of each neighbour's vote: its cosine, 0 where that is negative or there is no neighbour."""
    weights: NDArray[np.float32] = np.clip(np.nan_to_num(cosines, nan=0.0, neginf=0.0), 0, 1)
    return weights


def _joined(found: Sequence[_Found]) -> _Found:
    parts = zip(*(vars(part).values() for part in found), strict=True)
    return _Found(*map(np.concatenate, parts))
