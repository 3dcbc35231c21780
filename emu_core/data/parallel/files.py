"""Parallel text from files of any kind, recognised by their content; see `formats`."""

from collections.abc import Sequence
from pathlib import Path

from emu_core.data.cleaning import clean
from emu_core.data.file_names import language_of_file
from emu_core.data.languages import checked_language, language_code, ordered
from emu_core.data.parallel.formats import reader_of
from emu_core.data.parallel.tatoeba import is_tatoeba, read_tatoeba
from emu_core.data.parallel.text import ParallelRows, ParallelText, check_languages, pair_of
from emu_core.data.readers.formats import GZIP_ENDING, PLAIN_ENDING, without_endings
from emu_core.data.readers.limits import check_rows, named_paths
from emu_core.data.readers.text import read_lines
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError

# Every sentence of an evaluation's file is compared with every translation.
MAX_EVALUATION_PAIRS = 20_000


def read_parallel(
    files: Sequence[str | Path], languages: Sequence[str] | None = None, *, drop_empty: bool = False
) -> list[ParallelText]:
    """Read sentences and their translations.

    - Plain files have a sentence a line and their language at the end of their name: `train.en` and `train.de`,
      `train.en.txt.gz`, `tatoeba.deu-eng.deu`. Files whose names are alike up to there belong together, line by line;
      if no two do, all of them belong together. Lines that are blank in both languages separate documents.
    - Tables in a format of `TABLE_FORMATS` have a language as the name of each column, or a column `translation` of
      objects as OPUS and Hugging Face have it, or `source` and `target`.
    - Lines with a tab between a sentence and its translation, as Tatoeba, ManyThings and OPUS export pairs, without
      a header; columns of numbers and of licences are left out. Tatoeba's `sentences.csv` and `links.csv` are joined.
    - TMX, XLIFF and PO name their own languages, or a PO file that of its translations alone: its originals are in
      English, unless two languages are given.

    All may be gzipped. Of the languages that belong together, English, or else the first, is paired with each
    of the others.

    Args:
        files: the files, of any mixture of kinds.
        languages: codes or names for files that do not state their own: of those plain files, in order, or of
            the columns of sentences without a header.
        drop_empty: leave out rows that are empty in one of two languages, which is an error otherwise.

    Returns:
        One or more texts, in the order of the files; with `notes` about anything unusual.

    Raises:
        DataError: a file can't be read, its language is unknown or there twice, files that belong together differ
            in length, or a row is empty in one language; it names file and line.
    """
    missing = "no file of parallel text is named; name two such as train.en and train.de, or a table"
    paths = named_paths(files, missing)
    codes = None if languages is None else [checked_language(language) for language in languages]
    tatoeba = [path for path in paths if is_tatoeba(path)]
    readers = {path: reader_of(path) for path in paths if path not in tatoeba}
    plain = [path for path, read in readers.items() if read is None]
    all_rows = [_read_plain(group) for group in _groups(plain, codes or ())] if plain else []
    all_rows += [read(path, codes) for path, read in readers.items() if read is not None]
    if tatoeba:
        all_rows.append(read_tatoeba(tatoeba))
    check_rows(sum(len(rows.lines) for rows in all_rows), "the parallel text in all files together")
    texts = []
    for rows in all_rows:
        pivot = "en" if "en" in rows.texts else next(iter(rows.texts))
        texts += [
            pair_of(rows, pivot, other, drop_empty=drop_empty) for other in rows.texts if other != pivot
        ]
    return texts


def read_translations(folder: Path) -> list[ParallelText]:
    """Read all pairs of files NAME.A-B.A and NAME.A-B.B in a folder, such as tatoeba.deu-eng.deu and .eng.

    Raises:
        DataError: there is no such file, one of a pair is missing, they differ in length, a line is empty, or there are
            more than `MAX_EVALUATION_PAIRS`; it names file and line.
    """
    texts = []
    for path in files_in(folder):
        stem, _, ending = path.name.rpartition(".")
        codes = stem.rpartition(".")[2].split("-")
        if len(codes) != 2 or ending not in codes:
            continue
        sides = [path.with_name(f"{stem}.{code}") for code in codes]
        if missing := next((side for side in sides if not side.is_file()), None):
            raise DataError(
                f"{path.name} has no {missing.name} beside it; translations are in two files, line by line"
            )
        if ending == codes[0]:
            languages = [language_code(code) or code for code in codes]
            text = pair_of(
                _read_plain(list(zip(languages, sides, strict=True))), *languages, drop_empty=False
            )
            check_pairs(len(text), text.name)
            texts.append(text)
    if not texts:
        raise DataError(
            f"no translations in {folder}; name them like tatoeba.deu-eng.deu and tatoeba.deu-eng.eng"
        )
    return texts


def files_in(folder: Path, ending: str = "") -> list[Path]:
    """Return the files of a folder by name. Raises DataError if there is none."""
    if not folder.is_dir():
        raise DataError(f"no folder {folder}; name one with files of sentence pairs")
    files = sorted(path for path in folder.iterdir() if path.name.endswith(ending) and path.is_file())
    if not files:
        raise DataError(f"no {ending or 'file'} in {folder}; name a folder with files of sentence pairs")
    return files


def check_pairs(count: int, name: str) -> None:
    """Raise a DataError if an evaluation's file has no pairs, or more than `MAX_EVALUATION_PAIRS`."""
    if count > MAX_EVALUATION_PAIRS:
        raise DataError(f"{name} has {count:,} pairs, and {MAX_EVALUATION_PAIRS:,} are the most; give fewer")
    if not count:
        raise DataError(f"{name} has no sentence pair; give some")


_Group = list[tuple[str, Path]]  # plain files that are each other's translations, each with its language


def _groups(paths: Sequence[Path], languages: Sequence[str]) -> list[_Group]:
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
        groups: dict[str, _Group] = {}
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


def _read_plain(group: _Group) -> ParallelRows:
    """Read files whose lines are each other's translations."""
    texts: dict[str, list[str]] = {}
    notes: tuple[str, ...] = ()
    for code, path in group:
        lines, line_notes = read_lines(path, path.name)
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
