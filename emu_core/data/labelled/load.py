"""The way from files, or from a mapped table, to an audited labelled set."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from emu_core.data.demo import DEMO, demo_paths
from emu_core.data.labelled.audit import Audit, audit_rows
from emu_core.data.labelled.columns import COLUMNS, ColumnMapping
from emu_core.data.labelled.rows import located, read_rows
from emu_core.data.labelled.sets import LabelledSet
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError


def read_labelled(
    sources: Sequence[str | Path], *, mapping: ColumnMapping | None = None, language: str | None = None
) -> tuple[LabelledSet, Audit]:
    """Read one or more labelled files as one set, or the demo set for the single word "demo".

    Args:
        sources: paths of CSV, TSV, JSON Lines, Parquet or XLSX files.
        mapping: columns by name, for all files; those left None are guessed from the usual names.
        language: the language of files without a language column; without it the file's name must state it.

    Raises:
        DataError: a file can't be read or mapped, or fewer than two usable sentences, or a single intent, are left.
    """
    names = [str(source) for source in ([sources] if isinstance(sources, str | Path) else sources)]
    if not names:
        raise DataError("no file is named; name one or more, or the word demo")
    is_demo = names == [DEMO]
    if DEMO in names and not is_demo:
        raise DataError("the demo set can't be joined with files; name it alone, or a file as ./demo")
    paths = demo_paths() if is_demo else [Path(name) for name in names]
    rows, notes = read_rows(paths, mapping=mapping, language=language)
    return _audited(rows, DEMO if is_demo else listed((path.name for path in paths), 4), notes)


def labelled_from_frame(frame: pd.DataFrame, name: str) -> tuple[LabelledSet, Audit]:
    """Audit a frame with the six columns, as `apply_columns` returns it, and make a labelled set of it.

    Args:
        frame: the six columns. With row and source, as `located` adds them, the audit names the place of each row;
            otherwise rows count from 1.
        name: the name of the set.

    Raises:
        DataError: a column is missing, or what is left is no labelled set (see `read_labelled`).
    """
    if missing := [column for column in COLUMNS if column not in frame.columns]:
        raise DataError(
            f"{shown(name)}: no column '{missing[0]}'; found: {listed(frame.columns)}. Map the columns first"
        )
    rows = frame if {"row", "source"} <= set(frame.columns) else located(frame[list(COLUMNS)], name)
    return _audited(rows, name, ())


def _audited(rows: pd.DataFrame, name: str, notes: tuple[str, ...]) -> tuple[LabelledSet, Audit]:
    usable, audit = audit_rows(rows, notes)
    if len(usable) < 2:
        why = next((f" ({one.reason} in row {one.row})" for one in audit.dropped.itertuples()), "")
        raise DataError(
            f"{shown(name)} has {len(usable)} usable of {len(rows):,} rows{why}; two or more sentences "
            "with text, intent and language are needed"
        )
    labelled = LabelledSet(usable, name)
    if len(labelled.intents) < 2:
        raise DataError(
            f"{shown(name)} has the single intent '{shown(labelled.intents[0])}'; add sentences of another, "
            "or map the column that distinguishes them (in the command: --intent-column NAME)"
        )
    return labelled, audit
