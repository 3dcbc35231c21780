"""Each format is recognised by its content, and by no other's reader, in a folder and in an archive."""

from pathlib import Path, PurePosixPath

import pytest

from emu_core.data.reading import Reading
from emu_core.errors import DataError
from emu_core.formats.collections.document import Document
from emu_core.formats.collections.formats import COLLECTION_FORMATS
from emu_core.formats.labelled import read_labelled
from emu_core.formats.read import read_files
from emu_core.formats.source_files import source_files
from emu_core.formats.source_tables import read_tables
from tests.support.exports import EXPORTS, folder_of, payload_of, rows_of, tables_of, zip_of

# A list of intents in Markdown, and lines of words alone, have nothing that tells them from any other text.
BY_NAME = ("Bot Framework", "Botpress (version 10)", "OVOS", "Parallel lines with slots")
BY_CONTENT = [title for title in EXPORTS if title not in BY_NAME]


@pytest.mark.parametrize("title", EXPORTS)
def test_a_folder_reads_as_its_archive(title: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "bot", EXPORTS[title])

    by_folder, _ = read_tables(source_files([folder]))
    by_archive, _ = read_tables(source_files([("bot.zip", zip_of(EXPORTS[title]))]))

    assert [table.files for table in by_folder] == [table.files for table in by_archive]
    for left, right in zip(by_folder, by_archive, strict=True):
        assert left.frame.equals(right.frame)


@pytest.mark.parametrize("title", EXPORTS)
def test_one_reader_takes_a_file(title: str) -> None:
    taken = set()
    for file in source_files([("export.zip", zip_of(EXPORTS[title]))]):
        document = Document(file)
        readers = [format.title for format in COLLECTION_FORMATS if format.recognises(document)]
        assert len(readers) <= 1, file.path
        taken.update(readers)
    assert taken == {title}


@pytest.mark.parametrize("title", BY_CONTENT)
def test_the_ending_does_not_matter(title: str) -> None:
    files = {
        f"{PurePosixPath(path).with_suffix('')}.data": content for path, content in EXPORTS[title].items()
    }

    assert set(rows_of(files)["title"]) == {title}


def test_other_json_beside_an_export_is_no_data() -> None:
    files = {**EXPORTS["Dialogflow ES"], "entities/city.json": [{"text": "Rome", "intent": "city"}]}

    tables, notes = tables_of(files)

    assert all(table.recognised == "Dialogflow ES" for table in tables)
    assert any(note.startswith("Not read") and "entities/city.json" in note for note in notes)


@pytest.mark.parametrize("title", [format.title for format in COLLECTION_FORMATS if format.stands_alone])
def test_json_tables_beside_files_that_stand_alone_are_data(title: str) -> None:
    files = {**EXPORTS[title], "more.json": [{"text": "to Rome", "intent": "travel"}]}

    tables, _ = tables_of(files)

    assert {table.recognised for table in tables} == {title, ""}


def test_json_tables_without_an_export_are_data() -> None:
    rows = [{"text": "to Rome", "intent": "travel"}]
    tables, _ = tables_of({"a.json": rows, "b.json": rows})

    assert len(tables) == 2


def test_parts_of_an_export_that_are_named_beside_sentences_are_left() -> None:
    files = EXPORTS["Amazon Lex"]

    tables, notes = read_tables(
        source_files(
            [(path, payload_of(content)) for path, content in files.items() if path.endswith("Intent.json")]
        )
    )

    assert [len(table) for table in tables] == [1, 1]
    assert any("FallbackIntent" in note for note in notes)


def test_the_files_of_an_export_are_one_table_and_rows_know_their_file(tmp_path: Path) -> None:
    part = "nlu:\n- intent: {0}\n  examples: |\n    - {0} 1\n    - {0} 2\n"
    names = {"a.yml": "a", "b.yml": "b", "nlu_fr.yml": "c", "nlu_de.yml": "d"}
    folder = folder_of(tmp_path / "bot", {name: part.format(intent) for name, intent in names.items()})

    tables, notes = read_tables(source_files([folder]))

    assert sorted(table.files for table in tables) == [
        (("a.yml", 2), ("b.yml", 2)),
        (("nlu_de.yml", 2),),
        (("nlu_fr.yml", 2),),
    ]
    assert "Rasa NLU: 8 examples, 4 intents in 4 files." in notes
    rows = read_files(source_files([folder]), reading=Reading(language="en")).rows
    assert sorted(rows[["source", "row", "text", "language"]].itertuples(index=False, name=None)) == [
        ("a.yml", 1, "a 1", "en"),
        ("a.yml", 2, "a 2", "en"),
        ("b.yml", 1, "b 1", "en"),
        ("b.yml", 2, "b 2", "en"),
        ("nlu_de.yml", 1, "d 1", "de"),
        ("nlu_de.yml", 2, "d 2", "de"),
        ("nlu_fr.yml", 1, "c 1", "fr"),
        ("nlu_fr.yml", 2, "c 2", "fr"),
    ]


def test_equal_paths_of_two_exports_are_told_apart() -> None:
    archives = [(name, zip_of(EXPORTS["Dialogflow ES"])) for name in ("a.zip", "b.zip")]

    rows = read_files(source_files(archives)).rows

    assert set(rows["source"]) == {
        f"{name}/intents/{file}"
        for name in ("a.zip", "b.zip")
        for file in ("greet_usersays_en.json", "bye.json")
    }


def test_a_damaged_cell_is_named_by_its_file() -> None:
    item = {"data": [{"text": "x" * 100_001}], "isTemplate": False}
    files = {**EXPORTS["Dialogflow ES"], "intents/long_usersays_en.json": [item]}

    with pytest.raises(DataError, match=r"^intents/long_usersays_en.json: row 1 has 100,001 characters"):
        tables_of(files)


def test_a_file_without_a_language_is_refused_beside_those_that_have_one(tmp_path: Path) -> None:
    texts = {"it-it/a.lu": "# a\n- uno\n", "notes/b.lu": "# b\n- due\n"}

    with pytest.raises(DataError, match=r"b\.lu does not say its language"):
        read_labelled(folder_of(tmp_path / "bot", texts))
