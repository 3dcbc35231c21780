"""Inference pairs as SNLI, MultiNLI and XNLI write them, and lines that are none."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from emu_core.data.texts.nli import LABELS, Nli
from emu_core.errors import DataError
from emu_core.formats.texts import nli
from emu_core.formats.texts.nli import read_nli
from tests.support.raises import raises


def row(label: str, first: str = "A man sleeps.", second: str = "A man rests.", **more: object) -> str:
    return json.dumps({"gold_label": label, "sentence1": first, "sentence2": second} | more) + "\n"


def write(folder: Path, content: str | bytes, name: str = "train.jsonl") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_labels_are_places_and_undecided_rows_go(tmp_path: Path) -> None:
    content = (
        row("contradiction", " one ", "Ü", annotator_labels=["contradiction"] * 5, pairID="1")
        + row("-", "two")
        + "\n"
        + row("entailment", "three")
        + row("neutral", "four", " ")
        + row("-", "five")
        + row("neutral", "six")
    )

    for name, payload in (
        ("train.jsonl", content.encode()),
        ("train.jsonl.gz", gzip.compress(content.encode(), mtime=0)),
    ):
        (found,) = read_nli([write(tmp_path, payload, name)])
        assert found.premises == ("one", "three", "six")
        assert found.hypotheses[0] == "Ü"
        assert [LABELS[label] for label in found.labels] == ["contradiction", "entailment", "neutral"]
        assert found.labels.tolist() == [2, 0, 1]
        assert found.labels.dtype == np.int64
        assert (found.language, len(found)) == ("en", 3)
        assert found.notes == (
            f"{name}: 2 rows without a gold label (-) left out.",
            f"{name}: 1 row with an empty sentence left out.",
        )


def test_the_language_is_the_rows_or_the_calls(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        row("neutral", "a", language="fr") + row("neutral", "b") + row("neutral", "c", language="fr"),
    )

    found = read_nli([path], "German")

    assert [(part.language, part.premises) for part in found] == [("fr", ("a", "c")), ("de", ("b",))]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (row("neutral") + row("maybe"), "line 2 has the label 'maybe'; labels are entailment, neutral"),
        (row("neutral") + "\n" + row("neutral")[:-4] + "\n", "line 3 is not JSON"),
        (row("neutral") + '["a"]\n', "line 2 has no text under sentence1, sentence2, gold_label"),
        (row("neutral") + '{"sentence1": "a", "gold_label": 3}\n', "line 2 has no text under sentence2, gold_label"),
        (row("neutral") + row("neutral", "\ud800"), "line 2 holds half a character"),
        ("[" * 100_000, "line 1 is not JSON"),
        ('{"sentence1": "grün"}'.encode("latin-1"), "line 1 is not UTF-8"),
        (row("-") * 2, "none of 2 rows has two sentences and a label"),
        (b"", "none of 0 rows"),
        (gzip.compress(row("neutral").encode(), mtime=0)[:-6], "is a damaged gzip file"),
        (b"\x89PNG\r\n\x1a\n", "line 1 is not"),
    ],
)  # fmt: skip
def test_what_is_no_inference_data(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=rf"^train\.jsonl.*{message}"):
        read_nli([write(tmp_path, content)])


@pytest.mark.slow
def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = write(tmp_path, gzip.compress(b" " * 2**22, mtime=0))
    with pytest.raises(DataError, match="line 1 is longer than 1 MB"):
        read_nli([long])
    monkeypatch.setattr(nli, "MAX_NLI_BYTES", 2**20)
    blank = write(tmp_path, gzip.compress(b" \n" * 2**20, mtime=0))
    with pytest.raises(DataError, match="larger than 1 MB, unpacked"):
        read_nli([blank])
    monkeypatch.setattr("emu_core.formats.limits.MAX_ROWS", 2)
    with pytest.raises(DataError, match="more than 2 rows"):
        read_nli([write(tmp_path, row("-") * 3)])


def test_no_file_a_missing_one_and_no_language(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the list is empty; name files of SNLI"):
        read_nli([])
    with pytest.raises(DataError, match="no such file"):
        read_nli([tmp_path / "train.jsonl"])
    with raises(DataError, fix=None, match="'Klingon!'"):
        read_nli([tmp_path], "Klingon!")


def test_sides_and_labels_must_fit() -> None:
    with raises(DataError, fix=None, match="1 premise"):
        Nli(("a",), ("b", "c"), np.array([0]), "en", "x")
    with raises(DataError, fix=None, match="0, 1 and 2"):
        Nli(("a",), ("b",), np.array([3]), "en", "x")
