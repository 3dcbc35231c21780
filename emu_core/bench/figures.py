"""The pictures of the reports, as SVG elements that are the same each time they are drawn."""

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from emu_core.bench.results import View
from emu_core.charts.stills import drawing
from emu_core.charts.style import short

_MARKERS = ("o", "x", "^", "s")
_MOST_NAMED = 30
_NAME = 30


def bars(values: Mapping[str, tuple[float, ...]], base: float, label: str) -> str:
    """Draw a bar for each system's mean with its spread over seeds, and a line at the base.

    Args:
        values: mean and standard deviation in percent, by the system's name.
        base: where the line is.
        label: of the axis.

    Returns:
        An `<svg>` element.
    """
    with drawing() as figure_of:
        figure = figure_of((8.5, 0.8 + 0.34 * len(values)))
        axis = figure.subplots()
        places = np.arange(len(values))[::-1]
        means = [mean for mean, _ in values.values()]
        axis.barh(places, means, xerr=[deviation for _, deviation in values.values()], color="#6C8EBF")
        axis.axvline(base, color="#D55E00", linewidth=1.2)
        axis.set_yticks(places, [short(name, 60) for name in values])
        axis.set(xlabel=label, xlim=(0, 100))
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
        return _svg(figure)


def maps(views: Mapping[str, View]) -> str:
    """Draw sentences of two languages, a panel a system: the intents (`groups`) in colours.

    The languages (`texts`) have the paper's markers: a ring for the first, a cross for the second.

    Args:
        views: by title.

    Returns:
        An `<svg>` element.
    """
    names = sorted({name for view in views.values() for name in view.groups})
    languages = list(dict.fromkeys(code for view in views.values() for code in view.texts))
    colour = {name: _colour(i, len(names)) for i, name in enumerate(names)}
    with drawing() as figure_of:
        figure = figure_of((4.2 * len(views), 5.0))
        for axis, (title, view) in _panels(figure, views):
            axis.set(title=title)
            points = np.asarray(view.points).reshape(-1, 2)
            for marker, code in zip(_MARKERS, languages, strict=False):
                at = [i for i, own in enumerate(view.texts) if own == code]
                colours = [colour[view.groups[i]] for i in at]
                hollow: dict[str, Any] = {"facecolors": "none", "edgecolors": colours}
                paint = hollow if marker == "o" else {"c": colours}
                axis.scatter(points[at, 0], points[at, 1], s=16, marker=marker, linewidths=0.9, **paint)
        keys = [
            _key(code, "#555555", marker, fillstyle="none")
            for marker, code in zip(_MARKERS, languages, strict=False)
        ]
        keys += [_key(short(name, _NAME), colour[name], "s") for name in names[:_MOST_NAMED]]
        if len(names) > _MOST_NAMED:
            keys.append(_key(f"and {len(names) - _MOST_NAMED} more intents", "none", ""))
        figure.legend(handles=keys, loc="outside lower center", ncols=6, frameon=False)
        return _svg(figure)


def group_maps(views: Mapping[str, View]) -> str:
    """Draw panels side by side, each with a legend of its own groups.

    Args:
        views: by title.

    Returns:
        An `<svg>` element.
    """
    with drawing() as figure_of:
        figure = figure_of((5.0 * len(views), 5.4))
        for axis, (title, view) in _panels(figure, views):
            axis.set(title=title)
            points = np.asarray(view.points).reshape(-1, 2)
            names = list(dict.fromkeys(view.groups))
            keys = []
            for i, name in enumerate(names):
                at = [row for row, group in enumerate(view.groups) if group == name]
                marker, colour = _MARKERS[i % len(_MARKERS)], _colour(i, len(names))
                size = 36 if len(points) <= 100 else 9
                paint: dict[str, Any] = {"marker": marker, "color": colour, "linewidths": 0.8, "alpha": 0.8}
                axis.scatter(points[at, 0], points[at, 1], s=size, **paint)
                keys.append(_key(short(name, 60), colour, marker, markersize=5))
            below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.02)}
            axis.legend(handles=keys, frameon=False, fontsize=8, **below)
        return _svg(figure)


def word_maps(views: Mapping[str, View], languages: Sequence[str]) -> str:
    """Draw words (`texts`) of several languages (`groups`), a panel a view, titled by its note.

    Args:
        views: by name.
        languages: the order of the colours.

    Returns:
        An `<svg>` element.
    """
    colours = {code: _colour(i, len(languages)) for i, code in enumerate(languages)}
    with drawing() as figure_of:
        figure = figure_of((6.6 * len(views), 6.0))
        for axis, (_, view) in _panels(figure, views):
            for place, code, word in zip(view.points, view.groups, view.texts, strict=True):
                axis.plot(*([one] for one in place), marker="o", markersize=3, color=colours[code])
                beside: dict[str, Any] = {"xytext": (3, 3), "textcoords": "offset points"}
                axis.annotate(short(word, _NAME), place, fontsize=8, color=colours[code], **beside)
            axis.margins(0.14)
            axis.set(title=short(view.note, 70))
        keys = [_key(code, colour, "o") for code, colour in colours.items()]
        figure.legend(handles=keys, loc="outside lower center", ncols=len(languages), frameon=False)
        return _svg(figure)


def curves(
    panels: Mapping[str, Mapping[str, Mapping[int, float]]], lines: Mapping[str, float], names: Sequence[str]
) -> str:
    """Draw accuracies by the number of training documents, a panel a direction, a line a system.

    Args:
        panels: by title and system, accuracy by number.
        lines: where the dashed line of each panel is.
        names: the order of the systems' colours.

    Returns:
        An `<svg>` element.
    """
    columns = min(2, len(panels))
    height = -(-len(panels) // columns)
    colours = {name: _colour(i, len(names)) for i, name in enumerate(names)}
    with drawing() as figure_of:
        figure = figure_of((5.4 * columns, 3.4 * height + 0.28 * len(names)))
        axes = figure.subplots(height, columns, squeeze=False, sharey=True).ravel()
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        for axis, (title, systems) in zip(axes, panels.items(), strict=False):
            for name, values in systems.items():
                points = sorted(values.items())
                axis.plot(*zip(*points, strict=True), marker="o", markersize=3.5, color=colours[name])
            axis.axhline(lines[title], color="#888888", linestyle="--", linewidth=1)
            axis.set(title=title, xlabel="training documents", ylabel="accuracy, %", xscale="log")
            sizes = sorted({size for values in systems.values() for size in values})
            axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
            axis.minorticks_off()
        seen = {name for systems in panels.values() for name in systems}
        keys = [
            Line2D([], [], marker="o", markersize=3.5, color=colours[name], label=name)
            for name in names
            if name in seen
        ]
        keys.append(Line2D([], [], color="black", linestyle="--", linewidth=0.8, label="majority class"))
        figure.legend(handles=keys, loc="outside lower center", ncols=2, frameon=False)
        return _svg(figure)


def _panels(figure: Figure, views: Mapping[str, View]) -> Iterator[tuple[Axes, tuple[str, View]]]:
    axes = figure.subplots(1, len(views), squeeze=False)[0]
    for axis, item in zip(axes, views.items(), strict=True):
        axis.set(xticks=[], yticks=[])
        yield axis, item


def _key(label: str, colour: Any, marker: str, **style: Any) -> Line2D:
    return Line2D([], [], linestyle="none", marker=marker, color=colour, label=label, **style)


def _svg(figure: Figure) -> str:
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    text = out.getvalue().decode()
    return text[text.index("<svg") :]


def _colour(i: int, count: int) -> Any:
    if count <= 10:
        return colormaps["tab10"](i)
    return colormaps["gist_ncar"](0.02 + 0.93 * i / count)
