"""Parallel text from files of any kind, recognised by their content; see `formats`."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from emu_core.data.languages import checked_language, language_code
from emu_core.data.texts.parallel import ParallelText
from emu_core.data.wording import listed
from emu_core.errors import DataError
from emu_core.formats.in_memory import TABLES, Expected, Sources, as_sources
from emu_core.formats.limits import check_rows
from emu_core.formats.parallel.formats import ParallelFormat, format_of
from emu_core.formats.parallel.lines import read_group
from emu_core.formats.parallel.rows import pair_of, pivot_of
from emu_core.formats.source_files import SourceFile, unpacked

PARALLEL = Expected(
    f"name files of parallel text such as train.en and train.de, or give {TABLES} with a column for each language, or "
    "(sources, targets)",
    ("source", "target"),
)
# Every sentence of an evaluation's file is compared with every translation.
MAX_EVALUATION_PAIRS = 20_000


def read_parallel(
    files: Sources, languages: Sequence[str] | None = None, *, drop_empty: bool = False
) -> list[ParallelText]:
    """Read sentences and their translations.

    - Plain files have a sentence a line and their language at the end of their name: `train.en` and `train.de`,
      `train.en.txt.gz`, `tatoeba.deu-eng.deu`. Files whose names are alike up to there belong together, line by line;
      if no two do, all of them belong together. Lines that are blank in both languages separate documents.
    - Tables in a format of `TABLE_FORMATS` have a language as the name of each column, or a column `translation` of
      objects as OPUS and Hugging Face have it, or `source` and `target`.
    - Tables without a line of names, and lines with a tab between a sentence and its translation, as Tatoeba,
      ManyThings and OPUS export pairs, have their languages in their name, such as `news.en-de.tsv`. Columns of
      numbers and of licences are left out. Tatoeba's `sentences.csv` and `links.csv` are joined.
    - TMX and XLIFF name their own languages.
    - PO names that of its translations. Its originals are in English; if they are keys such as `menu.open`, the
      files of all languages are joined by them.

    A data frame, a pyarrow Table or a Hugging Face `Dataset` is read as a table in a file, and so are two lists of
    sentences in a tuple, whose languages are given.

    All files may be gzipped. Folders and zip archives stand for the files in them; those that are no parallel text,
    such as a README, are left out, which a note says. Of the languages that belong together, English, or else the
    first, is paired with each of the others.

    Args:
        files: the files, folders, archives and tables, of any mixture of kinds.
        languages: codes or names for files that do not state their own: of those plain files, in order, or of
            the columns of sentences without a header.
        drop_empty: leave out rows that are empty in one of two languages, which is an error otherwise.

    Returns:
        One or more texts, in the order of the files; with `notes` about anything unusual.

    Raises:
        DataError: a file can't be read, its language is unknown or there twice, files that belong together differ
            in length, or a row is empty in one language; it names file and line.

    Examples:
        >>> import emu_core
        >>> import pandas as pd
        >>> pairs = pd.DataFrame({"en": ["the pool", "a taxi"], "de": ["der Pool", "ein Taxi"]})
        >>> (text,) = emu_core.read_parallel(pairs)
        >>> text.languages, text.second
        (('en', 'de'), ('der Pool', 'ein Taxi'))
    """
    sources = as_sources(files, PARALLEL)
    codes = None if languages is None else [checked_language(language) for language in languages]
    files_by_format: dict[ParallelFormat, list[Path | SourceFile]] = {}
    left: list[str] = []
    with unpacked(sources) as unpacked_files:
        for file in unpacked_files:
            known = format_of(file.source)
            if file.is_named or codes or known.may_be(file.source.name):
                files_by_format.setdefault(known, []).append(file.source)
            else:
                left.append(file.source.name)
        if not files_by_format:
            raise DataError(
                f"{listed(left, 4)}: none of the files is parallel text that Emu knows; name others"
            )
        all_rows = [rows for known, same in files_by_format.items() for rows in known.read(same, codes)]
    check_rows(sum(len(rows.lines) for rows in all_rows), "the parallel text in all files together")
    texts = []
    for rows in all_rows:
        pivot = pivot_of(rows.texts)
        texts += [
            pair_of(rows, pivot, other, drop_empty=drop_empty) for other in rows.texts if other != pivot
        ]
    if left:
        note = f"Not read, since they are no parallel text: {listed(left, 6)}."
        texts[0] = replace(texts[0], notes=(*texts[0].notes, note))
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
            text = pair_of(read_group(list(zip(languages, sides, strict=True))), *languages, drop_empty=False)
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
