"""The shapes of tables: without a header, or with a column per language."""

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress

from emu_core.data.column_names import folded_name, has_role, role_in_name, role_of_name
from emu_core.data.languages import is_known, language_code, ordered, stated_code
from emu_core.data.splits import SPLIT_NAMES
from emu_core.data.wording import counted, shown
from emu_core.formats.limits import check_rows
from emu_core.formats.tables.cells import Cells, numbered
from emu_core.formats.tables.contents import Content, count_words, is_language, is_value

_SENTENCE_END = (*".?!", *"。？！؟")
_MIN_SENTENCE_WORDS = 3
_SEPARATORS = re.compile(r"[\s_.:()\[\]-]+|(?<=[a-z])(?=[A-Z])")
_IN_BRACKETS = re.compile(r"\s*[(\[].*")  # "German (DE)"
_TRANSLATIONS = frozenset({"translation", "ubersetzung", "traduction", "traduccion"})


def shaped(cells: Cells, name: str) -> Cells:
    """Return a table of sentences with a header, and one sentence a row.

    A first row that looks like those below it is a row, and the columns are then named "column 1", ...; a column per
    language becomes a row per language. Rows that repeat the header, as in files that were joined, are left out.

    Args:
        cells: a table as its file holds it.
        name: the file's name, of which the ids of sentences in several languages are made if there are none.

    Raises:
        DataError: there are too many rows.
    """
    if cells.is_first_row and _is_row(cells.header, [Content(column) for column in cells.columns]):
        cells = replace(with_first_row(cells), recognised="Table without a header")
    elif cells.is_first_row:
        cells = without_headers(cells, name)
    return _by_language(cells, name)


# Tables without a header


def with_first_row(cells: Cells) -> Cells:
    """Return a table with its header as the first row, and with numbered columns."""
    columns = [(first, *column) for first, column in zip(cells.header, cells.columns, strict=True)]
    return replace(cells, header=numbered(len(columns)), columns=columns, is_first_row=False)


def without_headers(cells: Cells, name: str) -> Cells:
    """Return a table without the rows that repeat its header, and a note that counts them."""
    if not all(map(operator.contains, cells.columns, cells.header)):
        return cells
    header = tuple(cells.header)
    is_kept = [row != header for row in zip(*cells.columns, strict=True)]
    left_out = is_kept.count(False)
    if not left_out:
        return cells
    rows = counted(left_out, "row that repeats", "rows that repeat")
    note = f"Left out of {shown(name)}: {rows} the header."
    columns = [list(compress(column, is_kept)) for column in cells.columns]
    return replace(cells, columns=columns, notes=(*cells.notes, note))


def _is_row(header: Sequence[str], contents: Sequence[Content]) -> bool:
    """Return whether a first row is one of the rows, and not the names of their columns."""
    first = [cell.strip() for cell in header]
    is_usual = [role_of_name(cell) is not None for cell in first]
    if sum(is_usual) > 1 or first == list(map(str, range(len(first)))):
        return False
    pairs = list(zip(first, contents, strict=True))
    recurs = [cell in content.distinct and not cell.isdecimal() for cell, content in pairs]
    is_named = any(usual and not again for usual, again in zip(is_usual, recurs, strict=True))
    if is_named or any(content.are_values and cell and not is_value(cell) for cell, content in pairs):
        return False
    if any(recurs) or any(_is_alike(cell, content) for cell, content in pairs):
        return True
    is_named = any(map(role_in_name, first))
    return not is_named and any(content.are_sentences and _is_sentence(cell) for cell, content in pairs)


def _is_alike(cell: str, content: Content) -> bool:
    """Return whether a cell and all below it are languages, splits or numbers."""
    if content.are_languages:
        return is_language(cell)
    if content.are_splits:
        return cell.casefold() in SPLIT_NAMES
    return content.are_values and is_value(cell)


def _is_sentence(cell: str) -> bool:
    return count_words(cell) >= _MIN_SENTENCE_WORDS or cell.endswith(_SENTENCE_END)


# A column per language


@dataclass(frozen=True)
class _Translation:
    """A column of sentences in one language, or in that of the file ("")."""

    column: int
    language: str
    kind: str  # the rest of its name, folded: "" for a name such as "German"


def _by_language(cells: Cells, name: str) -> Cells:
    """Return a table with a column per language as one with a row per language, and an id for each row that it had."""
    translations = _translations(cells)
    if not translations:
        return cells
    spent = {translation.column for translation in translations}
    rest = [at for at in range(len(cells.header)) if at not in spent]
    has_id = has_role((cells.header[at] for at in rest), "id")
    header = [*(cells.header[at] for at in rest), *([] if has_id else ["id"]), "text", "language"]
    rows = []
    for number in range(len(cells)):
        other_cells = [cells.columns[at][number] for at in rest] + (
            [] if has_id else [f"{name}:{number + 1}"]
        )
        for translation in translations:
            if (text := cells.columns[translation.column][number]).strip():
                rows.append((*other_cells, text, translation.language))
        check_rows(len(rows), name)
    languages = ordered(translation.language for translation in translations if translation.language)
    recognised = f"Table with a column per language ({', '.join(languages)})"
    columns = list(zip(*rows, strict=True)) or [()] * len(header)
    return Cells(header, columns, recognised=recognised, notes=cells.notes)


def _translations(cells: Cells) -> list[_Translation]:
    """Return the columns of sentences in two languages or more; none if a column states the language."""
    if has_role(cells.header, "language"):
        return []
    lacks_text = not has_role(cells.header, "text")
    named = []
    for at, label in enumerate(cells.header):
        content = Content(cells.columns[at])
        language = _language_of_name(label.strip(), content if lacks_text else None)
        translation = _Translation(at, language, "") if language else _translation(at, label.strip())
        if translation and _holds_sentences(label, content):
            named.append(translation)
    for kind in dict.fromkeys(translation.kind for translation in named):
        alike = [translation for translation in named if translation.kind == kind]
        if len({translation.language for translation in alike}) > 1:
            original = (at for at, label in enumerate(cells.header) if kind and folded_name(label) == kind)
            return [*(_Translation(at, "", kind) for at in original), *alike]
    return []


def _language_of_name(label: str, content: Content | None) -> str | None:
    """Return the language that a column is named after; names in other languages are known for sentences only."""
    plain = _IN_BRACKETS.sub("", label)
    if is_language(label) or (len(plain) > 3 and is_language(plain)):
        return stated_code(label) or stated_code(plain)
    if content and len(label) > 3 and label.isalpha() and not role_in_name(label) and content.are_sentences:
        code = language_code(label)  # "Englisch": to look it up takes a second
        return code if code and is_known(code) else None
    return None


def _translation(column: int, label: str) -> _Translation | None:
    """Return what a name such as `text_de` or `en-US (utterance)` says of its column."""
    for separator in _SEPARATORS.finditer(label):
        head, tail = label[: separator.start()], label[separator.end() :].rstrip(" )]")
        for kind, language in ((head, tail), (tail, head)):
            is_text = role_of_name(kind) == "text" or folded_name(kind) in _TRANSLATIONS
            if is_text and is_language(language):
                return _Translation(column, stated_code(language) or "", folded_name(kind))
    return None


def _holds_sentences(label: str, content: Content) -> bool:
    """Return whether a column may hold the sentences of the language that its name states."""
    is_mark = len(content.sample) > 2 and len(content.distinct) < 2
    is_doubtful = role_of_name(label) is not None  # "id" is Indonesian, too
    return content.may_be_sentences and not is_mark and (content.are_sentences or not is_doubtful)
