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
