"""Sentences in lines, each with an intent and a slot for each word."""

import json
from pathlib import Path

import pytest

from emu_core.data.reading import Reading
from emu_core.errors import DataError
from emu_core.formats.labelled import read_labelled, read_unlabelled
from tests.support.exports import Files, cells, folder_of, tables_of


def test_slots_of_several_words_are_marked() -> None:
    content = "BOS to New York at six EOS\tO O B-city I-city O B-time flight#fare\nBOS bye EOS\tO O bye\n"

    assert cells({"x.iob": content}, "text", "intent", "annotated") == [
        ("to New York at six", "flight#fare", "to [city : New York] at [time : six]"),
        ("bye", "bye", ""),
    ]


def test_a_colon_may_be_a_word() -> None:
    content = "note:O ::O call:O 5:30:B-time <=> note\n"

    assert cells({"train": content}, "text", "annotated") == [
        ("note : call 5:30", "note : call [time : 5:30]")
    ]


@pytest.mark.parametrize("line", ["BOS to Rome EOS", "BOS to Rome EOS\t", "no tab"])
def test_lines_without_an_intent_are_counted(line: str) -> None:
    content = f"{line}\n" + "BOS bye EOS\tO O bye\n" * 4

    _, notes = tables_of({"x.iob": content})

    assert any("lines without slots and an intent: 1 sentence" in note for note in notes)


@pytest.mark.parametrize("tags", ["O bye", "O O O O bye", "bye"])
def test_slots_that_are_not_one_a_word_are_not_marked(tags: str) -> None:
    assert cells({"x.iob": f"BOS see you EOS\t{tags}\n"}, "text", "intent", "annotated") == [
        ("see you", "bye", "")
    ]


PARALLEL: Files = {
    f"{split}/{name}": content
    for split, word in (("train", "hello"), ("valid", "hey"), ("test", "hi"))
    for name, content in (
        ("seq.in", f"{word} Ann\n{word} so long\n"),
        ("seq.out", "O B-name\nO O O\n"),
        ("label", "greet\nbye\n"),
    )
}


def test_folders_of_parallel_lines_are_splits(tmp_path: Path) -> None:
    labelled, audit = read_labelled(folder_of(tmp_path, PARALLEL), reading=Reading(language="en"))

    assert labelled.frame.groupby("split").size().to_dict() == {"dev": 2, "test": 2, "train": 2}
    assert set(labelled.frame["language"]) == {"en"}
    assert "hello [name : Ann]" in labelled.frame["annotated"].tolist()
    assert not any("Indonesian" in note for note in audit.notes)


def test_a_line_that_is_missing_is_an_error() -> None:
    with pytest.raises(DataError, match=r"seq.in has 2 lines, and seq.out and label beside it have 2 and 1"):
        tables_of({"seq.in": "hi\nbye\n", "seq.out": "O\nO\n", "label": "greet\n"})


def test_lines_of_slots_alone_are_no_sentences() -> None:
    tables, _ = tables_of({"seq.out": "O B-name I-name\nO O O\n", "x.csv": "text,intent\nhi,greet\n"})

    assert [table.path for table in tables] == ["x.csv"]


def mtop(locale: str, *sentences: str) -> str:
    """Return the lines of a file of MTOP, which has no header."""
    return "".join(
        f"{number}\tIN:GREET\t0:2:SL:NAME\t{text}\tpeople\t{locale}\t[IN:GREET {text} ]\t"
        + json.dumps({"tokens": text.split()})
        + "\n"
        for number, text in enumerate(sentences)
    )


MTOP: Files = {
    "mtop/en/train.txt": mtop("en_XX", "hi Ann", "hey Ann"),
    "mtop/en/eval.txt": mtop("en_XX", "hello Ann"),
    "mtop/de/train.txt": mtop("de_XX", "hallo Ann"),
    "mtop/README.txt": "MTOP\tis a data set.\n",
}


def test_files_of_text_may_be_tables_of_a_known_data_set(tmp_path: Path) -> None:
    tables, notes = tables_of(MTOP)

    assert [(table.path, table.recognised, len(table)) for table in tables] == [
        ("mtop/de/train.txt", "MTOP", 1),
        ("mtop/en/eval.txt", "MTOP", 1),
        ("mtop/en/train.txt", "MTOP", 2),
    ]
    assert any(note.startswith("Not read") and "README.txt" in note for note in notes)


def test_such_tables_have_no_sentence_a_line(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {path: content for path, content in MTOP.items() if "README" not in path})

    assert sorted(read_unlabelled(folder).frame["text"]) == ["hallo Ann", "hello Ann", "hey Ann", "hi Ann"]
