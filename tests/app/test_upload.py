import gzip

import pytest

from emu_app.data.tables import (
    DETECT,
    NOTES,
    Upload,
    labelled_from_upload,
    missing_roles,
    read_upload,
    translations_of_upload,
    unlabelled_from_upload,
)
from emu_core.data.reading import ColumnMapping
from emu_core.errors import DataError
from tests.support.raises import raises

EN = b"text,intent\nwhere is the pool,pool\nwhere is the shop,shop\n"
DE = b"intent,text,extra\npool,wo ist das Becken,1\nshop,wo ist der Laden,2\n"


def uploaded(*files: tuple[str, bytes]) -> Upload:
    return read_upload("key", files)


def test_files_are_joined_by_the_names_of_their_columns() -> None:
    upload = uploaded(("hotel.en.csv", EN), ("hotel.de.csv", DE))
    assert upload.columns[:2] == ["text", "intent"]
    assert upload.title == "hotel.en.csv, hotel.de.csv"
    assert missing_roles(upload, upload.guess(), None) == []
    labelled, audit, _ = labelled_from_upload(upload, upload.guess(), None, 0, 0)
    assert labelled.frame[["text", "intent", "language"]].to_numpy().tolist() == [
        ["where is the pool", "pool", "en"],
        ["where is the shop", "shop", "en"],
        ["wo ist das Becken", "pool", "de"],
        ["wo ist der Laden", "shop", "de"],
    ]
    assert audit.rows_read == 4


def test_machine_translations_are_found_by_the_sentence() -> None:
    with_some = b"text,intent,Machine Translation\n wo ist das Becken ,pool,where is the pool \nwo,shop,\n"
    upload = uploaded(("hotel.en.csv", EN), ("hotel.de.csv", with_some))
    assert translations_of_upload(upload, upload.guess()) == {
        "wo ist das Becken": "where is the pool",
        "wo": "",
    }
    without = uploaded(("hotel.en.csv", EN))
    assert translations_of_upload(without, without.guess()) == {}


def test_what_is_still_to_be_said() -> None:
    upload = uploaded(("a.csv", b"x,y\n1,2\n"))
    assert missing_roles(upload, ColumnMapping(), None) == ["text", "intent", "language"]
    assert missing_roles(upload, ColumnMapping(text="x", intent="y"), "en") == []
    assert missing_roles(upload, ColumnMapping(text="x", language="y"), None) == ["intent"]
    both = uploaded(("en.csv", EN), ("other.csv", EN))  # one of the names says nothing
    assert missing_roles(both, both.guess(), None) == ["language"]


def test_one_bad_file_refuses_them_all_by_its_name() -> None:
    with raises(DataError, fix=None, match=r"^b\.csv "):
        uploaded(("a.en.csv", EN), ("b.csv", b""))


def test_too_many_rows_in_all_files_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emu_core.formats.limits.MAX_ROWS", 3)
    with raises(DataError, fix=None, match="3 rows"):
        uploaded(("en.csv", EN), ("de.csv", DE))


def test_a_packed_file_counts_as_its_table_does() -> None:
    assert uploaded(("a.csv", EN)).size == uploaded(("a.csv.gz", gzip.compress(EN))).size > len(EN) / 2


def test_files_of_an_export_keep_what_only_some_have() -> None:
    slots = "nlu:\n- intent: book\n  examples: |\n    - a room [tonight](date)\n    - a bed\n"
    plain = "nlu:\n- intent: hallo\n  examples: |\n    - guten Tag\n    - hallo\n"
    upload = uploaded(("book_en.yml", slots.encode()), ("hallo_de.yml", plain.encode()))
    labelled, audit, _ = labelled_from_upload(upload, upload.guess(), None, 0, 0)
    assert labelled.frame["annotated"].tolist() == ["a room [date : tonight]", "", "", ""]
    assert labelled.frame["language"].tolist() == ["en", "en", "de", "de"]
    assert audit.notes[0] == "Rasa NLU: 4 examples, 2 intents in 2 files."


def test_files_of_one_name_are_all_read_and_told_apart() -> None:
    upload = uploaded(
        ("en.csv", EN), ("en.csv", EN.replace(b"where", b"when")), ("notes.md", b"nothing to read")
    )
    assert [table.path for table in upload.tables] == ["en.csv", "2/en.csv"]
    assert "notes.md" in upload.notes[-1]


def test_files_of_one_name_are_told_apart_and_equal_ones_are_read_once() -> None:
    upload = uploaded(("hotel.en.csv", EN), ("hotel.en.csv", EN))
    assert (upload.names, len(upload)) == (("hotel.en.csv",), 2)
    assert [note for note in upload.notes if "2 times" in note and "read once" in note]

    other = EN.replace(b"where", b"so where")
    upload = uploaded(("hotel.en.csv", EN), ("hotel.en.csv", other), ("hotel.en.csv", EN))
    assert upload.title == "hotel.en.csv" and [table.path for table in upload.tables] == [
        "hotel.en.csv",
        "2/hotel.en.csv",
    ]
    once, twice = upload.notes[:2]
    assert "3 times" in once and "2 files are called hotel.en.csv" in twice and "2/hotel.en.csv" in twice
    labelled, audit, _ = labelled_from_upload(upload, upload.guess(), None, 0, 0)
    assert len(labelled) == 4 and set(upload.notes) <= set(audit.notes)

    assert not uploaded(("hotel.en.csv", EN), ("hotel.de.csv", DE)).notes[1:]


def test_where_no_language_is_told_none_is_made_up() -> None:
    rows = ["where is the pool please,pool", "wo ist hier das Becken,pool", "hi,greet", "123,code"]
    table = "\n".join(["text,intent", *rows, "where is the shop please,shop"])
    upload = uploaded(("hotel.csv", table.encode()))
    _, audit, rows = labelled_from_upload(upload, upload.guess(), DETECT, 0, 0)
    assert rows["language"].tolist() == ["en", "de", "und", "und", "en"]
    assert audit.dropped["row"].tolist() == [3, 4]
    assert audit.dropped["reason"].str.contains("und").all()
    answered = labelled_from_upload(upload, upload.guess(), DETECT, 0, 0, (("und", "en"),))[0]
    assert answered.frame["language"].tolist() == ["en", "de", "en", "en", "en"]
    assert unlabelled_from_upload("", b"hi\n123", DETECT)["language"].tolist() == ["und", "und"]


def test_a_column_of_sentences_that_is_a_guess_is_noted() -> None:
    tickets = b"Details,Agent\nMy parcel is late again,Ann\nI can't log in any more,Bob\n"
    for name, notes in {
        "mails.csv": ("mails.csv, guessed: text is column 'Details'.",),
        "mails.de.csv": ("Language by the names of files: de (mails.de.csv).",),
    }.items():
        table = unlabelled_from_upload(name, tickets, "en")
        assert len(table) == 2 and set(notes) <= set(table.attrs[NOTES])
    assert unlabelled_from_upload("", b"My parcel is late", "en").attrs[NOTES] == ()
