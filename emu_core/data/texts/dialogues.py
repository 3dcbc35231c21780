"""Dialogues: comments and their responses, for the conversational response task."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from emu_core.data.cleaning import clean
from emu_core.data.file_names import language_of_file, stated_language
from emu_core.data.readers.formats import CSV, TSV, format_of, is_table
from emu_core.data.readers.tables import read_columns
from emu_core.data.texts.text import TrainingText, left_out_note, read_training_texts
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError

_COMMENTS = ("comment", "context", "input", "message", "question")
_RESPONSES = ("response", "reply", "answer")


@dataclass(frozen=True)
class Dialogues(TrainingText):
    """Comments and their responses in one language.

    Attributes:
        language: its code.
        comments: N texts, none blank.
        responses: the N responses, in the same order, none blank.
    """

    kind: ClassVar = "dialogues"
    columns: ClassVar = {"comments": "comment", "responses": "response"}
    language: str
    comments: tuple[str, ...]
    responses: tuple[str, ...]
    name: str
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.comments) != len(self.responses) or not self.comments:
            raise DataError(
                f"{shown(self.name)} has {counted(len(self.comments), 'comment')} and "
                f"{counted(len(self.responses), 'response')}; give each comment its response"
            )


def read_dialogues(files: Sequence[str | Path], language: str | None = None) -> list[Dialogues]:
    """Read comments and responses from tables in a format of `TABLE_FORMATS`; text may be gzipped.

    The columns are `comment` and `response` (or context, input, message, question; reply, answer), or the two columns
    of a TSV or CSV without a header. Rows without a comment or a response are left out, and counted in `notes`.

    Args:
        files: the files, each in one language.
        language: their language; without it each file's name must state it (`reddit.en.tsv`).

    Raises:
        DataError: a file can't be read, lacks these columns, doesn't state its language, or no row has both.
    """
    example = "with the columns comment and response"
    return read_training_texts(
        files,
        lambda path: _read(path, language),
        "dialogues",
        example,
        lambda name: is_table(name) and (language or language_of_file(name)) is not None,
    )


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
    sides = [clean(side) for side in columns]
    rows = [(comment, response) for comment, response in zip(*sides, strict=True) if comment and response]
    if not sides[0]:
        raise DataError(f"{shown(path.name)} has column names but no rows; add the dialogues below them")
    if not rows:
        raise DataError(f"{shown(path.name)}: no row has a comment and a response; check the columns")
    comments, responses = zip(*rows, strict=True)
    notes += left_out_note(path, len(sides[0]) - len(rows), "row", "without comment or response")
    return [Dialogues(language, comments, responses, path.name, notes)]
