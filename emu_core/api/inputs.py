"""Labelled data as users name it: a set, files, folders, or the word demo."""

from collections.abc import Sequence
from pathlib import Path

from emu_core.data.demo import DEMO
from emu_core.data.labelled import LabelledSet
from emu_core.data.labelled.columns import ColumnMapping
from emu_core.data.labelled.load import read_labelled
from emu_core.errors import DataError

Data = LabelledSet | str | Path | Sequence[str | Path]
ENDINGS = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx")


def labelled_set(
    data: Data, *, mapping: ColumnMapping | None = None, language: str | None = None
) -> tuple[LabelledSet, tuple[str, ...]]:
    """The set itself, or read from files, folders of files, or the word "demo"; with what the audit found.

    Raises:
        DataError: it can't be read.
    """
    if isinstance(data, LabelledSet):
        return data, ()
    named = [data] if isinstance(data, str | Path) else list(data)
    labelled, audit = read_labelled(files_of(named), mapping=mapping, language=language)
    return labelled, tuple(audit.summary())


def files_of(named: Sequence[str | Path]) -> list[str | Path]:
    """Replace each folder by the data files in it, in order of name."""
    files: list[str | Path] = []
    for source in named:
        folder = Path(source)
        if source == DEMO or not folder.is_dir():
            files.append(source)
            continue
        inside = sorted(path for path in folder.iterdir() if path.suffix.lower() in ENDINGS)
        if not inside:
            raise DataError(f"no {', '.join(ENDINGS)} file in the folder {folder}; name the files themselves")
        files += inside
    return files
