"""The answers of what is fitted: the most probable intents, the nearest sentences, and signs of a known intent."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

from emu_core.evaluation.pool_search import Pool
from emu_core.evaluation.retrieval import blocks
from emu_core.intents.examples import Examples, Units
from emu_core.intents.factors import Factors, weighted
from emu_core.intents.prototypes import Prototypes
from emu_core.intents.space import SentenceSpace


@dataclass(frozen=True, eq=False)
class Weighing:
    """How the factors of Q sentences are weighed.

    Attributes:
        usual: the weight of the kernel in most languages, by which signs of a known intent are told in all of them.
        weights: (Q,), the weights in the languages of the sentences.
        sharpness: (Q,), what multiplies their scores.
        prototypes: what also decides; None for nothing.
        languages: (Q,), in which these decide.
    """

    usual: float
    weights: NDArray[np.float64]
    sharpness: NDArray[np.float64]
    prototypes: Prototypes | None = None
    languages: Sequence[str] = ()

    @classmethod
    def even(cls, usual: float, count: int) -> "Weighing":
        """Weigh so many sentences alike."""
        return cls(usual, np.full(count, usual), np.ones(count))

    def by_prototypes(self, fit: Factors, x: NDArray[Any], block: slice) -> NDArray[np.float64] | float:
        """Return what prototypes add to the scores (B, k) of a block of sentences with neutral vectors (B, d)."""
        if self.prototypes is None:
            return 0.0
        return self.prototypes.log_densities(fit.space.evened(x), self.languages[block])


@dataclass(frozen=True, eq=False)
class Found:
    """The answers to Q sentences before it is decided whether any intent is known; see `Answers`.

    Attributes:
        labels: (Q,).
        margins: (Q,).
        rows: (Q, n).
        cosines: (Q, n).
        confidence: (Q,), the probability of the label.
        is_one: (Q,), whether regression and kernel name one intent.
        signs: (Q, s), signs of a known intent.
        scores: (Q, k) of each intent, (Q, 0) where they are not kept.
    """

    labels: NDArray[np.int64]
    margins: NDArray[np.float32]
    rows: NDArray[np.int64]
    cosines: NDArray[np.float32]
    confidence: NDArray[np.float64]
    is_one: NDArray[np.bool_]
    signs: NDArray[np.float64]
    scores: NDArray[np.float64]


def joined(found: Sequence[Found]) -> Found:
    """Return the answers to all sentences."""
    parts = zip(*(vars(part).values() for part in found), strict=True)
    return Found(*map(np.concatenate, parts))


@dataclass(frozen=True, eq=False)
class Search:
    """Asks examples, a part of which may be hidden, by factors that are fitted on the others."""

    examples: Examples
    space: SentenceSpace  # before the variance within intents is evened out
    pool: Pool  # of the labelled sentences

    @classmethod
    def of(cls, examples: Examples, space: SentenceSpace) -> "Search":
        """Prepare to search the examples."""
        return cls(examples, space, Pool(examples.units, examples.labels))

    def ask(
        self,
        units: Units,
        k: int,
        fit: Factors,
        weighing: Weighing,
        *,
        is_hidden: NDArray[np.bool_] | None = None,
        none_keys: NDArray[np.int64] | None = None,
        keeps_scores: bool = False,
    ) -> Found:
        """Answer unit vectors (Q, d).

        Args:
            units: (Q, d).
            k: number of nearest sentences to find.
            fit: the factors.
            weighing: of the sentences.
            is_hidden: (P,) labelled sentences that are not met.
            none_keys: (M,) keys of the sentences with none of the intents, if the units are those: none meets one of
                its own key.
            keeps_scores: whether the scores of all intents are returned, too.
        """
        k = min(k, len(self.examples.units))
        found: list[Found] = []
        # By so many sentences that the rows of an intent are few products, and not one for some hundred sentences.
        for block in blocks(len(units), self.examples.dim + len(self.examples.intents)):
            x = self.space.neutral(units[block])
            factors = fit.factors(x)
            scores = weighted(factors, weighing.usual)
            lead = np.log1p(fit.leads(x, scores, weighing.usual)) if scores.shape[1] > 1 else np.zeros(len(x))
            if (weighing.weights[block] != weighing.usual).any():
                scores = weighted(factors, weighing.weights[block])
            scores = weighing.sharpness[block, None] * (scores + weighing.by_prototypes(fit, x, block))
            labels = scores.argmax(axis=1)
            confidence = np.exp(-logsumexp(scores - scores.max(axis=1, keepdims=True), axis=1))
            near = []
            for part, cosines in self.pool.parts(units[block], is_hidden):
                rows, best = cosines.nearest(k)
                near.append((rows, best, cosines.margins(labels[part], rows, best)))
            rows, best, margins = (np.concatenate(of_all) for of_all in zip(*near, strict=True))
            signs = _signs(fit, x, best[:, 0], lead)
            if len(self.examples.none):
                signs.append(self._like_none(units[block], none_keys, block))
            absent = np.isneginf(best)
            rows[absent], best[absent] = -1, np.nan
            rows = np.where(rows < 0, -1, self.examples.order[rows])
            kept = scores if keeps_scores else scores[:, :0]
            is_one = factors[0].argmax(axis=1) == factors[1].argmax(axis=1)
            told = np.stack([sign.astype(np.float64) for sign in signs], axis=1)
            found.append(Found(labels, margins, rows, np.clip(best, -1, 1), confidence, is_one, told, kept))
        return joined(found)

    def _like_none(self, units: Units, none_keys: NDArray[np.int64] | None, block: slice) -> Units:
        """Return the cosine (B,) to the nearest sentence with none of the intents, negated."""
        cosines = units @ self.examples.none.T
        if none_keys is not None:
            cosines[none_keys[block, None] == none_keys] = -1
        nearest: Units = -cosines.max(axis=1)
        return nearest

    def log_probabilities(self, units: Units, fit: Factors, weighing: Weighing) -> NDArray[np.float64]:
        """Return the log-probabilities (Q, k) of the intents of unit vectors (Q, d)."""
        parts = []
        for block in blocks(len(units), len(self.examples.units)):
            # In float64, as the kernel enlarges a rounding that depends on a sentence's neighbours.
            exact: NDArray[Any] = self.space.neutral(units[block]).astype(np.float64)
            scores = fit.scores(exact, weighing.weights[block]) + weighing.by_prototypes(fit, exact, block)
            parts.append(log_softmax(weighing.sharpness[block, None] * scores, axis=1))
        return np.concatenate(parts)


def _signs(
    fit: Factors, x: Units, nearest: NDArray[np.float32], lead: NDArray[np.float64]
) -> list[NDArray[np.floating]]:
    """Return signs of a known intent, (B,) each.

    They are the nearest cosine, the highest logit of the regression without names, how far that of the regression with
    names is above the mean, and the lead of the most probable intent.
    """
    logits = fit.regression.logits(x)[:, np.isfinite(fit.regression.bias)]
    return [nearest, fit.bare.logits(x).max(axis=1), logits.max(axis=1) - logits.mean(axis=1), lead]
