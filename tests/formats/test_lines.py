"""Lines end as they do anywhere, and byte order marks and blanks at their ends are not seen."""

from collections.abc import Callable

import pandas as pd
import pytest

from emu_core.formats.encodings import read_lines
from emu_core.formats.in_memory import SENTENCES
from emu_core.formats.lines import lines_of, without_blocks, without_comments
from emu_core.formats.read import read_files
from tests.support.exports import EXPORTS, opened, sample

MARK = "\ufeff"
FILES = {
    **{
        title: EXPORTS[title]
        for title in (
            *("Rasa NLU (Markdown)", "Rasa NLU", "Bot Framework", "Snips NLU (YAML)", "CoNLL", "fastText"),
            *("ATIS", "Words with slots", "Parallel lines with slots"),
            *("Two columns without a header, as of Watson Assistant", "doccano (CSV)", "Label Studio (CSV)"),
        )
    },
    **{name: sample(name) for name in ("rasa-markdown-lines", "bot-framework-lines", "fasttext-lines")},
    "CSV": {"hotel.csv": b'text,intent\n"hi, Ann",greet\nbye,bye\nhello,greet\n'},
    "MTOP": {"train.txt": b"hi Ann\tgreet\nsee you\tbye\nhello there\tgreet\nbye bye\tbye\n"},
    "JSON Lines": {"hotel.jsonl": b'{"text": "hi", "intent": "greet"}\n{"text": "bye", "intent": "bye"}\n'},
    "plain": {"hotel.txt": b"hi Ann\nbye\n"},
}
# Documents of YAML have lines between them, a comment of the sample does not end, and tasks have ids.
NOT_JOINED = ("Snips NLU (YAML)", "rasa-markdown-lines", "Label Studio (CSV)")


def rows(files: dict[str, bytes], change: Callable[[str], str]) -> pd.DataFrame:
    """Return the sentences and intents of files whose text is changed."""
    changed = {path: change(payload.decode()).encode() for path, payload in files.items()}
    expected = {"expected": SENTENCES} if "hotel.txt" in files else {}
    return read_files(opened(changed), required=("text",), **expected).rows[["text", "intent", "annotated"]]


@pytest.mark.parametrize("name", FILES)
def test_what_ends_and_marks_lines_changes_nothing(name: str) -> None:
    files = FILES[name]
    expected = rows(files, str)
    for end in ("\r\n", "\r", "\r\r\n"):
        pd.testing.assert_frame_equal(rows(files, lambda text, end=end: text.replace("\n", end)), expected)
    pd.testing.assert_frame_equal(rows(files, lambda text: MARK * 2 + text), expected)
    assert len(expected) > 1


@pytest.mark.parametrize("name", [name for name in FILES if name not in NOT_JOINED])
def test_files_that_were_joined_are_read_as_two(name: str) -> None:
    files = FILES[name]
    expected = pd.concat([rows(files, str)] * 2, ignore_index=True)
    pd.testing.assert_frame_equal(rows(files, lambda text: f"{MARK}{text}{MARK}{text}"), expected)


@pytest.mark.parametrize(
    "name", ["Rasa NLU (Markdown)", "Bot Framework", "CoNLL", "fastText", "ATIS", "plain"]
)
@pytest.mark.parametrize("blank", [" ", "\u00a0", MARK, "\u200b", f" {MARK}\u3000"])
def test_blanks_before_and_after_lines_are_not_seen(name: str, blank: str) -> None:
    files = FILES[name]
    around = rows(files, lambda text: "\n".join(f"{blank}{line}{blank}" for line in text.split("\n")))
    pd.testing.assert_frame_equal(around, rows(files, str))


def test_lines_end_where_they_do_in_any_program() -> None:
    assert lines_of("a\rb\r\nc\n\nd\r\r\ne\u2028f\x85g\n") == ["a", "b", "c", "", "d", "e\u2028f\x85g", ""]
    assert lines_of(f"\u00a0a \n{MARK}\tb\t\u200b\n") == ["a", "\tb\t", ""]


def test_in_parallel_files_a_carriage_return_is_part_of_a_line_that_a_line_feed_ends() -> None:
    assert read_lines(b"a\rb\nc\n", "x.en", are_aligned=True)[0] == ["a\rb", "c"]
    assert read_lines(b"a\rb\r", "x.en", are_aligned=True)[0] == ["a", "b"]
    assert read_lines(b"a\rb\nc\n", "x.txt")[0] == ["a", "b", "c"]


def test_blocks_are_left_out_unless_they_do_not_end() -> None:
    assert without_blocks("a<!--b\n-->c<!---->d<!--e", "<!--", "-->", "|") == "a|c|d<!--e"
    assert without_comments("a --!> b<!-- c --!> d<!-- e --> f") == "a --!> b d f"
