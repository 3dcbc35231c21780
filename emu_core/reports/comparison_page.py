"""A comparison as one HTML page with interactive charts."""

from emu_core.data.wording import counted
from emu_core.evaluation.comparison import Comparison
from emu_core.reports import views
from emu_core.reports.templating import PLOTLY, render_html
from emu_core.reports.verdict import comparison_verdict

FOLDED_ROWS = 12  # a longer table is folded under its number of rows


def comparison_page(comparison: Comparison) -> str:
    """Return a page with every view of a comparison, which contains plotly's script once and needs no network."""
    sections = [
        {
            "title": view.title,
            "note": view.note(comparison),
            "figures": [figure.update_layout(template="plotly_white") for figure in view.figures(comparison)],
            "text": view.text(comparison),
        }
        for view in views.VIEWS
        if view.table(comparison) is not None
    ]
    return render_html(
        "comparison.html.j2",
        title=comparison_title(comparison),
        sections=sections,
        folded_rows=FOLDED_ROWS,
        scripts=PLOTLY,
        subject=comparison_subject(comparison),
        notes=comparison.notes,
        verdict=comparison_verdict(comparison),
    )


def comparison_title(comparison: Comparison) -> str:
    """Return the heading of a comparison."""
    return f"{comparison.names[1]} compared with {comparison.names[0]}"


def comparison_subject(comparison: Comparison) -> str:
    """Return what was measured."""
    return f"On {counted(len(comparison.sentences), 'sentence')} in {', '.join(comparison.languages)}."
