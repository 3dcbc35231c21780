"""Joined encoders in languages that one of them never learnt."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from emu_core.intents.completion import PENALTY, Completion, completed
from emu_core.intents.model import IntentModel

E, F, Z = 6, 10, 5  # columns of the part, of the other one, and of what sentences are about
KNOWN = (("en", "de"), ("en", "de", "cs", "nb"))
Floats = NDArray[np.float32]


def unit(x: NDArray[Any]) -> NDArray[Any]:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def said(about: NDArray[Any], seed: int, *, reads: float = 1.0) -> Floats:
    """Joined vectors of sentences about something; the first part reads a share of it, and else says anything."""
    rng, maps = np.random.default_rng(seed), np.random.default_rng(99)
    of_part, of_other = maps.standard_normal((Z, E)), maps.standard_normal((Z, F))
    y = unit(reads * about @ of_part + (1.2 - reads) * rng.standard_normal((len(about), E)) + 0.3)
    x = unit(about @ of_other + 0.2 * rng.standard_normal((len(about), F)) + 0.3)
    return np.concatenate([np.sqrt(0.3) * y, np.sqrt(0.7) * x], axis=1).astype(np.float32)


def about(count: int, seed: int) -> NDArray[Any]:
    return np.random.default_rng(seed).standard_normal((count, Z))


def parts(vectors: Floats) -> tuple[Floats, Floats]:
    return unit(vectors[:, :E]), unit(vectors[:, E:])


def learnt(languages: tuple[tuple[str, ...], ...] = KNOWN) -> list[Completion]:
    vectors = said(about(300, 0), 1)
    reference = {code: said(about(40, 2), seed) for code, seed in (("en", 3), ("de", 4))}
    return Completion.of_parts((E, F), languages, vectors, np.arange(300), reference)


def test_the_part_becomes_what_a_ridge_regression_lets_expect_as_far_as_it_says_something_else() -> None:
    (completion,) = learnt()
    fitted = np.concatenate([said(about(300, 0), 1), *(said(about(40, 2), seed) for seed in (3, 4))])
    y, x = unit(fitted[:, :E]).astype(np.float64), unit(fitted[:, E:]).astype(np.float64)
    m, n = y.mean(axis=0), x.mean(axis=0)
    # Ridge regression as least squares, with a row for each penalised weight.
    penalty = PENALTY * np.square(x - n).sum() / F
    rows = np.concatenate([x - n, np.sqrt(penalty) * np.eye(F)])
    weight = np.linalg.lstsq(rows, np.concatenate([y - m, np.zeros((F, E))]), rcond=None)[0]
    asked = said(about(50, 5), 6, reads=0.4)
    away = (unit(asked[:, E:]) - n) @ weight
    of_part = unit(asked[:, :E])
    share = np.clip((unit(of_part - m) * unit(away)).sum(axis=1) / completion.agreement, 0, 1)[:, None]
    assert (share == 0).any() and (share == 1).any() and ((share > 0.2) & (share < 0.8)).any()
    expected = np.sqrt(0.3) * unit(share * of_part + (1 - share) * unit(away + m))
    found = completion.completed(asked)
    np.testing.assert_allclose(found[:, :E], expected, atol=2e-3)  # weights of two bytes
    np.testing.assert_array_equal(found[:, E:], asked[:, E:])
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)


def test_the_usual_agreement_is_that_of_new_sentences() -> None:
    (completion,) = learnt()
    new = completion.regression.agreements(*parts(said(about(2_000, 7), 8))).mean()
    assert completion.agreement == pytest.approx(new, abs=0.04) and 0.5 < new < 0.95


def test_only_languages_without_labels_that_the_other_part_alone_has_learnt_are_completed() -> None:
    completions, asked = learnt(), said(about(6, 9), 10, reads=0.2)
    codes = ["cs", "en", "", "sw", "no", "cs"]
    found = completed(completions, asked.copy(), codes, ["en"])
    changed = (found != asked).any(axis=1)
    assert changed.tolist() == [True, False, False, False, True, True]  # Norwegian is Bokmål's language
    np.testing.assert_array_equal(completed(completions, asked.copy(), codes, ["cs", "no"]), asked)
    np.testing.assert_array_equal(completed(completions, asked.copy(), (), ["en"]), asked)


@pytest.mark.parametrize(
    "languages", [(), (("en", "de"),), (("en", "de"), ("de", "en")), ((), KNOWN[1]), ((), ())]
)
def test_nothing_is_completed_where_no_part_is_known_to_lack_a_language(
    languages: tuple[tuple[str, ...], ...],
) -> None:
    assert learnt(languages) == []


def test_a_few_labels_in_a_language_that_a_part_never_learnt_take_nothing_away() -> None:
    rng = np.random.default_rng(14)
    centers, labels = 2.0 * rng.standard_normal((12, Z)), np.repeat(np.arange(12), 30)
    intents = [f"intent {label:02}" for label in labels]

    def sentences(seed: int, *, reads: float) -> Floats:
        noise = np.random.default_rng(seed).standard_normal((360, Z))
        return said(centers[labels] + 0.3 * noise, seed, reads=reads)

    reference = {code: said(about(40, 2), seed) for code, seed in (("en", 3), ("de", 4))}
    english, czech, asked = sentences(15, reads=1.0), sentences(16, reads=0.0), sentences(17, reads=0.0)

    def fit(few: int) -> tuple[IntentModel, Floats]:
        rows = np.random.default_rng(1).permutation(360)[:few]
        model = IntentModel().fit(
            np.concatenate([english, czech[rows]]),
            [*intents, *(intents[row] for row in rows)],
            [""] * (360 + few),
            languages=["en"] * 360 + ["cs"] * few,
            dims=(E, F),
            part_languages=KNOWN,
            reference=reference,
        )
        return model, czech[rows]

    def right(model: IntentModel) -> tuple[float, float]:
        answers = model.predict(asked, 1, ["cs"] * 360)
        is_right = np.array(model.intents_)[answers.labels] == intents
        return float(is_right.mean()), float(answers.is_known[is_right].mean())

    model, few = fit(6)
    (without, kept), (with_few, kept_with_few) = right(fit(0)[0]), right(model)
    assert with_few > without - 0.05 and kept_with_few > kept - 0.05
    # They are completed as the sentences that are asked.
    facts, arrays = model.state()
    stored = arrays["units"][np.argsort(arrays["order"])]
    completion = Completion.from_state(facts["completions"][0], arrays, 0, E + F)
    np.testing.assert_allclose(stored[360:], completion.completed(unit(few)), atol=1e-6)
    np.testing.assert_allclose(stored[:360], unit(english), atol=1e-6)


def test_nothing_is_learnt_from_few_sentences() -> None:
    few = said(about(20, 0), 1)
    assert Completion.of_parts((E, F), KNOWN, few, np.arange(20), {}) == []
    none = np.zeros((0, E + F), dtype=np.float32)
    assert Completion.of_parts((E, F), KNOWN, none, np.arange(0), {}) == []


def test_each_part_with_fewer_languages_is_completed_from_the_one_with_the_most() -> None:
    three = np.concatenate([said(about(300, 0), 1), said(about(300, 0), 2)[:, :E]], axis=1)
    found = Completion.of_parts((E, F, E), (*KNOWN, ("en",)), three, np.arange(300), {})
    assert [(of.start, of.other_start, of.completes("de")) for of in found] == [
        (0, E, False),
        (E + F, E, True),
    ]


def test_a_completion_is_the_same_from_its_state_and_refuses_others() -> None:
    (completion,) = learnt()
    facts, arrays = completion.state(0)
    asked = said(about(9, 9), 10, reads=0.2)
    again = Completion.from_state(json.loads(json.dumps(facts)), arrays, 0, E + F)
    np.testing.assert_array_equal(again.completed(asked), completion.completed(asked))
    wrong: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = [
        ({"start": 11}, {}),
        ({"other_start": -1}, {}),
        ({"start": "0"}, {}),
        ({"agreement": 0.0}, {}),
        ({"agreement": float("nan")}, {}),
        ({"languages": [1]}, {}),
        ({}, {"completion_0_mean": np.zeros(E + 1, dtype=np.float16)}),
        ({}, {"completion_0_weight": np.full((E, F), np.nan, dtype=np.float16)}),
        ({}, {"completion_0_other_mean": np.zeros(F, dtype=np.int64)}),
    ]
    for other_facts, other_arrays in wrong:
        with pytest.raises(ValueError, match="no completion"):
            Completion.from_state({**facts, **other_facts}, {**arrays, **other_arrays}, 0, E + F)


def test_a_model_names_more_intents_right_in_a_language_that_a_part_never_learnt() -> None:
    rng = np.random.default_rng(11)
    centers = 2.0 * rng.standard_normal((12, Z))
    labels = np.repeat(np.arange(12), 30)

    def sentences(seed: int, *, reads: float = 1.0) -> Floats:
        return said(
            centers[labels] + 0.5 * np.random.default_rng(seed).standard_normal((360, Z)), seed, reads=reads
        )

    intents = [f"intent {label:02}" for label in labels]
    reference = {code: said(about(40, 2), seed) for code, seed in (("en", 3), ("de", 4))}

    def fit(languages: tuple[tuple[str, ...], ...]) -> IntentModel:
        return IntentModel().fit(
            sentences(12),
            intents,
            [""] * 360,
            languages=["en"] * 360,
            dims=(E, F),
            part_languages=languages,
            reference=reference,
        )

    asked = sentences(13, reads=0.0)

    def right(model: IntentModel, code: str) -> float:
        return float(
            (np.array(model.intents_)[model.predict(asked, 1, [code] * 360).labels] == intents).mean()
        )

    model, plain = fit(KNOWN), fit(())
    assert right(plain, "cs") + 0.05 < right(model, "cs")
    assert right(model, "en") == right(plain, "en")
    facts, arrays = model.state()
    again = IntentModel.from_state(json.loads(json.dumps(facts)), arrays)
    for one, other in ((model, again), (model.adapted({"cs": asked}), again.adapted({"cs": asked}))):
        answers, others = (of.predict(asked, 1, ["cs"] * 360) for of in (one, other))
        np.testing.assert_array_equal(answers.labels, others.labels)
        np.testing.assert_array_equal(answers.is_known, others.is_known)
    facts.pop("completions")  # a model of before
    before = IntentModel.from_state(json.loads(json.dumps(facts)), arrays)
    assert right(before, "cs") == right(plain, "cs")
