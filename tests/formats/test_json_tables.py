"""JSON in every shape that people have: the rows, whatever lists and objects are around them."""

import json
from typing import Any

import pandas as pd
import pytest

from emu_core.errors import DataError
from emu_core.formats.tables.read import read_table

HI, BYE = ["hi there", "hello you"], ["good bye"]
FRAME = pd.DataFrame(
    {"text": ["where is it", "how do I go", "open now?"], "intent": ["place", "way", "place"], "n": [1, 2, 3]}
)
RECORDS = FRAME.astype("str").to_dict("records")


def rows(value: Any, indent: int | None = None) -> list[dict[str, str]]:
    """Return the rows that are read of a value."""
    payload = json.dumps(value, indent=indent, ensure_ascii=False).encode()
    return read_table(payload, "x.json").to_dict("records")


@pytest.mark.parametrize("orient", ["records", "columns", "index", "split", "table"])
@pytest.mark.parametrize("indent", [0, 2])
def test_what_pandas_writes(orient: Any, indent: int) -> None:
    assert (
        read_table(FRAME.to_json(orient=orient, indent=indent).encode(), "x.json").to_dict("records")
        == RECORDS
    )
    assert rows(FRAME.to_dict("list")) == RECORDS


@pytest.mark.parametrize("orient", ["columns", "index", "split", "table"])
def test_what_pandas_writes_of_columns_with_other_names(orient: Any) -> None:
    frame = FRAME.set_axis(["a", "b", "c"], axis=1)
    expected = frame.astype("str").to_dict("records")
    assert read_table(frame.to_json(orient=orient).encode(), "x.json").to_dict("records") == expected


def test_rows_without_names() -> None:
    expected = [dict(zip(("column 1", "column 2", "column 3"), row.values(), strict=True)) for row in RECORDS]
    assert read_table(FRAME.to_json(orient="values").encode(), "x.json").to_dict("records") == expected
    lines = "\n".join(map(json.dumps, FRAME.to_numpy().tolist()))
    assert read_table(lines.encode(), "x.jsonl").to_dict("records") == expected
    assert rows([list(FRAME.columns), *FRAME.to_numpy().tolist()]) == RECORDS
    with pytest.raises(DataError, match=r"x\.json: row 2 has 1 cell but the first has 2; "):
        rows([["a", "b"], ["c"]])


@pytest.mark.parametrize("key", ["data", "rows", "examples", "items", "records"])
def test_a_list_at_a_usual_key(key: str) -> None:
    assert rows({"version": "1.0", "message": "success", key: RECORDS}) == RECORDS
    assert rows({"status": 200, "result": {"count": 3, key: RECORDS}}) == RECORDS
    assert len(rows({key: FRAME.to_numpy().tolist()})) == 3
    assert rows({key: HI}) == [{"text": text} for text in HI]


def test_sentences_by_intent() -> None:
    expected = [
        *({"intent": "greet", "text": text} for text in HI),
        {"intent": "part", "text": "good bye"},
    ]
    assert rows({"greet": HI, "part": BYE}) == expected
    assert rows({"greet": HI, "part": BYE}, indent=1) == expected
    assert rows({"version": 2, "intents": {"greet": HI, "part": BYE, "empty": []}}) == expected
    assert rows({"greet": HI}) == expected[:2]


def test_sentences_by_split() -> None:
    assert rows(
        {"train": [["a b", "x"], ["c d", "y"]], "test": [["e f", "x"]], "oos_test": [["g", "oos"]]}
    ) == [
        {"split": "train", "column 1": "a b", "column 2": "x"},
        {"split": "train", "column 1": "c d", "column 2": "y"},
        {"split": "test", "column 1": "e f", "column 2": "x"},
        {"split": "oos_test", "column 1": "g", "column 2": "oos"},
    ]
    assert rows({"train": RECORDS[:2], "validation": RECORDS[2:]}) == [
        {"split": split, **record}
        for split, record in zip(("train", "train", "validation"), RECORDS, strict=True)
    ]
    assert rows({"train": {"greet": HI}, "test": {"part": BYE}}) == [
        *({"split": "train", "intent": "greet", "text": text} for text in HI),
        {"split": "test", "intent": "part", "text": "good bye"},
    ]


def test_sentences_by_language() -> None:
    expected = [
        *({"language": "en", "intent": "greet", "text": text} for text in HI),
        {"language": "de", "intent": "greet", "text": "hallo du"},
    ]
    assert rows({"en": {"greet": HI}, "de": {"greet": ["hallo du"]}}) == expected
    assert rows({"greet": {"en": HI, "de": ["hallo du"]}, "part": {"en": BYE}}) == [
        *({"intent": row["intent"], "language": row["language"], "text": row["text"]} for row in expected),
        {"intent": "part", "language": "en", "text": "good bye"},
    ]
    assert rows({"en": {"greet": "hi there"}, "de": {"greet": "hallo du"}}) == [
        {"language": "en", "intent": "greet", "text": "hi there"},
        {"language": "de", "intent": "greet", "text": "hallo du"},
    ]
    assert rows([{"intent": "greet", "text": {"en": "hi there", "de": "hallo du"}}]) == [
        {"intent": "greet", "text_en": "hi there", "text_de": "hallo du"}
    ]


def test_lists_by_language_within_an_intent_and_columns_within_a_split() -> None:
    assert rows([{"intent": "greet", "utterances": {"en": HI, "de": ["hallo du"]}}]) == [
        *({"intent": "greet", "language": "en", "text": text} for text in HI),
        {"intent": "greet", "language": "de", "text": "hallo du"},
    ]
    assert rows({"train": {"text": HI, "label": ["a", "b"]}, "test": {"text": BYE, "label": ["b"]}}) == [
        {"split": "train", "text": "hi there", "label": "a"},
        {"split": "train", "text": "hello you", "label": "b"},
        {"split": "test", "text": "good bye", "label": "b"},
    ]
    assert rows([{"greet": HI}, {"part": BYE}]) == rows({"greet": HI, "part": BYE})


def test_what_stands_around_the_rows_holds_for_all_of_them() -> None:
    assert rows({"name": "bot", "locale": "de-DE", "data": [{"intent": "greet", "utterances": HI}]}) == [
        {"language": "de-DE", "intent": "greet", "text": text} for text in HI
    ]
    assert rows({"bank": {"pay": ["pay it"]}, "home": {"pay": ["pay me"]}}) == [
        {"intent": "bank/pay", "text": "pay it"},
        {"intent": "home/pay", "text": "pay me"},
    ]


def test_intents_with_their_sentences() -> None:
    expected = [{"tag": "greet", "answer": "ok", "text": text} for text in HI]
    assert rows({"intents": [{"tag": "greet", "patterns": HI, "answer": "ok"}]}) == expected
    assert rows([{"tag": "greet", "answer": "ok", "examples": [{"text": text} for text in HI]}]) == expected
    assert rows({"intent": "greet", "examples": HI}) == [{"intent": "greet", "text": text} for text in HI]
    assert rows([{"question": "where is it", "variations": ["where?"], "category": "place"}]) == [
        {"question": "where is it", "category": "place"},
        {"question": "where?", "category": "place"},
    ]


def test_words_of_a_sentence_are_no_sentences() -> None:
    assert rows([{"sentence": ["book", "a", "room"], "intent": "book"}]) == [
        {"sentence": '["book", "a", "room"]', "intent": "book"}
    ]


def test_intents_by_sentence_and_a_single_row() -> None:
    assert rows({"where is it": "place", "how do I go": "way", "open now?": "place"}) == [
        {"text": record["text"], "intent": record["intent"]} for record in RECORDS
    ]
    assert rows({"text": "where is it", "intent": "place"}) == [{"text": "where is it", "intent": "place"}]


def test_objects_over_several_lines_one_after_the_other() -> None:
    text = "\n".join(json.dumps(record, indent=2) for record in RECORDS)
    assert read_table(text.encode(), "x.json").to_dict("records") == RECORDS
    broken = text.replace('"n": "3"', '"n": ')
    with pytest.raises(DataError, match=r"x\.json: line 15 is not JSON; "):
        read_table(broken.encode(), "x.json")


def test_a_list_in_the_first_cell_is_no_json() -> None:
    assert list(read_table(b'["a"],text\n["b"],c\n', "x.csv").columns) == ['["a"]', "text"]


@pytest.mark.parametrize(
    "value", [{}, [], 7, [1, 2], {"a": {}}, {"a": [1]}, {"a": [None]}, [[1], 2], {"a": {"b": {"c": [[]]}}}]
)
def test_json_without_rows_says_what_to_write(value: Any) -> None:
    with pytest.raises(DataError) as caught:
        rows(value)
    assert "is not JSON" not in str(caught.value)
    assert "write" in str(caught.value)


def test_no_sentence_is_in_a_message() -> None:
    for value in (
        ["my secret", 1],
        {"my secret": [1]},
        {"my secret": {"my secret": {"my secret": [1, "my secret"]}}},
    ):
        with pytest.raises(DataError) as caught:
            rows(value)
        assert "secret" not in str(caught.value)
