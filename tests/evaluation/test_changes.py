"""What changed against plain arithmetic, the paired interval it generalises, and samples of known truth."""

import math
from dataclasses import asdict, replace

import msgspec
import numpy as np
import pytest

from emu_core.errors import DataError
from emu_core.evaluation.changes import (
    PairedChange,
    Verdict,
    cross_validation,
    language_change,
    new_intent_change,
    paired_change,
    similar_changes,
)
from emu_core.evaluation.leave_one_out import leave_one_out, pool_accuracy
from emu_core.evaluation.significance import paired_test
from tests.support.sentences import random_sentences

T_975_DF_5 = 2.570582  # from a printed table of Student's t


def bools(*rows: str) -> list[np.ndarray]:
    return [np.array([mark == "+" for mark in row]) for row in rows]


def test_the_interval_is_plain_arithmetic_over_sentences() -> None:
    # Per query, over two pools: +1, 0, -1/2, 0; then one gained and one lost query.
    change = language_change(bools("--++", "-+-+"), bools("++-+", "+--+"))
    values = [100.0, 0.0, -50.0, 0.0]
    assert change.difference == sum(values) / 4
    widened = [*values, 100.0, -100.0]
    mean = sum(widened) / 6
    sd = math.sqrt(sum((v - mean) ** 2 for v in widened) / 5)
    margin = T_975_DF_5 * sd / math.sqrt(6)
    assert change.low == pytest.approx(max(-100, mean - margin), abs=1e-4)
    assert change.high == pytest.approx(min(100, mean + margin), abs=1e-4)
    assert change.queries == 4


def test_with_one_pool_and_many_queries_it_is_the_paired_tests_interval() -> None:
    rng = np.random.default_rng(0)
    base, new = rng.random(5000) < 0.6, rng.random(5000) < 0.65
    change, test = language_change([base], [new]), paired_test(base, new)
    assert change.difference == pytest.approx(test.difference)
    assert (change.low, change.high) == pytest.approx((test.low, test.high), abs=0.01)


def test_pools_are_no_further_evidence() -> None:
    base, new = bools("+-+-+-+-"), bools("-++-+--+")
    once, thrice = language_change(base, new), language_change(base * 3, new * 3)
    assert (once.low, once.high, once.queries) == (thrice.low, thrice.high, thrice.queries)


@pytest.mark.parametrize("queries", [1, 2, 20, 1000])
def test_no_change_at_all_still_has_a_width_that_shrinks(queries: int) -> None:
    right = [np.ones(queries, dtype=bool)]
    change = language_change(right, right)
    assert change.difference == 0 and change.verdict is Verdict.NOT_CLEAR
    assert change.low == -change.high < 0
    assert change.high > 100 * 2 / (queries + 2)
    lost = language_change(right, [~right[0]])
    assert lost.difference == -100 and lost.low < lost.high
    assert lost.verdict is (Verdict.WORSE if queries >= 20 else Verdict.NOT_CLEAR)


def test_the_interval_holds_what_it_promises() -> None:
    rng, inside, trials = np.random.default_rng(1), 0, 400
    for _ in range(trials):
        hard = rng.random(60)  # a query is right or wrong in all pools alike, more or less
        base = [rng.random(60) < 0.2 + 0.6 * hard for _ in range(3)]
        new = [rng.random(60) < 0.1 + 0.6 * hard for _ in range(3)]
        change = language_change(base, new)
        inside += change.low <= -10 <= change.high
    assert inside / trials > 0.93


@pytest.mark.parametrize(
    ("low", "difference", "high", "verdict"),
    [
        (0.1, 1.0, 2.0, Verdict.BETTER),
        (0.0, 1.0, 2.0, Verdict.NOT_CLEAR),
        (-1.0, 0.0, 1.0, Verdict.NOT_CLEAR),
        (-2.0, -0.1, 1.0, Verdict.NOT_CLEAR),
        (-2.0, -1.0, 0.0, Verdict.NOT_CLEAR),
        (-2.0, -1.0, -0.1, Verdict.WORSE),
    ],
)
def test_verdicts(low: float, difference: float, high: float, verdict: Verdict) -> None:
    change = PairedChange(50.0, 50.0 + difference, difference, low, high, 9)
    assert change.verdict is verdict and asdict(change)["verdict"] == verdict.value
    assert PairedChange(**change.given()) == change
    assert msgspec.convert(asdict(change) | {"verdict": "worse"}, PairedChange) == change  # it is no choice


def test_translations_are_no_further_evidence() -> None:
    base, new = np.array([True, False, True, False] * 3), np.array([False, True, True, True] * 3)
    alone = paired_change(base[:4], new[:4])
    together = paired_change(base, new, np.arange(12) % 4)
    assert (together.low, together.high, together.queries) == pytest.approx((alone.low, alone.high, 12))
    apart = paired_change(base, new)
    assert apart.high - apart.low < together.high - together.low


def test_the_interval_of_a_weighted_mean_is_plain_arithmetic_over_groups() -> None:
    base, new = np.array([0.0, 1.0, 0.0]), np.array([1.0, 1.0, 0.5])
    change = paired_change(base, new, np.array([0, 0, 1]), np.array([2.0, 1.0, 1.0]))
    assert (change.base, change.specialised, change.difference) == (25.0, 87.5, 62.5)
    # What each group adds to the mean, beyond what it would if all its sentences were like the mean.
    first = 62.5 + 2 * (0.5 * (100 - 62.5) + 0.25 * (0 - 62.5))
    second = 62.5 + 2 * 0.25 * (50 - 62.5)
    values = [first, second, 100.0, -100.0]
    mean = sum(values) / 4
    margin = 3.182446 * math.sqrt(sum((v - mean) ** 2 for v in values) / 3) / 2  # Student's t, 3 degrees
    assert (change.low, change.high) == (
        pytest.approx(max(-100, mean - margin), abs=1e-3), pytest.approx(min(100, mean + margin), abs=1e-3),
    )  # fmt: skip


@pytest.mark.parametrize("languages", [("en", "de", "ja"), ("fr", "de", "ja")])
def test_similar_sentences_are_by_language_over_the_directions_of_the_mean(
    languages: tuple[str, ...],
) -> None:
    some = random_sentences(90, languages, seed=3)
    noisy = some.vectors + np.random.default_rng(0).normal(size=some.vectors.shape)
    base, new = (leave_one_out(v, some.intents, some.languages, some.ids) for v in (some.vectors, noisy))
    groups = np.unique(some.ids, return_inverse=True)[1]
    changes = similar_changes(base, new, groups)
    assert set(changes.by_language) == set(languages)
    for source, change in changes.by_language.items():
        targets = ("en",) if "en" in languages and source != "en" else base.pools
        for side, accuracy in ((change.base, base.accuracy), (change.specialised, new.accuracy)):
            assert side == pytest.approx(np.mean([accuracy[f"{source}-{target}"] for target in targets]))
        assert change.queries == base.counts[f"{source}-{targets[0]}"]
    whole = changes.overall
    assert (whole.base, whole.specialised) == pytest.approx((base.paper_mean, new.paper_mean))
    assert whole.queries == 90 and whole.low < whole.difference < whole.high
    expected = base.mean_with("en") if "en" in languages else base.mean
    assert base.paper_mean == pytest.approx(expected)
    assert base.mean_over == (
        "5 language pairs with English on a side" if "en" in languages else "9 language pairs"
    )
    with pytest.raises(DataError, match="different sentences"):
        similar_changes(base, replace(new, correct={"en-en": next(iter(new.correct.values()))}), groups)


def test_similar_sentences_of_a_pool_are_by_query_language() -> None:
    some, pool = random_sentences(60, ["en", "de"], seed=4), random_sentences(40, ["en", "ja"], seed=5)
    results = [
        pool_accuracy(
            v, some.intents, some.languages, pool.vectors, pool.intents, pool.languages
        )
        for v in (some.vectors, -some.vectors)
    ]  # fmt: skip
    changes = similar_changes(*results, np.arange(60)).by_language
    for language, change in changes.items():
        assert change.difference == pytest.approx(
            results[1].by_language[language] - results[0].by_language[language]
        )
    assert any(change.difference for change in changes.values())


def test_different_queries_are_refused() -> None:
    with pytest.raises(DataError, match="measure both on the same"):
        language_change(bools("+-"), bools("+-+"))
    with pytest.raises(DataError, match="measure both on the same"):
        language_change([], [])


def test_sentences_of_intents_that_were_left_out_are_asked_once_a_division() -> None:
    """Against the same halves, one query at a time; the method flips the first number of each vector."""
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(30, 4))
    intents = [f"i{n % 5}" for n in range(30)]
    languages = ["en"] * 20 + ["de"] * 10
    ids = ["same", "same", *[""] * 28]
    learnt_from = []

    def refit(rows: np.ndarray) -> object:
        learnt_from.append({intents[row] for row in rows})
        return lambda asked: asked * np.array([-1, 0.1, 3, 1])

    found = new_intent_change(vectors, intents, languages, ids, refit)  # type: ignore[arg-type]
    assert found is not None and found.divisions == 2 and len(learnt_from) == 4
    for one, other in (learnt_from[:2], learnt_from[2:]):
        assert one | other == set(intents) and not one & other
    right = {"base": np.zeros((2, 30)), "specialised": np.zeros((2, 30))}
    for name, space in (("base", vectors), ("specialised", vectors * np.array([-1, 0.1, 3, 1]))):
        for division in range(2):
            for known in learnt_from[2 * division : 2 * division + 2]:
                for row in range(30):
                    if intents[row] in known:
                        continue
                    pool = [
                        other
                        for other in range(30)
                        if other != row
                        and intents[other] not in known
                        and languages[other] == languages[row]
                        and not (ids[other] and ids[other] == ids[row])
                    ]
                    cosines = [
                        space[row] @ space[other] / np.linalg.norm(space[row]) / np.linalg.norm(space[other])
                        for other in pool
                    ]
                    right[name][division, row] = intents[pool[int(np.argmax(cosines))]] == intents[row]
    assert found.base == pytest.approx(100 * right["base"].mean())
    assert found.specialised == pytest.approx(100 * right["specialised"].mean())
    change = language_change(list(right["base"]), list(right["specialised"]))
    assert {name: getattr(found, name) for name in asdict(change)} == asdict(change)


def test_new_intents_take_four_of_them_and_may_be_drawn() -> None:
    def refit(rows: np.ndarray) -> object:
        return lambda asked: asked

    vectors = np.random.default_rng(0).normal(size=(40, 3))
    three = [f"i{n % 3}" for n in range(40)]
    assert new_intent_change(vectors, three, ["en"] * 40, [""] * 40, refit) is None  # type: ignore[arg-type]
    four = [f"i{n % 4}" for n in range(40)]
    found = new_intent_change(vectors, four, ["en"] * 40, [""] * 40, refit, most_rows=24)  # type: ignore[arg-type]
    assert found is not None and found.queries == 24 and found.difference == 0


def test_cross_validation_asks_each_sentence_once_of_those_that_were_fitted_on() -> None:
    """Against the same folds, one query at a time; the method flips the first number of each vector."""
    rng = np.random.default_rng(4)
    vectors = rng.normal(size=(40, 4))
    intents = [f"i{n % 4}" for n in range(40)]
    languages = ["en", "en", "en", "de"] * 10
    ids = [f"id{n // 2}" if n < 20 else "" for n in range(40)]
    folds = []

    def refit(rows: np.ndarray) -> object:
        folds.append(set(rows.tolist()))
        return lambda asked: asked * np.array([-1, 0.1, 3, 1])

    found = cross_validation(vectors, intents, languages, ids, refit)  # type: ignore[arg-type]
    assert found is not None and found.divisions == 5 and found.queries == 40
    left_out = [set(range(40)) - known for known in folds]
    assert sorted(row for fold in left_out for row in fold) == list(range(40))
    for known, others in zip(folds, left_out, strict=True):
        assert not {ids[row] for row in known} & {ids[row] for row in others} - {""}
    right = {"base": np.zeros(40), "specialised": np.zeros(40)}
    for name, space in (("base", vectors), ("specialised", vectors * np.array([-1, 0.1, 3, 1]))):
        for known, others in zip(folds, left_out, strict=True):
            for row in others:
                pool = sorted(other for other in known if languages[other] == languages[row])
                cosines = [
                    space[row] @ space[other] / np.linalg.norm(space[row]) / np.linalg.norm(space[other])
                    for other in pool
                ]
                right[name][row] = intents[pool[int(np.argmax(cosines))]] == intents[row]
    assert found.base == pytest.approx(100 * right["base"].mean())
    assert found.specialised == pytest.approx(100 * right["specialised"].mean())
    change = asdict(language_change([right["base"]], [right["specialised"]]))
    assert {name: getattr(found, name) for name in change} == change


def test_cross_validation_takes_an_intent_with_a_sentence_a_fold_and_may_be_drawn() -> None:
    vectors = np.random.default_rng(0).normal(size=(16, 3))

    def refit(rows: np.ndarray) -> object:
        return lambda asked: asked

    four = [f"i{n % 4}" for n in range(16)]
    assert cross_validation(vectors, four, ["en"] * 16, [""] * 16, refit) is None  # type: ignore[arg-type]
    two = [f"i{n % 2}" for n in range(16)]
    found = cross_validation(vectors, two, ["en"] * 16, [""] * 16, refit, most_rows=9)  # type: ignore[arg-type]
    assert found is not None and found.queries == 9 and found.difference == 0
