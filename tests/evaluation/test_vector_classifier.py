"""The classifier of a labelled pool: neighbours by plain loops, what it chooses, and its thresholds."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from emu_core.errors import DataError
from emu_core.evaluation import retrieval, vector_classifier
from emu_core.evaluation.vector_classifier import KERNEL_TEMPERATURE, VOTES, Rule, VectorClassifier
from tests.support.sentences import Sentences, cosine, random_sentences

Floats = NDArray[np.float32]


def plain_answer(query: Floats, data: Sentences, votes: int) -> tuple[str, float, list[tuple[float, int]]]:
    """The elected intent, its margin, and (cosine, row) of the pool, the nearest first."""
    near = sorted(
        ((cosine(query, row), n) for n, row in enumerate(data.vectors)), key=lambda x: (-x[0], x[1])
    )
    totals: dict[str, float] = {}
    for value, row in near[:votes]:
        totals[data.intents[row]] = totals.get(data.intents[row], 0.0) + max(0.0, value)
    elected = max(totals, key=lambda intent: totals[intent])
    own = max(value for value, row in near if data.intents[row] == elected)
    others = [value for value, row in near if data.intents[row] != elected]
    return elected, own - max(others) if others else math.nan, near


@pytest.fixture(scope="module")
def data() -> Sentences:
    return random_sentences(90, ("fr", "en", "zh-tw"), seed=1)


@pytest.mark.parametrize("block", [7, 2**22])
@pytest.mark.parametrize("votes", VOTES)
def test_votes_margins_and_neighbours_are_those_of_plain_loops(
    block: int, votes: int, data: Sentences, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrieval, "BLOCK", block)  # 7: one query at a time
    fitted = VectorClassifier().fit(data.vectors, data.intents, data.ids)
    fitted.rule_, fitted.votes_ = Rule.NEIGHBOURS, votes  # whatever was chosen
    queries = np.random.default_rng(5).standard_normal((20, data.vectors.shape[1])).astype(np.float32)
    answers = fitted.predict(queries, 4)
    for query, label, margin, rows, cosines in zip(
        queries, answers.labels, answers.margins, answers.rows, answers.cosines, strict=True
    ):
        intent, gap, near = plain_answer(query, data, votes)
        assert fitted.intents_[label] == intent
        assert margin == pytest.approx(gap, abs=1e-5)
        assert rows.tolist() == [row for _, row in near[:4]]
        assert cosines == pytest.approx([value for value, _ in near[:4]], abs=1e-5)


def test_the_product_is_that_of_probabilities_and_a_kernel_density(data: Sentences) -> None:
    fitted = VectorClassifier().fit(data.vectors, data.intents, data.ids)
    fitted.rule_ = Rule.BOTH
    queries = np.random.default_rng(5).standard_normal((20, data.vectors.shape[1])).astype(np.float32)
    labels = fitted.predict(queries, 1).labels
    assert fitted._regression is not None
    for query, label in zip(queries, labels, strict=True):
        logits = fitted._regression.weight @ (query / np.linalg.norm(query)) + fitted._regression.bias
        near = plain_answer(query, data, 1)[2][:10]
        kernel = [math.exp((value - 1) / KERNEL_TEMPERATURE) for value, _ in near]
        scores = [
            math.exp(logits[n])
            * (
                kernel[-1] / 2
                + sum(k for k, (_, row) in zip(kernel, near, strict=True) if data.intents[row] == name)
            )
            for n, name in enumerate(fitted.intents_)
        ]
        assert label == int(np.argmax(scores))


def clusters(
    intents: int, each: int, spread: float, seed: int = 0, dim: int = 16
) -> tuple[Floats, list[str]]:
    """Sentences round the corners of a cube, `each` of every intent."""
    rng = np.random.default_rng(seed)
    centers = rng.choice([-1.0, 1.0], (intents, dim))
    vectors = np.repeat(centers, each, axis=0) + spread * rng.standard_normal((intents * each, dim))
    return vectors.astype(np.float32), [f"i{n // each}" for n in range(intents * each)]


def bent() -> tuple[Floats, list[str]]:
    """Two intents of many small clusters on a circle that alternate, which no line divides."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 400)
    kind = (angle // (np.pi / 6)).astype(int) % 2
    return np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32), [f"i{n}" for n in kind]


def noisy() -> tuple[Floats, list[str]]:
    """Two intents that differ in one of many directions, in which all are noise: a neighbour is of either."""
    rng = np.random.default_rng(0)
    vectors, kind = 3 * rng.standard_normal((400, 16)), rng.integers(0, 2, 400)
    vectors[:, 0] = vectors[:, 0] / 10 + np.where(kind, 1.0, -1.0)
    return vectors.astype(np.float32), [f"i{n}" for n in kind]


def test_the_pool_chooses_what_predicts_its_held_out_sentences() -> None:
    chosen = {}
    for name, (vectors, intents) in (("bent", bent()), ("noisy", noisy())):
        fitted = VectorClassifier().fit(vectors, intents, [""] * len(intents))
        chosen[name] = fitted.rule_
        assert fitted.accuracy_ is not None and fitted.accuracy_ > 80
    assert chosen["noisy"] is Rule.REGRESSION and chosen["bent"] is not Rule.REGRESSION


def test_translations_are_held_out_together() -> None:
    """Twins of one vector, of random intents: without the ids, each is the other's answer."""
    rng = np.random.default_rng(0)
    vectors = np.repeat(rng.standard_normal((120, 32)), 2, axis=0).astype(np.float32)
    intents = np.repeat(rng.integers(0, 4, 120), 2).astype(str).tolist()
    twins = [str(row // 2) for row in range(240)]
    apart, together = (VectorClassifier().fit(vectors, intents, ids) for ids in ([""] * 240, twins))
    assert apart.accuracy_ is not None and together.accuracy_ is not None
    assert apart.accuracy_ > 60 and together.accuracy_ < 45


def test_only_rows_that_may_be_asked_are_asked(data: Sentences) -> None:
    few = VectorClassifier().fit(data.vectors, data.intents, data.ids, asked=np.arange(3))
    assert (few.accuracy_, few.threshold_, few.has_confidence, few.votes_) == (None, None, False, 3)
    answers = few.predict(data.vectors[:2], 1)
    assert np.isnan(answers.confidence).all() and answers.is_known.all()


def test_a_pool_of_one_intent_or_of_one_sentence_answers(data: Sentences) -> None:
    one = VectorClassifier().fit(data.vectors, ["only"] * 90, data.ids)
    answers = one.predict(data.vectors[:3], 2)
    assert np.isnan(answers.margins).all() and not one.has_confidence and one.accuracy_ == 100
    single = VectorClassifier().fit(data.vectors[:1], ["only"], ["1"]).predict(data.vectors[:3], 5)
    assert single.rows.tolist() == [[0]] * 3
    with pytest.raises(DataError, match="ask for 1 or more"):
        one.predict(data.vectors[:3], 0)


def test_the_threshold_keeps_what_it_promises_and_finds_new_intents() -> None:
    vectors, intents = clusters(24, 60, 0.9, dim=24)
    names = np.array(intents)
    is_pool = np.random.default_rng(1).random(len(names)) < 0.5
    is_new = np.isin(names, ["i0", "i1", "i2", "i3"])
    pool = is_pool & ~is_new
    fitted = VectorClassifier().fit(vectors[pool], names[pool].tolist(), [""] * int(pool.sum()))
    assert not fitted.by_cosine_ and fitted.threshold_ is not None and 0 < fitted.threshold_ < 1
    old, new = (fitted.predict(vectors[~is_pool & which], 1) for which in (~is_new, is_new))
    right = np.array(fitted.intents_)[old.labels] == names[~is_pool & ~is_new]
    rejected = 100 * (~old.is_known[right]).mean()
    found = 100 * (~new.is_known).mean()
    assert rejected <= 5 and fitted.new_found_ is not None
    assert found > 50 and abs(found - fitted.new_found_) < 20


def test_sentences_with_none_of_the_intents_teach_where_they_end() -> None:
    """They lie beside one intent, which no intent that is left out shows."""
    vectors, intents = clusters(12, 40, 0.5, dim=24)
    beside = vectors[:40].mean(axis=0) + 0.3 * vectors[40:80].mean(axis=0)
    strange = beside + 0.4 * np.random.default_rng(2).standard_normal((240, 24))
    known, asked = strange[:120].astype(np.float32), strange[120:].astype(np.float32)
    bare, taught = (
        VectorClassifier().fit(vectors, intents, [""] * len(intents), none=none) for none in (None, known)
    )
    assert bare.none_found_ is None and taught.none_found_ is not None
    found_bare, found = (100 * (~fitted.predict(asked, 1).is_known).mean() for fitted in (bare, taught))
    assert found > found_bare and abs(found - taught.none_found_) < 15


def test_a_sentence_of_none_does_not_answer_for_its_translation() -> None:
    vectors, intents = clusters(8, 40, 0.6)
    strange = np.random.default_rng(3).standard_normal((60, 16))
    twice = np.repeat(strange, 2, axis=0)
    ids = [str(row // 2) for row in range(120)]
    apart, together = (
        VectorClassifier().fit(vectors, intents, [""] * len(intents), none=twice, none_ids=of).none_found_
        for of in ([""] * 120, ids)
    )
    assert apart is not None and together is not None and together < apart


def test_a_threshold_that_is_given_is_a_cosine(data: Sentences) -> None:
    fitted = VectorClassifier().fit(data.vectors, data.intents, data.ids, threshold=0.9)
    answers = fitted.predict(data.vectors + 0.3, 1)
    assert fitted.by_cosine_ and fitted.threshold_ == 0.9 and fitted.new_found_ is not None
    assert answers.is_known.tolist() == (answers.cosines[:, 0] >= 0.9).tolist()


def test_a_language_is_calibrated_by_itself_where_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_classifier, "LEAST_OF_LANGUAGE", 80)
    vectors, intents = clusters(6, 60, 0.5)
    languages = np.resize(["en", "en", "de"], len(intents))
    vectors[languages == "de"] += np.random.default_rng(0).standard_normal((120, 16)) * 1.5  # farther apart
    languages[:3] = "fr"
    fitted = VectorClassifier().fit(vectors, intents, [""] * len(intents), languages=languages.tolist())
    assert fitted.languages_ == ("de", "en")
    thresholds = {code: fitted._calibrations[code].threshold for code in ("de", "en", "")}
    assert thresholds["de"] < thresholds[""] < thresholds["en"]  # type: ignore[operator]
    rows = vectors[languages == "de"] + np.random.default_rng(1).standard_normal((119, 16)).astype(np.float32)
    known = {
        code: fitted.predict(rows, 1, [code] * len(rows)).is_known.sum() for code in ("de", "en", "fr", "")
    }
    assert known["de"] >= known[""] > known["en"] and known["fr"] == known[""]


def test_a_larger_pool_is_asked_in_a_sample(data: Sentences, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_classifier, "MOST_ASKED", 40)
    fitted = VectorClassifier().fit(data.vectors, data.intents, data.ids)
    assert fitted.accuracy_ is not None
    assert (fitted.accuracy_ / 100 * 40) == pytest.approx(round(fitted.accuracy_ / 100 * 40))


def test_many_intents_are_told_apart_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    from emu_core.evaluation import intent_regression

    monkeypatch.setattr(intent_regression, "MANY", 5)
    monkeypatch.setattr(intent_regression, "GROUP", 4)
    vectors, intents = clusters(12, 30, 0.3, dim=24)
    fitted = VectorClassifier().fit(vectors, intents, [""] * len(intents))
    fitted.rule_ = Rule.REGRESSION
    labels = fitted.predict(vectors, 1).labels
    assert (np.array(fitted.intents_)[labels] == np.array(intents)).mean() > 0.95
