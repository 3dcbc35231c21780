"""A run that shows itself in a notebook."""

from emu_core.errors import RunError
from emu_core.reports.cells import message_cell, run_cell
from emu_core.runs.run import Run


class NotebookRun(Run):
    """A run that shows its results, guards and curves as the last line of a cell."""

    def _repr_html_(self) -> str:
        try:
            return run_cell(self)
        except RunError as error:  # no run yet, or a damaged folder
            return message_cell(str(error))
