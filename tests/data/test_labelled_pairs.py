"""Parallel text out of labelled sets, and the spectra behind an eigen-similarity."""

import numpy as np
import pandas as pd
import pytest

from emu_core.data.audit import labelled_from_frame
from emu_core.data.calendar_words import MONTHS, WEEKDAYS
from emu_core.data.demo import load_demo
from emu_core.data.sets import LabelledSet
from emu_core.data.texts.labelled_pairs import labelled_pairs
from emu_core.errors import DataError
from emu_core.evaluation.eigen_similarity import eigen_similarity
from emu_core.methods.bicvm.vocabulary import words
from tests.support.raises import raises


def labelled(rows: list[tuple[str, str, str]]) -> LabelledSet:
    frame = pd.DataFrame(rows, columns=["text", "language", "id"]).assign(split="", annotated="")
    frame["intent"] = [
        f"intent {key or row % 2}" for row, key in enumerate(frame["id"])
    ]  # translations share it
    return labelled_from_frame(frame, "set")[0]


def test_translations_are_found_by_their_id() -> None:
    rows = [
        ("dog", "en", "1"), ("hund", "de", "1"), ("chien", "fr", "1"),
        ("cat", "en", "2"), ("katze", "de", "2"), ("kater", "de", "2"),
        ("red", "en", ""), ("rot", "de", ""), ("bleu", "fr", "9"),
    ]  # fmt: skip
    found = {
        text.languages: list(zip(text.first, text.second, strict=True))
        for text in labelled_pairs(labelled(rows))
    }
    assert found == {("en", "de"): [("dog", "hund"), ("cat", "katze")], ("en", "fr"): [("dog", "chien")]}


def test_a_set_without_ids_has_none() -> None:
    assert labelled_pairs(labelled([("dog", "en", ""), ("hund", "de", "")])) == []


def test_the_demo_set_is_five_pairs_of_languages() -> None:
    found = labelled_pairs(load_demo())
    assert [text.languages for text in found] == [("en", code) for code in ("de", "es", "fr", "ja", "zh")]
    assert {len(text) for text in found} == {504}


def test_calendar_words_are_single_words_as_bicvm_reads_them() -> None:
    assert WEEKDAYS.keys() == MONTHS.keys()
    for names, count in ((WEEKDAYS, 7), (MONTHS, 12)):
        for code, own in names.items():
            assert len(set(own)) == count, code
            assert [words(word) for word in own] == [[word] for word in own]


def test_spectra_are_those_that_the_similarity_is_made_of() -> None:
    draws = np.random.default_rng(1)
    first = draws.normal(size=(30, 6)).astype(np.float32)
    second = first + 0.3 * draws.normal(size=(30, 6)).astype(np.float32)
    found = eigen_similarity(first, second, size=5, samples=40, seed=3)
    np.testing.assert_allclose(found.values, ((found.first - found.second) ** 2).sum(axis=1))
    assert found.rows.shape == found.first.shape == found.second.shape == (40, 5)
    # One sample by hand: angles, Laplacian, eigenvalues.
    points = first[found.rows[7]].astype(float)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    weights = [[0.0 if i == j else np.arccos(points[i] @ points[j]) for j in range(5)] for i in range(5)]
    laplacian = np.diag(np.sum(weights, axis=1)) - np.array(weights)
    np.testing.assert_allclose(found.first[7], np.sort(np.linalg.eigvals(laplacian).real), atol=1e-5)


@pytest.mark.parametrize(("size", "samples"), [(1, 10), (31, 10), (5, 1)])
def test_what_can_not_be_drawn_is_said(size: int, samples: int) -> None:
    points = np.eye(30, dtype=np.float32)
    with raises(DataError, fix=None, match="samples?"):
        eigen_similarity(points, points, size=size, samples=samples)
    with raises(DataError, fix=None, match="30 and 9"):
        eigen_similarity(points, points[:9])
