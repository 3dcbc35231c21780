"""Charts of a comparison of two encoders, each by one call."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from emu_core.charts.heat_maps import (
    accuracy_difference,
    accuracy_matrix,
    confusion_matrix,
    similarity_matrix,
)
from emu_core.charts.intervals import change_intervals, forgetting_intervals
from emu_core.charts.style import (
    CLOSEST,
    GREY,
    PALETTE,
    PLAIN,
    add_marks,
    on_page,
    panel_axes,
    panel_layout,
    plain,
)
from emu_core.data.languages import language_name
from emu_core.evaluation.comparison import SIGNIFICANT, Comparison
from emu_core.evaluation.forgetting import PARTS, measure_name
from emu_core.evaluation.neighbour_changes import Change
from emu_core.evaluation.retrieval import TIE
from emu_core.evaluation.triples import PAIRS

Side = Literal["base", "other"]
MOST_CONFUSED = 20  # intents in a heat map
CHANGES = {
    Change.FIXED: PALETTE[2],
    Change.BROKEN: CLOSEST,
    Change.CHANGED: PALETTE[4],
    Change.UNCHANGED: GREY,
}
SMALLEST = 0.6  # the smallest width drawn, in distances of unit vectors
# The offsets in pixels of the corners' and sides' labels: outwards, so that they stay legible if corners coincide.
_CORNER_SHIFTS = ((-18, -6), (18, -6), (0, 18))
_SIDE_SHIFTS = (
    {"xshift": 0, "yshift": -18, "xanchor": "center"},
    {"xshift": -10, "yshift": 10, "xanchor": "right"},
    {"xshift": 10, "yshift": 10, "xanchor": "left"},
)


def accuracy(comparison: Comparison, which: Side | Literal["difference"] = "difference") -> go.Figure:
    """Return a heat map of Acc@1 by direction, of one encoder or the difference; both encoders share one scale."""
    if which == "difference":
        significant = comparison.matrix("p_value") < SIGNIFICANT
        return accuracy_difference(comparison.matrix("difference"), significant, "Difference, points")
    accuracies = pd.concat([comparison.accuracy["base"], comparison.accuracy["other"]])
    span = (float(accuracies.min()), max(float(accuracies.max()), float(accuracies.min()) + 1.0))
    return accuracy_matrix(
        comparison.matrix(which), f"{plain(_name(comparison, which))}: similar sentences, %", span
    )


def gains(comparison: Comparison) -> go.Figure:
    """Return how much better or worse similar sentences are found in each language, with 95 % intervals."""
    return change_intervals(comparison.gains, comparison.names)


def right_intents(comparison: Comparison) -> go.Figure:
    """Return how many more or fewer intents are named right in each language, with 95 % intervals."""
    assert comparison.intents is not None  # noqa: S101 - drawn only where it was measured
    return change_intervals(comparison.intents.frame, comparison.names, "right intents")


def changes(comparison: Comparison, pool: str | None = None) -> go.Figure:
    """Return how many sentences of each language changed their nearest neighbour, and how, as stacked bars.

    Neighbours are looked for in the language `pool`, or in all at once.
    """
    counts = comparison.change_counts(pool)
    names = [plain(language_name(code)) for code in counts["language"]]
    figure = go.Figure()
    for kind, colour in CHANGES.items():
        figure.add_bar(
            x=counts[kind.value].tolist(),
            y=names,
            orientation="h",
            name=kind.value,
            marker={"color": colour},
            hovertemplate=f"%{{y}}: %{{x:,}} {kind.value} ({kind.meaning})<extra></extra>",
        )
    figure.update_xaxes(title="sentences")
    figure.update_yaxes(autorange="reversed", type="category")
    height = 130 + 30 * len(names)
    return on_page(figure, height, legend_at=1.0, barmode="stack", legend_traceorder="normal")


def confusion(
    comparison: Comparison, which: Side | Literal["difference"] = "difference", pool: str | None = None
) -> go.Figure:
    """Return a heat map of the nearest neighbours' intents, in percent of the sentences of each intent.

    The `MOST_CONFUSED` intents with the most errors by both encoders are drawn. Neighbours are looked for in the
    language `pool`, or in all at once.
    """
    counts = comparison.confusion(pool)
    wrong = counts[counts["intent"] != counts["neighbour"]]
    errors = [(wrong["base"] + wrong["other"]).groupby(wrong[side]).sum() for side in ("intent", "neighbour")]
    all_intents = pd.Index(sorted(set(counts["intent"]) | set(counts["neighbour"])))
    most = errors[0].add(errors[1], fill_value=0).reindex(all_intents, fill_value=0)
    intents = sorted(most.sort_values(ascending=False, kind="stable").index[:MOST_CONFUSED])
    shares = 100 * counts.set_index(["intent", "neighbour"]).div(
        comparison.sentences["intent"].value_counts().rename_axis("intent"), axis=0, level="intent"
    )
    matrix = shares[which].unstack(fill_value=0.0).reindex(index=intents, columns=intents, fill_value=0.0)
    if which == "difference":
        return confusion_matrix(matrix, "Difference, points; violet: better, orange: worse", difference=True)
    return confusion_matrix(matrix, f"{plain(_name(comparison, which))}: nearest neighbours, %")


def triple(comparison: Comparison, number: int = 0, *, across_languages: bool = False) -> go.Figure:
    """Return a row of `comparison.triples` as a triangle for each encoder."""
    row = comparison.triples(across_languages=across_languages).iloc[number]
    cosines = {
        plain(name): (row[f"{side}_s12"], row[f"{side}_s13"], row[f"{side}_s23"])
        for name, side in zip(comparison.names, ("base", "other"), strict=True)
    }
    return triple_picture(cosines, (row["s1"], row["s2"], row["s3"]))


def similarity(comparison: Comparison, rows: Sequence[int], which: Side = "other") -> go.Figure:
    """Return a heat map of the cosines between sentences (row numbers) by one encoder; both share one scale."""
    matrices = comparison.similarity(rows)
    lowest = min(float(matrix.to_numpy().min()) for matrix in matrices.values())
    matrix = matrices[_name(comparison, which)]
    texts = comparison.sentences["text"].iloc[matrix.index].tolist()
    return similarity_matrix(matrix.to_numpy(), texts, plain(_name(comparison, which)), (lowest, 1.0))


def forgetting(measured: pd.DataFrame, part: str) -> go.Figure:
    """Return the changes of a part ("sts" or "translations") of `Comparison.forgetting`, with 95 % intervals."""
    about = PARTS[part]
    rows = measured[measured["part"] == part]
    rows = rows.assign(name=[measure_name(part, name) for name in rows["name"]])
    return forgetting_intervals(rows, about.most_fall, f"{about.unit}, base → specialised", about.places)


def _name(comparison: Comparison, which: Side) -> str:
    return comparison.names[which == "other"]


def triple_picture(
    cosines: Mapping[str, tuple[float, float, float]], texts: tuple[str, str, str]
) -> go.Figure:
    """Return a triangle for each encoder, all to one scale; a thick line joins the closest two sentences.

    Each encoder's name has the cosines of S1-S2, S1-S3 and S2-S3. The length of a side is sqrt(2 - 2 cosine), the
    distance of the two unit vectors, which satisfies the triangle inequality. The texts are shown on hovering.
    """
    figure = make_subplots(rows=1, cols=len(cosines), subplot_titles=list(cosines), horizontal_spacing=0.06)
    triangles = [_corners(three) for three in cosines.values()]
    low, high = np.min(triangles, axis=(0, 1)), np.max(triangles, axis=(0, 1))
    # Three close sentences must look close, and not fill their panel.
    margin = 0.25 * max(SMALLEST, *(high - low))
    traces, notes, layout = list[go.Scatter](), list[dict[str, Any]](), dict[str, Any]()
    for panel, (three, corners) in enumerate(zip(cosines.values(), triangles, strict=True), start=1):
        axes = panel_axes(panel)
        label = {"xref": axes["xaxis"], "yref": axes["yaxis"], "showarrow": False}
        for pair, (first, second) in enumerate(PAIRS):
            is_closest = three[pair] >= max(three) - TIE
            colour = CLOSEST if is_closest else PLAIN
            ends = corners[[first - 1, second - 1]]
            line = {"color": colour} | ({"width": 7} if is_closest else {"width": 2, "dash": "dot"})
            traces.append(
                go.Scatter(x=ends[:, 0], y=ends[:, 1], mode="lines", hoverinfo="skip", line=line, **axes)
            )
            value = f"{three[pair]:.2f}"
            x, y = ends.mean(axis=0)
            text = f"<b>{value}</b> closest" if is_closest else value
            font = {"size": 15, "color": CLOSEST} if is_closest else {"size": 14}
            notes.append({"x": x, "y": y, "text": text, "font": font, **_SIDE_SHIFTS[pair], **label})
        traces.append(
            go.Scatter(
                x=corners[:, 0], y=corners[:, 1], mode="markers", marker={"size": 15, "color": PALETTE[0]},
                customdata=[f"S{number}: {plain(text)}" for number, text in enumerate(texts, start=1)],
                hovertemplate="%{customdata}<extra></extra>", **axes,
            )
        )  # fmt: skip
        for corner, (x, y) in enumerate(corners):
            shift = dict(zip(("xshift", "yshift"), _CORNER_SHIFTS[corner], strict=True))
            notes.append(
                {"x": x, "y": y, "text": f"<b>S{corner + 1}</b>", "font": {"size": 15}, **shift, **label}
            )
        ranges = [[low[axis] - margin, high[axis] + margin] for axis in (0, 1)]
        layout |= panel_layout(
            panel,
            {"range": ranges[0], "visible": False},
            {"range": ranges[1], "visible": False, "scaleanchor": axes["xaxis"]},
        )
    figure.add_traces(traces)
    figure.update_layout(layout)
    add_marks(figure, annotations=notes)
    return on_page(figure, height=380, showlegend=False)


def _corners(cosines: tuple[float, float, float]) -> NDArray[np.float64]:
    """Return the corners (3, 2): S1 at the origin, S2 to its right, S3 above."""
    base, left, right = np.sqrt(np.maximum(0.0, 2.0 - 2.0 * np.asarray(cosines, dtype=np.float64)))
    if base == 0.0:
        return np.array([[0.0, 0.0], [0.0, 0.0], [0.0, left]])
    x = (base**2 + left**2 - right**2) / (2.0 * base)
    return np.array([[0.0, 0.0], [base, 0.0], [x, np.sqrt(max(0.0, left**2 - x**2))]])
