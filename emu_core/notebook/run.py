"""A run that shows itself in a notebook."""

from emu_core.errors import RunError
from emu_core.reports.markup import block, paragraph
from emu_core.reports.run_summary import run_summary
from emu_core.runs.run import Run, RunState


class NotebookRun(Run):
    """A run that shows its results, guards and curves as the last line of a cell."""

    def _repr_html_(self) -> str:
        try:
            status, unfinished = self.status(), ""
            if status.state is not RunState.FINISHED:
                unfinished = (
                    f"{status.state.capitalize()}, {100 * status.progress:.0f} % done. {status.message}"
                )
            return block(run_summary(self.name, self.config(), self.metrics(), self.history(), unfinished))
        except RunError as error:  # no run yet, or a damaged folder
            return block([paragraph(str(error), "worse")])
