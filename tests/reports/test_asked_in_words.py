"""One sentence in several languages, in plain words and as a table."""

import re

import pandas as pd
import pytest

from emu_core.reports.asked import asked_sentence, asked_table

CODES = ("en", "de", "ja", "zh", "ar")


def table(right: str, of_a: str = "xxxxx") -> pd.DataFrame:
    """A row for each letter, "x" for wrong."""
    rows = []
    for code, *found in zip(CODES, of_a, right, strict=False):
        row = {"row": 0, "text": f"<i>{code}</i>", "language": code, "intent": "pets"}
        for name, letter in zip("AB", found, strict=True):
            intent = "pets" if letter == "r" else "laundry"
            row |= {f"{name}_text": 'a "text"', f"{name}_intent": intent, f"{name}_cosine": 0.731}
            row |= {f"{name}_right": letter == "r"}
        rows.append(row)
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("right", "of_a", "said"),
    [
        ("rrr", "rrr", "B is right in 3 of 3 languages. A is right in 3."),
        ("xxx", "rxx", "B is right in 0 of 3 languages. A is right in 1."),
        (
            "rrx",
            "xxx",
            "B is right in 2 of 3 languages; left behind: Japanese (taken for laundry). A is right in 0.",
        ),
        (
            "rxxxx",
            "rrrrr",
            "B is right in 1 of 5 languages; left behind: German (taken for laundry), Japanese (taken for laundry), "
            "Chinese (taken for laundry) and 1 more. A is right in 5.",
        ),
    ],
)
def test_it_says_which_languages_are_left_behind(right: str, of_a: str, said: str) -> None:
    assert asked_sentence(table(right, of_a), "AB") == said


def test_one_encoder_is_told_alone_and_nothing_found_is_said() -> None:
    alone = table("rx", "rx").assign(A_intent=["pets", ""])
    assert (
        asked_sentence(alone, "A")
        == "A is right in 1 of 2 languages; left behind: German (taken for nothing)."
    )


def test_the_table_begins_with_what_is_wrong_and_names_each_language_to_a_screen_reader() -> None:
    html = asked_table(table("rxr", "rrx"), "AB")
    assert re.findall(r'<span lang="(\w+)" dir="auto">', html) == ["de", "en", "ja"]
    assert "<i>" not in html and "&lt;i&gt;de&lt;/i&gt;" in html and 'a "text"' not in html
    cells = re.findall(r'aria-label="(\w+)">(.)</span> (\w+) ([\d.]+)', html)
    assert cells[:2] == [("right", "✓", "pets", "0.73"), ("wrong", "✗", "laundry", "0.73")]
