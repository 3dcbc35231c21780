"""The labelled rows of a collection, as its reader finds them."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from emu_core.data.cleaning import cell_text
from emu_core.data.intent_lists import intent_of
from emu_core.data.sets import LABELLED_COLUMNS
from emu_core.formats.collections.values import text_of
from emu_core.formats.limits import build_table, check_rows
from emu_core.formats.tables.cells import Cells

_FIRST = ("B", "S", "U")  # a slot's first word, or its only one


class Rows:
    """Rows of sentences with their intents, and the number of those that were left out, by reason.

    Args:
        name: the file's name, for messages.
        unlabelled: whether sentences matter that have no intent, or none that is certain.

    Attributes:
        project: the language that the settings of the file's project state; "" for none.
    """

    def __init__(self, name: str, *, unlabelled: bool = False) -> None:
        self._name, self._unlabelled = name, unlabelled
        self.project = ""
        self._columns: dict[str, list[str]] = {column: [] for column in LABELLED_COLUMNS}
        self._left_out: Counter[str] = Counter()
        self._notes: list[str] = []
        self._table = Cells((), ())

    def __len__(self) -> int:
        return len(self._table) or len(self._columns["text"])

    def add(
        self,
        text: object,
        intent: object = "",
        *,
        language: object = "",
        split: object = "",
        id: object = "",
        annotated: object = "",
    ) -> None:
        """Add a sentence; "" stands for what is unknown. A list of one intent is that intent, of several none."""
        if not isinstance(intent, str) and isinstance(intent, Sequence):
            intents, reason = intent_of([item for item in map(cell_text, intent) if item])
            if reason:
                self.add_uncertain(reason, text, language=language, split=split, id=id, annotated=annotated)
                return
            intent = "".join(intents)
        values = (id, text, intent, language, split, annotated)
        for cells, value in zip(self._columns.values(), values, strict=True):
            cells.append(value if isinstance(value, str) else cell_text(value))
        check_rows(len(self), self._name)

    def add_uncertain(self, reason: str, text: object, **columns: object) -> None:
        """Add a sentence without an intent where that matters, or else count it as left out for a reason."""
        if self._unlabelled:
            self.add(text, **columns)
        else:
            self.leave_out(reason)

    def add_parts(
        self,
        parts: Iterable[tuple[object, object]],
        intent: object = "",
        *,
        language: object = "",
        split: object = "",
    ) -> None:
        """Add a sentence that is given in parts: texts, each with the name of its slot or None."""
        text, spans = "", []
        for part, slot in parts:
            start = len(text)
            text += text_of(part)
            if slot:
                spans.append((start, len(text), slot))
        self.add(text, intent, language=language, split=split, annotated=marked_text(text, spans))

    def take(self, table: Cells) -> None:
        """Take a table whose columns are not those of labelled rows, instead of sentences that are added."""
        self._table = table

    def extend(self, other: "Rows") -> None:
        """Add the sentences of another file."""
        for column, cells in other._columns.items():
            self._columns[column] += cells

    def fill_language(self, language: str) -> None:
        """Give every sentence without a language this one."""
        self._columns["language"] = [cell or language for cell in self._columns["language"]]

    def is_complete(self, column: str) -> bool:
        """Return whether every sentence has a language, or whatever else the column says."""
        return all(self._columns[column])

    @property
    def are_labelled(self) -> bool:
        """Whether they are sentences that were added, and not another table."""
        return not len(self._table)

    def leave_out(self, reason: str, count: int = 1) -> None:
        """Count sentences that are not read, such as rejected ones."""
        if count:
            self._left_out[reason] += count

    def note(self, *sentences: str) -> None:
        """Say something about the rows in the audit."""
        self._notes += sentences

    @property
    def notes(self) -> tuple[str, ...]:
        """The sentences about the rows in the audit."""
        return tuple(self._notes)

    @property
    def left_out(self) -> Mapping[str, int]:
        """The numbers of sentences that were left out, by reason."""
        return self._left_out

    def frame(self) -> pd.DataFrame:
        """Return the table that was taken, or else those of the six columns that say anything, and text and intent.

        Raises:
            DataError: there is no row, or a cell is not valid text.
        """
        if len(self._table):
            return self._table.frame(self._name)
        used = [
            column for column, cells in self._columns.items() if column in ("text", "intent") or any(cells)
        ]
        return build_table(used, [self._columns[column] for column in used], self._name)


def marked_text(text: str, spans: Iterable[tuple[int, int, object]]) -> str:
    """Return a text with spans (start, end, name of the slot) marked: "at [time : six]"; "" if there is none.

    Spans that overlap an earlier one, or lie outside of the text, are left out. A text with brackets of its own can't
    be marked.
    """
    if "[" in text or "]" in text:
        return ""
    pieces, at = [], 0
    for start, end, name in sorted(spans, key=lambda span: span[:2]):
        if not at <= start < end <= len(text):
            continue
        value, slot = text[start:end], _slot_name(name)
        if value.strip() and slot:
            begin = start + len(value) - len(value.lstrip())
            pieces += [text[at:begin], f"[{slot} : {value.strip()}]"]
            at = begin + len(value.strip())
    return "".join([*pieces, text[at:]]) if pieces else ""


def slot_spans(text: str, words: Sequence[str], slots: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return the spans (start, end, name) of slots that each word states, such as B-city and I-city, and O for none.

    There are none if the words are not those of the text, or not as many as the slots.
    """
    if len(words) != len(slots):
        return []
    spans: list[tuple[int, int, str]] = []
    at, before = 0, ""
    for word, slot in zip(words, slots, strict=True):
        start = text.find(word, at)
        if start < 0 or text[at:start].strip():
            return []
        at = start + len(word)
        kind, _, name = slot.partition("-")
        if name and name == before and kind not in _FIRST:
            spans[-1] = (spans[-1][0], at, name)
        elif name:
            spans.append((start, at, name))
        before = name
    return spans


def _slot_name(name: object) -> str:
    """Return a slot's name without what ends it in a marked text: "Place::From" is "Place.From"."""
    return ".".join(part.strip() for part in re.split(r"[\[\]:]+", text_of(name)) if part.strip())
