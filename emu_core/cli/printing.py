"""Output that several verbs share: tables, the verdict and a progress line."""

import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from emu_core.cli.verb import HELP_COLUMNS

MOST_LANGUAGES = 9  # rows of a table in a screen, at most

if TYPE_CHECKING:
    from emu_core.reports.run_figures_as_text import FigureText
    from emu_core.reports.verdict import RunVerdict


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, its first column left-aligned and the others right-aligned."""
    print("\n".join(table_lines(head, rows)))


def table_lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table, its first column left-aligned and the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [
        "  ".join(
            [first.ljust(widths[0]), *(cell.rjust(of) for cell, of in zip(others, widths[1:], strict=True))]
        )
        for first, *others in [head, *rows]
    ]


def print_figure(title: str, text: "FigureText") -> None:
    """Print a figure of a run: how to read it, its numbers, and what it says."""
    print(f"\n{title}")
    if text.note:
        print(f"\n{textwrap.fill(text.note, HELP_COLUMNS)}")
    if text.table:
        print()
        print_table(*text.table)
    if text.sentences:
        print("".join(f"\n{textwrap.fill(sentence.text, HELP_COLUMNS)}" for sentence in text.sentences))


def verdict_lines(verdict: "RunVerdict", most: Sequence[int] = ()) -> list[str]:
    """Return the lines of a verdict, with tables of its first measures, which have at most so many languages."""
    first, *others = verdict.lines
    lines = textwrap.wrap(first.text, HELP_COLUMNS)
    for measure, languages in zip(verdict.measures, most, strict=False):
        head, rows = measure.table(languages)
        lines += ["", *table_lines((measure.title, *head[1:]), rows)]
    lines.append("")
    for line in others:
        lines += textwrap.wrap(line.text, HELP_COLUMNS, subsequent_indent="  ")
    return lines


def screen(
    before: Sequence[str], verdict: "RunVerdict", after: Sequence[str], tables: int, most_lines: int
) -> str:
    """Return a verdict between other lines, with some tables that have as many languages as the lines allow.

    Each table keeps at least three languages, those that changed most, however many lines are asked for.
    """
    for languages in range(MOST_LANGUAGES, 2, -1):
        lines = [*before, *verdict_lines(verdict, tables * [languages]), *after]
        if len(lines) <= most_lines:
            break
    return "\n".join(lines)


class PrintedLine:
    """Progress on stderr: a single line in a terminal, a line per tenth in a log."""

    _tenth, _words = -1, ""  # shown last

    def show(self, text: str, progress: float) -> None:
        """Show a text; `progress` is 1 at the end."""
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="\n" if progress >= 1 else "", file=sys.stderr, flush=True)
            return
        tenth, words = int(progress * 10), text.split(":", maxsplit=1)[0]
        if tenth != self._tenth or words != self._words:
            print(text, file=sys.stderr, flush=True)
            self._tenth, self._words = tenth, words


def counter(what: str) -> Callable[[int, int], None]:
    """Return a progress line for `on_progress`, which is called with (done, total)."""
    line = PrintedLine()
    return lambda done, total: line.show(f"{done:,} of {total:,} {what}", done / total)
