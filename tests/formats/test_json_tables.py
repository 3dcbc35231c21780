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


def sentences(value: Any, text: str = "text", intent: str = "intent") -> list[tuple[str, str]]:
    """Return the sentences that are read of a value, with their intents."""
    return [(row[text], row.get(intent) or row["tag"]) for row in rows(value)]


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


def test_objects_over_several_lines_one_after_the_other() -> None:
    text = "\n".join(json.dumps(record, indent=2) for record in RECORDS)
    assert read_table(text.encode(), "x.json").to_dict("records") == RECORDS
    broken = text.replace('"n": "3"', '"n": ')
    with pytest.raises(DataError, match=r"x\.json: line 15 is not JSON; "):
        read_table(broken.encode(), "x.json")


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


CITY = {"city": {"type": {"alexa": "AMAZON.City", "dialogflow": "@sys.geo-city"}}}
GREET, PART = [("hi there", "greet"), ("hello you", "greet")], [("good bye", "part")]
BOTH = GREET + PART


@pytest.mark.parametrize(
    "key", ["text", "phrases", "patterns", "utterances", "samples", "examples", "Phrases"]
)
@pytest.mark.parametrize("bye", [BYE, *BYE])
def test_sentences_of_an_intent_are_at_a_usual_name_and_nowhere_else(key: str, bye: object) -> None:
    greet = {key: HI, "entities": CITY, "responses": ["what is up", "good day"], "description": "a greeting"}
    intents = {"greet": greet, "part": {key: bye, "answer": "see you soon"}}
    assert sentences(intents) == BOTH
    assert sentences({"version": "4.0", "intents": intents, "entityTypes": CITY}) == BOTH
    assert sentences([{name: intent} for name, intent in intents.items()]) == BOTH
    assert sentences([{"tag": name, **intent} for name, intent in intents.items()]) == BOTH
    assert sentences({"intents": {**intents, "stop": {"entities": CITY}, "none": {}}}) == BOTH
    assert sentences({"intents": {"greet": greet}}) == GREET
    nested = {"chat": intents, "shop": {"message": {key: ["a parcel"]}, "label": {key: ["a stamp"]}}}
    assert sentences(nested) == [(text, f"chat/{name}") for text, name in BOTH] + [
        ("a parcel", "shop/message"),
        ("a stamp", "shop/label"),
    ]


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("language", ["de", "en-GB"])
def test_keys_around_the_objects_of_intents(split: str, language: str) -> None:
    intents = {"greet": {"phrases": HI, "entities": CITY}, "part": {"phrases": BYE[0]}}
    by_language = rows({language: intents, "fr": intents})
    assert {row["language"] for row in by_language} == {language, "fr"}
    assert [(row["text"], row["intent"]) for row in by_language] == BOTH * 2
    by_split = rows({split: intents, "dev": intents})
    assert [(row["text"], row["intent"], row["split"]) for row in by_split] == [
        (text, intent, name) for name in (split, "dev") for text, intent in BOTH
    ]


@pytest.mark.parametrize("texts", ["hallo", ["hallo"]])
def test_sentences_of_an_intent_by_language(texts: object) -> None:
    expected = [("hi there", "greet", "en"), ("hallo", "greet", "de")]
    for value in (
        {"greet": {"phrases": {"en": ["hi there"], "de": texts}, "entities": CITY}},
        {
            "greet": {"en": ["hi there"], "de": texts}
            if isinstance(texts, list)
            else {"en": "hi there", "de": texts}
        },
        [{"intent": "greet", "phrases": {"en": ["hi there"], "de": texts}}],
    ):
        assert [(row["text"], row["intent"], row["language"]) for row in rows(value)] == expected
    assert rows([{"intent": "greet", "phrases": {"en": "hi there", "de": "hallo"}}]) == [
        {"intent": "greet", "text_en": "hi there", "text_de": "hallo"}
    ]


def test_what_has_no_sentences_at_a_usual_name_is_said() -> None:
    value = {
        "greet": {"phrases": HI},
        "stop": {"type": "AMAZON.Stop"},
        "part": BYE,
        "owner": {"a": {"b": "Ann Lee"}},
    }
    table = read_table(json.dumps(value).encode(), "x.json")
    assert list(zip(table["text"], table["intent"], strict=True)) == BOTH
    assert table.attrs["notes"] == ("x.json, not read, since no sentences are at a usual name: stop, owner.",)
    assert "Ann Lee" not in str(rows({"greet": HI, "part": BYE, "owner": {"a": {"b": "Ann Lee"}}}))


def test_a_text_beside_lists_of_sentences() -> None:
    assert sentences({"intents": {"greet": HI, "part": BYE[0]}}) == BOTH
    with pytest.raises(
        DataError, match="has a text beside its lists of sentences; write it as a list of one"
    ):
        rows({"greet": HI, "part": BYE[0]})


def test_sentences_beside_answers_have_no_intent_without_its_name() -> None:
    for value in ({"patterns": HI, "responses": BYE}, {"phrases": HI}, {"utterances": HI, "slots": CITY}):
        assert rows(value) == [{"text": text} for text in HI]
    assert (
        sentences({"patterns": [*HI, *BYE], "tags": ["greet", "greet", "part"]}, "patterns", "tags") == BOTH
    )
    both = {"questions": HI, "greetings": BYE}
    assert {row["intent"] for row in rows(both)} == set(both)  # which may be intents


def test_a_sentence_beside_longer_lists_is_read_wherever_it_is() -> None:
    many = [{"tag": str(number), "patterns": f"sentence {number}"} for number in range(60)]
    assert len([row for row in rows([*many, {"tag": "60", "patterns": HI}]) if row["text"]]) == 62


def test_words_of_a_sentence_that_have_tags_are_no_sentences() -> None:
    tokens = {"text": ["book", "it"], "tags": ["O", "O"], "intent": "book"}
    assert rows([tokens]) == [{"text": '["book", "it"]', "tags": '["O", "O"]', "intent": "book"}]
    assert sentences([{"text": ["Hi", "Hey"], "responses": ["a", "b"], "intent": "greet"}]) == [
        ("Hi", "greet"),
        ("Hey", "greet"),
    ]


def test_an_id_of_several_sentences_is_the_id_of_none() -> None:
    values = ({"id": 7, "tag": "a", "patterns": HI}, {"id": 8, "tag": "b", "patterns": BYE})
    assert [row.get("id") for row in rows([*values])] == ["", "", "8"]
    by_language = [
        {"id": 7, "intent": "a", "utterances": {"en": texts, "de": ["hallo"]}} for texts in (HI, BYE)
    ]
    assert [row.get("id") for row in rows(by_language)] == ["", "", "", "7", "7"]


def test_objects_of_intents_with_single_sentences() -> None:
    intents = {
        "greet": {"text": "hi there", "response": "yo"},
        "part": {"text": "good bye", "response": "ok"},
    }
    expected = [("hi there", "greet"), ("good bye", "part")]
    assert sentences(intents) == sentences({"version": 2, "intents": intents}) == expected
    texts = {name: {"text": intent["text"]} for name, intent in intents.items()}
    assert sentences({"intents": texts}) == expected
    assert [row["id"] for row in rows(texts)] == ["greet", "part"]  # which may be ids


def test_answers_are_no_sentences_beside_lists_at_other_names() -> None:
    greet = {"teaching": HI, "answers": ["what is up", "good day"]}
    with pytest.raises(DataError, match="no rows of sentences"):
        rows({"greet": greet, "part": {"teaching": BYE, "answers": HI}})
    table = read_table(json.dumps({"greet": greet, "part": {"phrases": BYE}}).encode(), "x.json")
    assert list(zip(table["text"], table["intent"], strict=True)) == PART
    assert "not read, since no sentences are at a usual name: greet" in table.attrs["notes"][0]
    phone = {"phone": {"answer": HI, "settings": BYE}, "chat": {"greet": HI}}  # which may be intents
    assert {row["intent"] for row in rows(phone)} == {"phone/answer", "phone/settings", "chat/greet"}
