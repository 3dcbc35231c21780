"""Comments and responses from every kind of table, with a header and without."""

import gzip
from pathlib import Path

import pandas as pd
import pytest

from emu_core.data.texts.dialogues import Dialogues
from emu_core.errors import DataError
from emu_core.formats.texts.dialogues import read_dialogues


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("chat.en.tsv", "id\tComment\tresponse\n1\tHi, you\tHello\n2\tHow?\tSo.\n"),
        ("chat.en.tsv", "Hi, you\tHello\nHow?\tSo.\n"),
        ("chat.en.tsv.gz", gzip.compress(b"Hi, you\tHello\nHow?\tSo.\n", mtime=0)),
        ("chat.en.csv", 'response,comment\nHello,"Hi, you"\nSo.,How?\n'),
        ("chat.en.csv", '"Hi, you",Hello\nHow?,So.\n'),
        ("chat.en.jsonl", '{"context": "Hi, you", "reply": "Hello"}\n{"context": "How?", "reply": "So."}\n'),
    ],
)
def test_tables_of_every_kind(tmp_path: Path, name: str, content: str | bytes) -> None:
    (found,) = read_dialogues([write(tmp_path, name, content)])

    assert found == Dialogues("en", ("Hi, you", "How?"), ("Hello", "So."), name)
    assert len(found) == 2


def test_a_quote_never_joins_lines_of_a_tsv(tmp_path: Path) -> None:
    path = write(tmp_path, "chat.tsv", 'comment\tresponse\n"so\tb\nc\tno"\n')

    assert read_dialogues([path], "English")[0].comments == ('"so', "c")


def test_half_rows_go_and_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path, "chat.de.tsv", "comment\tresponse\na\t\nb\tB\n\n \tC\nd\tD\n")

    (found,) = read_dialogues([path])

    assert (found.language, found.comments, found.responses) == ("de", ("b", "d"), ("B", "D"))
    assert found.notes == ("chat.de.tsv: 3 rows without comment or response left out.",)


def test_parquet_and_several_files(tmp_path: Path) -> None:
    pd.DataFrame({"comment": ["a"], "response": ["A"]}).to_parquet(tmp_path / "x.fr.parquet")
    other = write(tmp_path, "y.en.tsv", "b\tB\n")

    found = read_dialogues([tmp_path / "x.fr.parquet", other])

    assert [(part.language, part.comments) for part in found] == [("fr", ("a",)), ("en", ("b",))]


@pytest.mark.parametrize(
    ("name", "content", "language", "message"),
    [
        ("chat.tsv", "a\tb\n", None, r"chat\.tsv does not say its language; .* as in chat\.en\.tsv"),
        ("chat.tsv", "a\tb\n", "Klingon!", "'Klingon!' is not a language"),
        (
            "chat.en.tsv",
            "a\tb\tc\n",
            None,
            r"chat\.en\.tsv has the columns a, b, c; name two of them comment",
        ),
        ("chat.en.tsv", "comment\tother\na\tb\n", None, "has the columns comment, other; name two"),
        ("chat.en.jsonl", '{"a": "x", "b": "y"}\n', None, "has the columns a, b; name two"),
        ("chat.en.tsv", "comment\tresponse\n", None, "has column names but no rows"),
        ("chat.en.tsv", "comment\tresponse\na\t\n", None, "no row has a comment and a response"),
        ("chat.en.tsv", "comment\tresponse\na\tb\tc\n", None, "line 2 has 3 cells but the first has 2"),
        ("chat.en.tsv", b"\x80\x04\x95", None, "is a Python pickle"),
        ("chat.en.tsv", b"\x1f\x8bnothing", None, "is a damaged gzip file"),
    ],
)
def test_what_are_no_dialogues(
    tmp_path: Path, name: str, content: str | bytes, language: str | None, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_dialogues([write(tmp_path, name, content)], language)


def test_no_file_and_unequal_sides() -> None:
    with pytest.raises(DataError, match="the list is empty; name files"):
        read_dialogues([])
    with pytest.raises(DataError, match="has 2 comments and 1 response"):
        Dialogues("en", ("a", "b"), ("c",), "chat")
