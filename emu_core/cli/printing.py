"""Output that several verbs share: tables, the guard, a progress line."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from emu_core.errors import RunError
from emu_core.files import write_whole


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns of one width, the first to the left and all others to the right."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        print(
            "  ".join(
                cell.ljust(w) if i == 0 else cell.rjust(w)
                for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
        )


def print_guard(guard: Mapping[str, Any] | None, reason: str) -> None:
    """Print what each language gained or lost; without a guard, why there is none."""
    if guard is None:
        print(f"\nNot guarded: {reason}")
        return
    from emu_core.evaluation.metric_rows import GUARD_HEAD, guard_rows, guard_sentences

    print("\nWhat each language's queries gained or lost, points of Acc@1\n")
    print_table(GUARD_HEAD, guard_rows(guard))
    print("\n" + ("\n".join(guard_sentences(guard).values()) or "No language is seen to lose."))


def print_new_intents(metrics: Mapping[str, Any]) -> None:
    """Print what sentences of intents without labels gain or lose, where the run measured it."""
    if "new_intents" in metrics:
        from emu_core.evaluation.metric_rows import new_intent_sentence

        print(f"\n{new_intent_sentence(metrics['new_intents'])}")


def write_file(path: str, content: str, option: str) -> None:
    """Write the file that an option names, in a folder that may be new.

    Raises:
        RunError: it can't be written.
    """
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_whole(Path(path), content)
    except OSError as error:
        raise RunError(f"can't write {path}: {error.strerror}; choose another file with {option}") from None


class Line:
    """Progress on stderr: one line rewritten in a terminal, a line for each tenth in a log."""

    def __init__(self) -> None:
        """Nothing is shown yet."""
        self._tenth, self._words = -1, ""

    def show(self, text: str, progress: float) -> None:
        """Say where things stand; `progress` is 1 at the end."""
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="\n" if progress >= 1 else "", file=sys.stderr, flush=True)
            return
        tenth, words = int(progress * 10), text.split(":", maxsplit=1)[0]
        if tenth != self._tenth or words != self._words:
            print(text, file=sys.stderr, flush=True)
            self._tenth, self._words = tenth, words


def counter(what: str) -> Callable[[int, int], None]:
    """A line for an `on_progress` of (done, all)."""
    line = Line()
    return lambda done, total: line.show(f"{done:,} of {total:,} {what}", done / total)
