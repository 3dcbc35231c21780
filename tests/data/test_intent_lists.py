"""Lists of intents in a cell, in every format that can hold them."""

from pathlib import Path

import pandas as pd
import pytest

from emu_core.data.intent_lists import listed_intents
from emu_core.formats.labelled import read_labelled
from tests.support.tables import ENDINGS, WRITERS

ROWS = [
    ("yes please", ["affirm"]),
    ("yes, book it", ["affirm", "book"]),
    ("what", []),
    ("book it", ["book"]),
    ("no", ["deny", "deny"]),
]


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
