"""Pieces of HTML for pages and notebooks: cards, verdicts and tables, in colours that light and dark themes bear."""

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from plotly.offline import get_plotlyjs

from emu_core.data.wording import counted
from emu_core.evaluation.comparison import SIGNIFICANT, Comparison
from emu_core.evaluation.guard import Verdict
from emu_core.evaluation.metric_rows import TextTable, fallen_sentence, guard_sentences, new_intent_sentence

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
    """Return a whole page with plotly's script inside it; nothing is fetched or sent, whatever the sentences hold.

    Args:
        title: as anybody wrote it.
        body: HTML.
        style: CSS beside that of every page.
        scripts: what the page's policy allows its scripts.
    """
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {scripts}; img-src data: blob:"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{escaped(title)}</title><style>{_PAGE}{style}{STYLE}</style><script>{get_plotlyjs()}</script></head>\n"
        f'<body class="emu">\n{body}\n</body></html>\n'
    )


def block(parts: Iterable[str]) -> str:
    """Return parts as one piece of HTML with its style, for a cell of a notebook."""
    return f'<div class="emu"><style>{STYLE}</style>\n' + "\n".join(parts) + "\n</div>"


def escaped(text: object) -> str:
    """Return anybody's text as HTML that shows it and does nothing."""
    return html.escape(str(text))


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph; its kind is "worse", "better", "note" or none."""
    return f'<p class="{kind}">{escaped(text)}</p>' if kind else f"<p>{escaped(text)}</p>"


def cards(of: Iterable[tuple[str, str, str]]) -> str:
    """Return figures side by side: the name, the figure in large letters, and what else is known of it."""
    drawn = (
        f'<div class="card">{escaped(name)}<b>{escaped(value)}</b>{escaped(more)}</div>'
        for name, value, more in of
    )
    return f'<div class="cards">{"".join(drawn)}</div>'


def html_table(of: TextTable) -> str:
    """Return a table, which scrolls where it is large."""
    head = "".join(f"<th>{escaped(cell)}</th>" for cell in of.head)
    rows = "\n".join(f"<tr>{''.join(f'<td>{escaped(cell)}</td>' for cell in row)}</tr>" for row in of.rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>'


def details(summary: str, of: TextTable) -> str:
    """Return a table that a line of text unfolds."""
    return f"<details><summary>{escaped(summary)}</summary>{html_table(of)}</details>"


def accuracy_summary(comparison: Comparison) -> Sequence[str]:
    """Return the mean accuracies of a comparison as cards, and under them who lost: languages and directions."""
    figures = [
        (
            f"Mean of {row['over']}",
            f"{row['other']:.1f} %",
            f"{row['difference']:+.1f} points from {row['base']:.1f}",
        )
        for row in comparison.means.to_dict("records")
    ]
    for name, rows in (("better", comparison.risen), ("worse", comparison.fallen)):
        significant = int((rows["p_value"] < SIGNIFICANT).sum())
        figures.append((f"Directions that got {name}", str(len(rows)), f"{significant} significantly"))
    fallen = fallen_sentence(comparison)
    return [
        cards(figures),
        *(paragraph(sentence, "worse") for sentence in guard_sentences(comparison.metrics["guard"]).values()),
        paragraph(fallen, "worse") if fallen else paragraph("No direction got worse.", "better"),
    ]


def subject(comparison: Comparison) -> Sequence[str]:
    """Return what is compared, on which sentences, and what a reader should know of them."""
    return [
        f"<p>On {counted(len(comparison.sentences), 'sentence')} in {escaped(', '.join(comparison.languages))}.</p>",
        *(paragraph(note, "note") for note in comparison.notes),
    ]


def forgetting_verdict(measured: pd.DataFrame) -> str:
    """Return whether `Comparison.forgetting` found a measure that fell too far, and which."""
    fallen = measured[measured["flagged"]]
    if fallen.empty:
        return paragraph("Nothing was forgotten: no measure fell too far.", "better")
    return paragraph(f"Fell too far: {', '.join(fallen['part'] + ' ' + fallen['name'])}.", "worse")


def new_intent_verdict(found: Mapping[str, Any] | None) -> str:
    """Return what sentences of intents without labels gain or lose, of `new_intents` as metrics.json has it."""
    flagged = found is not None and Verdict(found["verdict"]).is_flagged
    return paragraph(new_intent_sentence(found), "worse" if flagged else "note")
