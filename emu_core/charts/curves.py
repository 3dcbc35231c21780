"""Curves of a run's log, of labelling rounds, and of eigen-similarity."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Self

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from emu_core.charts.style import (
    CLOSEST,
    GREY,
    PALETTE,
    add_marks,
    on_page,
    panel_axes,
    panel_layout,
    plain,
    short,
    vertical_line,
)
from emu_core.runs.log import Record, RecordKind

_NOT_DRAWN = {"learning_rate"}
_TITLES = {"loss": "Loss: all parts", "dev_accuracy": "Accuracy on dev"}  # other parts are shown by name
MAX_CURVE_POINTS = 600  # longer curves are drawn as means over equal stretches
LOG_FROM = 10.0  # times the minimum of a positive curve: from this maximum on, its scale is logarithmic
MOST_MARKS = 30  # epochs; more marks would hide the curves
MOST_LABELLED = 10  # more labels would overlap on a phone
_COLUMNS = 2
SYMBOLS = ("circle", "diamond-open")
BINS = 40

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]
_History = Sequence[Record]


def loss_curves(history: _History | Mapping[str, _History]) -> go.Figure:
    """Return a panel for each part of the loss over the steps, with a line for each run.

    The end of each epoch is marked if there is only one run.

    Args:
        history: the run's log, or the logs of several runs by name. Loss and figures of the steps are drawn, and the
            `dev_accuracy` of the epochs. A value that is not finite leaves a gap; steps without a part are skipped.
    """
    # First the curves of each log, and their names over all logs; the accuracy on dev comes last.
    histories = history if isinstance(history, Mapping) else {"": history}
    logs = {name: _Log.of(log_records) for name, log_records in histories.items()}
    names = list(dict.fromkeys(part for log in logs.values() for part in log.curves))
    names.sort(key=lambda name: name == "dev_accuracy")
    if not names:
        figure = go.Figure().update_xaxes(visible=False).update_yaxes(visible=False)
        figure.add_annotation(text="No step is done yet.", showarrow=False, font={"size": 14})
        return on_page(figure, height=160)
    # Layers trained in stages are selected by retrieval among held-out pairs.
    titles = {name: _title(name) for name in names}
    if any(log.stages for log in logs.values()):
        titles["dev_accuracy"] = "Found among held-out pairs, %"
    rows = math.ceil(len(names) / _COLUMNS)
    figure = make_subplots(
        rows=rows,
        cols=_COLUMNS,
        subplot_titles=[plain(titles[name]) for name in names],
        vertical_spacing=0.34 / rows,
        horizontal_spacing=0.16,
    )
    figure.update_annotations(font_size=13)  # the titles
    # Then a panel for each name, with a line for each run that has it.
    legend = set[str]()
    traces: list[go.Scatter] = []
    axes: dict[str, Any] = {}
    for panel, name in enumerate(names, start=1):
        drawn = {run: log.curves[name] for run, log in logs.items() if name in log.curves}
        for run, (x, y) in drawn.items():
            colour = PALETTE[(panel - 1 if len(logs) == 1 else list(logs).index(run)) % len(PALETTE)]
            traces.append(
                go.Scatter(
                    x=x,
                    y=y,
                    mode="lines+markers" if len(x) < 30 else "lines",
                    line={"color": colour, "width": 2},
                    name=plain(short(run, 40) or titles[name]),
                    legendgroup=run,
                    showlegend=len(logs) > 1 and run not in legend,
                    hovertemplate=f"{plain(run)} step %{{x:.0f}}: %{{y:.4g}}<extra></extra>".lstrip(),
                    **panel_axes(panel),
                )
            )
            legend.add(run)
        logarithmic = name != "dev_accuracy" and _spans_decades(
            np.concatenate([y for _, y in drawn.values()])
        )
        # Plotly's own ticks of a log axis are too dense: they overlap.
        scale = {"type": "log", "dtick": "D2"} if logarithmic else {"type": "linear"}
        is_lowest = panel > len(names) - _COLUMNS
        steps = {"rangemode": "tozero", "title": {"text": "step" if is_lowest else None}}
        if panel > 1:  # the same steps below each other, also where a part was logged less often
            steps["matches"] = "x"
        axes |= panel_layout(panel, steps, {**scale, "tickformat": "~g", "nticks": 6})
    figure.add_traces(traces)
    figure.update_layout(axes)
    # At last the legend of several runs, or the ends of the epochs of a single one.
    if len(logs) > 1:
        # At the top of the figure, where it stays clear of the panels' titles on a narrow page.
        top = {"yref": "container", "yanchor": "top"}
        return on_page(figure, 124 + 200 * rows, legend_at=1.0, legend=top, margin={"t": 84})
    [log] = logs.values()
    _mark_epochs(figure, log, len(names))
    return on_page(figure, 80 + 200 * rows, showlegend=False)


@dataclass(frozen=True)
class _Log:
    """The drawn parts of a run's log: a curve for each part, each epoch's last step and each stage's first step."""

    curves: dict[str, Curve]
    ends: dict[int, float]
    stages: dict[str, float]

    @classmethod
    def of(cls, history: _History) -> Self:
        steps, epochs = ([record for record in history if record.kind is kind] for kind in RecordKind)
        over = {record.epoch for record in epochs}
        ends = {record.epoch: float(record.step) for record in steps if record.epoch in over}
        stages: dict[str, float] = {}
        curves: dict[str, Curve] = {}
        for record in steps:
            if record.title:
                stages.setdefault(record.title, float(record.step))
        parts = [(record.step, {"loss": record.loss, **record.figures}) for record in steps]
        for name in dict.fromkeys(name for _, part in parts for name in part if name not in _NOT_DRAWN):
            points = [(step, part[name]) for step, part in parts if name in part]
            x, y = np.array(points, dtype=np.float64).T
            y[~np.isfinite(y)] = math.nan
            if np.isfinite(y).any():
                curves[name] = _thinned(x, y)
        scores: list[tuple[float, float]] = []
        for _, stage in groupby(_measured(epochs), key=lambda measured: measured[0].title):
            # A gap between stages, which may measure different things.
            scores += [(math.nan, math.nan)] * bool(scores)
            scores += [(ends.get(record.epoch, math.nan), score) for record, score in stage]
        if scores:
            x, y = np.array(scores, dtype=np.float64).T
            curves["dev_accuracy"] = x, y
        return cls(curves, ends, stages)


def _mark_epochs(figure: go.Figure, log: _Log, panels: int) -> None:
    """Draw a line at the end of each epoch, and at the start of each stage but the first, in every panel."""
    ends, starts = log.ends if len(log.ends) <= MOST_MARKS else {}, dict(list(log.stages.items())[1:])
    lines = [(step, {"color": GREY, "width": 1, "dash": "dot"}) for step in ends.values()]
    lines += [(step, {"color": CLOSEST, "width": 2}) for step in starts.values()]
    label_step = math.ceil(len(ends) / MOST_LABELLED) or 1
    named = list(ends.items())[label_step - 1 :: label_step]
    epoch = {
        "y": 1,
        "xanchor": "right",
        "yanchor": "top",
        "textangle": -90,
        "font": {"size": 10, "color": GREY},
    }
    stage = {"y": 0, "xanchor": "left", "yanchor": "bottom", "font": {"size": 10, "color": CLOSEST}}
    labels = [{"x": step, "text": f"epoch {number}", **epoch} for number, step in named]
    labels += [{"x": step, "text": f"stage: {plain(name)}", **stage} for name, step in starts.items()]
    first = {"xref": "x", "yref": "y domain", "showarrow": False}
    add_marks(
        figure,
        [vertical_line(step, line, panel) for step, line in lines for panel in range(1, panels + 1)],
        [label | first for label in labels],
    )


@dataclass(frozen=True)
class SmallCurve:
    """A curve of a log as a small picture.

    Attributes:
        title: its name, for people.
        colour: of its line, as #RRGGBB.
        first: its first value.
        last: its last value.
        points: places (x, y) from 0 to 1, the lowest value at y = 0; on a logarithmic scale if the values span decades.
    """

    title: str
    colour: str
    first: float
    last: float
    points: Sequence[tuple[float, float]]


def small_curves(history: _History) -> list[SmallCurve]:
    """Return the curves of `loss_curves` as small pictures; those without a finite value are left out."""
    drawn = []
    for number, (name, (x, y)) in enumerate(_Log.of(history).curves.items()):
        known = np.isfinite(x) & np.isfinite(y)
        if not known.any():
            continue
        values = y[known]
        height = np.log(values) if _spans_decades(values) else values
        across, up = (
            (places - places.min()) / (float(np.ptp(places)) or 1.0) for places in (x[known], height)
        )
        points = list(zip(across.tolist(), up.tolist(), strict=True))
        colour = PALETTE[number % len(PALETTE)]
        drawn.append(SmallCurve(_title(name), colour, float(values[0]), float(values[-1]), points))
    return drawn


def held_out_curves(histories: Mapping[str, _History]) -> go.Figure:
    """Return P@1 in percent (`dev_accuracy`) on held-out pairs after each epoch, for the logs of runs by name.

    Each run has a line, which names its best epoch.
    """
    traces, notes, all_scores = list[go.Scatter](), list[dict[str, Any]](), list[tuple[int, float]]()
    for number, (name, history) in enumerate(histories.items()):
        run_scores = [(record.epoch, score) for record, score in _measured(history)]
        all_scores += run_scores
        best = max(run_scores, key=lambda epoch_score: epoch_score[1], default=None)
        text = "" if best is None else f"best: {best[1]:.1f} %, epoch {best[0]}"
        traces.append(
            go.Scatter(
                x=[epoch for epoch, _ in run_scores],
                y=[percent for _, percent in run_scores],
                mode="lines+markers",
                line={"color": PALETTE[number % len(PALETTE)], "width": 2},
                name=f"{plain(name)}, {text}",
                hovertemplate="epoch %{x}: %{y:.1f} %<extra></extra>",
            )
        )
        if best is not None and len(histories) == 1:
            arrow = {"arrowhead": 0, "arrowwidth": 1, "ax": 0, "ay": 34}
            notes.append({"x": best[0], "y": best[1], "text": text, **arrow, "font": {"size": 12}})
    figure = go.Figure(traces)
    add_marks(figure, annotations=notes)
    lowest = min((percent for _, percent in all_scores), default=0)
    last = max((epoch for epoch, _ in all_scores), default=0)
    figure.update_xaxes(title="epoch", dtick=max(1, last // 10), rangemode="tozero")
    figure.update_yaxes(title="translations found, %", range=[max(0.0, lowest - 15), 102], zeroline=False)
    return on_page(figure, height=280, legend_at=1.0, showlegend=len(histories) > 1)


def labelling_curve(rounds: pd.DataFrame) -> go.Figure:
    """Return accuracy on held-out sentences by number of labels, before and after each labelling round.

    Each round is a row: the number of `labels`, and in percent `base` and `fitted`. A round with a forecast has what
    `more` labels would `gain`, in points, at the `low` and `high` end of an interval, too.
    """
    figure = go.Figure()
    rounds = rounds.sort_values("labels")
    lines = (("fitted", "default method", PALETTE[0]), ("base", "encoder as it is", GREY))
    for column, name, colour in lines:
        figure.add_scatter(
            x=rounds["labels"],
            y=rounds[column],
            mode="lines+markers",
            line={"color": colour, "width": 2},
            name=name,
            hovertemplate="%{x:,} labels: %{y:.1f} %<extra>" + name + "</extra>",
        )
    if "more" in rounds:
        forecasts = rounds.dropna(subset="more")
        figure.add_scatter(
            x=forecasts["labels"] + forecasts["more"],
            y=forecasts["fitted"] + forecasts["gain"],
            error_y={
                "symmetric": False,
                "array": forecasts["high"] - forecasts["gain"],
                "arrayminus": forecasts["gain"] - forecasts["low"],
            },
            mode="markers",
            marker={"color": PALETTE[1], "symbol": "diamond-open", "size": 9},
            name="forecast",
            hovertemplate="%{x:,} labels: %{y:.1f} %<extra>forecast</extra>",
        )
    figure.update_xaxes(title="labelled sentences", tickvals=rounds["labels"].unique()[-12:])
    figure.update_yaxes(title="nearest neighbours right, %", zeroline=False)
    return on_page(figure, height=240, legend_at=1.0)


def _title(part: str) -> str:
    return _TITLES.get(part, part.replace("_", " ").capitalize())


def _measured(history: _History) -> list[tuple[Record, float]]:
    """Return the epochs that have a finite score, with their scores."""
    scores = ((record, record.dev_accuracy) for record in history if not record.is_step)
    return [(record, score) for record, score in scores if score is not None and math.isfinite(score)]


def _thinned(x: NDArray[np.float64], y: NDArray[np.float64]) -> Curve:
    """Return the means over equal stretches, so that polling a long run sends no more than a picture can show."""
    width = math.ceil(len(x) / MAX_CURVE_POINTS)
    if width == 1:
        return x, y
    starts, known = np.arange(0, len(x), width), np.isfinite(y)
    sums, counts = (
        np.add.reduceat(values, starts) for values in (np.where(known, y, 0.0), known.astype(float))
    )
    means = np.divide(sums, counts, out=np.full(len(starts), math.nan), where=counts > 0)
    return x[np.minimum(starts + width, len(x)) - 1], means


def _spans_decades(y: NDArray[np.float64]) -> bool:
    known = y[np.isfinite(y)]
    return bool(known.min() > 0 and known.max() / known.min() >= LOG_FROM)


def spectrum_lines(panels: Mapping[str, Mapping[str, NDArray[np.floating]]]) -> go.Figure:
    """Return the Laplacian eigenvalues of one sample, with a panel for each encoder and a line for each language.

    The panels have the (K,) eigenvalues in ascending order. The first is always 0 and is not drawn.
    """
    figure = make_subplots(
        rows=1, cols=len(panels), subplot_titles=[plain(short(name, 40)) for name in panels], shared_yaxes=True,
        horizontal_spacing=0.04,
    )  # fmt: skip
    figure.add_traces(
        [
            go.Scatter(
                x=list(range(2, len(values) + 1)),
                y=values[1:].tolist(),
                mode="lines+markers",
                name=plain(language),
                legendgroup=language,
                showlegend=panel == 1,
                line={"color": PALETTE[number], "width": 2, "dash": ("solid", "dot")[number % 2]},
                marker={"symbol": SYMBOLS[number % 2], "size": 9},
                hovertemplate=f"{plain(language)}, eigenvalue %{{x}}: %{{y:.3f}}<extra></extra>",
                **panel_axes(panel),
            )
            for panel, spectra in enumerate(panels.values(), start=1)
            for number, (language, values) in enumerate(spectra.items())
        ]
    )
    figure.update_xaxes(title="eigenvalue, in order", dtick=1)
    figure.update_yaxes(title="size", row=1, col=1)
    return on_page(figure, height=380, legend_at=1.14, margin={"t": 72})


def psi_distributions(samples: Mapping[str, NDArray[np.floating]]) -> go.Figure:
    """Return the distribution of Psi over N samples for each encoder, with its mean and the mean's 95 % interval.

    All encoders share the same bins.
    """
    high = max(float(np.quantile(values, 0.995)) for values in samples.values()) or 1.0
    edges = np.linspace(0.0, high, BINS + 1)
    bars, shapes = list[go.Bar](), list[dict[str, Any]]()
    for number, (name, values) in enumerate(samples.items()):
        colour, label = PALETTE[number], plain(short(name, 40))
        counts = np.histogram(np.minimum(values, high), edges)[0]
        mean = float(values.mean())
        reach = 1.96 * float(values.std(ddof=1)) / np.sqrt(len(values))
        bars.append(
            go.Bar(
                x=((edges[:-1] + edges[1:]) / 2).tolist(),
                y=(100 * counts / len(values)).tolist(),
                width=float(edges[1] - edges[0]),
                name=f"{label}: {mean:.3f} ± {reach:.3f}",
                marker={"color": colour, "opacity": 0.55, "line": {"width": 0}},
                hovertemplate=f"{label}<br>Psi about %{{x:.3f}}: %{{y:.1f}} % of samples<extra></extra>",
            )
        )
        line = vertical_line(mean, {"color": colour, "width": 2})
        interval = {
            "type": "rect",
            "x0": mean - reach,
            "x1": mean + reach,
            "fillcolor": colour,
            "opacity": 0.35,
        }
        shapes += [line | interval | {"line": {"width": 0}}, line]
    figure = go.Figure(bars)
    add_marks(figure, shapes)
    figure.update_xaxes(title="Psi of a sample; the smaller, the more alike", rangemode="tozero")
    figure.update_yaxes(title="% of samples")
    return on_page(figure, height=380, legend_at=1.04, barmode="overlay")
