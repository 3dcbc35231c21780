"""Rasa's training data in its three formats."""

from pathlib import Path

import pytest

from emu_core.errors import DataError
from emu_core.formats.labelled import read_labelled
from tests.support.exports import cells, folder_of, rows_of, tables_of

NLU = """\
version: "3.1"
# the assistant of a city
nlu:
- intent: book
  examples: |
    - from [Rome]{"entity": "city", "role": "from"} to [Bern]{"entity": "city", "role": "to", "group": "1"}
    - at [six](time:06:00) [sharp]{'entity': 'exact', "value": "yes"}
    - a [big][{"entity": "size", "value": "XL"}, {"entity": "mood"}] one
    - press [1] now
- intent: faq/hours
  examples:
  - text: |
      when do you open?
    metadata:
      sentiment: neutral
  - text: are you [open](state)
  - till when?
  metadata: {owner: me}
- intent: "yes"
  examples: |
    - yes
    - 1.0
    no hyphen
    # a comment
- synonym: Rome
  examples: |
    - Roma
- regex: zip
  examples: |
    - \\d{5}
- lookup: country
  examples: |
    - Italy
"""
ROWS = [
    ("from Rome to Bern", "book", "from [city : Rome] to [city : Bern]"),
    ("at six sharp", "book", "at [time : six] [exact : sharp]"),
    ("a big one", "book", "a [size : big] one"),
    ("press [1] now", "book", ""),
    ("when do you open?", "faq/hours", ""),
    ("are you open", "faq/hours", "are you [state : open]"),
    ("till when?", "faq/hours", ""),
    ("yes", "yes", ""),
    ("1.0", "yes", ""),
]
COLUMNS = ("text", "intent", "annotated")


def test_yaml() -> None:
    files = {"nlu.yml": NLU}

    assert cells(files, *COLUMNS) == ROWS
    _, notes = tables_of(files)
    assert "Rasa NLU: 9 examples, 3 intents." in notes
    assert any("do not begin with a hyphen: 1 sentence" in note for note in notes)


def test_a_list_of_intents_without_the_key_nlu() -> None:
    assert cells({"nlu.yml": "- intent: a\n  examples: |\n    - hi\n"}, *COLUMNS) == [("hi", "a", "")]


def test_a_key_that_is_there_twice_loses_no_rows() -> None:
    part = "nlu:\n- intent: {0}\n  examples: |\n    - {0}\n"

    assert cells({"nlu.yml": part.format("a") + part.format("b")}, "text") == [("a",), ("b",)]


def test_a_project() -> None:
    files = {
        "data/nlu/greet.yml": "nlu:\n- intent: greet\n  examples: |\n    - hi\n",
        "data/nlu/bye.yml": "nlu:\n- intent: bye\n  examples: |\n    - bye\n",
        "data/stories.yml": "stories:\n- story: a\n  steps:\n  - intent: greet\n  - action: utter_greet\n",
        "data/rules.yml": "rules:\n- rule: a\n  steps:\n  - intent: bye\n  - action: utter_bye\n",
        "domain.yml": "intents:\n- greet\n- bye\nresponses:\n  utter_greet:\n  - text: Hi!\n",
        "config.yml": "language: de\npipeline: []\n",
        "README.md": "# Bot\n\n- run it\n",
    }

    assert cells(files, "text", "intent", "language") == [("bye", "bye", "de"), ("hi", "greet", "de")]
    _, notes = tables_of(files)
    assert any(
        note.startswith("Not read") and "domain.yml" in note and "stories.yml" in note for note in notes
    )


def test_names_of_files_state_the_language_rather_than_the_pipeline(tmp_path: Path) -> None:
    part = "nlu:\n- intent: {}\n  examples: |\n    - {}\n"
    files = {
        "config.yml": "language: de\n",
        "nlu_it.yml": part.format("greet", "ciao"),
        "nlu_fr.yml": part.format("bye", "salut"),
        "nlu.yml": part.format("bye", "tschüss"),
    }

    labelled, _ = read_labelled(folder_of(tmp_path / "bot", files))

    assert set(labelled.languages) == {"de", "fr", "it"}


def test_markdown() -> None:
    text = (
        "<!-- for Rasa 1 -->\n## intent:greet\n- hi [Ann](name:anna)\n  + hello\n---\n\n## lookup:city\n- rome.txt\n"
        "## intent: faq/hours\r\n* open?\r\n## regex:zip\n- [0-9]{5}\n# Notes\n- none\n"
    )

    assert cells({"nlu.md": text}, *COLUMNS) == [
        ("hi Ann", "greet", "hi [name : Ann]"),
        ("hello", "greet", ""),
        ("open?", "faq/hours", ""),
    ]


def test_json() -> None:
    examples = [
        {
            "text": "from Rome to Bern",
            "intent": "book",
            "entities": [
                {"start": 13, "end": 17, "entity": "city"},
                {"start": 5, "end": 9, "entity": "city", "role": "from"},
            ],
        },
        {"text": "hi", "entities": None},
        {"intent": "book"},
        "hi",
    ]
    data = {
        "common_examples": examples,
        "regex_features": [{"name": "a", "pattern": "b"}],
        "entity_synonyms": 3,
    }

    assert cells({"demo.json": {"rasa_nlu_data": data}}, *COLUMNS) == [
        ("from Rome to Bern", "book", "from [city : Rome] to [city : Bern]"),
        ("hi", "", ""),
        ("", "book", ""),
    ]


def test_other_yaml_is_not_rasa() -> None:
    for text in ("services:\n  app:\n    image: x\n", "stories:\n- intent: a\n", "intent: a\n", "nlu: yes\n"):
        with pytest.raises(DataError, match="none that Emu knows"):
            rows_of({"x.yml": text})


def test_damaged_yaml_names_its_line_and_is_never_left_out() -> None:
    damaged = "nlu:\n- intent: a\n  examples: |\n    - hi\n   - bye\n"

    for files in ({"nlu.yml": damaged}, {"nlu_fr.yml": damaged, "nlu_en.yml": NLU}):
        with pytest.raises(DataError, match=r"nlu(_fr)?.yml is not valid YAML in line 5"):
            rows_of(files)


def test_an_alias_is_refused() -> None:
    with pytest.raises(
        DataError, match=r"nlu.yml is not valid YAML in line 4 \(an alias or too many levels\)"
    ):
        rows_of({"nlu.yml": "nlu:\n- &a\n  intent: a\n- *a\n"})
