"""Running text: documents between blank lines, and those that are too short to learn from."""

import gzip
import json
import zipfile
from pathlib import Path

import pytest

from emu_core.data.texts.running_text import RunningText
from emu_core.errors import DataError
from emu_core.formats.texts.dialogues import read_dialogues
from emu_core.formats.texts.nli import read_nli
from emu_core.formats.texts.running_text import read_running_text
from tests.support.raises import raises


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_blank_lines_divide_documents(tmp_path: Path) -> None:
    path = write(tmp_path, "news.de.txt", "\n\na\nb \nc\n\n \u3000\nd\r\ne\r\nf\r\ng\n")

    (found,) = read_running_text([path])

    assert found == RunningText("de", (("a", "b", "c"), ("d", "e", "f", "g")), "news.de.txt")
    assert len(found) == 3  # b; e and f


def test_short_documents_are_left_out_and_told(tmp_path: Path) -> None:
    content = gzip.compress(b"a\n\nb\nc\n\nd\ne\nf\n", mtime=0)

    (found,) = read_running_text([write(tmp_path, "news.gz", content)], "en")

    assert found.documents == (("d", "e", "f"),)
    assert found.notes == ("news.gz: 2 documents of fewer than 3 sentences left out.",)


def test_an_archive_stands_for_its_files(tmp_path: Path) -> None:
    """Of running text, dialogues and inference pairs; other files in it are left out."""
    path = tmp_path / "texts.zip"
    row = {"sentence1": "A dog runs.", "sentence2": "An animal moves.", "gold_label": "entailment"}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("README", "Three corpora.\n")
        archive.writestr("news/news.de.txt", "a\nb\nc\n")
        archive.writestr("chat/chat.en.tsv", "Hi, you\tHello\n")
        archive.writestr("nli/train.jsonl", json.dumps(row) + "\n")
    assert [(text.language, text.documents) for text in read_running_text([path])] == [
        ("de", (("a", "b", "c"),))
    ]
    assert [text.responses for text in read_dialogues([path])] == [("Hello",)]
    assert [text.premises for text in read_nli([path])] == [("A dog runs.",)]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("README", "Nothing.\n")
    for read in (read_running_text, read_dialogues, read_nli):
        with pytest.raises(DataError, match=r"is in texts\.zip"):
            read([path])


def test_several_files_are_as_many_texts(tmp_path: Path) -> None:
    paths = [write(tmp_path, f"news.{code}.txt", f"1 {code}\n2\n3\n") for code in ("en", "fr")]

    assert [part.documents[0][0] for part in read_running_text(paths)] == ["1 en", "1 fr"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("news.txt", "a\nb\nc\n", r"news\.txt does not say its language; .* as in news\.en\.txt"),
        ("news.en.txt", "a\nb\n\nc\nd\n", r"news\.en\.txt: none of 2 documents has 3 sentences"),
        ("news.en.txt", "  \n", r"news\.en\.txt is empty"),
        ("news.en.txt", b"a\n\x00b\n", "line 2 holds a NUL byte"),
        ("news.en.gz", gzip.compress(b"a\nb\nc\n", mtime=0)[:-4], "is a damaged gzip file"),
    ],
)
def test_what_is_no_running_text(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_running_text([write(tmp_path, name, content)])


def test_no_file_no_document_and_a_short_one() -> None:
    with pytest.raises(DataError, match="the list is empty; name files with a sentence a line"):
        read_running_text([])
    for documents in ((), (("a", "b", "c"), ("d", "e"))):
        with raises(DataError, fix=None, match="3 sentences"):
            RunningText("en", documents, "news")


def test_too_many_lines_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emu_core.formats.limits.MAX_ROWS", 3)

    with pytest.raises(DataError, match=r"news\.en has more than 3 rows"):
        read_running_text([write(tmp_path, "news.en", "a\nb\nc\nd\n")])
