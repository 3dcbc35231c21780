"""Only files that hold data have a say about splits and languages."""

import io
from collections.abc import Mapping
from pathlib import Path

import openpyxl
import pytest

from emu_app.data.tables import read_upload
from emu_core.data.reading import Reading
from emu_core.errors import DataError
from emu_core.formats.labelled import read_labelled, read_partly_labelled
from emu_core.formats.read import read_files
from emu_core.formats.source_files import source_files
from tests.support.exports import folder_of, zip_of

HEADER = "text,intent,language"
NLU = "nlu:\n- intent: {0}\n  examples: |\n    - {0} one\n    - {0} two\n"
STORIES = "stories:\n- story: a\n  steps:\n  - user: |\n      hello\n    intent: a\n  - action: utter_greet\n"
NO_DATA = {"train.py": "import os\n", "requirements-dev.txt": "pytest\n", "docs/eval.md": "# Evaluation\n"}


def table(word: str, intent: str = "intent") -> str:
    return f"text,{intent},language\n{word} one,a,en\n{word} two,b,en\n"


def splits_of(folder: Path, files: Mapping[str, object]) -> dict[str, str]:
    """Return the split of each file that gave rows, which must be the same in a folder and in an archive."""
    by_folder = read_files(source_files([folder_of(folder, files)])).rows
    by_archive = read_files(source_files([("data.zip", zip_of(files))])).rows
    assert by_folder["split"].equals(by_archive["split"])
    return dict(zip(by_folder["source"], by_folder["split"], strict=True))


@pytest.mark.parametrize(
    "files",
    [
        NO_DATA,
        {"train.csv": "name,colour\nroom,red\nbath,blue\n"},  # a table, but no sentences with intents
        {"train.json": {"epochs": 3, "method": "emu"}},
        {"dev/nothing.yml": STORIES},
        {"README_train.md": "text\n"},
        {"train.csv": "text,intent,language\n,a,en\n ,,\n"},
        {"train.csv": "text,intent,language\nnobody labelled this,,en\n"},
    ],
)
def test_what_holds_no_data_makes_no_split(files: dict[str, object], tmp_path: Path) -> None:
    data = {"data.csv": table("old"), "more_test.csv": table("new")}
    assert splits_of(tmp_path, {**data, **files}) == {"data.csv": "", "more_test.csv": ""}


def test_the_settings_of_a_chatbot_make_no_split(tmp_path: Path) -> None:
    part = {
        "name": "{0}",
        "userSays": [{"data": [{"text": "go"}], "isTemplate": False}],
        "auto": True,
        "contexts": [],
    }
    bot = {
        "agent.json": {"language": "en"},
        "intents/a.json": {"name": "a", "auto": True, "contexts": [], "responses": []},
        "intents/a_usersays_en.json": part["userSays"],
        "intents/b.json": {"name": "b", "auto": True, "contexts": [], "responses": []},
        "intents/b_usersays_en.json": part["userSays"],
    }
    lists = {"dev.json": [{"text": "to Rome", "intent": "x"}], "test.json": [{"text": "no", "intent": "x"}]}
    assert set(splits_of(tmp_path, {**bot, **lists}).values()) == {""}


def test_a_rasa_project_with_tests_is_trained_on(tmp_path: Path) -> None:
    project = {
        "data/nlu.yml": NLU.format("greet"),
        "data/faq.yml": NLU.format("bye"),
        "tests/test_stories.yml": STORIES,
        "config.yml": "language: en\n",
        "requirements-dev.txt": "pytest\n",
    }
    labelled, audit = read_labelled(folder_of(tmp_path / "bot", project))
    assert (len(labelled), labelled.splits, labelled.languages) == (4, (), ("en",))
    assert len(labelled.train_part()) == 4 and audit.unused.empty
    with_tests = folder_of(tmp_path / "tested", {**project, "tests/test_nlu.yml": NLU.format("greet")})
    assert read_labelled(with_tests)[0].splits == ()


def test_beside_dev_and_test_the_others_are_train(tmp_path: Path) -> None:
    files = {"data.csv": table("a"), "more_test.csv": table("b"), "x.dev.csv": table("c")}
    expected = {"data.csv": "train", "more_test.csv": "test", "x.dev.csv": "dev"}
    assert splits_of(tmp_path, files) == expected
    labelled, audit = read_labelled(tmp_path)
    assert labelled.train_part().frame["text"].tolist() == ["a one", "a two"]
    assert any("train (data.csv), test (more_test.csv), dev (x.dev.csv)" in note for note in audit.notes)


@pytest.mark.parametrize("notes", ["support_fr.txt", "support_fr.md", "support_fr.csv", "fr/support_fr.log"])
def test_a_doubtful_code_is_not_confirmed_by_notes(notes: str, tmp_path: Path) -> None:
    files = {
        "support_it.csv": "text,intent\nmy screen is black,screen\nmy mouse is dead,mouse\n",
        notes: "name,colour\nroom,red\nbath,blue\n",
    }
    folder = folder_of(tmp_path / "data", files)
    with pytest.raises(DataError, match=r"^support_it\.csv does not say its language"):
        read_labelled(folder)
    labelled, _ = read_labelled(folder, reading=Reading(language="en"))
    assert labelled.languages == ("en",)


def test_a_doubtful_code_is_confirmed_by_data(tmp_path: Path) -> None:
    bare = "text,intent\nuno,a\ndue,b\n"
    folder = folder_of(tmp_path / "data", {"support_it.csv": bare, "support_fr.csv": bare})
    assert read_labelled(folder)[0].languages == ("fr", "it")


def test_an_upload_and_partly_labelled_sentences_have_the_same_rule(tmp_path: Path) -> None:
    files = {"data.csv": table("old"), "more_test.csv": table("new"), "train.csv": "name,colour\na,b\nc,d\n"}
    upload = read_upload("key", [(name, content.encode()) for name, content in files.items()])
    assert [stated.states.split for stated in upload.tables] == ["", ""] and not upload.states_splits
    labelled, unlabelled, _ = read_partly_labelled(folder_of(tmp_path / "data", files))
    assert labelled.splits == () and len(unlabelled) == 0


def workbook_of(sheets: Mapping[str, list[list[object]]]) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


@pytest.mark.parametrize("other", [[], [["epochs", "method"], [3, "emu"]]])
def test_a_sheet_without_data_makes_no_split_and_no_language(other: list[list[object]]) -> None:
    rows: list[list[object]] = [HEADER.split(","), ["one", "a", "en"], ["two", "b", "en"]]
    book = workbook_of({"all_test": rows, "more_test": rows, "train": other})
    read = read_files(source_files([("data.xlsx", book)])).rows
    assert set(read["split"]) == {""}
    bare = [row[:2] for row in rows]
    book = workbook_of({"support_it": bare, "more_it": bare, "support_fr": other})
    with pytest.raises(DataError, match="does not say its language"):
        read_files(source_files([("data.xlsx", book)]))


def test_sheets_beside_a_split_s_with_other_columns_are_no_part_of_it() -> None:
    rows: list[list[object]] = [HEADER.split(","), ["one", "a", "en"], ["two", "b", "en"]]
    book = workbook_of({"Notes": [["x", "y"], [1, 2]], "train": rows, "test": rows, "dev": [["z"], [1]]})
    read = read_files(source_files([("data.xlsx", book)])).rows
    assert read["split"].tolist() == ["train", "train", "test", "test"]
