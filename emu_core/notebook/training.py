"""A run in a notebook: its progress while it trains, and its card."""

import sys
import time
import warnings
from collections.abc import Sequence
from io import StringIO
from typing import Any

from emu_core.data.wording import pace
from emu_core.runs.log import Record
from emu_core.runs.progress import OnProgress
from emu_core.runs.run import Run, RunState, Status

SHARE = 20  # drawing takes at most 1 / SHARE of the time
BAR_INTERVAL_S = 1.0
BAR = "{percentage:3.0f}%|{bar}| {desc} [{elapsed}{postfix}]"


def live_progress(run: Run) -> OnProgress | None:
    """Return a listener that draws a run's progress below the cell that trains it; None outside a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return None if getattr(shell, "kernel", None) is None else LiveProgress(run)


class LiveProgress:
    """A progress bar by tqdm and the loss curves in one output: as widgets, or as text if there are none.

    At the end, HTML replaces the widgets, so that a stored notebook needs none.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._bar: Any = None
        self._box: Any = None  # the bar and the curves below it; None without widgets
        self._handle: Any = None
        self._drawn: tuple[RunState, str] | None = None
        self._next = 0.0

    def __call__(self, status: Status) -> None:
        """Draw a status: new phases and the end at once, steps at intervals."""
        phase = (status.state, status.phase)
        if phase == self._drawn and time.monotonic() < self._next:
            return
        began = time.monotonic()
        if self._bar is None:
            self._open()
        history = self._run.history()
        if status.state.is_over:
            from emu_core.reports.cells import end_cell

            self._close(end_cell(self._run, status, history))
        else:
            self._draw(status, history)
        took = time.monotonic() - began
        self._drawn, self._next = phase, began + max(BAR_INTERVAL_S, SHARE * took)

    def _open(self) -> None:
        from IPython.display import HTML, display

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="IProgress not found")  # the bar is then text
            from tqdm.auto import tqdm
            from tqdm.notebook import tqdm_notebook
        # TQDM_DISABLE silences what prints; nothing is printed here, and a bar so made would be drawn as never filled.
        settings: dict[str, Any] = {"total": 1.0, "bar_format": BAR, "leave": False, "disable": False}
        if issubclass(tqdm, tqdm_notebook):
            import ipywidgets

            self._bar = tqdm(**settings, display=False)
            self._box = ipywidgets.VBox([self._bar.container, ipywidgets.HTML()])
        else:
            self._bar = tqdm(**settings, file=StringIO(), ncols=100)
        self._handle = display(self._box or HTML(""), display_id=True)

    def _draw(self, status: Status, history: Sequence[Record]) -> None:
        from emu_core.reports.cells import progress_cell  # imports Plotly

        bar = self._bar
        bar.n = status.progress
        bar.set_description_str(_line(status), refresh=False)
        losses = [record.loss for record in history]
        scores = [record.dev_accuracy for record in history if record.dev_accuracy is not None]
        latest = {name: values[-1] for name, values in (("loss", losses), ("held-out", scores)) if values}
        bar.set_postfix(latest, refresh=False)
        if self._box is None:
            self._show(progress_cell(history, str(bar)))
        else:
            bar.refresh()
            self._box.children[1].value = progress_cell(history)

    def _close(self, page: str) -> None:
        self._show(page)
        self._bar.n = self._bar.total  # tqdm removes no bar that is not full
        self._bar.close()
        if self._box is not None:
            self._box.children[1].close()
            self._box.close()

    def _show(self, page: str) -> None:
        from IPython.display import HTML

        self._handle.update(HTML(page))


def _line(status: Status) -> str:
    """Describe the progress of a running run."""
    line, end = status.phase, " ..."
    if status.phase == "training":
        line = f"step {status.step:,} of {status.steps:,}, epoch {max(1, status.epoch)} of {status.epochs}"
        end = ""
    line = f"{status.part}: {line}" if status.part else line
    line += pace(status.sentences_per_s)
    return f"{line}{end}" if status.seconds_left is None else f"{line}, {status.seconds_left:.0f} s left"
