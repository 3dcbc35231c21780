"""The rows of parallel text as its readers find them, and pairs of two of their languages."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from emu_core.data.cleaning import normalised
from emu_core.data.texts.parallel import ParallelText
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError, Fix


@dataclass(frozen=True)
class ParallelRows:
    """Texts of several languages with the same meaning in each row."""

    texts: Mapping[str, Sequence[str | None]]
    """Language -> N texts without blanks at either end; "" if empty, None if the unit has none in this language."""
    files: Mapping[str, str]  # language -> name of its file
    lines: Sequence[int]  # the N lines of the file at which the rows begin, from 1
    unit: str = "line"  # what `lines` counts: "line" or "row"
    notes: tuple[str, ...] = ()  # anything unusual about the file


def pivot_of(languages: Iterable[str]) -> str:
    """Return the language that is paired with each of the others: English, or else the first."""
    codes = list(languages)
    return "en" if "en" in codes else codes[0]


def check_languages(languages: Sequence[str], name: str) -> None:
    """Raise a DataError unless there are two or more languages, none of them twice."""
    if repeated := sorted({code for code in languages if languages.count(code) > 1}):
        raise DataError(
            f"{shown(name)}: the language {listed(repeated)} is there twice; remove one, or name the other's language"
        )
    if len(languages) < 2:
        raise DataError(
            f"{shown(name)}: a text and its translation are of two languages, and this has {listed(languages)}; "
            "add the other"
        )


def pair_of(rows: ParallelRows, source: str, target: str, *, drop_empty: bool) -> ParallelText:
    """Pair two of the languages.

    Rows that are empty in both languages are dropped and begin a new document; `drop_empty` also drops rows that are
    empty in one language.

    Raises:
        DataError: a row is empty in one of two languages, or no pair is left.
    """
    name = ", ".join(dict.fromkeys((rows.files[source], rows.files[target])))
    first, second = (pd.Series(rows.texts[code], dtype="object") for code in (source, target))
    is_full = first.notna() & second.notna() & (first != "") & (second != "")
    is_blank = (first == "") & (second == "")
    is_half = first.notna() & second.notna() & ~is_full & ~is_blank
    if is_half.any() and not drop_empty:
        row = int(is_half.to_numpy().argmax())
        empty, full = (target, source) if first[row] else (source, target)
        raise DataError(
            f"{shown(rows.files[empty])}: {rows.unit} {rows.lines[row]} is empty in {empty} but not in {full}; add the "
            "translation, or leave such pairs out (",
            Fix("drop_empty", True),
            ")",
        )
    if not is_full.any():
        raise DataError(
            f"{shown(name)}: no row has text in both {source} and {target}; check that these are the files you mean"
        )
    sources, targets = tuple(first[is_full]), tuple(second[is_full])
    starts = np.flatnonzero(np.diff(is_blank.cumsum()[is_full], prepend=-1)).tolist()
    notes = list(rows.notes)
    same = sum(a == b for a, b in zip(normalised(sources), normalised(targets), strict=True))
    if 2 * same > len(sources):
        notes.append(
            f"{shown(name)}: {same:,} of {counted(len(sources), 'pair')} are the same in {source} and {target}; is one "
            "of the files the wrong one?"
        )
    if dropped := int(is_half.sum()):
        notes.append(f"{shown(name)}: {counted(dropped, 'pair')} with an empty side left out.")
    if alone := int((first.notna() != second.notna()).sum()):
        notes.append(
            f"{shown(name)}: {counted(alone, 'unit')} in only one of {source} and {target} left out."
        )
    return ParallelText(
        source, target, sources, targets, name, tuple(starts) if len(starts) > 1 else (), tuple(notes)
    )
