"""Sentences in lines, each with an intent and a slot for each word, as ATIS and Snips are published."""

import re
from collections.abc import Callable, Sequence

from emu_core.data.cleaning import cleaned
from emu_core.data.wording import counted, shown
from emu_core.errors import DataError
from emu_core.formats.collections.document import LEAST_TELLING, Document
from emu_core.formats.collections.rows import Rows, marked_text, slot_spans

_SLOT = re.compile(r"O|[BIESLU]-.+")
_BEGIN, _END = "BOS", "EOS"
_INTENT = " <=> "
_BESIDE = ("seq.out", "label")  # of seq.in

Line = tuple[list[str], list[str], str]
"""Words, their slots, and the intent."""


def is_iob(document: Document) -> bool:
    """Return whether its lines are as in `BOS to Rome EOS<tab>O O B-city travel`."""
    return document.is_mostly(
        lambda line: line.startswith(f"{_BEGIN} ") and _has_slots(iob_line(line)), LEAST_TELLING
    )


def read_iob(document: Document, rows: Rows) -> None:
    """Read the words of each line, its slots, and the intent behind them."""
    _read(document, rows, iob_line)


def iob_line(line: str) -> Line | None:
    """Return the words between BOS and EOS, their slots, and the intent; None if there is none behind a tab."""
    words, slots = (part.split() for part in line.partition("\t")[::2])
    if not slots:
        return None
    *slots, intent = slots
    first = 1 if words[:1] == [_BEGIN] else 0
    return [word for word in words if word not in (_BEGIN, _END)], slots[first:], intent


def is_joint(document: Document) -> bool:
    """Return whether its lines are as in `to:O Rome:B-city <=> travel`."""
    return document.is_mostly(lambda line: _has_slots(_joint_line(line)), LEAST_TELLING)


def read_joint(document: Document, rows: Rows) -> None:
    """Read the words of each line with their slots, and the intent at its end."""
    _read(document, rows, _joint_line)


def _joint_line(line: str) -> Line | None:
    tokens, arrow, intent = line.rpartition(_INTENT)
    pairs = [token.rpartition(":") for token in tokens.split()]
    return ([word for word, _, _ in pairs], [slot for _, _, slot in pairs], intent.strip()) if arrow else None


def _has_slots(line: Line | None) -> bool:
    return line is not None and all(map(_SLOT.fullmatch, line[1]))


def _read(document: Document, rows: Rows, parse: Callable[[str], Line | None]) -> None:
    for line in filter(cleaned, document.lines()):
        if (parsed := parse(line)) is None:
            rows.leave_out("lines without slots and an intent")
        else:
            _add(rows, *parsed)


def is_parallel(document: Document) -> bool:
    """Return whether it is `seq.in` beside `seq.out` and `label`."""
    return document.file.name == "seq.in" and all(map(document.file.beside, _BESIDE))


def read_parallel(document: Document, rows: Rows) -> None:
    """Read each line with the slots and the intent in the same line of the other files.

    Raises:
        DataError: they have more or fewer lines.
    """
    others = filter(None, map(document.beside, _BESIDE))
    columns = ["\n".join(file.lines()).rstrip().split("\n") for file in (document, *others)]
    counts = list(map(len, columns))
    if len(set(counts)) > 1:
        raise DataError(
            f"{shown(document.path)} has {counted(counts[0], 'line')}, and {' and '.join(_BESIDE)} beside it have "
            f"{counts[1]:,} and {counts[2]:,}; they must have as many"
        )
    for text, slots, intent in zip(*columns, strict=False):
        if text or intent:
            _add(rows, text.split(), slots.split(), intent.strip())


def _add(rows: Rows, words: Sequence[str], slots: Sequence[str], intent: str) -> None:
    text = " ".join(words)
    rows.add(text, intent, annotated=marked_text(text, slot_spans(text, words, slots)))
