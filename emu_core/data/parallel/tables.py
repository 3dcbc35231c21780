"""Tables of translations: a column for each language, objects of translations, or lines of pairs."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from emu_core.data.cleaning import clean
from emu_core.data.languages import is_known, language_code, split_pair
from emu_core.data.parallel.text import ParallelRows, check_languages
from emu_core.data.readers.formats import TSV, format_of, without_endings
from emu_core.data.readers.tables import read_columns
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError

_TRANSLATION = "translation"  # a column of objects {"en": ..., "de": ...}, as OPUS and Hugging Face have it
_SOURCES, _TARGETS = {"source", "src", "original"}, {"target", "trg", "tgt", "translated"}
# Columns beside the pairs in exports of Tatoeba and ManyThings: numbers of sentences, and whose they are.
_BESIDE = re.compile(r"[0-9]+|CC[ -](BY|0).*")
_IN_WORDS = re.compile(r"\b(\w+)-(\w+)\b")  # "Sentence pairs in English-German - 2026-11-01.tsv"


def read_table_of_languages(path: Path, languages: Sequence[str] | None) -> ParallelRows:
    """Read the columns that languages name, a column `translation` of objects, or the columns source and target.

    Where no column names a language, and in a .tsv without a line of names, they are given, or stated by the file's
    name.

    Raises:
        DataError: the table can't be read, or its columns are not of two languages.
    """
    names, columns, notes = read_columns(path)
    if _TRANSLATION in names:
        objects = _objects(columns[list(names).index(_TRANSLATION)])
        if len(objects) > 1:
            rows = range(1, len(columns[0]) + 1)
            return ParallelRows(objects, dict.fromkeys(objects, path.name), rows, "row", notes)
    header = _languages_of(names, columns)
    sides = [at for part in (_SOURCES, _TARGETS) for at, name in enumerate(names) if name.casefold() in part]
    if len(header) < 2 and len(sides) == 2:
        header = dict(zip(sides, _pair(path, "the columns source and target", languages), strict=True))
    is_tsv = format_of(path.name) is TSV
    if is_tsv and (len(header) < 2 or (languages is not None and set(header.values()) != set(languages))):
        return _without_header(path, _with_first_row(names, columns), header, languages, notes)
    if len(header) < 2:
        raise DataError(
            f"{shown(path.name)}: the columns name no two languages: {listed(names)}; rename those of the "
            "sentences to codes such as en and de"
        )
    check_languages(list(header.values()), path.name)
    texts: dict[str, Sequence[str | None]] = {code: clean(columns[at]) for at, code in header.items()}
    unit, start = ("line", 2) if is_tsv else ("row", 1)
    return ParallelRows(
        texts, dict.fromkeys(texts, path.name), range(start, start + len(columns[0])), unit, notes
    )


def read_pairs_by_tabs(path: Path, languages: Sequence[str] | None) -> ParallelRows:
    """Read lines with a tab between a sentence and its translation; numbers and licences beside them are left out.

    Raises:
        DataError: the file can't be read, or it has not as many columns of sentences as there are languages.
    """
    names, columns, notes = read_columns(path, by_tabs=True)
    header = _languages_of(names, columns)
    if len(header) == len(names) >= 2:
        texts = {code: clean(columns[at]) for at, code in header.items()}
        check_languages(list(header.values()), path.name)
        return ParallelRows(
            texts, dict.fromkeys(texts, path.name), range(2, len(columns[0]) + 2), "line", notes
        )
    return _without_header(path, _with_first_row(names, columns), {}, languages, notes)


def _languages_of(names: Sequence[str], columns: Sequence[Sequence[str]]) -> dict[int, str]:
    """Return the languages that name columns, by the position of the column."""
    header = {}
    for at, (name, column) in enumerate(zip(names, columns, strict=True)):
        code = language_code(name.removeprefix(f"{_TRANSLATION}_"))  # the key of an object of translations
        # Above keys, `id` is not Indonesian and `no` not Norwegian.
        is_key = code in ("id", "no") and all(len(text.split()) < 2 for text in column)
        if code is not None and is_known(code) and not is_key:
            header[at] = code
    return header


def _without_header(
    path: Path,
    columns: Sequence[Sequence[str]],
    header: Mapping[int, str],
    languages: Sequence[str] | None,
    notes: tuple[str, ...],
) -> ParallelRows:
    """Return the columns of sentences of a file whose first line is a row as all others."""
    if languages is not None and len(header) == len(columns) >= 2:
        raise DataError(
            f"{shown(path.name)} is of {listed(header.values())} by its first line and not of {listed(languages)}; "
            "name these, or none"
        )
    sentences = [column for column in columns if not _is_beside(column)]
    codes = languages or _languages_in_name(path.name)
    if not codes:
        raise DataError(
            f"{shown(path.name)}: the first line names no two languages; put codes such as en and de above the "
            "columns, or name the languages"
        )
    if len(codes) != len(sentences):
        raise DataError(
            f"{shown(path.name)} has {counted(len(sentences), 'column')} of sentences and "
            f"{counted(len(codes), 'language')} {'is' if len(codes) == 1 else 'are'} named: {listed(codes)}; name one "
            "for each column"
        )
    check_languages(list(codes), path.name)
    texts = {code: clean(column) for code, column in zip(codes, sentences, strict=True)}
    return ParallelRows(texts, dict.fromkeys(texts, path.name), range(1, len(columns[0]) + 1), "line", notes)


def _with_first_row(names: Sequence[str], columns: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    return [(name, *column) for name, column in zip(names, columns, strict=True)]


def _is_beside(column: Sequence[str]) -> bool:
    return all(_BESIDE.fullmatch(cell.strip()) for cell in column)


def _pair(path: Path, what: str, languages: Sequence[str] | None) -> Sequence[str]:
    codes = languages or _languages_in_name(path.name)
    if len(codes) != 2:
        raise DataError(
            f"{shown(path.name)}: {what} state no language; name two, such as en and de, in their order"
        )
    return codes


def _languages_in_name(name: str) -> tuple[str, ...]:
    """Return the two languages in a name such as `news.en-de.tsv` or `Sentence pairs in English-German.tsv`."""
    stem = without_endings(name)
    pairs = [split_pair(part) for part in re.split(r"[._ ]", stem)] + _IN_WORDS.findall(stem)
    for first, second in filter(None, pairs):
        codes = [language_code(first), language_code(second)]
        if all(code is not None and is_known(code) for code in codes):
            return tuple(code for code in codes if code)
    return ()


def _objects(cells: Sequence[str]) -> dict[str, list[str | None]]:
    """Return texts by language from cells that are JSON objects of them; what is no text is left out."""
    objects = []
    for cell in cells:
        try:
            value = json.loads(cell) if cell.startswith("{") else {}
        except (ValueError, RecursionError):
            value = {}
        known = ((language_code(str(key)), text) for key, text in value.items())
        objects.append(
            {code: text for code, text in known if code and is_known(code) and isinstance(text, str)}
        )
    codes = dict.fromkeys(code for value in objects for code in value)
    return {
        code: [text and clean([text])[0] for text in (value.get(code) for value in objects)] for code in codes
    }
