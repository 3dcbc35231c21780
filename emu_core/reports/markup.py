"""Pieces of HTML for pages and notebooks: cards, verdicts and tables, in colours for light and dark themes."""

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from plotly.offline import get_plotlyjs

from emu_core.data.wording import counted
from emu_core.evaluation.comparison import SIGNIFICANT, Comparison
from emu_core.evaluation.guard import Verdict
from emu_core.reports import figures_as_text as metric_rows
from emu_core.reports.figures_as_text import TextTable

STYLE = """
.emu { line-height: 1.45; }
.emu .cards { display: flex; flex-wrap: wrap; gap: 1rem; margin: .8rem 0; }
.emu .card { border: 1px solid rgba(128, 128, 128, .5); border-radius: .5rem; padding: .6rem 1rem; min-width: 10rem; }
.emu .card b { display: block; font-size: 1.7rem; line-height: 1.5; }
.emu .worse { border-left: 4px solid #D55E00; padding-left: .8rem; }
.emu .better { border-left: 4px solid #009E73; padding-left: .8rem; }
.emu .note { opacity: .75; max-width: 80em; }
.emu .wide { overflow: auto; max-height: 32rem; margin: .5rem 0; }
.emu .wide table { color: inherit; border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 0; }
.emu .wide th, .emu .wide td {
  padding: .25rem .6rem; border-bottom: 1px solid rgba(128, 128, 128, .35); text-align: left; vertical-align: top;
}
.emu summary { cursor: pointer; margin: .5rem 0; }
"""
_PAGE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1300px; padding: 0 1rem; color: #222; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccc; }
.emu th { position: sticky; top: 0; background: #fff; }
"""


def html_page(title: str, body: str, style: str = "", scripts: str = "'unsafe-inline'") -> str:
    """Return a whole page that contains plotly's script, and whose policy forbids it to fetch or send anything.

    The title is plain text, the body HTML and the style further CSS; the policy allows scripts from the given sources.
    """
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {scripts}; img-src data: blob:"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{escaped(title)}</title><style>{_PAGE}{style}{STYLE}</style><script>{get_plotlyjs()}</script></head>\n"
        f'<body class="emu">\n{body}\n</body></html>\n'
    )


def block(parts: Iterable[str]) -> str:
    """Join pieces of HTML, with their style, for a cell of a notebook."""
    return f'<div class="emu"><style>{STYLE}</style>\n' + "\n".join(parts) + "\n</div>"


def escaped(text: object) -> str:
    """Return text escaped for HTML."""
    return html.escape(str(text))


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph of a kind: "worse", "better", "note" or ""."""
    return f'<p class="{kind}">{escaped(text)}</p>' if kind else f"<p>{escaped(text)}</p>"


def cards(of: Iterable[Sequence[str]]) -> str:
    """Return figures side by side, each from its name, its value in large letters, and more about it."""
    drawn = (
        f'<div class="card">{escaped(name)}<b>{escaped(value)}</b>{escaped(more)}</div>'
        for name, value, more in of
    )
    return f'<div class="cards">{"".join(drawn)}</div>'


def html_table(of: TextTable) -> str:
    """Return a table, which scrolls if it is large."""
    head = "".join(f"<th>{escaped(cell)}</th>" for cell in of.head)
    rows = "\n".join(f"<tr>{''.join(f'<td>{escaped(cell)}</td>' for cell in row)}</tr>" for row in of.rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>'


def changes_table(comparison: Comparison, rows: pd.DataFrame, *, with_change: bool = False) -> TextTable:
    """Return rows of `Comparison.changes`, with or without the kind of the change."""
    base, other = comparison.names
    heads = {
        "change": "change", "sentence": "sentence", "language": "language", "intent": "intent",
        "base_neighbour": f"{base}: nearest", "base_intent": "intent",
        "other_neighbour": f"{other}: nearest", "other_intent": "intent",
    }  # fmt: skip
    columns = list(heads) if with_change else list(heads)[1:]
    return TextTable([heads[column] for column in columns], rows[columns].to_numpy().tolist())


def details(summary: str, of: TextTable) -> str:
    """Return a table folded under a line of text."""
    return f"<details><summary>{escaped(summary)}</summary>{html_table(of)}</details>"


def accuracy_summary(comparison: Comparison) -> Sequence[str]:
    """Return the mean accuracies of a comparison as cards, and the languages and directions that lost."""
    figures = metric_rows.text_rows(
        comparison.means, "Mean of {over} | {other:.1f} % | {difference:+.1f} points from {base:.1f}"
    )
    for name, rows in (("better", comparison.risen), ("worse", comparison.fallen)):
        significant = int((rows["p_value"] < SIGNIFICANT).sum())
        figures.append((f"Directions that got {name}", str(len(rows)), f"{significant} significantly"))
    fallen = metric_rows.fallen_sentence(comparison)
    return [
        cards(figures),
        *(
            paragraph(sentence, "worse")
            for sentence in metric_rows.guard_sentences(comparison.metrics["guard"]).values()
        ),
        paragraph(fallen, "worse") if fallen else paragraph("No direction got worse.", "better"),
    ]


def subject(comparison: Comparison) -> Sequence[str]:
    """Return which sentences a comparison is on, and its notes."""
    return [
        f"<p>On {counted(len(comparison.sentences), 'sentence')} in {escaped(', '.join(comparison.languages))}.</p>",
        *(paragraph(note, "note") for note in comparison.notes),
    ]


def forgetting_verdict(measured: pd.DataFrame) -> str:
    """Return which measures of `Comparison.forgetting` fell too far."""
    fallen = measured[measured["flagged"]]
    if fallen.empty:
        return paragraph("Nothing was forgotten: no measure fell too far.", "better")
    return paragraph(f"Fell too far: {', '.join(fallen['part'] + ' ' + fallen['name'])}.", "worse")


def new_intent_verdict(found: Mapping[str, Any] | None) -> str:
    """Return the gain of sentences whose intents had no labels, from `new_intents` in metrics.json."""
    flagged = found is not None and Verdict(found["verdict"]).is_flagged
    return paragraph(metric_rows.new_intent_sentence(found), "worse" if flagged else "note")
