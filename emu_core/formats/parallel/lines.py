"""Parallel text in plain files: a sentence a line, and its translation in the same line of another file."""

from collections.abc import Sequence
from pathlib import Path

from emu_core.data.cleaning import clean
from emu_core.data.languages import ordered
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError
from emu_core.formats.encodings import read_lines
from emu_core.formats.file_names import language_of_file
from emu_core.formats.limits import check_rows
from emu_core.formats.parallel.rows import ParallelRows, check_languages
from emu_core.formats.tables.formats import (
    GZIP_ENDING,
    PLAIN_ENDING,
    STRUCTURED_ENDINGS,
    ZIP_ENDING,
    unpacked_name,
    without_endings,
)

Group = list[tuple[str, Path]]
"""Plain files that are each other's translations, each with its language."""


def read_lines_of_files(paths: Sequence[Path], languages: Sequence[str] | None) -> list[ParallelRows]:
    """Read plain files: those of one folder and name, but for the language, belong together line by line.

    If no two names are alike, all files belong together.

    Args:
        paths: the files, whose names state their languages, as `train.en` does.
        languages: of the files that state none, in order.

    Raises:
        DataError: a file can't be read or is in another format, its language is not known or there twice, or files
            that belong together differ in length.
    """
    for path in paths:
        _check_plain(path.name)
    return [read_group(group) for group in _groups(paths, languages or ())]


def _groups(paths: Sequence[Path], languages: Sequence[str]) -> list[Group]:
    """Sort plain files into groups whose files belong together line by line.

    First each file gets its language, from its name or else from `languages`, in order. Then files of one folder whose
    names are alike up to the language form a group; if no two do, files of any folders whose names are alike; and if
    still no two do, all files are one group.
    """
    stated = [language_of_file(path.name) for path in paths]
    _check_given(paths, stated, languages)
    given = iter(languages)
    files = [(code or next(given), path) for code, path in zip(stated, paths, strict=True)]
    stems = [_stem(path, states_language=code is not None) for code, path in zip(stated, paths, strict=True)]
    in_folders = [f"{path.parent}/{stem}" for path, stem in zip(paths, stems, strict=True)]
    for alike in (in_folders, stems):
        groups: dict[str, Group] = {}
        for key, file in zip(alike, files, strict=True):
            groups.setdefault(key, []).append(file)
        if len(groups) < len(files):
            break
    else:
        groups = {"all": files}
    for group in groups.values():
        check_languages([code for code, _ in group], listed((path.name for _, path in group), 4))
    return list(groups.values())


def _check_given(paths: Sequence[Path], stated: Sequence[str | None], languages: Sequence[str]) -> None:
    """Raise a DataError unless the languages given are those of the files whose names state none, one for each.

    They may also be given for files that all state theirs, if they are the same.
    """
    codes = {code for code in stated if code is not None}
    unstated = [path.name for path, code in zip(paths, stated, strict=True) if code is None]
    if languages and not unstated and codes != set(languages):
        raise DataError(
            f"{listed((path.name for path in paths), 4)} are of {listed(ordered(codes))} by their names and not of "
            f"{listed(languages)}; name these, or none"
        )
    if unstated and len(unstated) != len(languages):
        raise DataError(
            f"{listed(unstated)} {'does' if len(unstated) == 1 else 'do'} not say the language; name "
            f"files like train.en and train.de, or give {counted(len(unstated), 'language')} for them in order "
            f"({len(languages)} given)"
        )


def _stem(path: Path, *, states_language: bool) -> str:
    """Return a plain file's name without its endings and the language that it states."""
    stem = without_endings(path.name, (PLAIN_ENDING, GZIP_ENDING))
    return stem.rpartition(".")[0] if states_language else stem


def read_group(group: Group) -> ParallelRows:
    """Read files whose lines are each other's translations.

    Raises:
        DataError: a file can't be read, or they differ in length.
    """
    texts: dict[str, list[str]] = {}
    notes: tuple[str, ...] = ()
    for code, path in group:
        lines, line_notes = read_lines(path, path.name, are_aligned=True)
        check_rows(len(lines), path.name)
        texts[code] = clean(lines)
        notes += line_notes
    names = {code: path.name for code, path in group}
    first, count = group[0][0], len(texts[group[0][0]])
    for code, lines in texts.items():
        if len(lines) != count:
            raise DataError(
                f"{shown(names[first])} has {counted(count, 'line')} and {shown(names[code])} {len(lines):,}, so line "
                f"{min(count, len(lines)) + 1:,} has no translation; give each sentence its translation in the same "
                "line"
            )
    return ParallelRows(texts, names, range(1, count + 1), notes=notes)


def _check_plain(name: str) -> None:
    """Raise a DataError for a file of which only some lines, or none, are sentences."""
    unpacked = unpacked_name(name).lower()
    if unpacked.endswith(ZIP_ENDING):
        raise DataError(
            f"{shown(name)} is a zip archive; unpack it, and name the files of sentences in it, such as train.en and "
            "train.de"
        )
    if unpacked.endswith(STRUCTURED_ENDINGS):
        ending = shown(unpacked.rpartition(".")[2], 10)
        raise DataError(
            f"{shown(name)} is a .{ending} file, but no parallel text that Emu knows; export it as TMX, XLIFF, PO or a "
            "table with a column for each language"
        )
