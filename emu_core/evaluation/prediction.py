"""Whether predictions from labelled sentences gain or lose by another encoder: the guard of prediction."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.data.repeats import sentence_groups
from emu_core.data.sets import LabelledSet
from emu_core.evaluation.arrays import Vectors, rows_by_language
from emu_core.evaluation.guard import LanguageChange, language_change
from emu_core.evaluation.vector_classifier import VectorClassifier


@dataclass(frozen=True)
class PredictionMetrics:
    """Predictions of held-out sentences from the labelled ones, by the base encoder and by the specialised one.

    Attributes:
        pool: the number of labelled sentences.
        base_rule: what decides with the base encoder, a value of `emu_core.evaluation.vector_classifier.Rule`.
        specialised_rule: what decides with the specialised one.
        base: percent of right predictions by the base encoder in each language.
        specialised: that by the specialised one.
        guard: the gain or loss in each language.
    """

    pool: int
    base_rule: str
    specialised_rule: str
    base: Mapping[str, float]
    specialised: Mapping[str, float]
    guard: Mapping[str, LanguageChange]


@dataclass(frozen=True, eq=False)
class Predicted:
    """The right predictions of an encoder, by query language, and what decided on them."""

    pool: int
    rule: str
    right: Mapping[str, NDArray[np.bool_]]


def predicted(
    pool: LabelledSet,
    queries: LabelledSet,
    pool_vectors: Vectors,
    query_vectors: Vectors,
    *,
    is_learnt: bool = False,
) -> Predicted | None:
    """Predict sentences from labelled ones, as `emu predict` does, and see which predictions are right.

    Sentences of which the pool has a repeat or a translation are not asked, nor those of an intent that it lacks.

    Args:
        pool: P labelled sentences.
        queries: Q sentences with their intents.
        pool_vectors: (P, d).
        query_vectors: (Q, d).
        is_learnt: whether the encoder has learnt the pool's labels, so that none of it can be held out to choose what
            decides.

    Returns:
        None if no sentence can be asked.
    """
    groups = sentence_groups(pd.concat([pool.frame, queries.frame], ignore_index=True))
    of_pool, of_queries = groups[: len(pool)], groups[len(pool) :]
    labelled, intents = set(of_pool) - {""}, pool.frame["intent"].tolist()
    is_new = np.array([group not in labelled for group in of_queries], dtype=bool)
    is_asked = is_new & queries.frame["intent"].isin(intents).to_numpy()
    if not is_asked.any():
        return None
    fitted = VectorClassifier().fit(
        pool_vectors, intents, of_pool, asked=np.arange(0) if is_learnt else None, threshold=-1
    )
    labels = fitted.predict(query_vectors[is_asked], 1).labels
    asked = queries.frame[is_asked]
    right = np.array(fitted.intents_, dtype=object)[labels] == asked["intent"].to_numpy()
    by_language = rows_by_language(asked["language"].tolist(), len(asked))
    return Predicted(len(pool), fitted.rule_.value, {code: right[rows] for code, rows in by_language.items()})


def prediction_metrics(base: Predicted | None, specialised: Predicted | None) -> PredictionMetrics | None:
    """Return the gain or loss of the predictions; None if nothing was predicted."""
    if base is None or specialised is None:
        return None
    before, after = (
        {code: 100 * float(right.mean()) for code, right in side.right.items()}
        for side in (base, specialised)
    )
    changes = {
        code: language_change([right], [specialised.right[code]]) for code, right in base.right.items()
    }
    return PredictionMetrics(base.pool, base.rule, specialised.rule, before, after, changes)
