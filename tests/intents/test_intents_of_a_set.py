"""The intent model of a labelled set, and how many intents of held-out sentences two models name right."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from emu_core.data.demo import reference_texts
from emu_core.data.languages import UNDETERMINED
from emu_core.data.sets import LABELLED_COLUMNS, LabelledSet
from emu_core.evaluation.changes import Verdict
from emu_core.evaluation.prediction import BeforeAndAfter, Predicted, Share, right_intents
from emu_core.intents import labelled as intents_of
from emu_core.intents.factors import Rule
from emu_core.intents.labelled import drawn, fit_intents, measure_all, predicted
from emu_core.intents.model import LEAST_ASKED, IntentModel
from emu_core.intents.names import SENTENCE

INTENTS, EACH = ("a", "b", "c"), 24
Floats = NDArray[np.float32]


def labelled(split: str, seed: int, ids: str = "", each: int = EACH) -> tuple[LabelledSet, Floats]:
    """Sentences of three intents in two languages, round the axes of three directions."""
    rng = np.random.default_rng(seed)
    rows = [(intent, ("en", "de")[n % 2], f"{split} {intent} {n}") for intent in INTENTS for n in range(each)]
    frame = pd.DataFrame(rows, columns=["intent", "language", "text"]).assign(split=split, annotated="")
    frame["id"] = [f"{ids}{row}" if ids else "" for row in range(len(frame))]
    axes = np.eye(6)[np.repeat(range(3), each)]
    vectors = axes + 0.3 * rng.standard_normal((len(frame), 6))
    columns = ["id", "text", "intent", "language", "split", "annotated"]
    return LabelledSet(frame[columns].astype("str"), "set"), vectors.astype(np.float32)


class Encoded:
    """An encoder that knows the vectors of some texts; all others are drawn, and the same each time."""

    def __init__(self, texts: Sequence[str] = (), vectors: Floats | None = None) -> None:
        self.known = {} if vectors is None else dict(zip(texts, vectors, strict=True))
        self.asked: list[str] = []

    def __call__(self, texts: Sequence[str]) -> Floats:
        self.asked += texts
        other = {text: np.random.default_rng(list(text.encode())).standard_normal(6) for text in texts}
        return np.stack([self.known.get(text, other[text]) for text in texts]).astype(np.float32)


def model_of(pool: LabelledSet, vectors: Floats) -> IntentModel:
    return fit_intents(pool, Encoded(), vectors=vectors)


def test_what_is_predicted_from_the_pool_is_compared_by_language() -> None:
    pool, pool_vectors = labelled("train", 0)
    queries, vectors = labelled("test", 1)
    model = model_of(pool, pool_vectors)
    base = predicted(pool, queries, model, vectors)
    assert base is not None and base.pool == len(pool) and base.rule == model.rule_ == Rule.BOTH
    assert sorted(base.languages) == ["de"] * 36 + ["en"] * 36 and len(base.right) == 72
    german = (queries.frame["language"] == "de").to_numpy()
    worse = vectors.copy()
    worse[german] = np.roll(vectors[german], 1, axis=1)  # the next intent's axis
    metrics = right_intents(base, predicted(pool, queries, model, worse))
    assert metrics is not None and metrics.pool == len(pool)
    english, germans = (metrics.by_language[code] for code in ("en", "de"))
    assert english.base > 90 and germans.specialised < 20
    assert germans.verdict is Verdict.WORSE and english.queries == 36
    assert english.difference == 0 and english.verdict is Verdict.NOT_CLEAR
    overall = metrics.overall
    assert overall.specialised == pytest.approx((english.specialised + germans.specialised) / 2)
    assert overall.queries == 72 and overall.difference == pytest.approx(germans.difference / 2)


def some_answers(languages: str, right: str, groups: Sequence[int], **changes: Any) -> Predicted:
    """Answers to sentences, each with a letter for its language and a sign for a right answer."""
    is_right = np.array([mark in "+r" for mark in right])
    is_known = np.array([mark not in "ru" for mark in right])  # r is right, and rejected
    return Predicted(
        9, "both", tuple(languages), np.array(groups), is_right, is_known,
        changes.get("unknown", Share(0, 0)), changes.get("left_out"),
    )  # fmt: skip


def test_each_language_counts_once_or_of_few_sentences_each_sentence() -> None:
    few = [some_answers("aaaabb", right, range(6)) for right in ("+---+-", "++--++")]
    counted = right_intents(*few)
    assert counted is not None
    assert (counted.overall.base, counted.overall.specialised) == pytest.approx((100 / 3, 200 / 3))
    many = [some_answers(20 * "aaaabb", 20 * right, range(120)) for right in ("+---+-", "++--++")]
    mean = right_intents(*many)
    assert mean is not None and (mean.overall.base, mean.overall.specialised) == pytest.approx((37.5, 75.0))


def test_translations_are_one_sentence() -> None:
    numbers = [0, 1, 2, 3, 0, 1]
    before, after = some_answers("aaaabb", "+---+-", numbers), some_answers("aaaabb", "++--++", numbers)
    measured = right_intents(before, after)
    assert measured is not None
    apart = right_intents(
        some_answers("aaaabb", "+---+-", range(6)), some_answers("aaaabb", "++--++", range(6))
    )
    assert apart is not None and apart.overall.difference == measured.overall.difference
    assert apart.overall.low != measured.overall.low


def test_rejections_and_unknown_intents_are_counted() -> None:
    before = some_answers("aaaa", "+r-u", range(4), unknown=Share(3, 5), left_out=Share(9, 90))
    after = some_answers("aaaa", "++ru", range(4), unknown=Share(2, 5), left_out=Share(8, 90))
    measured = right_intents(before, after)
    assert measured is not None and not measured.are_left_out
    assert measured.rejected == BeforeAndAfter(Share(1, 2), Share(1, 3))
    assert measured.unknown == BeforeAndAfter(Share(3, 5), Share(2, 5))
    none = Share(0, 0)
    of_left_out = right_intents(replace(before, unknown=none), replace(after, unknown=none))
    assert of_left_out is not None and of_left_out.are_left_out
    assert of_left_out.unknown == BeforeAndAfter(Share(9, 90), Share(8, 90))
    nothing = right_intents(
        replace(before, unknown=none, left_out=None), replace(after, unknown=none, left_out=None)
    )
    assert nothing is not None and nothing.unknown is None and not nothing.are_left_out


def test_the_most_probable_intent_counts_whatever_the_threshold_says() -> None:
    pool, pool_vectors = labelled("train", 0)
    queries, vectors = labelled("test", 1)
    strict = fit_intents(pool, Encoded(), vectors=pool_vectors, threshold=1.0)
    assert not strict.predict(vectors, 1).is_known.any()
    some = predicted(pool, queries, strict, vectors)
    assert some is not None and some.right.mean() > 0.9 and not some.is_known.any()
    assert some.rejected == Share(int(some.right.sum()), int(some.right.sum()))


def test_a_sentence_whose_translation_is_labelled_is_not_asked() -> None:
    pool, pool_vectors = labelled("train", 0, ids="s")
    queries, vectors = labelled("test", 1, ids="s")
    model = model_of(pool, pool_vectors)
    assert predicted(pool, queries, model, vectors) is None and right_intents(None, None) is None
    frame = queries.frame.assign(id=["s0", *["new"] * 70, ""])
    some = predicted(pool, LabelledSet(frame, "some"), model, vectors)
    assert some is not None and len(some.right) == 71


def test_an_intent_without_labels_is_not_asked() -> None:
    pool, pool_vectors = labelled("train", 0)
    queries, vectors = labelled("test", 1)
    strange = LabelledSet(queries.frame.assign(intent=["new"] * 30 + ["b"] * 42), "x")
    model = model_of(pool, pool_vectors)
    some = predicted(pool, strange, model, vectors)
    assert some is not None and len(some.right) == 42
    is_known = model.predict(vectors[:30], 1).is_known
    assert some.unknown == Share(int((~is_known).sum()), 30)
    assert predicted(pool, strange, model, vectors, ["c"]) is None


def test_the_vectors_of_sentences_and_names_are_encoded_where_they_are_not_known() -> None:
    pool, vectors = labelled("train", 0)
    pool = LabelledSet(
        pool.frame.replace({"intent": {"a": "bookFlight", "b": "lost_luggage", "c": "17"}}), "x"
    )
    encode = Encoded(pool.frame["text"], vectors)
    pool = pool.described({"lost_luggage": "My bag is gone", "new": "A new one"})
    model = fit_intents(pool, encode)
    assert encode.asked[: len(pool)] == pool.frame["text"].tolist()
    of_names = ["book flight", "My bag is gone", "A new one", "This sentence is about book flight"]
    assert encode.asked[len(pool) : len(pool) + 4] == of_names
    assert set(model.intents_) == {"bookFlight", "lost_luggage", "17", "new"}
    given = Encoded(pool.frame["text"], vectors)
    same = fit_intents(pool, given, vectors=vectors)
    assert not set(given.asked) & set(pool.frame["text"])
    np.testing.assert_array_equal(same.probabilities(vectors), model.probabilities(vectors))


def test_parallel_sentences_are_those_of_languages_that_the_encoder_knows() -> None:
    pool, vectors = labelled("train", 0)
    parallel = reference_texts()
    for languages in ((), ("de", "fr", "xx")):
        encode = Encoded()
        fit_intents(pool, encode, vectors=vectors, languages=languages)
        expected = [
            text
            for code, texts in parallel.items()
            if not languages or code in languages
            for text in texts[::3]
        ]
        names = {*INTENTS, *map(SENTENCE.format, INTENTS)}
        assert [text for text in encode.asked if text not in names] == expected and expected


def test_only_the_languages_that_are_known_are_calibrated() -> None:
    pool, vectors = labelled("train", 0, each=150)
    frame = pool.frame.assign(language=np.resize(["en", UNDETERMINED], len(pool))).astype("str")
    assert model_of(LabelledSet(frame, "many"), vectors).languages_ == ("en",)


def test_translations_and_repeats_are_held_out_together() -> None:
    """Each sentence is there three times, and its intent is random: without it, none can be known."""
    rng = np.random.default_rng(0)
    vectors = np.repeat(rng.standard_normal((60, 6)), 3, axis=0).astype(np.float32)
    intents = np.repeat(rng.choice(INTENTS, 60), 3)
    rows = {"text": [f"t{row // 3}" for row in range(180)], "intent": intents, "language": "en", "id": ""}
    frame = pd.DataFrame(rows).assign(split="train", annotated="").astype("str")[list(LABELLED_COLUMNS)]
    alone = LabelledSet(frame.assign(text=[f"t{row}" for row in range(180)]), "x")
    accuracy = [model_of(given, vectors).accuracy_ for given in (alone, LabelledSet(frame, "x"))]
    assert accuracy[0] is not None and accuracy[1] is not None
    assert accuracy[0] > 80 and accuracy[1] < 60


def test_sentences_with_none_of_the_intents_are_encoded_and_stay_with_their_translations() -> None:
    pool, vectors = labelled("train", 0, each=150)
    rng = np.random.default_rng(5)
    strange = pd.DataFrame({"text": [f"what {n}" for n in range(60)], "language": "en", "intent": "oos"})
    strange = strange.assign(id=[f"n{n // 2}" for n in range(60)], split="train", annotated="").astype("str")
    none_vectors = np.repeat(rng.standard_normal((30, 6)), 2, axis=0).astype(np.float32)
    encode = Encoded(strange["text"], none_vectors)
    both = LabelledSet(pool.frame, "x", strange[pool.frame.columns])
    together = fit_intents(both, encode, vectors=vectors)
    assert set(strange["text"]) <= set(encode.asked) and together.none_found_ is not None
    apart = LabelledSet(pool.frame, "x", strange[pool.frame.columns].assign(id=""))
    found = fit_intents(apart, Encoded(), vectors=vectors, none_vectors=none_vectors).none_found_
    assert found is not None and together.none_found_ < found


def test_a_large_set_is_drawn_with_each_intents_share(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, _ = labelled("train", 0)
    assert drawn(pool).frame.equals(pool.frame)
    empty = LabelledSet(pool.frame.iloc[:0], "x")
    assert len(drawn(empty)) == 0
    sampled = intents_of.sampled_rows
    monkeypatch.setattr(intents_of, "sampled_rows", lambda labels: sampled(labels, 30))
    some = drawn(pool)
    assert some.frame["intent"].value_counts().to_dict() == dict.fromkeys(INTENTS, 10)
    assert set(some.frame["text"]) < set(pool.frame["text"]) and some.frame.index.tolist() == list(range(30))


def test_an_encoder_is_measured_by_its_own_vectors_and_predicts_by_those_without_its_head() -> None:
    pool, pool_vectors = labelled("train", 0)
    queries, vectors = labelled("test", 1)
    model, moved = model_of(pool, pool_vectors), np.roll(vectors, 1, axis=0)
    found = measure_all(queries, pool, moved, model, vectors)
    np.testing.assert_array_equal(found.vectors, moved)
    expected = predicted(pool, queries, model, vectors)
    assert found.predicted is not None and expected is not None
    np.testing.assert_array_equal(found.predicted.right, expected.right)
    assert measure_all(queries, pool, moved, None, vectors).predicted is None


def test_a_small_set_has_a_model_without_calibration() -> None:
    pool, vectors = labelled("train", 0)
    rows = np.arange(LEAST_ASKED - 1)
    few = model_of(LabelledSet(pool.frame.iloc[rows].reset_index(drop=True), "few"), vectors[rows])
    assert few.accuracy_ is None and few.shape == (29, 6)
