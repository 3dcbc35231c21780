"""Curves of a run, and spectra and distributions of eigen-similarity."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from emu_core.charts.style import CLOSEST, GREY, PALETTE, legend_above, on_page, plain, short

_NOT_PARTS = {"kind", "stage", "step", "epoch", "seconds", "learning_rate"}
_TITLES = {
    "loss": "Loss: all parts",
    "dev_accuracy": "Accuracy on dev",
}  # of other parts the name is the title
MOST_POINTS = 600  # a curve; longer ones are drawn as means over equal stretches
LOG_FROM = 10.0  # a positive curve whose highest value is this many times its lowest is drawn on a log scale
MOST_MARKS = 30  # epochs; above it their marks would hide the curves
COLUMNS = 2

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]


History = Sequence[dict[str, Any]]


def loss_curves(history: History | Mapping[str, History]) -> go.Figure:
    """Return one panel for each named part of the loss over the steps; of several runs a line each, in one panel.

    The end of each epoch is marked where there is one run.

    Args:
        history: the run's log: dicts of kind "step", each with `step`, `epoch`, perhaps `stage`, and the
            parts by name, and of kind "epoch", of which `dev_accuracy` is drawn where there is one. A part that
            is not a finite number at a step leaves a gap there; one that a step does not have leaves none. Or the logs
            of several runs, by name.
    """
    logs = {name: _Log.of(one) for name, one in history.items()} if isinstance(history, Mapping) else {}
    logs = logs or {"": _Log.of(history if isinstance(history, Sequence) else ())}
    names = list(dict.fromkeys(part for log in logs.values() for part in log.curves))
    names.sort(key=lambda name: name == "dev_accuracy")
    if not names:
        return _nothing_yet()
    # Layers that are trained in stages are chosen by what their vectors find among held-out pairs.
    staged = any(log.stages for log in logs.values())
    titles = {name: name.replace("_", " ").capitalize() for name in names}
    titles |= _TITLES | ({"dev_accuracy": "Found among held-out pairs, %"} if staged else {})
    rows = math.ceil(len(names) / COLUMNS)
    figure = make_subplots(
        rows=rows,
        cols=COLUMNS,
        subplot_titles=[plain(titles[name]) for name in names],
        vertical_spacing=0.34 / rows,
        horizontal_spacing=0.16,
    )
    figure.update_annotations(font_size=13)  # the titles
    legend = set[str]()
    for place, name in enumerate(names):
        row, column = place // COLUMNS + 1, place % COLUMNS + 1
        drawn = {run: log.curves[name] for run, log in logs.items() if name in log.curves}
        for run, (x, y) in drawn.items():
            colour = PALETTE[(place if len(logs) == 1 else list(logs).index(run)) % len(PALETTE)]
            figure.add_trace(
                go.Scatter(
                    x=x,
                    y=y,
                    mode="lines+markers" if len(x) < 30 else "lines",
                    line={"color": colour, "width": 2},
                    name=plain(short(run, 40) or titles[name]),
                    legendgroup=run,
                    showlegend=len(logs) > 1 and run not in legend,
                    hovertemplate=f"{plain(run)} step %{{x:.0f}}: %{{y:.4g}}<extra></extra>".lstrip(),
                ),
                row=row,
                col=column,
            )
            legend.add(run)
        logarithmic = name != "dev_accuracy" and _spans_decades(
            np.concatenate([y for _, y in drawn.values()])
        )
        figure.update_yaxes(
            type="log" if logarithmic else "linear", tickformat="~g", nticks=6, row=row, col=column
        )
        if logarithmic:  # left to itself it prints every digit of a decade, one over the other
            figure.update_yaxes(dtick="D2", row=row, col=column)
        last = place + COLUMNS >= len(names)  # nothing stands below it
        figure.update_xaxes(rangemode="tozero", title="step" if last else None, row=row, col=column)
    on_page(figure, height=80 + 200 * rows)
    if len(logs) > 1:
        legend_above(figure)
        top = {
            "yref": "container",
            "y": 1.0,
            "yanchor": "top",
        }  # over the panels' titles on a narrow page, too
        return figure.update_layout(legend=top, margin={"t": 84}, height=124 + 200 * rows)
    _mark_epochs(figure, *logs.values())
    return figure.update_layout(showlegend=False)


@dataclass(frozen=True)
class _Log:
    """The drawn part of a run's log: a curve for each part, the last steps of epochs, the first ones of stages."""

    curves: dict[str, Curve]
    ends: dict[int, float]
    stages: dict[str, float]

    @classmethod
    def of(cls, history: History) -> Self:
        steps = [record for record in history if record.get("kind") == "step"]
        epochs = [record for record in history if record.get("kind") == "epoch"]
        ends = _epoch_ends(steps, epochs)
        curves = {name: _thinned(*curve) for name, curve in _curves(steps).items()}
        if accuracy := [record for record in epochs if _finite(record.get("dev_accuracy"))]:
            curves["dev_accuracy"] = _accuracy(accuracy, ends)
        return cls(curves, ends, _stage_starts(steps))


def _mark_epochs(figure: go.Figure, log: _Log) -> None:
    """Draw a line at the end of each epoch, and at the start of each stage but the first."""
    if len(log.ends) <= MOST_MARKS:
        for epoch, step in log.ends.items():
            figure.add_vline(x=step, line={"color": GREY, "width": 1, "dash": "dot"}, row="all", col="all")
            figure.add_annotation(
                x=step, y=1, yref="y domain", xanchor="right", yanchor="top", showarrow=False,
                text=f"epoch {epoch}", textangle=-90, font={"size": 10, "color": GREY}, row=1, col=1,
            )  # fmt: skip
    later = list(log.stages.items())[1:]
    for stage, step in later:  # two stages may have losses and accuracies of different kinds
        figure.add_vline(x=step, line={"color": CLOSEST, "width": 2}, row="all", col="all")
        figure.add_annotation(
            x=step, y=0, yref="y domain", xanchor="left", yanchor="bottom", showarrow=False,
            text=f"stage: {plain(stage)}", font={"size": 10, "color": CLOSEST}, row=1, col=1,
        )  # fmt: skip


def small_curves(history: Sequence[dict[str, Any]]) -> str:
    """Return what `loss_curves` draws as small pictures in HTML, without a script and in the colours of the theme.

    Args:
        history: the run's log, as `loss_curves` takes it.
    """
    drawn = [
        _small(_TITLES.get(name, name.replace("_", " ").capitalize()), *curve, PALETTE[place % len(PALETTE)])
        for place, (name, curve) in enumerate(_Log.of(history).curves.items())
    ]
    return f'<div style="display: flex; flex-wrap: wrap; gap: 1rem">{"".join(drawn)}</div>'


def _small(title: str, x: NDArray[np.float64], y: NDArray[np.float64], colour: str) -> str:
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    if not len(y):
        return ""
    height = np.log(y) if _spans_decades(y) else y
    spans = [(float(values.min()), float(np.ptp(values)) or 1.0) for values in (x, height)]
    across, up = ((values - low) / span for values, (low, span) in zip((x, height), spans, strict=True))
    points = " ".join(f"{4 + 232 * a:.1f},{66 - 60 * b:.1f}" for a, b in zip(across, up, strict=True))
    return (
        f'<figure style="margin: 0"><figcaption>{plain(title)}: {y[0]:.4g} → {y[-1]:.4g}</figcaption>'
        '<svg viewBox="0 0 240 72" width="240" height="72" role="img">'
        '<rect x=".5" y=".5" width="239" height="71" fill="none" stroke="currentColor" stroke-opacity=".25"/>'
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/></svg></figure>'
    )


def held_out_curves(histories: Mapping[str, Sequence[dict[str, Any]]]) -> go.Figure:
    """Return P@1 on held-out pairs after each epoch, a line a run, and which epoch was best.

    Args:
        histories: the runs' logs, by name; of the records of kind "epoch" `epoch` and `dev_accuracy`, percent, are
            drawn.
    """
    figure = go.Figure()
    every = list[tuple[int, float]]()
    for place, (name, history) in enumerate(histories.items()):
        found = [
            (int(record["epoch"]), float(record["dev_accuracy"]))
            for record in history
            if record.get("kind") == "epoch" and isinstance(record.get("dev_accuracy"), int | float)
        ]
        every += found
        best = max(found, key=lambda one: one[1], default=None)  # of equals the first, as the trainer has it
        said = "" if best is None else f"best: {best[1]:.1f} %, epoch {best[0]}"
        figure.add_trace(
            go.Scatter(
                x=[epoch for epoch, _ in found],
                y=[percent for _, percent in found],
                mode="lines+markers",
                line={"color": PALETTE[place % len(PALETTE)], "width": 2},
                name=f"{plain(name)}, {said}",
                hovertemplate="epoch %{x}: %{y:.1f} %<extra></extra>",
            )
        )
        if best is not None and len(histories) == 1:
            figure.add_annotation(
                x=best[0], y=best[1], text=said,
                showarrow=True, arrowhead=0, arrowwidth=1, ax=0, ay=34, font={"size": 12},
            )  # fmt: skip
    lowest, last = (pick(one[at] for one in every) if every else 0 for pick, at in ((min, 1), (max, 0)))
    figure.update_xaxes(title="epoch", dtick=max(1, int(last) // 10), rangemode="tozero")
    figure.update_yaxes(title="P@1, %", range=[max(0.0, lowest - 15), 102], zeroline=False)
    legend_above(figure)
    figure.update_layout(showlegend=len(histories) > 1)
    return on_page(figure, height=280)


def labelling_curve(rounds: pd.DataFrame) -> go.Figure:
    """Return the accuracy on held-out sentences over how many sentences are labelled, before and after each round.

    Args:
        rounds: a row for each round: `labels`, a number, and in percent `base` and `fitted`.
    """
    figure = go.Figure()
    rounds = rounds.sort_values("labels")
    for column, name, colour in (
        ("fitted", "default method", PALETTE[0]),
        ("base", "encoder as it is", GREY),
    ):
        figure.add_scatter(
            x=rounds["labels"],
            y=rounds[column],
            mode="lines+markers",
            line={"color": colour, "width": 2},
            name=name,
            hovertemplate="%{x:,} labels: %{y:.1f} %<extra>" + name + "</extra>",
        )
    figure.update_xaxes(title="labelled sentences", tickvals=rounds["labels"].unique()[-12:])
    figure.update_yaxes(title="Acc@1, %", zeroline=False)
    legend_above(figure)
    return on_page(figure, height=240)


def _accuracy(epochs: Sequence[dict[str, Any]], ends: dict[int, float]) -> Curve:
    """Accuracy at the ends of epochs, with a gap between two stages, which may measure different things."""
    x, y, before = [], [], None
    for record in epochs:
        if before is not None and record.get("stage") != before:
            x.append(math.nan)
            y.append(math.nan)
        before = record.get("stage")
        x.append(ends.get(record["epoch"], math.nan))
        y.append(record["dev_accuracy"])
    return np.array(x, dtype=np.float64), np.array(y, dtype=np.float64)


def _stage_starts(steps: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Each stage's first step; empty where training has no stages."""
    starts: dict[str, float] = {}
    for record in steps:
        if "stage" in record:
            starts.setdefault(str(record["stage"]), float(record["step"]))
    return starts


def _curves(steps: Sequence[dict[str, Any]]) -> dict[str, Curve]:
    """Each part's steps and values, the whole loss first."""
    names = {name: None for record in steps for name in record if name not in _NOT_PARTS}
    at = np.array([record["step"] for record in steps], dtype=np.float64)
    curves = {}
    for name in sorted(names, key=lambda name: name != "loss"):
        there = [i for i, record in enumerate(steps) if name in record]
        values = [steps[i][name] for i in there]
        curves[name] = (
            at[there],
            np.array([v if _finite(v) else math.nan for v in values], dtype=np.float64),
        )
    return {name: curve for name, curve in curves.items() if np.isfinite(curve[1]).any()}


def _thinned(x: NDArray[np.float64], y: NDArray[np.float64]) -> Curve:
    """Means over equal stretches, so that a poll of a long run sends no more than a picture can show."""
    width = math.ceil(len(x) / MOST_POINTS)
    if width == 1:
        return x, y
    starts = np.arange(0, len(x), width)
    known = np.isfinite(y)
    counts = np.add.reduceat(known.astype(np.float64), starts)
    sums = np.add.reduceat(np.where(known, y, 0.0), starts)
    means = np.divide(sums, counts, out=np.full(len(starts), math.nan), where=counts > 0)
    return x[np.minimum(starts + width, len(x)) - 1], means


def _epoch_ends(steps: Sequence[dict[str, Any]], epochs: Sequence[dict[str, Any]]) -> dict[int, float]:
    """The last step of every epoch that is over, by epoch."""
    last = {int(record["epoch"]): float(record["step"]) for record in steps if "epoch" in record}
    over = {int(record["epoch"]) for record in epochs}
    return {epoch: step for epoch, step in last.items() if epoch in over}


def _spans_decades(y: NDArray[np.float64]) -> bool:
    known = y[np.isfinite(y)]
    return bool(known.min() > 0 and known.max() / known.min() >= LOG_FROM)


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _nothing_yet() -> go.Figure:
    figure = go.Figure()
    figure.add_annotation(text="No step is done yet.", showarrow=False, font={"size": 14})
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return on_page(figure, height=160)


SYMBOLS = ("circle", "diamond-open")
BINS = 40


def spectrum_lines(
    panels: Mapping[str, Mapping[str, NDArray[np.floating]]],
) -> go.Figure:
    """Return the sorted Laplacian eigenvalues of one sample in two languages, a panel an encoder.

    The first is 0 whatever the sentences, and left out.

    Args:
        panels: by the encoder's name, and in it by the language's name, the (K,) eigenvalues, rising.
    """
    figure = make_subplots(
        rows=1, cols=len(panels), subplot_titles=[plain(short(name, 40)) for name in panels], shared_yaxes=True,
        horizontal_spacing=0.04,
    )  # fmt: skip
    for column, spectra in enumerate(panels.values(), start=1):
        for place, (language, values) in enumerate(spectra.items()):
            figure.add_trace(
                go.Scatter(
                    x=list(range(2, len(values) + 1)),
                    y=values[1:].tolist(),
                    mode="lines+markers",
                    name=plain(language),
                    legendgroup=language,
                    showlegend=column == 1,
                    line={"color": PALETTE[place], "width": 2, "dash": ("solid", "dot")[place % 2]},
                    marker={"symbol": SYMBOLS[place % 2], "size": 9},
                    hovertemplate=f"{plain(language)}, eigenvalue %{{x}}: %{{y:.3f}}<extra></extra>",
                ),
                row=1,
                col=column,
            )
        figure.update_xaxes(title="eigenvalue, in order", dtick=1, row=1, col=column)
    figure.update_yaxes(title="size", row=1, col=1)
    legend_above(figure, 1.14)
    on_page(figure, height=380)
    figure.update_layout(margin={"t": 72})
    return figure


def psi_distributions(samples: Mapping[str, NDArray[np.floating]]) -> go.Figure:
    """Return how Psi is distributed over samples, with its mean and the mean's 95 % interval, for each encoder.

    Args:
        samples: by the encoder's name its (N,) values; all with the same bins, for they are compared.
    """
    figure = go.Figure()
    high = max(float(np.quantile(values, 0.995)) for values in samples.values()) or 1.0
    edges = np.linspace(0.0, high, BINS + 1)
    for place, (name, values) in enumerate(samples.items()):
        colour, label = PALETTE[place], plain(short(name, 40))
        counts = np.histogram(np.minimum(values, high), edges)[0]
        mean = float(values.mean())
        reach = 1.96 * float(values.std(ddof=1)) / np.sqrt(len(values))
        figure.add_trace(
            go.Bar(
                x=[(low + top) / 2 for low, top in pairwise(edges.tolist())],
                y=(100 * counts / len(values)).tolist(),
                width=float(edges[1] - edges[0]),
                name=f"{label}: {mean:.3f} ± {reach:.3f}",
                marker={"color": colour, "opacity": 0.55, "line": {"width": 0}},
                hovertemplate=f"{label}<br>Psi about %{{x:.3f}}: %{{y:.1f}} % of samples<extra></extra>",
            )
        )
        figure.add_vrect(x0=mean - reach, x1=mean + reach, fillcolor=colour, opacity=0.35, line_width=0)
        figure.add_vline(x=mean, line={"color": colour, "width": 2})
    figure.update_xaxes(title="Psi of a sample; the smaller, the more alike", rangemode="tozero")
    figure.update_yaxes(title="% of samples")
    legend_above(figure, 1.04)
    figure.update_layout(barmode="overlay")
    return on_page(figure, height=380)
