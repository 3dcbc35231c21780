"""Unlabelled sentences, text and language only, and the files they come from."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from emu_core.data.labelled.columns import ColumnMapping, guess_columns, mapped_table
from emu_core.data.labelled.frames import check_frame, stripped
from emu_core.data.languages import language_code, ordered
from emu_core.data.readers import read_table, read_text
from emu_core.data.readers.table import MAX_ROWS, check_rows
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError

_COLUMNS = ("text", "language", "id")
_TABLE = re.compile(r"\.(csv|tsv|tab|json|jsonl|ndjson|parquet|pq|xlsx)(\.gz)?$", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class UnlabelledSet:
    """Sentences without labels.

    Attributes:
        frame: columns text, language (never empty) and id ("" where there is none), all strings; a fresh
            RangeIndex.
        name: what to call the set.
    """

    frame: pd.DataFrame
    name: str

    def __post_init__(self) -> None:
        """Check the frame's shape."""
        check_frame(self.frame, _COLUMNS, ("text", "language"))

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self.frame)

    @property
    def languages(self) -> tuple[str, ...]:
        """The language codes, sorted, English first."""
        return ordered(self.frame["language"].unique())


def read_unlabelled(
    paths: Sequence[str | Path], *, mapping: ColumnMapping | None = None, language: str | None = None
) -> UnlabelledSet:
    """Read sentences from tables, whatever their intents, or from plain files, one sentence a line.

    A file is plain when its name has no table's ending: `hotel.de.txt`, `train.de.gz`. Empty sentences go,
    and of the same sentence in the same language one stays.

    Args:
        paths: the files.
        mapping: columns by name; those left None are guessed.
        language: the language of the files that have no language column; without it the file's name must
            state it.

    Raises:
        DataError: a file can't be read, has no text column, or states no language; or no sentence is left.
    """
    files = [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    if not files:
        raise DataError("no file of unlabelled sentences is named; name one or more")
    parts = []
    for path in files:
        parts.append(_read(path, mapping, language))
        check_rows(sum(map(len, parts)), MAX_ROWS, "the unlabelled data")
    frame = pd.concat(parts, ignore_index=True).apply(stripped)
    frame = frame[(frame["text"] != "") & (frame["language"] != "")]
    for code in frame["language"].unique():
        if language_code(code) is None:
            raise DataError(f"'{shown(code)}' is not a language; give a code such as en, or an English name")
    frame = frame.drop_duplicates(["text", "language"], ignore_index=True)
    if frame.empty:
        raise DataError(
            f"{listed(path.name for path in files)}: no sentence with a language is left; check the columns"
        )
    return UnlabelledSet(frame, listed((path.name for path in files), 4))


def _read(path: Path, mapping: ColumnMapping | None, language: str | None) -> pd.DataFrame:
    if _TABLE.search(path.name):
        frame = read_table(path, path.name)
        chosen = guess_columns(frame, mapping)
    else:
        frame = pd.DataFrame({"text": read_text(path, path.name)[0].splitlines()}, dtype="str")
        chosen = ColumnMapping(text="text")
    return mapped_table(frame, chosen, required=("text",), language=language, name=path.name)[list(_COLUMNS)]
