"""Lists and objects of intents in a cell, in every format that can hold them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from emu_core.data.intent_lists import (
    ANNOTATORS_DISAGREE,
    NO_NAME,
    SEVERAL_INTENTS,
    listed_intents,
    majority_of,
    single_intents,
)
from emu_core.data.reading import ColumnMapping, Reading
from emu_core.errors import DataError
from emu_core.formats.collections.rows import Rows
from emu_core.formats.labelled import read_labelled
from tests.support.tables import ENDINGS, WRITERS

ROWS = [
    ("yes please", ["affirm"]),
    ("yes, book it", ["affirm", "book"]),
    ("what", []),
    ("book it", ["book"]),
    ("no", ["deny", "deny"]),
]


@pytest.mark.parametrize(
    ("labels", "intent", "reason"),
    [
        (["pay", "pay", "lost"], "pay", ""),
        (["lost", "pay", "pay", "lost", "pay"], "pay", ""),
        (["pay", "pay"], "pay", ""),
        (["pay", "lost", "pay", "lost"], "", ANNOTATORS_DISAGREE),
        (["pay", "lost"], "", SEVERAL_INTENTS),
    ],
)
def test_a_list_with_repeats_is_votes(labels: list[str], intent: str, reason: str) -> None:
    for cell in (json.dumps(labels), str(labels), str(np.array(labels))):
        [single], [why] = single_intents(pd.Series([cell], dtype="str"))
        assert (single if not why else "", why) == (intent, reason)
    rows = Rows("x.jsonl")
    rows.add("a sentence", labels)
    assert (rows.frame()["intent"].tolist() if len(rows) else []) == [intent] * (not reason)
    assert rows.left_out == ({reason: 1} if reason else {})


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_one_is_unwrapped_and_several_are_left_out_and_counted(ending: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS, columns=["text", "intent"])
    path = tmp_path / f"hotel.en{ending}"
    path.write_bytes(WRITERS[ENDINGS[ending]](frame))  # as pandas and PyArrow write lists
    labelled, audit = read_labelled(path)
    assert dict(zip(labelled.frame["text"], labelled.frame["intent"], strict=True)) == {
        "yes please": "affirm",
        "book it": "book",
        "no": "deny",
    }
    assert audit.dropped[["row", "reason"]].to_numpy().tolist() == [[2, "several intents"], [3, "no intent"]]
    assert "Dropped, several intents: 1 row." in audit.summary()


@pytest.mark.parametrize(
    ("text", "intents"),
    [
        ('["pay"]', ["pay"]),
        ('["pay", "get"]', ["pay", "get"]),
        ("['pay', \"it's\"]", ["pay", "it's"]),
        ("['pay' 'get']", ["pay", "get"]),  # NumPy
        ("[7]", ["7"]),
        ("[null]", []),
        (" [ ] ", []),
        ("[unk]", None),
        ("[IN:GET [SL:A b ] ]", None),
        ("[", None),
        ("['pay'", None),
        ('[{"name": "pay"}]', None),
        ("[" * 5000, None),
        ("pay", None),
    ],
)
def test_what_is_a_list(text: str, intents: list[str] | None) -> None:
    assert listed_intents(text) == intents


NAMED = [
    {"name": "pay", "confidence": 0.9},
    {"confidence": 0.1, "label": "pay"},
    {"intent": {"name": "pay", "score": 1}},
    {"displayName": "pay", "name": "projects/x/intents/7"},
    [{"name": "pay", "confidence": 0.5}],
    [{"label": "pay", "user": 1}, {"label": "pay", "user": 2}],
    [{"label": "pay", "user": 1}, {"label": "get", "user": 2}, {"label": "pay", "user": 3}],
    [{"labels": ["pay"], "annotator": "Ann"}],
    [{"value": "pay", "annotator": "Ann"}, {"value": "pay", "annotator": "Bob"}],
    [["pay"]],
]
REFUSED = [
    ({"priority": 0}, NO_NAME),
    ({"name": {"x": 1}}, NO_NAME),
    ({"value": "pay"}, NO_NAME),
    ([{"priority": 0}], NO_NAME),
    ([{"name": "pay"}, {"name": "get"}], SEVERAL_INTENTS),
    ([{"label": "pay", "user": 1}, {"label": "get", "user": 2}], ANNOTATORS_DISAGREE),
    ([{"label": "pay", "user": 1}, {"label": "get", "user": 1}], SEVERAL_INTENTS),
]


def single(value: str) -> tuple[str, str]:
    intents, reasons = single_intents(pd.Series([value], dtype="str"))
    return intents[0], reasons[0]


@pytest.mark.parametrize("write", [json.dumps, repr])
@pytest.mark.parametrize("value", NAMED, ids=repr)
def test_an_object_is_the_intent_that_it_names(value: Any, write: Any) -> None:
    assert single(write(value)) == ("pay", "")


@pytest.mark.parametrize("write", [json.dumps, repr])
@pytest.mark.parametrize(("value", "reason"), REFUSED, ids=repr)
def test_an_object_that_names_none_is_refused(value: Any, reason: str, write: Any) -> None:
    assert single(write(value)) == (write(value), reason)


@pytest.mark.parametrize(
    ("value", "intent"),
    [
        ("{'name': 'pay', 'score': nan}", "pay"),
        ("{'name': 'nan', 'scores': [-inf, nan]}", "nan"),
        ("[{'name': np.str_('pay'), 'score': np.float64(nan)}]", "pay"),
        ("{'label': array(['pay'], dtype=object), 'score': np.int64(1)}", "pay"),
        ("{'name': 'int(x)', 'score': 1}", "int(x)"),
        ("{}", ""),
        ("[{}]", ""),
        ('{"name": null}', ""),
        ('{"name": 7.0}', "7"),
        ("{city}", "{city}"),
        ("[{", "[{"),
        ("{'a': " * 4000 + "1" + "}" * 4000, None),
        ("[" * 900 + '"pay"' + "]" * 900, None),
        ("['a'" + "+'b'" * 3000 + "]", None),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_no_object_stays(value: str, intent: str | None) -> None:
    found, reason = single(value)
    assert (found, reason) == (intent, "") if intent is not None else found in (value, "pay")


def test_most_annotators_decide_and_a_tie_is_none() -> None:
    assert majority_of([["a"], ["b"], ["a"]]) == (["a"], "")
    assert majority_of([["a"], ["b"]]) == ([], ANNOTATORS_DISAGREE)
    assert majority_of([["a", "b"], ["b", "a"], ["c"]]) == (["a", "b"], SEVERAL_INTENTS)
    assert majority_of([["a"], ["a"]], {"a": 1}) == (["a"], "")
    assert majority_of([["a"]], {"a": 1}) == ([], ANNOTATORS_DISAGREE)
    assert majority_of([]) == ([], "")


@pytest.mark.parametrize("kind", ["frame", ".csv", ".tsv", ".jsonl", ".parquet"])
def test_a_confidence_makes_no_intent_in_any_format(kind: str, tmp_path: Path) -> None:
    scores = np.float32([0.9, 0.8, 0.7, 0.6])
    frame = pd.DataFrame(
        {
            "text": ["one", "two", "three", "four"],
            "intent": [{"name": "ab"[at % 2], "confidence": score} for at, score in enumerate(scores)],
        }
    )
    data: Any = frame
    if kind != "frame":
        data = tmp_path / f"hotel.en{kind}"
        data.write_bytes(WRITERS[ENDINGS[kind]](frame))
    labelled, audit = read_labelled(data, reading=Reading(language="en"))
    assert labelled.frame["intent"].tolist() == ["a", "b", "a", "b"] and audit.dropped.empty


def written(folder: Path, name: str, value: Any) -> Path:
    (folder / name).write_text(json.dumps(value), "utf-8")
    return folder / name


@pytest.mark.parametrize("count", [2, 3, 4])
def test_settings_are_no_intents_however_many_rows_there_are(count: int, tmp_path: Path) -> None:
    names = ["pay", "get", "ask", "go"][:count]
    rows = [
        {"name": name, "phrases": [f"{name} it", f"{name} now"], "settings": {"priority": at % 2}}
        for at, name in enumerate(names)
    ]
    labelled, _ = read_labelled(written(tmp_path, "bot.en.json", rows))
    assert labelled.intents == tuple(sorted(names)) and len(labelled) == 2 * count


def test_objects_alone_are_refused_and_a_plain_column_beside_them_is_read(tmp_path: Path) -> None:
    rows = [{"text": f"text {at}", "intent": {"priority": at % 2}} for at in range(6)]
    with pytest.raises(DataError, match=r"column 'intent' holds objects, which name no intent"):
        read_labelled(written(tmp_path, "bot.en.json", rows))
    chosen = Reading(mapping=ColumnMapping(intent="intent"))
    with pytest.raises(DataError, match=f"has 0 usable of 6 rows .{NO_NAME} in row 1"):
        read_labelled(written(tmp_path, "bot.en.json", rows), reading=chosen)
    beside = [{**row, "queue": "ab"[at % 2]} for at, row in enumerate(rows)]
    labelled, audit = read_labelled(written(tmp_path, "bot.en.json", beside))
    assert labelled.intents == ("a", "b")
    assert "bot.en.json, guessed: intent is column 'queue'." in audit.notes


def test_a_list_of_objects_beside_a_sentence_is_no_list_of_slots(tmp_path: Path) -> None:
    rows = [{"text": f"text {at}", "labels": [{"name": "ab"[at % 2], "score": 0.5}]} for at in range(4)]
    labelled, _ = read_labelled(written(tmp_path, "bot.en.json", rows))
    assert labelled.frame["intent"].tolist() == ["a", "b", "a", "b"]


def test_what_annotators_say_is_read_by_any_name_of_its_column(tmp_path: Path) -> None:
    given = [("a", "a"), ("b", "b"), ("a", "b"), ("b", "b")]
    for column in ("annotations", "label"):
        cells = [
            json.dumps([{"label": label, "user": user} for user, label in enumerate(pair)]) for pair in given
        ]
        path = tmp_path / "hotel.en.csv"
        pd.DataFrame({"text": ["one", "two", "three", "four"], column: cells}).to_csv(path, index=False)
        labelled, audit = read_labelled(path)
        assert labelled.frame["intent"].tolist() == ["a", "b", "b"]
        assert audit.dropped[["row", "reason"]].to_numpy().tolist() == [[3, ANNOTATORS_DISAGREE]]
