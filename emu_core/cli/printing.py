"""Output that several verbs share: tables, the guard and a progress line."""

import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from emu_core.cli.verb import HELP_COLUMNS

if TYPE_CHECKING:
    from emu_core.evaluation.guard import LanguageChange
    from emu_core.reports.run_figures_as_text import FigureText


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, its first column left-aligned and the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for first, *others in [head, *rows]:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        print("  ".join([first.ljust(widths[0]), *cells]))


def print_figure(title: str, text: "FigureText") -> None:
    """Print a figure of a run: how to read it, its numbers, and what it says."""
    print(f"\n{title}")
    if text.note:
        print(f"\n{textwrap.fill(text.note, HELP_COLUMNS)}")
    if text.table:
        print()
        print_table(*text.table)
    if text.sentences:
        print("".join(f"\n{sentence.text}" for sentence in text.sentences))


def print_guard(guard: "Mapping[str, LanguageChange] | None", reason: str = "") -> None:
    """Print what each language gained or lost, or the reason why that was not measured."""
    if guard is None:
        print(f"\nNot guarded: {reason}")
        return
    from emu_core.reports.figures_as_text import guard_sentences, guard_table

    print("\nWhat each language's queries gained or lost, points of Acc@1\n")
    print_table(*guard_table(guard))
    print("\n" + ("\n".join(guard_sentences(guard).values()) or "No language is seen to lose."))


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
