"""Sentence pairs with people's scores of their similarity (STS)."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from emu_core.data.cleaning import cleaned
from emu_core.data.languages import is_known, language_code, ordered
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError
from emu_core.formats.encodings import read_text
from emu_core.formats.file_names import language_of_file
from emu_core.formats.in_memory import TABLES, Expected, Sources, as_sources
from emu_core.formats.parallel.files import check_pairs, files_in
from emu_core.formats.source_files import SourceFile
from emu_core.formats.texts.read import held_columns, parts_by_language

_HEADER = ["sentence1", "sentence2", "score"]
_NAMES = {
    "first": ("sentence1",),
    "second": ("sentence2",),
    "score": ("score", "similarity_score", "label"),
    "language": ("language",),
}
_EXPECTED = Expected(
    f"name a folder of files such as de.csv, or give {TABLES} with the columns sentence1, sentence2, score and language"
)


@dataclass(frozen=True)
class ScoredPairs:
    """Sentence pairs of one language, with people's scores of their similarity."""

    first: list[str]
    second: list[str]
    scores: list[float]


def read_scored_pairs(folder: Sources) -> dict[str, ScoredPairs]:
    """Read the files `LANGUAGE.csv` and `LANGUAGE.anything.csv` of a folder, or a table that Python holds, by language.

    The files have two sentences and a score in each row, and no header. Those of one language are joined.

    Args:
        folder: the folder; or a DataFrame, a pyarrow Table or a Hugging Face `Dataset` with the columns `sentence1`,
            `sentence2`, `score` and `language`.

    Raises:
        DataError: there is no such file or column, or a row is not two sentences and a number; it names file and row.
    """
    pairs_by_language: dict[str, list[tuple[str, str, float]]] = {}
    if isinstance(folder, str | Path):
        _read_folder(Path(folder), pairs_by_language)
    else:
        for table in as_sources(folder, _EXPECTED):
            if not isinstance(table, SourceFile):
                raise DataError(f"{shown(str(table))} is a file among tables; {_EXPECTED.remedy}")
            _read_table(table, pairs_by_language)
    return {
        language: ScoredPairs(*map(list, zip(*pairs_by_language[language], strict=True)))
        for language in ordered(pairs_by_language)
    }


def _read_table(table: SourceFile, pairs_by_language: dict[str, list[tuple[str, str, float]]]) -> None:
    rows = held_columns(table, _NAMES)
    for code, part in parts_by_language(rows, table, None):
        pairs = pairs_by_language.setdefault(code, [])
        cells = part[["first", "second", "score"]]
        pairs += [_pair(row[1:], f"{shown(table.name)}, row {row.Index + 1}") for row in cells.itertuples()]
        check_pairs(len(pairs), table.name)


def _read_folder(folder: Path, pairs_by_language: dict[str, list[tuple[str, str, float]]]) -> None:
    for path in files_in(folder, ".csv"):
        code = language_code(path.name.split(".")[0])
        language = code if code and is_known(code) else language_of_file(path.name)
        if language is None:
            raise DataError(f"{path.name} does not begin with a language; name it like de.csv or de.dev.csv")
        pairs = pairs_by_language.setdefault(language, [])
        for number, row in enumerate(csv.reader(io.StringIO(read_text(path, path.name)[0], newline="")), 1):
            if not row or (number == 1 and [cell.strip().lower() for cell in row] == _HEADER):
                continue
            where = f"{path.name}, row {number}"
            if len(row) != len(_HEADER):
                raise DataError(
                    f"{where}: two sentences and a score are {len(_HEADER)} cells, not {len(row)}: {listed(row, 4)}"
                )
            pairs.append(_pair(row, where))
        check_pairs(len(pairs), path.name)


def _pair(cells: Sequence[str], where: str) -> tuple[str, str, float]:
    """Return two sentences and their score. Raises DataError if they are none."""
    first, second = cleaned(cells[0]), cleaned(cells[1])
    if not first or not second:
        raise DataError(f"{where}: a sentence is empty; fill it in, or take the row out")
    try:
        score = float(cells[2])
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise DataError(
            f"{where}: the score '{shown(cells[2], 40)}' is not a number; fix it, or take the row out"
        )
    return first, second, score


def scored_pairs_in(folder: Sources | None, codes: Sequence[str]) -> dict[str, ScoredPairs]:
    """Return the scored pairs of a folder or a table in the given languages; none for no folder.

    Raises:
        DataError: no file is in one of the languages, or one can't be read.
    """
    scored_pairs = {} if folder is None else read_scored_pairs(folder)
    chosen = {code: scored_pairs[code] for code in codes if code in scored_pairs}
    if scored_pairs and not chosen:
        raise DataError(
            f"the STS files are in {listed(scored_pairs)}, and trained are {listed(codes)}; name a folder with "
            "files in these"
        )
    return chosen
