"""LUIS, CLU, and the `.lu` files of the Bot Framework."""

from pathlib import Path

import pytest

from emu_core.errors import DataError
from emu_core.formats.labelled import read_labelled
from tests.support.exports import cells, folder_of, rows_of, tables_of

COLUMNS = ("text", "intent", "language", "annotated")


def luis(*utterances: object) -> dict[str, object]:
    return {"luis_schema_version": "3.2.0", "culture": "fr-fr", "intents": [], "utterances": list(utterances)}


def test_luis() -> None:
    content = luis(
        {
            "text": "fly to paris",
            "intent": "Book",
            "entities": [{"entity": "Location::To", "startPos": 7, "endPos": 11, "children": []}],
        },
        {
            "text": "🙂 in Rome",
            "intent": "None",
            "entities": [{"entity": "city", "startPos": 6, "endPos": 9}],
        },
        {"text": "no", "intent": "None", "entities": [{"entity": "x", "startPos": "0", "endPos": None}, 3]},
    )

    assert cells({"app.json": content}, *COLUMNS) == [
        ("fly to paris", "Book", "fr-fr", "fly to [Location.To : paris]"),
        ("🙂 in Rome", "None", "fr-fr", "🙂 in [city : Rome]"),
        ("no", "None", "fr-fr", ""),
    ]


def clu(*utterances: object) -> dict[str, object]:
    return {
        "projectFileVersion": "2023-04-01",
        "stringIndexType": "Utf16CodeUnit",
        "metadata": {"projectKind": "Conversation", "language": "en-us", "multilingual": True},
        "assets": {
            "projectKind": "Conversation",
            "intents": [],
            "entities": [],
            "utterances": list(utterances),
        },
    }


def test_clu(tmp_path: Path) -> None:
    content = clu(
        {
            "text": "🙂 to Rome",
            "intent": "Book",
            "dataset": "Train",
            "entities": [{"category": "city", "offset": 6, "length": 4}],
        },
        {"text": "nein", "intent": "None", "language": "de", "dataset": "Test", "entities": []},
        {"text": "ja", "intent": "Yes", "language": "de"},
    )

    assert cells({"project.json": content}, *COLUMNS, "split") == [
        ("🙂 to Rome", "Book", "en-us", "🙂 to [city : Rome]", "train"),
        ("nein", "None", "de", "", "test"),
        ("ja", "Yes", "de", "", ""),
    ]
    labelled, _ = read_labelled(folder_of(tmp_path, {"project.json": content}) / "project.json")
    assert labelled.languages == ("en", "de")


def test_a_project_without_utterances_says_so() -> None:
    for content in (luis(), clu()):
        with pytest.raises(DataError, match="holds no sentences to read"):
            rows_of({"x.json": content})


LU = """\
> !# @app.name = trips
> # Intent definitions

# Book
- fly to {@city:to=Rome}
- {date = today } or {@when={day=tomorrow} morning}
* I need \\{braces\\} } and [brackets]
- call {@contact}
- [more](./more.lu#Book)
    + indented

@ ml city hasRoles to
@ list size =
    - big :
        - large
## Bye
-bye

$when:later=
- in a while

# ? what is this
- a question of a knowledge base
"""


def test_lu() -> None:
    files = {"chat.lu": LU}

    assert cells(files, "text", "intent", "annotated") == [
        ("fly to Rome", "Book", "fly to [city.to : Rome]"),
        ("today or tomorrow morning", "Book", "[date : today] or [day : tomorrow] morning"),
        ("I need {braces} } and [brackets]", "Book", ""),
        ("call {@contact}", "Book", ""),
        ("indented", "Book", ""),
        ("bye", "Bye", ""),
    ]
    _, notes = tables_of(files)
    assert any("links to other files: 1 sentence" in note for note in notes)


def test_the_language_of_lu() -> None:
    text = "# a\n- {x=y} z\n"
    files = {
        "it-it/a.lu": text,
        "zh-cn/a.lu": text,
        "b.id-id.lu": text,
        "c.lu": f"> !# @app.culture = de-de\n{text}",
        "to-do/d.lu": text,
    }

    stated, unstated = tables_of(files)[0]
    assert list(zip(stated.files, stated.frame["language"], strict=True)) == [
        (("b.id-id.lu", 1), "id-id"),
        (("c.lu", 1), "de-de"),
        (("it-it/a.lu", 1), "it-it"),
        (("zh-cn/a.lu", 1), "zh-cn"),
    ]
    assert unstated.path == "to-do/d.lu" and "language" not in unstated.frame


def test_lu_is_known_by_its_notation_and_markdown_is_not_lu() -> None:
    assert cells({"chat.txt": "# a\n- to {@city=Rome}\n"}, "text", "intent") == [("to Rome", "a")]
    with pytest.raises(DataError, match="none that Emu knows"):
        rows_of({"README.md": "# Title\n- a bullet\n- {x} y\n"})
