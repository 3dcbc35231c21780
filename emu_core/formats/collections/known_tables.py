"""Tables of published data sets that are recognised by their columns: HWU64, MASSIVE, MTOP, MultiATIS++ and others."""

import re
from dataclasses import dataclass, replace
from itertools import islice

from emu_core.data.column_names import folded_name
from emu_core.formats.collections.rows import marked_text, slot_spans
from emu_core.formats.tables.cells import Cells
from emu_core.formats.tables.shapes import with_first_row

_SAMPLE_ROWS = 100
_SPAN = re.compile(r"(\d+):(\d+):([^,]+)")
_SPANS = r"(\d+:\d+:[^,\s]+(,\d+:\d+:[^,\s]+)*,?)?"
_LOCALE = r"[a-z]{2}([_-][A-Za-z]{2})?"
_TOKENS = r"\{.*\}"


@dataclass(frozen=True)
class _UnnamedTable:
    """A data set whose files have no header.

    Attributes:
        title: its name.
        columns: the names of its columns, and the patterns of their cells.
    """

    title: str
    columns: tuple[tuple[str, str], ...]

    def recognises(self, cells: Cells) -> bool:
        """Return whether the first rows are in these columns."""
        if not cells.is_first_row or len(cells.header) != len(self.columns):
            return False
        return all(
            re.fullmatch(pattern, cell.strip(), re.DOTALL)
            for first, column, (_, pattern) in zip(cells.header, cells.columns, self.columns, strict=True)
            for cell in (first, *islice(column, _SAMPLE_ROWS))
        )

    def named(self, cells: Cells) -> Cells:
        """Return the table with a header, and the sentences with their slots marked."""
        table = with_first_row(cells)
        header = [name for name, _ in self.columns]
        texts, slots = (table.columns[header.index(name)] for name in ("text", "slots"))
        annotated = [marked_text(text, _spans(spans)) for text, spans in zip(texts, slots, strict=True)]
        return replace(
            table,
            header=[*header, "annotated"],
            columns=[*table.columns, annotated],
            recognised=self.title,
        )


_UNNAMED = (
    _UnnamedTable(
        "MTOP",
        (
            *(("id", r"\d*"), ("intent", r"IN:\w+"), ("slots", _SPANS), ("text", r".+")),
            *(
                ("domain", r"[\w ]+"),
                ("language", _LOCALE),
                ("decoupled form", r"\[IN:.*"),
                ("tokens", _TOKENS),
            ),
        ),
    ),
    _UnnamedTable(
        "Multilingual task-oriented dialogue",
        (
            *(("intent", r"[\w ]+/[\w ]+"), ("slots", _SPANS), ("text", r".+"), ("language", _LOCALE)),
            ("tokens", _TOKENS),
        ),
    ),
)


def known_table(cells: Cells) -> Cells | None:
    """Return a table of a known data set with the usual names of columns; None for any other table."""
    names = {folded_name(name): number for number, name in reversed(list(enumerate(cells.header)))}
    if names.keys() >= {"scenario", "intent", "answer", "answerannotation", "question"}:
        return _hwu64(cells, names)
    if names.keys() >= {"utterance", "slotlabels", "intent"}:
        return _multiatis(cells, names)
    if names.keys() >= {"utt", "annotutt", "intent", "scenario", "locale"}:
        return replace(cells, recognised="MASSIVE")
    return next((table.named(cells) for table in _UNNAMED if table.recognises(cells)), None)


def _hwu64(cells: Cells, names: dict[str, int]) -> Cells:
    """Return HWU64's table, whose sentences are answers, and whose intents are named by scenario and intent."""
    scenarios, intents, texts, annotated = (
        cells.columns[names[name]] for name in ("scenario", "intent", "answer", "answerannotation")
    )
    named = [f"{scenario}_{intent}" for scenario, intent in zip(scenarios, intents, strict=True)]
    spent = {names[name] for name in ("intent", "answer", "answerannotation")}
    rest = [number for number in range(len(cells.header)) if number not in spent]
    return replace(
        cells,
        header=["text", "intent", "annotated", *(cells.header[number] for number in rest)],
        columns=[texts, named, annotated, *(cells.columns[number] for number in rest)],
        recognised="HWU64",
    )


def _multiatis(cells: Cells, names: dict[str, int]) -> Cells:
    """Return MultiATIS++'s table with the slots of its labels marked in the sentences."""
    texts, labels = cells.columns[names["utterance"]], cells.columns[names["slotlabels"]]
    annotated = [
        marked_text(text, slot_spans(text, text.split(), tags.split()))
        for text, tags in zip(texts, labels, strict=True)
    ]
    return replace(
        cells,
        header=[*cells.header, "annotated"],
        columns=[*cells.columns, annotated],
        recognised="MultiATIS++",
    )


def _spans(slots: str) -> list[tuple[int, int, object]]:
    """Return the spans in "12:20:datetime,24:30:SL:PLACE"."""
    return [
        (int(start), int(end), name.strip().removeprefix("SL:")) for start, end, name in _SPAN.findall(slots)
    ]
