"""The views of a comparison: the one list that the page, the app's tabs, notebooks and the JSON are loops over."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import pandas as pd
import plotly.graph_objects as go

from emu_core.charts import comparison as draw
from emu_core.evaluation.comparison import Comparison
from emu_core.evaluation.forgetting import PARTS
from emu_core.evaluation.neighbour_changes import Change
from emu_core.reports import figures_as_text as metric_rows
from emu_core.reports.figures_as_text import TextTable
from emu_core.reports.verdict import RIGHT_INTENTS, SIMILAR_SENTENCES, comparison_verdict

Figures = Sequence[go.Figure]
MOST_DRAWN = 2  # triples of each kind drawn as a chart; the table has all of them
MOST_CHANGES = 200  # changed neighbours of each kind that are listed
_MOST_BRIEF = 5  # sentences, or pairs of intents, in a terminal
_BOTH: tuple[draw.Side, ...] = ("base", "other")
_ALL: tuple[draw.Side | Literal["difference"], ...] = (*_BOTH, "difference")


def _says(note: str) -> Callable[[Comparison], str]:
    return lambda comparison: note


def _no_figures(comparison: Comparison) -> Figures:
    return ()


class Group(StrEnum):
    """A group of views; the workbench has its tabs in these groups."""

    INTENTS = RIGHT_INTENTS
    NEIGHBOURS = "Neighbours"  # what is told from the sentences that are nearest
    TRAINING = "Training"  # how it went, and what it forgot


@dataclass(frozen=True)
class ComparisonView:
    """One thing to see in a comparison.

    Attributes:
        name: of its records in JSON, and for `comparison.view(name)` in a notebook.
        title: its heading.
        group: what it shows.
        note: returns how to read it.
        table: returns its numbers, unrounded; None if the comparison does not have them.
        text: returns the table as people read it, called only where there is one.
        figures: returns its charts, each for the place beside the one before.
        brief: how many rows of the text are enough in a terminal; None for all.
        kinds: the column of the text that divides the rows into kinds, of each of which a terminal shows `brief`.
    """

    name: str
    title: str
    group: Group
    note: Callable[[Comparison], str]
    table: Callable[[Comparison], pd.DataFrame | None]
    text: Callable[[Comparison], TextTable]
    figures: Callable[[Comparison], Figures] = _no_figures
    brief: int | None = None
    kinds: str = ""

    def shortened(self, text: TextTable) -> TextTable:
        """Return as many rows of the text as are enough in a terminal."""
        if self.brief is None:
            return text
        column = text.head.index(self.kinds) if self.kinds else None
        kinds = ["" if column is None else row[column] for row in text.rows]
        rows = [row for at, row in enumerate(text.rows) if kinds[:at].count(kinds[at]) < self.brief]
        return TextTable(text.head, rows)


def comparison_records(comparison: Comparison) -> dict[str, object]:
    """Return everything as one object for JSON: the verdict, and the records of each view."""
    tables = {view.name: view.table(comparison) for view in VIEWS}
    return {
        "base": comparison.names[0],
        "other": comparison.names[1],
        "sentences": len(comparison.sentences),
        "languages": list(comparison.languages),
        "notes": list(comparison.notes),
        "verdict": comparison_verdict(comparison).to_json(),
        "wilcoxon_p": comparison.wilcoxon.p_value,
        **{name: None if table is None else table.to_dict("records") for name, table in tables.items()},
    }


def _changes(comparison: Comparison) -> pd.DataFrame:
    """Return the changed neighbours, by the kind of change; unchanged ones are only counted."""
    table = comparison.changes()
    return pd.concat(
        [table[table["change"] == kind] for kind in (Change.FIXED, Change.BROKEN, Change.CHANGED)]
    )


def _leakage_text(comparison: Comparison) -> TextTable:
    leakage = comparison.leakage_change
    return TextTable((), []) if leakage is None else metric_rows.leakage_table(leakage, comparison.names)


def _changes_text(comparison: Comparison) -> TextTable:
    listed = _changes(comparison).groupby("change", sort=False).head(MOST_CHANGES)
    return metric_rows.changes_table(comparison, listed, with_change=True)


def _triple_figures(comparison: Comparison, *, across_languages: bool) -> Figures:
    drawn = range(min(MOST_DRAWN, len(comparison.triples(across_languages=across_languages))))
    return [draw.triple(comparison, number, across_languages=across_languages) for number in drawn]


def _similarity(comparison: Comparison) -> pd.DataFrame | None:
    """Return the example's sentences, each with its cosines with all of them by both encoders."""
    rows = comparison.example_rows()
    if not rows:
        return None
    matrices = comparison.similarity(rows)
    order = matrices[comparison.names[0]].index
    sentences = comparison.sentences.loc[order, ["text", "intent", "language"]]
    cosines = (matrices[name].to_numpy().tolist() for name in comparison.names)
    return sentences.assign(**dict(zip(("base_cosines", "other_cosines"), cosines, strict=True)))


def _similarity_text(comparison: Comparison) -> TextTable:
    """Return the example's sentences by number, with the cosine of each and the first by both encoders."""
    table = _similarity(comparison)
    records = [] if table is None else table.to_dict("records")
    rows = [
        [str(number), *(record[name] for name in ("text", "intent", "language"))]
        + [f"{record[side][0]:.2f}" for side in ("base_cosines", "other_cosines")]
        for number, record in enumerate(records, start=1)
    ]
    cosines = (f"{name}: with 1" for name in comparison.names)
    return TextTable(("", "sentence", "intent", "language", *cosines), rows)


def _similarity_figures(comparison: Comparison) -> Figures:
    rows = comparison.example_rows()
    return [draw.similarity(comparison, rows, side) for side in _BOTH] if rows else ()


def _forgetting_figures(comparison: Comparison) -> Figures:
    measured = comparison.forgetting
    if measured is None:
        return ()
    return [draw.forgetting(measured, part) for part in PARTS if (measured["part"] == part).any()]


def _forgetting_text(comparison: Comparison) -> TextTable:
    measured = comparison.forgetting
    assert measured is not None  # noqa: S101 - a view's text is asked for only where it has a table
    return metric_rows.forgetting_table(measured)


VIEWS = (
    ComparisonView(
        "right_intents",
        RIGHT_INTENTS,
        Group.INTENTS,
        lambda comparison: comparison_verdict(comparison).intents.note,
        lambda comparison: None if comparison.intents is None else comparison.intents.frame,
        lambda comparison: comparison_verdict(comparison).intents.table(),
        lambda comparison: [draw.right_intents(comparison)],
    ),
    ComparisonView(
        "gains",
        SIMILAR_SENTENCES,
        Group.NEIGHBOURS,
        lambda comparison: comparison_verdict(comparison).similar.note,
        lambda comparison: comparison.gains,
        lambda comparison: comparison_verdict(comparison).similar.table(),
        lambda comparison: [draw.gains(comparison)],
    ),
    ComparisonView(
        "accuracy",
        "Similar sentences by language pair",
        Group.NEIGHBOURS,
        metric_rows.protocol_sentences,
        lambda comparison: comparison.accuracy,
        metric_rows.accuracy_table,
        lambda comparison: [draw.accuracy(comparison, which) for which in _ALL],
    ),
    ComparisonView(
        "leakage",
        "Language in the vectors",
        Group.NEIGHBOURS,
        _says(
            "How well the vectors reveal the language of a sentence; at chance, they do not. A sentence's own "
            "translations are left out."
        ),
        lambda comparison: comparison.leakage,
        _leakage_text,
    ),
    ComparisonView(
        "changes",
        "Changed neighbours",
        Group.NEIGHBOURS,
        _says(
            "; ".join(f"{kind}: {kind.meaning}" for kind in Change)
            + f". Of each kind, the first {MOST_CHANGES} are listed."
        ),
        _changes,
        _changes_text,
        lambda comparison: [draw.changes(comparison)],
        brief=_MOST_BRIEF,
        kinds="change",
    ),
    ComparisonView(
        "change_counts",
        "Changed neighbours by language",
        Group.NEIGHBOURS,
        _says("How many sentences of each language have another nearest neighbour, in any language."),
        lambda comparison: comparison.change_counts(),
        metric_rows.change_counts_table,
    ),
    ComparisonView(
        "triples",
        "Sentence triples",
        Group.NEIGHBOURS,
        _says(
            "S3 means what S1 means, S2 only looks like S1, and yet the base encoder puts S2 nearer to S1. The sides "
            "of a triangle are the distances between its sentences; hover over a corner to read its sentence."
        ),
        lambda comparison: comparison.triples(),
        metric_rows.triples_table,
        lambda comparison: _triple_figures(comparison, across_languages=False),
        brief=_MOST_BRIEF,
    ),
    ComparisonView(
        "triples_across_languages",
        "Sentence triples across languages",
        Group.NEIGHBOURS,
        _says("The same with S3 in another language than S1 and S2."),
        lambda comparison: comparison.triples(across_languages=True),
        lambda comparison: metric_rows.triples_table(comparison, across_languages=True),
        lambda comparison: _triple_figures(comparison, across_languages=True),
        brief=_MOST_BRIEF,
    ),
    ComparisonView(
        "similarity",
        "Similarity",
        Group.NEIGHBOURS,
        _says("Cosines of the first triple and its translations."),
        _similarity,
        _similarity_text,
        _similarity_figures,
    ),
    ComparisonView(
        "confusion",
        "Confused intents",
        Group.NEIGHBOURS,
        _says(
            "The intents of the nearest neighbours, in any language: of the sentences of each intent (down), the share "
            f"whose neighbour has the intent across. Of many intents the {draw.MOST_CONFUSED} with the most errors are "
            "drawn."
        ),
        lambda comparison: comparison.confusion(),
        metric_rows.confusion_table,
        lambda comparison: [draw.confusion(comparison, which) for which in _ALL],
        brief=_MOST_BRIEF,
    ),
    ComparisonView(
        "forgetting",
        "Forgetting",
        Group.TRAINING,
        _says(
            "The base encoder's abilities on other sentences, and how much of them is left: the rank correlation of "
            "cosines with human similarity scores, and how often a sentence's translation is its nearest neighbour."
        ),
        lambda comparison: comparison.forgetting,
        _forgetting_text,
        _forgetting_figures,
    ),
)
