"""Dialogues from files and tables."""

from collections.abc import Sequence
from pathlib import Path

from emu_core.data.cleaning import clean
from emu_core.data.texts.dialogues import Dialogues
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError
from emu_core.formats.file_names import language_of_file, stated_language
from emu_core.formats.in_memory import TABLES, Expected, Sources
from emu_core.formats.source_files import SourceFile
from emu_core.formats.tables.formats import CSV, TSV, format_of, is_table
from emu_core.formats.tables.read import read_columns
from emu_core.formats.texts.read import held_columns, left_out_note, parts_by_language, read_training_texts

_COMMENTS = ("comment", "context", "input", "message", "question")


_RESPONSES = ("response", "reply", "answer")


_EXPECTED = Expected(
    f"name files, or give {TABLES}, with the columns comment and response, or (comments, responses)",
    ("comment", "response"),
)


def read_dialogues(files: Sources, language: str | None = None) -> list[Dialogues]:
    """Read comments and responses from tables in a format of `TABLE_FORMATS`, gzipped or not, or that Python holds.

    The columns are `comment` and `response` (or context, input, message, question; reply, answer), or the two columns
    of a TSV or CSV without a header. Rows without a comment or a response are left out, and counted in `notes`.

    Args:
        files: files, each in one language; a DataFrame, a pyarrow Table or a Hugging Face `Dataset`, whose languages
            may be in a column `language`; a list of several; or `(comments, responses)`, two lists.
        language: their language; without it each file's name must state it (`reddit.en.tsv`).

    Returns:
        Dialogues for each file, and each language of a table, in order.

    Raises:
        DataError: a file can't be read, lacks these columns, doesn't state its language, or no row has both.

    Examples:
        >>> import emu_core
        >>> (text,) = emu_core.read_dialogues((["How are you?"], ["Fine, and you?"]), language="en")
        >>> text.comments, text.responses
        (('How are you?',), ('Fine, and you?',))
    """
    return read_training_texts(
        files,
        _EXPECTED,
        lambda source: _held(source, language) if isinstance(source, SourceFile) else _read(source, language),
        "dialogues",
        lambda name: is_table(name) and (language or language_of_file(name)) is not None,
    )


def _held(table: SourceFile, given: str | None) -> list[Dialogues]:
    names = {"comment": _COMMENTS, "response": _RESPONSES, "language": ("language",)}
    return [
        _of_rows(code, part["comment"].tolist(), part["response"].tolist(), table.name)
        for code, part in parts_by_language(held_columns(table, names), table, given, "read_dialogues")
    ]


def _read(path: Path, given: str | None) -> list[Dialogues]:
    language = stated_language(given, path.name)
    header, body, notes = read_columns(path)
    names = [name.strip().casefold() for name in header]
    numbers_by_kind = (
        [names.index(name) for name in kind if name in names] for kind in (_COMMENTS, _RESPONSES)
    )
    column_numbers = [numbers[0] for numbers in numbers_by_kind if numbers]
    may_lack_header = format_of(path.name) in (CSV, TSV)
    if len(column_numbers) == 2:
        columns = [body[number] for number in column_numbers]
    elif len(header) == 2 and not column_numbers and may_lack_header:
        columns = [(name, *cells) for name, cells in zip(header, body, strict=True)]
    else:
        raise DataError(
            f"{shown(path.name)} has the columns {listed(header, 6)}; name two of them comment and response"
        )
    if not columns[0]:
        raise DataError(f"{shown(path.name)} has column names but no rows; add the dialogues below them")
    comments, responses = columns
    return [_of_rows(language, comments, responses, path.name, notes)]


def _of_rows(
    language: str, comments: Sequence[str], responses: Sequence[str], name: str, notes: tuple[str, ...] = ()
) -> Dialogues:
    """Return the rows that have a comment and a response. Raises DataError if none has both."""
    sides = zip(clean(comments), clean(responses), strict=True)
    rows = [(comment, response) for comment, response in sides if comment and response]
    if not rows:
        raise DataError(f"{shown(name)}: no row has a comment and a response; check the columns")
    notes += left_out_note(name, len(comments) - len(rows), "row", "without comment or response")
    kept_comments, kept_responses = zip(*rows, strict=True)
    return Dialogues(language, kept_comments, kept_responses, name, notes)
