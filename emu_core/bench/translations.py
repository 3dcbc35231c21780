"""Machine translations into the training language, for the baseline that translates first."""

from collections.abc import Sequence
from pathlib import Path

from emu_core.data.columns import ColumnMapping, guess_columns
from emu_core.data.labelled import LabelledSet
from emu_core.data.readers import read_table

NAMES = ("translation", "machine_translation", "mt")


def read_translations(
    files: Sequence[str | Path], test: LabelledSet, language: str, mapping: ColumnMapping | None = None
) -> dict[int, str]:
    """Find the translations of test sentences in a column `translation` of the files they came from.

    Args:
        files: the labelled set's files.
        test: the sentences measured.
        language: the language translated into; its own sentences stay as they are.
        mapping: columns of the files, where their names are unusual.

    Returns:
        Translations by row of `test`; empty where any sentence of another language has none, since a baseline that
        translates only a part of them is none.

    Raises:
        DataError: a file can't be read.
    """
    of_text: dict[str, str] = {}
    for file in files:
        frame = read_table(Path(file), Path(file).name)
        columns = {name.strip().casefold().replace(" ", "_"): name for name in frame.columns}
        column = next((columns[name] for name in NAMES if name in columns), None)
        if column is None:
            continue
        text = guess_columns(frame, mapping).text
        if text is not None:
            of_text |= dict(zip(frame[text].str.strip(), frame[column].str.strip(), strict=True))
    rows = test.frame.index[test.frame["language"] != language]
    found = {int(row): of_text.get(str(test.frame.at[row, "text"]), "") for row in rows}
    return found if found and all(found.values()) else {}
