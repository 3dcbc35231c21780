import re

import pytest

from emu_app.shell.wording import literal, sentence, time_span
from emu_core.errors import DataError, Fix, Message


def test_every_mark_of_markdown_is_escaped() -> None:
    marks = "\\`*_{}[]()#+-.!|<>~$:&\"'/@^="
    assert literal(marks) == "".join(f"\\{mark}" for mark in marks)
    assert literal("Öl, 水 x1") == "Öl, 水 x1"


@pytest.mark.parametrize(
    "address", ["https://evil.example", "HTTP://x.y", "www.evil.example", "a@evil.example"]
)
def test_an_address_is_shown_and_begins_no_link(address: str) -> None:
    found = literal(f"see {address} now").replace("\\", "")
    assert found.replace("\u2060", "") == f"see {address} now"
    assert not re.search(r"https?://|www\.|@[-\w]", found, re.IGNORECASE)


def test_literal_text_is_one_line_of_bounded_length() -> None:
    assert literal("a\n# b\x00\u202ec") == r"a \# b  c"
    assert len(literal("x" * 99, 20)) <= 25


def test_a_message_becomes_a_sentence() -> None:
    assert sentence("no text") == r"No text\."
    assert sentence("Done!") == r"Done\!"


def test_a_file_keeps_its_name_and_options_have_the_labels_of_the_form() -> None:
    def plain(text: object, *names: str) -> str:
        return sentence(text, names).replace("\\", "")

    assert plain("empty.csv is empty") == "empty.csv is empty."
    assert plain("my list.csv is empty", "my list.csv") == "my list.csv is empty."
    assert plain(DataError("map one: ", Fix("intent_column", "a (b)"))) == "Map one: set Intent to a (b)."
    assert plain(Message("lower ", Fix("learning_rate"), " and wait")) == "Lower Learning rate and wait."
    assert plain(Message("no ", Fix("test_nli"), " (--nli)")) == "No test nli (--nli)."


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 s"), (89.4, "89 s"), (90, "2 min"), (5_369, "89 min"), (5_400, "1 h 30 min")],
)
def test_time_spans(seconds: float, said: str) -> None:
    assert time_span(seconds) == said
