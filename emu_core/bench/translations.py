"""Machine translations into the training language, for the baseline that translates first."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from emu_core.data.cleaning import stripped
from emu_core.data.labelled import LabelledSet
from emu_core.data.labelled.columns import ColumnMapping, guess_columns
from emu_core.data.readers import read_table

NAMES = ("translation", "machine_translation", "mt")


def read_machine_translations(
    files: Sequence[str | Path], mapping: ColumnMapping | None = None
) -> dict[str, str]:
    """Find the translations in a column `translation` of a labelled set's files.

    Args:
        files: the set's files.
        mapping: columns of the files, where their names are unusual.

    Returns:
        Translations by text; empty where no file has such a column.

    Raises:
        DataError: a file can't be read.
    """
    of_text: dict[str, str] = {}
    for file in files:
        frame = read_table(Path(file), Path(file).name)
        of_text |= translations_by_text(frame, guess_columns(frame, mapping).text)
    return of_text


def translations_by_text(frame: pd.DataFrame, text: str | None) -> dict[str, str]:
    """The translations that a table of strings holds, by text.

    Args:
        frame: the table.
        text: its column of sentences; None where it has none.
    """
    columns = {str(name).strip().casefold().replace(" ", "_"): name for name in frame.columns}
    column = next((columns[name] for name in NAMES if name in columns), None)
    if column is None or text is None:
        return {}
    return dict(zip(stripped(frame[text]), stripped(frame[column]), strict=True))


def translations_of(test: LabelledSet, language: str, of_text: Mapping[str, str]) -> dict[int, str]:
    """The translations of the test sentences.

    Args:
        test: the sentences measured.
        language: the language translated into; its own sentences stay as they are.
        of_text: translations by text.

    Returns:
        Translations by row of `test`; empty where any sentence of another language has none, since a baseline that
        translates only a part of them is none.
    """
    rows = test.frame.index[test.frame["language"] != language]
    found = {int(row): of_text.get(str(test.frame.at[row, "text"]), "") for row in rows}
    return found if found and all(found.values()) else {}
