"""Dialogues: comments and their responses, for the conversational response task."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from emu_core.data.cleaning import clean
from emu_core.data.languages import stated_language
from emu_core.data.readers.limits import MAX_ROWS, check_rows, named_paths
from emu_core.data.readers.tables import is_tsv, read_columns
from emu_core.data.texts.text import Text
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError

_COMMENTS = ("comment", "context", "input", "message", "question")
_RESPONSES = ("response", "reply", "answer")


@dataclass(frozen=True)
class Dialogues(Text):
    """Comments and their responses in one language.

    Attributes:
        language: its code.
        comments: N texts, none blank.
        responses: the N responses, in the same order, none blank.
        name: the name of the set.
        notes: anything odd about how they were read.
    """

    kind: ClassVar = "dialogues"
    columns: ClassVar = {"comments": "comment", "responses": "response"}
    language: str
    comments: tuple[str, ...]
    responses: tuple[str, ...]
    name: str
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that there are as many responses as comments, one or more. Raises DataError."""
        if len(self.comments) != len(self.responses) or not self.comments:
            raise DataError(
                f"{shown(self.name)} has {counted(len(self.comments), 'comment')} and "
                f"{counted(len(self.responses), 'response')}; give each comment its response"
            )


def read_dialogues(files: Sequence[str | Path], language: str | None = None) -> list[Dialogues]:
    """Read comments and responses from tables: TSV, CSV, JSON Lines, Parquet or XLSX; text may be gzipped.

    The columns are `comment` and `response` (or context, input, message, question; reply, answer), or the two that a
    TSV or CSV without a header has. Rows without a comment or without a response are left out and counted in `notes`.

    Args:
        files: the files, each of one language.
        language: their language; without it each file's name must state it (`reddit.en.tsv`).

    Raises:
        DataError: a file can't be read, lacks these columns, doesn't state its language, or no row has both.
    """
    paths = named_paths(
        files, "no file of dialogues is named; name one with the columns comment and response"
    )
    found = [_read(path, stated_language(language, path.name)) for path in paths]
    check_rows(sum(map(len, found)), MAX_ROWS, "the dialogues in all files together")
    return found


def _read(path: Path, language: str) -> Dialogues:
    columns, notes = _columns(path)
    sides = [clean(side) for side in columns]
    rows = [(comment, response) for comment, response in zip(*sides, strict=True) if comment and response]
    if not rows:
        raise DataError(f"{shown(path.name)}: no row has a comment and a response; check the columns")
    if dropped := len(sides[0]) - len(rows):
        notes = (
            *notes,
            f"{shown(path.name)}: {counted(dropped, 'row')} without comment or response left out.",
        )
    comments, responses = zip(*rows, strict=True)
    return Dialogues(language, comments, responses, path.name, notes)


def _columns(path: Path) -> tuple[tuple[Sequence[str], Sequence[str]], tuple[str, ...]]:
    """Return the comments and responses as they are in the file, and notes."""
    header, body, notes = read_columns(path)
    names = [name.strip().casefold() for name in header]
    places = [
        next((names.index(name) for name in kind if name in names), None) for kind in (_COMMENTS, _RESPONSES)
    ]
    if None not in places:
        if not body[0]:
            raise DataError(f"{shown(path.name)} has column names but no rows; add the dialogues below them")
        return (body[places[0] or 0], body[places[1] or 0]), notes
    may_lack_header = is_tsv(path) or path.name.lower().removesuffix(".gz").endswith(".csv")
    if len(header) != 2 or places != [None, None] or not may_lack_header:
        raise DataError(
            f"{shown(path.name)} has the columns {listed(header, 6)}; name two of them comment and response"
        )
    return ((header[0], *body[0]), (header[1], *body[1])), notes
