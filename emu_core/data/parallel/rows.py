"""Rows of one or more languages, as every kind of parallel file gives them, made into sentence pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from emu_core.data.cleaning import normalised
from emu_core.data.parallel.text import ParallelText
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError


@dataclass(frozen=True)
class ParallelRows:
    """Texts of several languages with the same meaning in each row.

    Attributes:
        texts: language code -> N texts without blanks at either end; "" where the file has an empty one, None where
            it has none at all, as a unit of a translation memory may.
        files: language code -> name of the file it stands in.
        lines: the N lines of the file at which the rows begin, from 1.
        place: what `lines` counts: "line" or "row".
        notes: anything odd about the file.
    """

    texts: Mapping[str, Sequence[str | None]]
    files: Mapping[str, str]
    lines: Sequence[int]
    place: str = "line"
    notes: tuple[str, ...] = ()


def check_languages(languages: Sequence[str], name: str) -> None:
    """Raise a DataError unless there are two languages or more, none of them twice."""
    if twice := sorted({code for code in languages if languages.count(code) > 1}):
        raise DataError(
            f"{shown(name)}: the language {listed(twice)} is there twice; remove one, or name the other's language"
        )
    if len(languages) < 2:
        raise DataError(
            f"{shown(name)}: a text and its translation are of two languages, and this has {listed(languages)}; "
            "add the other"
        )


def pairs_with_pivot(rows: ParallelRows, *, drop_empty: bool) -> list[ParallelText]:
    """Pair one language (English if it is there, else the first) with each other one.

    Rows that are empty in both languages go, and a new document begins after them.

    Args:
        rows: texts in two languages or more.
        drop_empty: whether a row that is empty in one language goes, too.

    Raises:
        DataError: a row is empty in one of two languages, or no pair is left.
    """
    pivot = "en" if "en" in rows.texts else next(iter(rows.texts))
    return [pair_of(rows, pivot, other, drop_empty=drop_empty) for other in rows.texts if other != pivot]


def pair_of(rows: ParallelRows, source: str, target: str, *, drop_empty: bool) -> ParallelText:
    """Pair two of the languages; see `pairs_with_pivot`."""
    name = ", ".join(dict.fromkeys((rows.files[source], rows.files[target])))
    pairs: list[tuple[str, str]] = []
    starts: list[int] = []
    begins, dropped, alone = True, 0, 0
    for row, (first, second) in enumerate(zip(rows.texts[source], rows.texts[target], strict=True)):
        if first is None or second is None:
            alone += (first is None) != (second is None)
        elif first and second:
            if begins:
                starts.append(len(pairs))
                begins = False
            pairs.append((first, second))
        elif not (first or second):
            begins = True
        elif drop_empty:
            dropped += 1
        else:
            empty, full, text = (target, source, first) if first else (source, target, second)
            raise DataError(
                f"{shown(rows.files[empty])}: {rows.place} {rows.lines[row]} is empty in {empty} but is "
                f"'{shown(text, 40)}' in {full}; add the translation, or leave out pairs with an empty side "
                "(drop_empty; in the command --drop-empty)"
            )
    if not pairs:
        raise DataError(
            f"{shown(name)}: no row has text in both {source} and {target}; check that these are the files you mean"
        )
    sources, targets = (tuple(side) for side in zip(*pairs, strict=True))
    notes = [*rows.notes, *_doubts(sources, targets, f"{shown(name)}: ", source, target)]
    if dropped:
        notes.append(f"{shown(name)}: {counted(dropped, 'pair')} with an empty side left out.")
    if alone:
        notes.append(
            f"{shown(name)}: {counted(alone, 'unit')} in only one of {source} and {target} left out."
        )
    return ParallelText(
        source, target, sources, targets, name, tuple(starts) if len(starts) > 1 else (), tuple(notes)
    )


def _doubts(first: Sequence[str], second: Sequence[str], where: str, source: str, target: str) -> list[str]:
    same = sum(a == b for a, b in zip(normalised(first), normalised(second), strict=True))
    if 2 * same <= len(first):
        return []
    return [
        f"{where}{same:,} of {counted(len(first), 'pair')} are the same in {source} and {target}; is one of the files "
        "the wrong one?"
    ]
