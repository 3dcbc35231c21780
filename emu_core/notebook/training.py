"""A run in a notebook: its progress while it trains, and its card."""

import sys
import time
from collections.abc import Sequence
from typing import Any

from emu_core.charts.curves import small_curves
from emu_core.charts.markup import block, escaped, paragraph
from emu_core.runs.progress import OnProgress
from emu_core.runs.run import Run, RunState, Status

SHARE = 20  # drawing takes at most one part in so many of the training's time
INTERVAL_S = 1.0


def live_progress(run: Run) -> OnProgress | None:
    """Return a listener that draws a run's progress under the cell that trains it; None outside a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return None if getattr(shell, "kernel", None) is None else LiveProgress(run)


class LiveProgress:
    """A bar and the curves of the losses, as HTML that is drawn again: it needs no widgets, and its end is stored."""

    def __init__(self, run: Run) -> None:
        """Draw nothing yet."""
        self._run = run
        self._handle: Any = None
        self._drawn: tuple[RunState, str] | None = None
        self._next = 0.0

    def __call__(self, status: Status) -> None:
        """Draw a status: each new phase and the end at once, the steps of a phase now and then."""
        phase = (status.state, status.phase)
        if phase == self._drawn and time.monotonic() < self._next:
            return
        began = time.monotonic()
        self._show(block(self._parts(status)))
        took = time.monotonic() - began
        self._drawn, self._next = phase, began + max(INTERVAL_S, SHARE * took)

    def _show(self, page: str) -> None:
        from IPython.display import HTML, display

        if self._handle is None:
            self._handle = display(HTML(page), display_id=True)
        else:
            self._handle.update(HTML(page))

    def _parts(self, status: Status) -> Sequence[str]:
        if status.state is RunState.FINISHED:
            seconds = status.updated_at - status.started_at
            head = paragraph(f"{self._run.name}: finished in {seconds:.0f} s.", "better")
        elif status.state.is_over:
            head = paragraph(f"{self._run.name}: {status.state}: {status.message}.", "worse")
            if self._run.can_resume:
                head += f"<p>Go on: <code>emu_core.resume({escaped(repr(str(self._run.folder)))})</code></p>"
        else:
            head = f'<progress value="{status.progress:.3f}" style="width: 20rem"></progress> {escaped(_line(status))}'
        return [head, small_curves(self._run.history())]


def _line(status: Status) -> str:
    """Return where a running run is, in words."""
    if status.phase != "training":
        return f"{status.phase} ..."
    left = status.seconds_left
    line = f"step {status.step:,} of {status.steps:,}, epoch {max(1, status.epoch)} of {status.epochs}"
    return line if left is None else f"{line}, {left:.0f} s left"
