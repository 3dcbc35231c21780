"""Predict intents by the votes of nearest neighbours, with calibrated probabilities and a threshold for new intents."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from emu_core.errors import DataError
from emu_core.evaluation.arrays import Vectors, check_dimensions, check_length, codes, id_keys, unit_vectors
from emu_core.evaluation.retrieval import TIE, best_columns, blocks

if TYPE_CHECKING:
    from sklearn.isotonic import IsotonicRegression

VOTES = (1, 3, 5, 10)  # numbers of voting neighbours, chosen by leave-one-out
MOST_ASKED = 2_000  # queries of leave-one-out; of a larger pool a sample, which meets the whole pool
LEAST_ASKED = 30  # with fewer queries nothing is calibrated
UNMEASURED_VOTES = 3  # if a pool of `LEAST_ASKED` or more has fewer queries than that
LEAST_OF_A_KIND = 5  # right and wrong answers that fitting a probability needs
_KEPT = 0.95  # the share of right answers above the threshold


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of the pool for Q sentences.

    Attributes:
        labels: (Q,) numbers of the predicted intents, see `NearestIntent.intents_`.
        margins: (Q,) the highest cosine to a sentence of that intent, minus the highest to one of another; NaN where
            there is no other.
        rows: (Q, k) the nearest sentences of the pool, the nearest first; -1 where there are fewer.
        cosines: (Q, k), NaN there.
    """

    labels: NDArray[np.int64]
    margins: NDArray[np.float32]
    rows: NDArray[np.int64]
    cosines: NDArray[np.float32]


class NearestIntent:
    """A nearest-neighbour classifier of sentence vectors: the nearest sentences of a pool vote, weighted by cosine.

    `fit` predicts sentences of the pool by leave-one-out, in which a sentence meets neither itself nor its translations
    (the same id). It takes the number of `VOTES` with the highest accuracy, the smallest among equals. The confidence
    is an isotonic regression of right answers on the margin. The threshold is the highest cosine of the nearest
    sentence that `_KEPT` of the right answers reach. Its recall of new intents is measured by predicting the same
    sentences without the sentences of their own intent in the pool (leave-one-intent-out).

    Attributes:
        intents_: the intents, by number.
        votes_: the number of nearest neighbours that vote.
        accuracy_: leave-one-out accuracy in percent; None with too few queries.
        threshold_: cosine of the nearest sentence below which a sentence has no known intent; None for no threshold.
        new_found_: percent of sentences of left-out intents below the threshold; None if not measured.
        calibration_: margins to probabilities; None if leave-one-out has too few right or too few wrong answers.
    """

    def fit(
        self,
        vectors: Vectors,
        intents: Sequence[str],
        ids: Sequence[str],
        *,
        asked: NDArray[np.intp] | None = None,
        threshold: float | None = None,
    ) -> "NearestIntent":
        """Store the pool and calibrate on it.

        Args:
            vectors: (P, d).
            intents: P intents.
            ids: P ids; "" is none, and the same id means translations of each other.
            asked: rows that leave-one-out may use as queries, such as those that the encoder was not trained on; None
                takes all.
            threshold: replaces the threshold that leave-one-out finds.

        Raises:
            DataError: a vector is zero or not finite, or the lengths differ.
        """
        self._units = unit_vectors(vectors)
        size = len(self._units)
        check_length(intents, size, "intents")
        self.intents_ = tuple(dict.fromkeys(intents))
        self._labels, self._keys = codes(intents, size, "intents"), id_keys(ids, size)
        self.votes_ = UNMEASURED_VOTES if size >= LEAST_ASKED else 1
        self.accuracy_: float | None = None
        self.threshold_ = threshold
        self.new_found_: float | None = None
        self.calibration_: IsotonicRegression | None = None
        rows = np.arange(size) if asked is None else np.asarray(asked, dtype=np.int64)
        rows = np.sort(np.random.default_rng(0).permutation(rows)[:MOST_ASKED])
        rows = rows[[(self._keys != key).any() for key in self._keys[rows]]]
        if len(rows) >= LEAST_ASKED:
            self._calibrate(rows)
        return self

    def _calibrate(self, asked: NDArray[np.int64]) -> None:
        units, truth = self._units[asked], self._labels[asked]
        first = self._search(units, max(VOTES), 1, self._keys[asked])
        right = {
            votes: self._elected(first.rows[:, :votes], first.cosines[:, :votes]) == truth for votes in VOTES
        }
        self.votes_ = max(VOTES, key=lambda votes: (right[votes].sum(), -votes))
        neighbours = self._search(units, self.votes_, self.votes_, self._keys[asked])
        is_right = neighbours.labels == truth
        self.accuracy_ = 100 * float(is_right.mean())
        nearest = neighbours.cosines[:, 0]
        if self.threshold_ is None and is_right.any():
            self.threshold_ = float(np.quantile(nearest[is_right], 1 - _KEPT, method="lower"))
        if len(self.intents_) == 1:
            return
        if self.threshold_ is not None:
            strangers = self._search(units, 1, 1, truth, self._labels).cosines[:, 0]
            self.new_found_ = 100 * float((strangers < self.threshold_).mean())
        if min(is_right.sum(), (~is_right).sum()) >= LEAST_OF_A_KIND:
            from sklearn.isotonic import IsotonicRegression

            known = np.isfinite(neighbours.margins)
            self.calibration_ = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(
                neighbours.margins[known], is_right[known]
            )

    def predict(self, vectors: Vectors, k: int = 3) -> Answers:
        """Return the answers to sentences, given their vectors (Q, d), with the k nearest sentences of the pool.

        Raises:
            DataError: a vector is zero or not finite, or of another length than the pool's.
        """
        units = unit_vectors(vectors)
        check_dimensions(units, self._units)
        if k < 1:
            raise DataError(f"can't find {k} neighbours; ask for 1 or more")
        neighbours = self._search(units, max(k, self.votes_), self.votes_)
        return Answers(
            neighbours.labels, neighbours.margins, neighbours.rows[:, :k], neighbours.cosines[:, :k]
        )

    def is_known(self, answers: Answers) -> NDArray[np.bool_]:
        """Return whether the cosine of each sentence's nearest neighbour reaches the threshold, (Q,)."""
        if self.threshold_ is None:
            return np.ones(len(answers.labels), dtype=bool)
        return np.asarray(answers.cosines[:, 0] >= self.threshold_)

    def confidence(self, answers: Answers) -> NDArray[np.float64]:
        """Return the probability that each answer is right, (Q,), if its intent is in the pool; NaN if unknown."""
        out = np.full(len(answers.labels), np.nan)
        is_calibrated = np.isfinite(answers.margins)
        if self.calibration_ is not None and is_calibrated.any():
            out[is_calibrated] = self.calibration_.predict(answers.margins[is_calibrated])
        return out

    def _search(
        self,
        units: NDArray[np.float32],
        k: int,
        votes: int,
        keys: NDArray[np.int64] | None = None,
        pool_keys: NDArray[np.int64] | None = None,
    ) -> Answers:
        """Answer unit vectors (Q, d); with keys (Q,), none meets a row of the pool with the same of `pool_keys`."""
        pool_keys = self._keys if pool_keys is None else pool_keys
        blocks_found, k = [], min(k, len(self._units))
        for block in blocks(len(units), len(self._units)):
            cosines = units[block] @ self._units.T  # (B, P)
            if keys is not None:
                cosines[keys[block, None] == pool_keys] = -np.inf
            rows, best = best_columns(cosines, k, TIE)  # which overwrites them with -inf
            labels = self._elected(rows[:, :votes], best[:, :votes])
            has_label = self._labels[rows] == labels[:, None]  # (B, k)
            cosines[self._labels == labels[:, None]] = -np.inf
            other = np.maximum(cosines.max(axis=1), np.where(has_label, -np.inf, best).max(axis=1))
            with np.errstate(invalid="ignore"):  # -inf - -inf where there is no neighbour
                margins = np.where(has_label, best, -np.inf).max(axis=1) - other
            none = np.isneginf(best)
            rows[none], best[none] = -1, np.nan
            margins[~np.isfinite(margins)] = np.nan
            blocks_found.append((labels, margins, rows, np.clip(best, -1, 1)))
        return Answers(*map(np.concatenate, zip(*blocks_found, strict=True)))

    def _elected(self, rows: NDArray[np.int64], cosines: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the intent with the largest sum of cosines over (B, v) rows, (B,); of equals the nearest one's."""
        labels = self._labels[rows]
        weights = np.clip(np.nan_to_num(cosines, nan=0.0, neginf=0.0), 0, 1)
        same = labels[:, :, None] == labels[:, None, :]  # (B, v, v)
        totals = (same * weights[:, None, :]).sum(axis=2)
        first = (totals >= totals.max(axis=1, keepdims=True) - TIE).argmax(axis=1)
        return np.take_along_axis(labels, first[:, None], axis=1)[:, 0]
