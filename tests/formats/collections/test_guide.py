"""The guide lists every format of a collection, as its row in the table says it, and what is not read."""

from pathlib import Path

import pytest

from emu_core.data.reading import ColumnMapping, Reading
from emu_core.errors import DataError
from emu_core.formats.collections.formats import COLLECTION_FORMATS
from emu_core.formats.labelled import read_labelled
from tests.support.paths import ROOT


def test_the_guide_has_the_table_of_collections() -> None:
    page = (ROOT / "docs" / "how-to" / "data.md").read_text("utf-8")
    section = page.partition("## Exports of other tools")[2].partition("\n## ")[0]
    table = section.partition("\n| format | ")[2].partition("\n\n")[0]
    rows = table.splitlines()[2:]
    assert rows == [f"| {table.title} | `{table.files}` | {table.reads} |" for table in COLLECTION_FORMATS]


NOT_READ = (ROOT / "docs" / "how-to" / "data.md").read_text("utf-8").partition("**What is not read**")[2]
TOOLS = [
    line.split(" | ")[0].removeprefix("| ")
    for line in NOT_READ.partition("\n\n")[2].partition("\n\n")[0].splitlines()[2:]
]
FILES = ROOT / "tests" / "formats" / "not_read"
UTTERANCES, NAMES = ["book a room", "cancel it"], ["book", "cancel"]
# The nearest way in: a file that a person makes of the tool's own.
WAYS: dict[str, tuple[str, str, Reading]] = {
    "Genesys": ("a.csv", "utterance,intent,language\nbook a room,book,en\ncancel it,cancel,en\n", Reading()),
    "Cognigy": (
        "a.csv",
        "intent,exampleSentence\nbook,book a room\ncancel,cancel it\n",
        Reading(language="en", mapping=ColumnMapping(text="exampleSentence")),
    ),
    "Kore.ai": (
        "a.csv",
        "Task Name,Utterance\nbook,book a room\ncancel,cancel it\n",
        Reading(language="en", mapping=ColumnMapping(intent="Task Name")),
    ),
    "Voiceflow": ("a.json", '{"book": ["book a room"], "cancel": ["cancel it"]}', Reading(language="en")),
    "Bixby": (
        "a.csv",
        "utterance,goal\nbook a room,book\ncancel it,cancel\n",
        Reading(language="en", mapping=ColumnMapping(intent="goal")),
    ),
}


def test_every_tool_that_is_not_read_is_tried() -> None:
    assert TOOLS[:-1] == list(WAYS) and TOOLS[-1].startswith(
        "tickets"
    )  # which are read, and are no tool's file
    assert {path.name for path in FILES.iterdir()} == {folder_of(tool) for tool in WAYS}


def folder_of(tool: str) -> str:
    return tool.lower().replace(".", "-")


@pytest.mark.parametrize("tool", WAYS)
def test_what_is_not_read_is_refused_and_never_misread(tool: str) -> None:
    folder = FILES / folder_of(tool)
    for given in (folder, *folder.iterdir()):
        with pytest.raises(DataError):
            read_labelled([given], reading=Reading(language="en"))


@pytest.mark.parametrize("tool", WAYS)
def test_the_way_in_from_a_tool_that_is_not_read(tool: str, tmp_path: Path) -> None:
    name, text, reading = WAYS[tool]
    (tmp_path / name).write_text(text, "utf-8")
    frame = read_labelled([tmp_path / name], reading=reading)[0].frame
    assert frame["text"].tolist() == UTTERANCES and frame["intent"].tolist() == NAMES
