"""The guard of prediction: sentences predicted from the labelled ones, by two encoders."""

import numpy as np
import pandas as pd
import pytest

from emu_core.data.sets import LabelledSet
from emu_core.evaluation.guard import Verdict
from emu_core.evaluation.prediction import predicted, prediction_metrics
from emu_core.evaluation.vector_classifier import Rule

INTENTS, EACH = ("a", "b", "c"), 24


def labelled(split: str, seed: int, ids: str = "") -> tuple[LabelledSet, np.ndarray]:
    """Sentences of three intents in two languages, round the axes of three directions."""
    rng = np.random.default_rng(seed)
    rows = [(intent, ("en", "de")[n % 2], f"{split} {intent} {n}") for intent in INTENTS for n in range(EACH)]
    frame = pd.DataFrame(rows, columns=["intent", "language", "text"]).assign(split=split, annotated="")
    frame["id"] = [f"{ids}{row}" if ids else "" for row in range(len(frame))]
    axes = np.eye(6)[np.repeat(range(3), EACH)]
    vectors = axes + 0.3 * rng.standard_normal((len(frame), 6))
    columns = ["id", "text", "intent", "language", "split", "annotated"]
    return LabelledSet(frame[columns].astype("str"), "set"), vectors.astype(np.float32)


def test_what_is_predicted_from_the_pool_is_compared_by_language() -> None:
    pool, pool_vectors = labelled("train", 0)
    queries, vectors = labelled("test", 1)
    base = predicted(pool, queries, pool_vectors, vectors)
    assert base is not None and {code: len(right) for code, right in base.right.items()} == {
        "en": 36,
        "de": 36,
    }
    german = (queries.frame["language"] == "de").to_numpy()
    worse = vectors.copy()
    worse[german] = np.roll(vectors[german], 1, axis=1)  # the next intent's axis
    metrics = prediction_metrics(base, predicted(pool, queries, pool_vectors, worse, is_learnt=True))
    assert metrics is not None and metrics.pool == len(pool)
    assert metrics.specialised_rule == Rule.NEIGHBOURS, "nothing of it can be held out"
    assert metrics.base["en"] > 90 and metrics.specialised["de"] < 20
    assert metrics.guard["de"].verdict is Verdict.LOSES and metrics.guard["en"].queries == 36
    difference = metrics.specialised["en"] - metrics.base["en"]
    assert metrics.guard["en"].difference == pytest.approx(difference)


def test_a_sentence_whose_translation_is_labelled_is_not_asked() -> None:
    pool, pool_vectors = labelled("train", 0, ids="s")
    queries, vectors = labelled("test", 1, ids="s")
    assert predicted(pool, queries, pool_vectors, vectors) is None and prediction_metrics(None, None) is None
    frame = queries.frame.assign(id=["s0", *["new"] * 70, ""])
    some = predicted(pool, LabelledSet(frame, "some"), pool_vectors, vectors)
    assert some is not None and sum(map(len, some.right.values())) == 71


def test_an_intent_without_labels_is_not_asked() -> None:
    pool, pool_vectors = labelled("train", 0)
    queries, vectors = labelled("test", 1)
    strange = LabelledSet(queries.frame.assign(intent=["new"] * 30 + ["b"] * 42), "x")
    some = predicted(pool, strange, pool_vectors, vectors)
    assert some is not None and sum(map(len, some.right.values())) == 42
