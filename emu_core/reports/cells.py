"""The contents of a notebook's cells, as HTML in the colours of its theme."""

from collections.abc import Mapping, Sequence

from emu_core.charts.curves import SmallCurve, small_curves
from emu_core.evaluation.comparison import Comparison
from emu_core.reports.comparison_page import comparison_subject, comparison_title
from emu_core.reports.figures import told_figures
from emu_core.reports.figures_as_text import TextTable
from emu_core.reports.headline import about_run
from emu_core.reports.templating import render_html
from emu_core.reports.verdict import comparison_verdict, run_verdict
from emu_core.reports.views import ComparisonView
from emu_core.runs.forgetting import read_forgetting
from emu_core.runs.log import Record
from emu_core.runs.run import Run, RunState, Status

_History = Sequence[Record]


def run_cell(run: Run) -> str:
    """Return a run's settings, the verdict on it, and curves. Raises RunError if it is no run, or damaged."""
    status, config, metrics = run.status(), run.plan(), run.metrics()
    unfinished = ""
    if status.state is not RunState.FINISHED:
        unfinished = f"{status.state.capitalize()}, {100 * status.progress:.0f} % done. {status.message}"
    return render_html(
        "run_cell.html.j2",
        name=run.name,
        about=f"{about_run(config, run.data())}.",
        unfinished=unfinished,
        verdict=run_verdict(metrics, read_forgetting(run)),
        figures=told_figures(metrics, is_brief=True),
        curves=small_curves(run.history()),
    )


def message_cell(message: str, kind: str = "worse", *, title: str = "") -> str:
    """Return a sentence of a kind ("worse", "better", "note" or "")."""
    return _message(message, kind, title=title)


def progress_cell(history: _History, bar: str = "") -> str:
    """Return the curves of a log so far, below a bar of text, if there is one."""
    return render_html("progress_cell.html.j2", bar=bar, curves=small_curves(history))


def end_cell(run: Run, status: Status, history: _History) -> str:
    """Return how training ended, with the curves, and how to go on if it stopped."""
    message, kind, code = f"{run.name}: {status.state}: {status.message}.", "worse", ""
    if status.state is RunState.FINISHED:
        message = f"{run.name}: finished in {status.updated_at - status.started_at:.0f} s."
        kind = "better"
    elif run.can_resume:
        code = f"emu_core.resume({str(run.folder)!r})"
    return _message(message, kind, code=code, curves=small_curves(history))


def comparison_cell(comparison: Comparison) -> str:
    """Return the verdict on a comparison, with its numbers by language."""
    hint = (
        "Views: comparison.view('accuracy') and others. Figures: comparison.plot. and the Tab key. Tables: "
        "comparison.accuracy, .gains, .changes() ..."
    )
    return render_html(
        "comparison_cell.html.j2",
        title=comparison_title(comparison),
        subject=comparison_subject(comparison),
        notes=comparison.notes,
        verdict=comparison_verdict(comparison),
        hint=hint,
    )


def view_cell(view: ComparisonView, comparison: Comparison) -> str:
    """Return the note and the table of a view."""
    shown = TextTable((), []) if view.table(comparison) is None else view.text(comparison)
    return render_html("view_cell.html.j2", title=view.title, note=view.note(comparison), text=shown)


def table_cell(title: str, table: TextTable, notes: Sequence[str]) -> str:
    """Return a table with remarks above it."""
    return render_html("view_cell.html.j2", title=title, note=" ".join(notes), text=table)


def neighbours_cell(sentence: Mapping[str, str], neighbours: TextTable) -> str:
    """Return a sentence (`text`, `intent`, `language`) with its nearest neighbours."""
    return render_html("neighbours_cell.html.j2", sentence=sentence, neighbours=neighbours)


def chosen_cell(title: str = "", chosen: TextTable | None = None) -> str:
    """Return the sentences chosen on a map; None says how to choose some."""
    return render_html("chosen_cell.html.j2", title=title, chosen=chosen)


def _message(
    message: str, kind: str, *, title: str = "", code: str = "", curves: Sequence[SmallCurve] = ()
) -> str:
    values = {"title": title, "message": message, "kind": kind, "code": code, "curves": curves}
    return render_html("message_cell.html.j2", **values)
