"""Which unlabelled sentences a model is adapted to."""

import numpy as np
import pytest

from emu_core.intents.model import LEAST_UNLABELLED, IntentModel
from emu_core.intents.prototypes import Prototypes
from emu_core.intents.unlabelled import adapted_to, rows_to_adapt_to

TEXTS = [f"Satz {chr(97 + row % 26)}{chr(97 + row // 26)}" for row in range(60)]


def test_each_distinct_sentence_with_a_letter_counts_once_in_a_language_with_enough() -> None:
    texts = [*TEXTS, TEXTS[0].upper() + " ", "123", "", *TEXTS[:29], *TEXTS[:30]]
    languages = [*["de"] * 63, *["fr"] * 29, *[""] * 30]
    rows = rows_to_adapt_to(texts, languages)
    assert list(rows) == ["de"] and sorted(rows["de"]) == list(range(60))
    assert len(rows_to_adapt_to(texts, languages, 40)["de"]) == 40
    assert rows_to_adapt_to(texts, ()) == {} == rows_to_adapt_to(texts, ["und"] * len(texts))


def test_no_vectors_are_asked_for_that_change_nothing() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((8, 6)).astype(np.float32)
    one = IntentModel().fit(vectors, ["pool"] * 8, [""] * 8)
    asked: list[int] = []

    def vectors_of(rows: np.typing.NDArray[np.intp]) -> np.typing.NDArray[np.float32]:
        asked.append(len(rows))
        return rng.standard_normal((len(rows), 6)).astype(np.float32)

    assert adapted_to(one, TEXTS, ["de"] * 60, vectors_of) is one and not asked
    two = IntentModel().fit(vectors, ["pool", "taxi"] * 4, [""] * 8)
    few = LEAST_UNLABELLED - 1
    assert adapted_to(two, TEXTS[:few], ["de"] * few, vectors_of).prototype_languages == () and not asked
    assert adapted_to(two, TEXTS, ["de"] * 60, vectors_of).prototype_languages == ("de",) and asked == [60]


def test_prototypes_are_pooled_over_languages_and_stored_as_they_are() -> None:
    rng = np.random.default_rng(1)
    sentences = {code: rng.standard_normal((40, 5)).astype(np.float32) for code in ("de", "fr")}
    p = {code: rng.dirichlet([1, 1, 1], 40) for code in sentences}
    met = Prototypes.none(3, 5).met(sentences, p)
    sums, counts = np.zeros((3, 5)), np.zeros(3)
    for code, x in sentences.items():
        for row, away in enumerate(x - x.mean(axis=0)):
            sums += (p[code][row] ** 2)[:, None] * away / np.linalg.norm(away)
            counts += p[code][row] ** 2
    asked = rng.standard_normal((2, 5))
    for number, code in enumerate(("de", "it")):
        away = asked[number] - sentences["de"].mean(axis=0)
        cosines = sums @ away / np.linalg.norm(sums, axis=1) / np.linalg.norm(away)
        expected = counts / (counts + 3) * cosines / 0.05 if code == "de" else np.zeros(3)
        np.testing.assert_allclose(met.log_densities(asked, ["de", "it"])[number], expected, atol=0.02)
    again = Prototypes.from_arrays(met.languages, met.arrays(), 3, 5)
    np.testing.assert_array_equal(
        again.log_densities(asked, ["fr"] * 2), met.log_densities(asked, ["fr"] * 2)
    )
    # A language that is met again is met instead.
    assert met.met({"de": sentences["de"]}, {"de": p["de"]}).counts.sum() == pytest.approx(met.counts.sum())
    assert (
        Prototypes.none(3, 5).arrays() == {}
        and not Prototypes.none(3, 5).log_densities(asked, ["de"] * 2).any()
    )


def test_an_intent_that_no_sentence_is_about_gains_nothing() -> None:
    x = np.random.default_rng(2).standard_normal((30, 4)).astype(np.float32)
    p = np.zeros((30, 2))
    p[:, 0] = 1
    logs = Prototypes.none(2, 4).met({"de": x}, {"de": p}).log_densities(x, ["de"] * 30)
    assert logs[:, 0].any() and not logs[:, 1].any() and np.isfinite(logs).all()
