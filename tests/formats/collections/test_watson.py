"""Watson Assistant's workspaces, skills and CSV."""

import pytest

from emu_core.errors import DataError
from tests.support.exports import cells, rows_of

COLUMNS = ("text", "intent", "language", "annotated")
WORKSPACE = {
    "intents": [
        {
            "intent": "Book",
            "examples": [
                {
                    "text": "fly to Rome",
                    "mentions": [{"entity": "city", "location": [7, 11]}, {"location": [3]}],
                },
                {"text": "travel", "mentions": None},
                "by train",
            ],
            "description": "",
        },
        {"intent": "Empty", "examples": []},
    ],
    "counterexamples": [{"text": "what is love"}],
    "entities": [{"entity": "city", "values": [{"value": "Rome"}]}],
}
ROWS = [
    ("fly to Rome", "Book", "de", "fly to [city : Rome]"),
    ("travel", "Book", "de", ""),
    ("by train", "Book", "de", ""),
    ("what is love", "irrelevant", "de", ""),
]


def test_workspaces_and_skills() -> None:
    workspace = {**WORKSPACE, "language": "de"}

    for content in (
        workspace,
        {"name": "skill", "type": "dialog", "language": "de", "workspace": WORKSPACE},
        {"assistant_skills": [{"type": "action", "workspace": workspace}, {"type": "search"}]},
    ):
        assert cells({"skill.json": content}, *COLUMNS) == ROWS


def test_csv_without_a_header_loses_no_row() -> None:
    text = '"hello, you",greet\nhi there,greet\r\n\r\nbye,bye-2.a\nbye bye,bye-2.a\n'

    assert cells({"intents.csv": text}, "text", "intent", "title") == [
        ("hello, you", "greet", "Two columns without a header, as of Watson Assistant"),
        ("hi there", "greet", "Two columns without a header, as of Watson Assistant"),
        ("bye", "bye-2.a", "Two columns without a header, as of Watson Assistant"),
        ("bye bye", "bye-2.a", "Two columns without a header, as of Watson Assistant"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "text,intent\nhi there,a\nhello you,a\n",
        "Ticket text,category\nhi there,a\nhello you,a\n",
        "the cat,chat\nthe dog,chien\n",
        "hi there,en,a\nhello you,en,a\n",
    ],
)
def test_other_csv_is_a_table(text: str) -> None:
    assert set(rows_of({"x.csv": text})["title"]) <= {"", "Table without a header"}


def test_a_damaged_row_is_named() -> None:
    with pytest.raises(DataError, match=r"intents.csv: line 900 is not a sentence and an intent; put quotes"):
        rows_of(
            {
                "intents.csv": "".join(f"{n} how are you my friend,greet\n" for n in range(899))
                + "hello, you,greet\n"
            }
        )
