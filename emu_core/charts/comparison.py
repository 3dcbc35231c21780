"""Charts of a comparison of two encoders, each by one call."""

from collections.abc import Sequence
from typing import Literal

import pandas as pd
import plotly.graph_objects as go

from emu_core.charts.heat_maps import accuracy_difference, accuracy_matrix, similarity_matrix
from emu_core.charts.intervals import forgetting_intervals, guard_intervals
from emu_core.charts.style import CLOSEST, GREY, PALETTE, legend_above, on_page, plain
from emu_core.charts.triangle import triple_picture
from emu_core.data.languages import language_name
from emu_core.evaluation.comparison import SIGNIFICANT, Change, Comparison
from emu_core.evaluation.forgetting import PARTS, measure_name

Side = Literal["base", "other"]
_CHANGES = {Change.FIXED: PALETTE[2], Change.BROKEN: CLOSEST, Change.MOVED: PALETTE[4], Change.SAME: GREY}


def accuracy(comparison: Comparison, which: Side | Literal["difference"] = "difference") -> go.Figure:
    """Return Acc@1 by direction as a heat map, of one encoder or the difference; the encoders share one scale."""
    if which == "difference":
        significant = comparison.matrix("p_value") < SIGNIFICANT
        return accuracy_difference(comparison.matrix("difference"), significant, "Difference, points")
    both = pd.concat([comparison.accuracy["base"], comparison.accuracy["other"]])
    span = (float(both.min()), max(float(both.max()), float(both.min()) + 1.0))
    return accuracy_matrix(comparison.matrix(which), f"{plain(_name(comparison, which))}: Acc@1, %", span)


def gains(comparison: Comparison) -> go.Figure:
    """Return what each language's queries gained or lost, with 95 % intervals."""
    return guard_intervals(comparison.gains)


def changes(comparison: Comparison, pool: str | None = None) -> go.Figure:
    """Return how many sentences of each language changed their nearest neighbour, and how, as stacked bars.

    Args:
        comparison: of two encoders.
        pool: the language in which neighbours are looked for; None looks in all at once.
    """
    counts = comparison.change_counts(pool)
    names = [plain(language_name(code)) for code in counts["language"]]
    figure = go.Figure(
        [
            go.Bar(
                x=counts[kind.value].tolist(),
                y=names,
                orientation="h",
                name=kind.value,
                marker={"color": colour},
                hovertemplate=f"%{{y}}: %{{x:,}} {kind.value} ({kind.meaning})<extra></extra>",
            )
            for kind, colour in _CHANGES.items()
        ]
    )
    legend_above(figure)
    figure.update_layout(barmode="stack", legend_traceorder="normal")
    figure.update_xaxes(title="sentences")
    figure.update_yaxes(autorange="reversed", type="category")
    return on_page(figure, height=130 + 30 * len(names))


def triple(comparison: Comparison, place: int = 0, *, across_languages: bool = False) -> go.Figure:
    """Return a suggested triple as a triangle for each encoder.

    Args:
        comparison: of two encoders.
        place: row of `comparison.triples`.
        across_languages: of the triples whose S3 is in another language.
    """
    row = comparison.triples(across_languages=across_languages).iloc[place]
    cosines = {
        plain(name): (row[f"{side}_s12"], row[f"{side}_s13"], row[f"{side}_s23"])
        for name, side in zip(comparison.names, ("base", "other"), strict=True)
    }
    return triple_picture(cosines, (row["s1"], row["s2"], row["s3"]))


def similarity(comparison: Comparison, rows: Sequence[int], which: Side = "other") -> go.Figure:
    """Return the cosines of every two of some sentences by one encoder; the encoders share one scale.

    Args:
        comparison: of two encoders.
        rows: row numbers of the sentences.
        which: the encoder.
    """
    matrices = comparison.similarity(rows)
    lowest = min(float(matrix.to_numpy().min()) for matrix in matrices.values())
    matrix = matrices[_name(comparison, which)]
    texts = comparison.sentences["text"].iloc[matrix.index].tolist()
    return similarity_matrix(matrix.to_numpy(), texts, plain(_name(comparison, which)), (lowest, 1.0))


def forgetting(measured: pd.DataFrame, part: str) -> go.Figure:
    """Return how one part of the forgetting check changed, with 95 % intervals.

    Args:
        measured: `Comparison.forgetting`.
        part: "sts" or "translations".
    """
    about = PARTS[part]
    rows = measured[measured["part"] == part]
    rows = rows.assign(name=[measure_name(part, name) for name in rows["name"]])
    return forgetting_intervals(rows, about.most_fall, f"{about.unit}, specialised minus base", about.places)


def _name(comparison: Comparison, which: Side) -> str:
    return comparison.names[which == "other"]
