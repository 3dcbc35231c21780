"""Tables of translations: a column for each language, objects of translations, or pairs without names."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from emu_core.data.cleaning import clean, cleaned
from emu_core.data.column_names import is_name
from emu_core.data.languages import is_known, language_code, stated_code
from emu_core.data.missing import without_missing
from emu_core.data.splits import SPLIT_NAMES
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError, Fix
from emu_core.formats.encodings import encoding_notes
from emu_core.formats.file_names import ALSO_WORDS, language_of_file
from emu_core.formats.parallel.rows import ParallelRows, check_languages
from emu_core.formats.source_files import SourceFile
from emu_core.formats.tables.cells import Cells, numbered
from emu_core.formats.tables.formats import TSV, format_of, without_endings
from emu_core.formats.tables.read import read_columns, read_table

_TRANSLATION = "translation"  # a column of objects {"en": ..., "de": ...}, as OPUS and Hugging Face have it
_SIDES = (("source", "src"), ("target", "trg", "tgt"))
_SENTENCES = ("sentence", "text", _TRANSLATION, *_SIDES[0], *_SIDES[1])
_NAME_OF_SENTENCES = re.compile(rf"({'|'.join(_SENTENCES)})[ _.-]?[0-9]?", re.IGNORECASE)
_NAME_WITH_LANGUAGE = re.compile(rf"(?:{'|'.join(_SENTENCES)})[ _.-](.+)", re.IGNORECASE)
# Columns beside the pairs in exports of Tatoeba, ManyThings and OPUS: numbers, scores, whose they are, and nothing.
_LICENCE = re.compile(r"CC[ -](BY|0).*")
_BESIDE = re.compile(rf"([0-9]+([.][0-9]+)?|{_LICENCE.pattern})?")
_WORD_OF_FILE = re.compile(
    r"zh[-_](?i:tw|hk|hant|cn|hans)|[a-z]{2,3}[-_](?:[A-Z]{2}|[A-Z][a-z]{3})(?![a-z])|[^\W_]+"
)
_BETWEEN_LANGUAGES = frozenset({"to", "2", "and", *SPLIT_NAMES})  # in the name of a file such as "en_to_de"


def read_table_of_translations(
    path: Path | SourceFile, languages: Sequence[str] | None, *, by_tabs: bool = False
) -> ParallelRows:
    """Read the columns that languages name, a column `translation` of objects, or all columns of sentences.

    Columns that do not name their language, such as source and target, or that have no names are in the languages that
    are given, or else in those of columns of codes beside them, or in those that the file's name states.

    Args:
        path: the file, or a table that Python holds.
        languages: of the columns of sentences, in order.
        by_tabs: whether each line is a row with tabs between the cells, whatever the file's name.

    Raises:
        DataError: the table can't be read, or its columns are not of two languages or more.
    """
    table = _read(path, by_tabs=by_tabs)
    if _TRANSLATION in table.names:
        texts = _texts_in_objects(table.below_names[table.names.index(_TRANSLATION)])
        if len(texts) > 1:
            return table.rows(texts)
    codes_by_column = _languages_of_names(table)
    codes = list(codes_by_column.values())
    if table.may_lack_names and languages is not None and set(codes) != set(languages):
        if len(codes) == len(table.names) > 1:
            raise DataError(
                f"{shown(path.name)} is of {listed(codes)} by its first line and not of {listed(languages)}; name "
                "these, or none"
            )
        codes = []
    if len(codes) > 1:
        check_languages(codes, path.name)
        return table.rows({code: clean(table.below_names[at]) for at, code in codes_by_column.items()})
    return _rows_without_named_languages(table, languages)


@dataclass(frozen=True)
class _Table:
    """The columns of a table.

    Attributes:
        path: the file, or the table that Python holds.
        names: of the columns.
        below_names: the cells of each column.
        may_lack_names: whether the names are the first line of the file, which may be a row of sentences.
        unit: "line" if each line of the file is a row, else "row".
        notes: about the file.
    """

    path: Path | SourceFile
    names: list[str]
    below_names: Sequence[Sequence[str]]
    may_lack_names: bool
    unit: str
    notes: tuple[str, ...]

    def rows(self, texts: Mapping[str, Sequence[str | None]], *, has_names: bool = True) -> ParallelRows:
        """Return the texts of the languages, which are in all rows, with the numbers of the rows."""
        first = 2 if has_names and self.unit == "line" else 1
        numbers = range(first, first + len(next(iter(texts.values()))))
        return ParallelRows(texts, dict.fromkeys(texts, self.path.name), numbers, self.unit, self.notes)


def _read(path: Path | SourceFile, *, by_tabs: bool) -> _Table:
    if isinstance(path, Path) and (by_tabs or format_of(path.name) is TSV):
        names, columns, notes = read_columns(path, by_tabs=True)
        return _Table(path, names, columns, True, "line", notes)
    is_first_row = False

    def with_names_as_cells(cells: Cells, _: str) -> Cells:
        # Names of which two are the same, or one is empty, may be sentences.
        nonlocal is_first_row
        is_first_row = cells.is_first_row
        columns = [(name, *column) for name, column in zip(cells.header, cells.columns, strict=True)]
        return replace(cells, header=numbered(len(columns)), columns=columns)

    source = path if isinstance(path, Path) else path.source
    frame = read_table(source, path.name, with_names_as_cells)
    names, *_ = frame.itertuples(index=False, name=None)
    columns = [without_missing(frame.iloc[1:, at], "text").tolist() for at in range(frame.shape[1])]
    notes = (*frame.attrs["notes"], *encoding_notes(path.name, frame.attrs["encoding"]))
    return _Table(path, list(names), columns, is_first_row, "row", notes)


def _rows_without_named_languages(table: _Table, languages: Sequence[str] | None) -> ParallelRows:
    name = shown(table.path.name)
    has_names = not table.may_lack_names or _are_names(table)
    columns = table.below_names
    if not has_names:
        columns = [(first, *rest) for first, rest in zip(table.names, columns, strict=True)]
    sides = [
        at for words in _SIDES for at, title in enumerate(table.names) if title.strip().casefold() in words
    ]
    codes_beside = {at: code for at, column in enumerate(columns) if (code := _only_code(column))}
    is_licensed = any(any(map(_LICENCE.fullmatch, column)) for column in columns)
    # A name may be a key such as "Open the file", above a sentence of another.
    sentences = (
        sides
        if len(sides) == 2
        else [
            at
            for at, (title, column) in enumerate(zip(table.names, columns, strict=True))
            if (table.may_lack_names or _NAME_OF_SENTENCES.fullmatch(title.strip()))
            and at not in codes_beside
            and not all(map(_BESIDE.fullmatch, column))
        ]
    )
    # "target_lang" may come before "source_lang".
    beside = sorted(codes_beside, key=lambda at: table.names[at].strip().casefold().startswith(_SIDES[1]))
    in_name = _languages_in_name(table.path.name) if isinstance(table.path, Path) else ()
    codes = list(languages or [codes_beside[at] for at in beside] or in_name)
    if is_licensed and len(codes) < 2:  # ManyThings has English before the language that names the file
        codes = ["en", *(codes or filter(None, [language_of_file(table.path.name)]))]
    if len(codes) < 2 and table.may_lack_names:
        raise DataError(
            f"{name}: the first line names no two languages; put codes such as en and de above the columns, or name "
            "the languages in order (",
            Fix("languages", ("en", "de")),
            ")",
        )
    if len(codes) < 2 or not sentences:
        # A name of several words may be a sentence itself.
        names = "" if any(len(title.split()) > 1 for title in table.names) else f": {listed(table.names)}"
        raise DataError(
            f"{name}: the columns name no two languages{names}; rename those of the sentences to codes such as en and "
            "de, or to source and target"
        )
    if len(codes) != len(sentences):
        raise DataError(
            f"{name} has {counted(len(sentences), 'column')} of sentences and {counted(len(codes), 'language')} "
            f"{'is' if len(codes) == 1 else 'are'} named: {listed(codes)}; name one for each column"
        )
    check_languages(codes, table.path.name)
    texts = {code: clean(columns[at]) for code, at in zip(codes, sentences, strict=True)}
    return table.rows(texts, has_names=has_names)


def _languages_of_names(table: _Table) -> dict[int, str]:
    """Return the languages that name columns, such as `de` and `text_de`, by the position of the column."""
    codes = {}
    for at, (name, column) in enumerate(zip(table.names, table.below_names, strict=True)):
        parts = _NAME_WITH_LANGUAGE.fullmatch(name.strip())
        code = language_code(parts[1] if parts else name)
        # Above keys, `id` is not Indonesian and `no` not Norwegian.
        is_key = code in ("id", "no") and all(len(text.split()) < 2 for text in column)
        # Above its own code it is one of a row.
        if code is not None and is_known(code) and not is_key and code != _only_code(column):
            codes[at] = code
    return codes


def _are_names(table: _Table) -> bool:
    """Return whether the first row has the names of the columns, though none of them is a language."""
    texts = [name.strip() for name in table.names]
    if sum(map(bool, map(_NAME_OF_SENTENCES.fullmatch, texts))) > 1:  # one may be a word of the data
        return all(map(is_name, texts))
    # Above a column of numbers is a word.
    return all(map(is_name, texts)) and any(
        len(column) > 1 and all(map(_BESIDE.fullmatch, column)) and not _BESIDE.fullmatch(name)
        for name, column in zip(texts, table.below_names, strict=True)
    )


def _only_code(column: Sequence[str]) -> str | None:
    """Return the language whose code is in all cells of a column, but for empty ones."""
    values = set(column) - {""}
    value = values.pop() if len(values) == 1 else ""
    code = stated_code(value) if value.islower() or len(column) > 1 else None  # "Hi" is not Hindi
    return code if code and is_known(code) else None


def _languages_in_name(name: str) -> Sequence[str]:
    """Return the two languages in a name such as `news.en-de.tsv` or `Sentence pairs in English-German.tsv`."""
    words = _WORD_OF_FILE.findall(without_endings(name))
    words = [word for word in words if word.casefold() not in _BETWEEN_LANGUAGES]
    for first, second in reversed(list(pairwise(words))):
        codes = [code for word in (first, second) if (code := stated_code(word)) and is_known(code)]
        if len(codes) == 2 and not {first.casefold(), second.casefold()} <= ALSO_WORDS:
            return codes
    return ()


def _texts_in_objects(cells: Sequence[str]) -> dict[str, list[str | None]]:
    """Return texts by language from cells that are JSON objects of them; what is no text is left out."""
    objects = []
    for cell in cells:
        try:
            value = json.loads(cell) if cell.startswith("{") else {}
        except (ValueError, RecursionError):
            value = {}
        known = ((language_code(key), text) for key, text in value.items())
        objects.append(
            {code: cleaned(text) for code, text in known if code and is_known(code) and isinstance(text, str)}
        )
    codes = dict.fromkeys(code for texts in objects for code in texts)
    return {code: [texts.get(code) for texts in objects] for code in codes}
