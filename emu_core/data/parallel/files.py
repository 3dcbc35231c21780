"""Parallel text from files of any kind: plain files line by line, tables, translation memories (TMX)."""

import re
from collections.abc import Sequence
from pathlib import Path

from emu_core.data.cleaning import clean
from emu_core.data.languages import checked_language, language_code, language_of_file, ordered
from emu_core.data.parallel.rows import ParallelRows, check_languages, pair_of, pairs_with_pivot
from emu_core.data.parallel.tables import read_columns_of_languages
from emu_core.data.parallel.text import ParallelText
from emu_core.data.parallel.tmx import read_tmx
from emu_core.data.readers.lines import is_table, read_lines
from emu_core.data.readers.opened import named_paths
from emu_core.data.readers.table import MAX_ROWS, check_rows
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError

MOST_PAIRS = 20_000  # of an evaluation's file; each sentence is compared with every translation
_TMX = re.compile(r"\.tmx(\.gz)?$", re.IGNORECASE)
_PLAIN_ENDING = re.compile(r"(\.(txt|gz))+$", re.IGNORECASE)


def read_parallel(
    files: Sequence[str | Path], languages: Sequence[str] | None = None, *, drop_empty: bool = False
) -> list[ParallelText]:
    """Read sentences and their translations; of several languages one is paired with each other one.

    Plain files have a sentence a line and their language at the end of their name: `train.en` and `train.de`,
    `train.en.txt.gz`, `tatoeba.deu-eng.deu`. Those whose names are alike up to there belong together, line by line;
    files of which no two do belong together all. Lines that are blank in both languages divide documents. Tables
    (.tsv, or .csv, .jsonl, .parquet, .xlsx) have a language over each column, and TMX names its own. Text and TMX may
    be gzipped.

    Of the languages that belong together English, or else the first, is paired with each other one.

    Args:
        files: the files, in any mixture.
        languages: codes or names for files that do not state their own: of those plain files in order, or of
            the columns of a .tsv whose first line is a row.
        drop_empty: leave out rows that are empty in one of two languages, which is an error otherwise.

    Returns:
        One or more texts, in the order of the files; with `notes` about anything odd.

    Raises:
        DataError: a file can't be read, its language is not known or there twice, files that belong together differ
            in length, or a row is empty in one language; it names file and line.
    """
    missing = "no file of parallel text is named; name two such as train.en and train.de, or a table"
    paths = named_paths(files, missing)
    named = _codes(languages)
    plain = [path for path in paths if not (_TMX.search(path.name) or is_table(path))]
    found = [_read_plain(group) for group in _groups(plain, named)] if plain else []
    for path in paths:
        if _TMX.search(path.name):
            found.append(read_tmx(path))
        elif is_table(path):
            found.append(read_columns_of_languages(path, named))
    check_rows(sum(len(rows.lines) for rows in found), MAX_ROWS, "the parallel text in all files together")
    return [text for rows in found for text in pairs_with_pivot(rows, drop_empty=drop_empty)]


def read_translations(folder: Path) -> list[ParallelText]:
    """Read all pairs of files NAME.A-B.A and NAME.A-B.B in a folder, such as tatoeba.deu-eng.deu and .eng.

    Raises:
        DataError: there is no such file, one of a pair is missing, they differ in length, a line is empty, or there are
            more than `MOST_PAIRS`; it names file and line.
    """
    found = []
    for path in files_in(folder):
        stem, _, own = path.name.rpartition(".")
        codes = stem.rpartition(".")[2].split("-")
        if len(codes) != 2 or own not in codes:
            continue
        sides = [path.with_name(f"{stem}.{code}") for code in codes]
        if missing := next((side for side in sides if not side.is_file()), None):
            raise DataError(
                f"{path.name} has no {missing.name} beside it; translations are in two files, line by line"
            )
        if own == codes[0]:
            first, second = (language_code(code) or code for code in codes)
            rows = _read_plain([(first, sides[0]), (second, sides[1])])
            text = pair_of(rows, first, second, drop_empty=False)
            check_pairs(len(text), text.name)
            found.append(text)
    if not found:
        raise DataError(
            f"no translations in {folder}; name them like tatoeba.deu-eng.deu and tatoeba.deu-eng.eng"
        )
    return found


def files_in(folder: Path, ending: str = "") -> list[Path]:
    """Return a folder's files in order of name, of which there is at least one."""
    if not folder.is_dir():
        raise DataError(f"no folder {folder}; name one with files of sentence pairs")
    files = sorted(path for path in folder.iterdir() if path.name.endswith(ending) and path.is_file())
    if not files:
        raise DataError(f"no {ending or 'file'} in {folder}; name a folder with files of sentence pairs")
    return files


def check_pairs(count: int, name: str) -> None:
    """Raise a DataError where an evaluation's file has no pairs, or more than `MOST_PAIRS`."""
    if count > MOST_PAIRS:
        raise DataError(f"{name} has {count:,} pairs, and {MOST_PAIRS:,} are the most; give fewer")
    if not count:
        raise DataError(f"{name} has no sentence pair; give some")


def _codes(languages: str | Sequence[str] | None) -> list[str] | None:
    given = [languages] if isinstance(languages, str) else languages
    return None if given is None else [checked_language(language) for language in given]


def _groups(paths: Sequence[Path], named: Sequence[str] | None) -> list[list[tuple[str, Path]]]:
    """Return the plain files that belong together, each with its language."""
    stated = [language_of_file(path.name) for path in paths]
    silent = [path for path, code in zip(paths, stated, strict=True) if code is None]
    codes = {code for code in stated if code is not None}
    if named and not silent and codes != set(named):
        raise DataError(
            f"{listed((path.name for path in paths), 4)} are of {listed(ordered(codes))} by their names and not of "
            f"{listed(named)}; name these, or none"
        )
    if silent and len(silent) != len(named or ()):
        raise DataError(
            f"{listed(path.name for path in silent)} {'does' if len(silent) == 1 else 'do'} not say the language; name "
            f"files like train.en and train.de, or give {counted(len(silent), 'language')} for them in order "
            f"({len(named or ())} given)"
        )
    rest = iter(named or ())
    files = [(code or next(rest), path) for code, path in zip(stated, paths, strict=True)]
    for depth in (True, False):  # files of one name in two folders belong together if nothing else does
        groups: dict[tuple[str, str], list[tuple[str, Path]]] = {}
        for (code, path), own in zip(files, stated, strict=True):
            stem = _PLAIN_ENDING.sub("", path.name)
            key = (str(path.parent) if depth else "", stem.rpartition(".")[0] if own else stem)
            groups.setdefault(key, []).append((code, path))
        if max(map(len, groups.values())) > 1:
            break
    if len(groups) == len(files):
        groups = {("", ""): files}
    for group in groups.values():
        names = listed((path.name for _, path in group), 4)
        check_languages([code for code, _ in group], names)
    return list(groups.values())


def _read_plain(group: Sequence[tuple[str, Path]]) -> ParallelRows:
    texts: dict[str, list[str]] = {}
    notes: list[str] = []
    for code, path in group:
        lines, odd = read_lines(path)
        check_rows(len(lines), MAX_ROWS, path.name)
        texts[code] = clean(lines)
        notes.extend(odd)
    counts = {code: len(side) for code, side in texts.items()}
    first, count = next(iter(counts.items()))
    files = {code: path.name for code, path in group}
    if other := next((code for code in counts if counts[code] != count), None):
        raise DataError(
            f"{shown(files[first])} has {counted(count, 'line')} and {shown(files[other])} {counts[other]:,}, so line "
            f"{min(count, counts[other]) + 1:,} has no translation; give each sentence its translation in the same line"
        )
    return ParallelRows(texts, files, range(1, count + 1), notes=tuple(notes))
