"""Cross-lingual document classification: means of sentences, sizes, directions, spread; and the files it reads."""

from pathlib import Path

import numpy as np
import pytest

from emu_core.data.reading import ColumnMapping, Reading
from emu_core.errors import DataError
from emu_core.evaluation.transfer import (
    LabelledVectors,
    averaged_perceptron,
    classify_across,
    document_vectors,
)
from emu_core.formats.texts.documents import read_documents, sentences
from tests.support.raises import raises


def labelled(count: int, seed: int, noise: float = 1.0) -> LabelledVectors:
    draws = np.random.default_rng(seed)
    labels = draws.integers(0, 3, count)
    vectors = np.eye(3)[labels] + noise * draws.normal(size=(count, 3))
    return LabelledVectors(vectors, [["CCAT", "ECAT", "GCAT"][n] for n in labels])


def test_a_document_is_the_mean_of_its_sentences() -> None:
    vectors = np.array([[1.0, 0], [0, 3], [5, 5], [3, 0]])
    np.testing.assert_array_equal(document_vectors(vectors, np.array([0, 0, 1, 0]), 2), [[4 / 3, 1], [5, 5]])
    for numbers, count in (([0, 0, 0, 0], 2), ([0, 1, 2, 3], 3), ([0, 1], 2)):
        with pytest.raises(DataError):
            document_vectors(vectors, np.array(numbers), count)


def test_both_directions_all_sizes_and_what_a_draw_is() -> None:
    train = {"en": labelled(60, 1), "de": labelled(30, 2)}
    test = {"en": labelled(40, 3), "de": labelled(50, 4)}
    results = classify_across(train, test, sizes=(10, 20, 100), draws=3, epochs=4, seed=9)
    found = [(r.source, r.target, r.size) for r in results]
    sizes = {"en": (10, 20, 60), "de": (10, 20, 30)}
    assert found == [
        (source, target, size) for source, target in (("en", "de"), ("de", "en")) for size in sizes[source]
    ]
    for result in results:
        own, other = train[result.source], test[result.target]
        names = sorted(set(own.labels))
        right = []
        for draw in range(3):
            rows = np.random.default_rng((9, draw)).permutation(len(own.labels))[: result.size]
            numbers = np.array([names.index(own.labels[row]) for row in rows])
            model = averaged_perceptron(own.vectors[rows], numbers, 3, epochs=4, seed=draw)
            predicted = [names[n] for n in model.predict(other.vectors)]
            right.append(
                sum(a == b for a, b in zip(predicted, other.labels, strict=True)) / len(predicted) * 100
            )
        assert result.accuracy == pytest.approx(sum(right) / 3)
        mean = sum(right) / 3
        assert result.deviation == pytest.approx((sum((r - mean) ** 2 for r in right) / 2) ** 0.5)
        most = max(list(other.labels).count(name) for name in names)
        assert result.majority == pytest.approx(100 * most / len(other.labels))
    assert len({r.accuracy for r in results}) > 1


@pytest.mark.slow
def test_more_documents_help() -> None:
    train = {"en": labelled(2000, 1)}
    few, many = classify_across(train, {"de": labelled(400, 2)}, sizes=(5, 2000), draws=8)
    assert many.accuracy > few.accuracy + 5
    assert few.deviation > many.deviation


def test_what_cannot_be_classified() -> None:
    with pytest.raises(DataError, match="two languages"):
        classify_across({"en": labelled(9, 0)}, {"en": labelled(9, 1)})
    other = LabelledVectors(np.ones((1, 3)), ["SPORT"])
    with pytest.raises(DataError, match="SPORT"):
        classify_across({"en": labelled(9, 0)}, {"de": other})


def write_folder(folder: Path) -> Path:
    for name, text in (
        ("CCAT/1.txt", "Shares fell. Why?\nNobody knows"),
        ("CCAT/2.txt", " \n"),
        ("GCAT/9.txt", "Rain."),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    (folder / "CCAT/.hidden").write_text("no document")
    (folder / "CCAT/3.txt").write_bytes(b"")
    return folder


def test_a_folder_of_class_folders(tmp_path: Path) -> None:
    (tmp_path / "EN").mkdir()
    with pytest.raises(DataError):
        read_documents(tmp_path / "EN", reading=Reading(language="en"))
    folder = write_folder(tmp_path / "EN")
    documents = read_documents(folder, reading=Reading(language="English"))
    assert documents.texts == ("Shares fell.\nWhy?\nNobody knows", "Rain.")
    assert documents.labels == ("CCAT", "GCAT")


def test_a_table_with_a_class_a_row(tmp_path: Path) -> None:
    path = tmp_path / "rcv.tsv"
    path.write_text("label\ttext\nCCAT\tShares fell. Why?\nGCAT\tRain.\nECAT\t\n", "utf-8")
    documents = read_documents(path, reading=Reading(language="de"))
    assert documents.texts == ("Shares fell.\nWhy?", "Rain.")
    assert documents.labels == ("CCAT", "GCAT")
    path.write_text("a\tb\nCCAT\tShares\nGCAT\tRain.\n", "utf-8")
    mapping = ColumnMapping(text="b", intent="a")
    assert read_documents(path, reading=Reading(language="de", mapping=mapping)).labels == ("CCAT", "GCAT")


def test_a_table_of_several_languages(tmp_path: Path) -> None:
    path = tmp_path / "rcv.csv"
    path.write_text("text,label,language\nOne,A,en\nEins,A,de\nTwo,B,English\nZwei,B,de\n", "utf-8")
    assert read_documents(path, reading=Reading(language="en")).texts == ("One", "Two")
    assert read_documents(path, reading=Reading(language="de")).labels == ("A", "B")
    with raises(DataError, fix=None, match="'fr'"):
        read_documents(path, reading=Reading(language="fr"))


def test_documents_that_cannot_be_read(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "EN")
    with raises(DataError, fix=None, match="'12'"):
        read_documents(folder, reading=Reading(language="12"))
    with raises(DataError, fix=None, match=r"none\.csv"):
        read_documents(tmp_path / "none.csv", reading=Reading(language="en"))
    secret = tmp_path / "secret.txt"
    secret.write_text("not yours")
    (folder / "GCAT/link.txt").symlink_to(secret)
    with raises(DataError, fix=None, match=r"link\.txt"):
        read_documents(folder, reading=Reading(language="en"))
    one_class = tmp_path / "one.csv"
    one_class.write_text("text,label\nShares fell,CCAT\nRain,CCAT\n")
    with raises(DataError, fix=None, match=r"one\.csv .*'CCAT'"):
        read_documents(one_class, reading=Reading(language="en"))
    no_class = tmp_path / "no.csv"
    no_class.write_text("text,label\nShares fell,CCAT\nRain,\n")
    with raises(DataError, fix=None, match=r"no\.csv: row 2 "):
        read_documents(no_class, reading=Reading(language="en"))


def test_sentences_of_a_document() -> None:
    assert sentences("One. Two! Three?\n\nFour 1.5 percent\n") == (
        "One.",
        "Two!",
        "Three?",
        "Four 1.5 percent",
    )
    assert sentences("第一。第二") == ("第一。", "第二")
