"""Texts without what nobody sees at their ends."""

import pandas as pd
import pytest

from emu_core.data.cleaning import clean, stripped

# A text, and what is left of it.
TEXTS = {
    " pool\r\n": "pool",
    "\u200epool\u200f": "pool",
    "\u202bבריכה\u202c": "בריכה",
    "\u2068pool\u2069\u3000": "pool",
    "where is\u200b\xa0the pool": "where is\u200b\xa0the pool",
    "می\u200cخواهم": "می\u200cخواهم",
    "❤\ufe0f": "❤\ufe0f",
    "👨\u200d👩\u200d👧": "👨\u200d👩\u200d👧",
    **dict.fromkeys(
        ("", "\u200b", "\u200d\u200c", "\ufe0f \u2060", "\u3164", "\x01\x02", "\u2066\u2069", "\xad"), ""
    ),
}


@pytest.mark.parametrize(("text", "left"), TEXTS.items())
def test_nothing_invisible_is_left_at_the_ends(text: str, left: str) -> None:
    assert clean([text]) == [left]
    assert stripped(pd.Series([text, None], dtype="str")).tolist() == [left, ""]
