"""A comparison as one HTML page with interactive charts."""

from collections.abc import Sequence
from dataclasses import dataclass

from emu_core.data.wording import counted
from emu_core.evaluation.comparison import SIGNIFICANT, Comparison
from emu_core.reports import figures_as_text as text
from emu_core.reports import views
from emu_core.reports.figures_as_text import Sentence
from emu_core.reports.templating import PLOTLY, render_html

FOLDED_ROWS = 12  # a longer table is folded under its number of rows


@dataclass(frozen=True)
class ComparisonSummary:
    """The beginning of a comparison.

    Attributes:
        subject: what was measured.
        notes: how to read the figures.
        means: the mean accuracies, three texts each.
        verdicts: what gained and what lost.
    """

    subject: str
    notes: Sequence[str]
    means: Sequence[tuple[str, ...]]
    verdicts: Sequence[Sentence]


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
        summary=comparison_summary(comparison),
    )


def comparison_title(comparison: Comparison) -> str:
    """Return the heading of a comparison."""
    return f"{comparison.names[1]} compared with {comparison.names[0]}"


def comparison_summary(comparison: Comparison) -> ComparisonSummary:
    """Summarise a comparison: the mean accuracies, and what lost."""
    means = text.text_rows(
        comparison.means, "Mean of {over} | {other:.1f} % | {difference:+.1f} points from {base:.1f}"
    )
    for name, rows in (("better", comparison.risen), ("worse", comparison.fallen)):
        significant = int((rows["p_value"] < SIGNIFICANT).sum())
        means.append((f"Directions that got {name}", str(len(rows)), f"{significant} significantly"))
    verdicts = [Sentence(sentence, "worse") for sentence in text.guard_sentences(comparison.guard).values()]
    fallen = text.fallen_sentence(comparison)
    verdicts.append(Sentence(fallen, "worse") if fallen else Sentence("No direction got worse.", "better"))
    if comparison.forgetting is not None:
        verdicts.append(text.forgetting_verdict(comparison.forgetting))
    return ComparisonSummary(
        subject=f"On {counted(len(comparison.sentences), 'sentence')} in {', '.join(comparison.languages)}.",
        notes=comparison.notes,
        means=means,
        verdicts=verdicts,
    )
