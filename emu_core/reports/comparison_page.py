"""A comparison as one HTML page with interactive charts, which needs no network."""

from collections.abc import Iterable, Sequence

import plotly.graph_objects as go

from emu_core.charts import comparison as draw
from emu_core.data.wording import counted
from emu_core.evaluation.comparison import Change, Comparison
from emu_core.evaluation.forgetting import PARTS
from emu_core.reports import figures_as_text as metric_rows
from emu_core.reports import markup

MOST_DRAWN = 2  # triples of each kind drawn as a chart; the table has all of them
MOST_ROWS = 200  # changed neighbours of each kind
_STYLE = """
.charts { display: grid; gap: 1rem; }
@media (max-width: 900px) { .charts { grid-template-columns: minmax(0, 1fr) !important; } }
.emu .wide th { position: sticky; top: 0; background: #fff; }
"""


def comparison_page(comparison: Comparison) -> str:
    """Return everything that the app's workbench shows, as a page that contains plotly's script once."""
    base, other = comparison.names
    title = f"{other} compared with {base}"
    parts = [
        f"<h1>{markup.escaped(title)}</h1>",
        *markup.subject(comparison),
        *_accuracy(comparison),
        *_triples(comparison),
        *_similarity(comparison),
        *_neighbours(comparison),
        *_confusion(comparison),
        *_forgetting(comparison),
    ]
    return markup.html_page(title, "\n".join(parts), _STYLE)


def _accuracy(comparison: Comparison) -> Iterable[str]:
    yield "<h2>Accuracy</h2>"
    yield from markup.accuracy_summary(comparison)
    yield _charts([draw.accuracy(comparison, which) for which in ("base", "other", "difference")])
    yield markup.paragraph(metric_rows.significance_sentence(comparison), "note")
    yield markup.details(
        "Every direction, with 95 % intervals and the paired test", metric_rows.accuracy_table(comparison)
    )
    yield "<h2>Gains by language</h2>"
    yield _charts([draw.gains(comparison)])
    yield markup.paragraph(
        "Queries in each language, over all pools, with 95 % intervals over the queries. A language loses if its whole "
        "interval is below zero, and may lose if its estimate is.",
        "note",
    )
    if comparison.leakage is not None:
        yield "<h2>Language leakage</h2>"
        yield markup.html_table(metric_rows.leakage_table(comparison.metrics["leakage"], comparison.names))
        yield markup.paragraph(
            "How well the vectors reveal the language of a sentence; at chance, they do not. A sentence's own "
            "translations are left out.",
            "note",
        )


def _triples(comparison: Comparison) -> Iterable[str]:
    yield "<h2>Sentence triples</h2>"
    yield markup.paragraph(
        "S3 means what S1 means, S2 only looks like S1, and yet the base encoder puts S2 nearer to S1. The sides of a "
        "triangle are the distances between its sentences; hover over a corner to read its sentence.",
        "note",
    )
    for across, title in ((False, "In one language"), (True, "S3 in another language")):
        table = metric_rows.triples_table(comparison, across_languages=across)
        if table.rows:
            yield f"<h3>{title}</h3>"
            drawn = range(min(MOST_DRAWN, len(table.rows)))
            yield _charts([draw.triple(comparison, place, across_languages=across) for place in drawn])
            yield markup.html_table(table)
        elif not across:
            yield "<p>The base encoder confuses no two intents here: there is nothing to show.</p>"


def _similarity(comparison: Comparison) -> Iterable[str]:
    if not (rows := comparison.example_rows()):
        return
    yield "<h2>Similarity</h2>"
    yield '<p class="note">Cosines of the first triple and its translations.</p>'
    yield _charts([draw.similarity(comparison, rows, which) for which in ("base", "other")])
    order = comparison.similarity(rows)[comparison.names[0]].index
    listed = comparison.sentences.iloc[order][["text", "intent", "language"]]
    numbered = [[str(place), *row] for place, row in enumerate(listed.to_numpy().tolist(), start=1)]
    yield markup.html_table(metric_rows.TextTable(("", "sentence", "intent", "language"), numbered))


def _neighbours(comparison: Comparison) -> Iterable[str]:
    yield "<h2>Changed neighbours</h2>"
    yield _charts([draw.changes(comparison)])
    yield markup.html_table(metric_rows.change_counts_table(comparison))
    table = comparison.changes()
    for kind in (Change.FIXED, Change.BROKEN, Change.CHANGED):
        part = table[table["change"] == kind]
        if len(part):
            cut = f", the first {MOST_ROWS} of them" if len(part) > MOST_ROWS else ""
            summary = f"{kind.capitalize()}: {counted(len(part), 'sentence')}{cut} ({kind.meaning})"
            yield markup.details(summary, markup.changes_table(comparison, part.head(MOST_ROWS)))


def _confusion(comparison: Comparison) -> Iterable[str]:
    yield "<h2>Confused intents</h2>"
    yield markup.paragraph(
        "The intents of the nearest neighbours, in any language: of the sentences of each intent (down), the share "
        "whose neighbour has the intent across. Of many intents the "
        f"{draw.MOST_CONFUSED} with the most errors are drawn.",
        "note",
    )
    yield _charts([draw.confusion(comparison, which) for which in ("base", "other", "difference")])
    yield markup.details(
        "Every two intents that are taken for each other", metric_rows.confusion_table(comparison)
    )


def _forgetting(comparison: Comparison) -> Iterable[str]:
    measured = comparison.forgetting
    if measured is None:
        return
    yield "<h2>Forgetting</h2>"
    yield markup.forgetting_verdict(measured)
    yield _charts([draw.forgetting(measured, part) for part in PARTS if (measured["part"] == part).any()])
    yield markup.html_table(metric_rows.forgetting_table(measured))


def _charts(figures: Sequence[go.Figure]) -> str:
    drawn = [
        figure.update_layout(template="plotly_white").to_html(
            full_html=False, include_plotlyjs=False, config={"displayModeBar": False, "responsive": True}
        )
        for figure in figures
    ]
    # The number of columns is set here because a chart is drawn as soon as it is parsed, before the last one exists.
    columns = f"grid-template-columns: repeat({len(drawn)}, minmax(0, 1fr))"
    return f'<div class="charts" style="{columns}">{"".join(f"<div>{chart}</div>" for chart in drawn)}</div>'
