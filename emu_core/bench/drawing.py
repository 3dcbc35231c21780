"""The pictures of the benchmarks' reports, as reproducible SVG elements."""

import io
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from emu_core.bench.pictures import Bars, Curves, Drawing, GroupMaps, IntentMaps, View, WordMaps
from emu_core.charts.stills import drawing, key
from emu_core.charts.style import short

_MARKERS = ("o", "x", "^", "s")
_MOST_NAMED = 30
_NAME = 30
_DOT = 3.5  # size of a curve's markers
Colour = tuple[float, float, float, float]


def svg_of(picture: Drawing) -> str:
    """Return the `<svg>` element of a picture."""
    match picture:
        case Bars():
            return _bars(picture)
        case IntentMaps():
            return _intent_maps(picture.views)
        case GroupMaps():
            return _group_maps(picture.views)
        case WordMaps():
            return _word_maps(picture)
        case Curves():
            return _curves(picture)


def _bars(bars: Bars) -> str:
    values = bars.values
    with drawing((8.5, 0.8 + 0.34 * len(values))) as figure:
        axis = figure.subplots()
        places = np.arange(len(values))[::-1]
        means, deviations = zip(*values.values(), strict=True)
        axis.barh(places, means, xerr=deviations, color="#6C8EBF")
        axis.axvline(bars.base, color="#D55E00", linewidth=1.2)
        axis.set_yticks(places, [short(name, 60) for name in values])
        axis.set(xlabel=bars.label, xlim=(0, 100))
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
        return _svg(figure)


def _intent_maps(views: Mapping[str, View]) -> str:
    # The languages have the paper's markers: a ring for the first, a cross for the second.
    names = sorted({name for view in views.values() for name in view.groups})
    languages = dict.fromkeys(code for view in views.values() for code in view.texts)
    marker_of = dict(zip(languages, _MARKERS, strict=False))
    colours = _colours(names)
    with drawing((4.2 * len(views), 5.0)) as figure:
        for axis, title, view, points in _panels(figure, views):
            axis.set(title=title)
            for code, marker in marker_of.items():
                at = [i for i, point_colours in enumerate(view.texts) if point_colours == code]
                point_colours = [colours[view.groups[i]] for i in at]
                draw = partial(
                    axis.scatter, points[at, 0], points[at, 1], s=16, marker=marker, linewidths=0.9
                )
                if marker == "o":
                    draw(facecolors="none", edgecolors=point_colours)
                else:
                    draw(c=point_colours)
        keys = [key(code, "#555555", marker, fillstyle="none") for code, marker in marker_of.items()]
        keys += [key(short(name, _NAME), colours[name], "s") for name in names[:_MOST_NAMED]]
        if len(names) > _MOST_NAMED:
            keys.append(key(f"and {len(names) - _MOST_NAMED} more intents", "none", ""))
        _legend(figure, keys, 6)
        return _svg(figure)


def _group_maps(views: Mapping[str, View]) -> str:
    with drawing((5.0 * len(views), 5.4)) as figure:
        for axis, title, view, points in _panels(figure, views):
            axis.set(title=title)
            size, keys = 36 if len(points) <= 100 else 9, []
            for i, (name, colour) in enumerate(_colours(view.groups).items()):
                at, marker = [group == name for group in view.groups], _MARKERS[i % len(_MARKERS)]
                x, y = points[at, 0], points[at, 1]
                axis.scatter(x, y, s=size, marker=marker, color=colour, linewidths=0.8, alpha=0.8)
                keys.append(key(short(name, 60), colour, marker, markersize=5))
            axis.legend(
                handles=keys, frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.02)
            )
        return _svg(figure)


def _word_maps(maps: WordMaps) -> str:
    views, colours = maps.views, _colours(maps.languages)
    with drawing((6.6 * len(views), 6.0)) as figure:
        for axis, _, view, _ in _panels(figure, views):
            for point, code, word in zip(view.points, view.groups, view.texts, strict=True):
                axis.plot(
                    *([coordinate] for coordinate in point), marker="o", markersize=3, color=colours[code]
                )
                axis.annotate(
                    short(word, _NAME),
                    point,
                    xytext=(3, 3),
                    textcoords="offset points",
                    fontsize=8,
                    color=colours[code],
                )
            axis.margins(0.14)
            axis.set(title=short(view.note, 70))
        _legend(figure, [key(code, colour, "o") for code, colour in colours.items()], len(maps.languages))
        return _svg(figure)


def _curves(curves: Curves) -> str:
    panels, names = curves.panels, curves.names
    columns = min(2, len(panels))
    height = -(-len(panels) // columns)
    colours = _colours(names)
    with drawing((5.4 * columns, 3.4 * height + 0.28 * len(names))) as figure:
        axes = figure.subplots(height, columns, squeeze=False, sharey=True).ravel()
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        for axis, (title, systems) in zip(axes, panels.items(), strict=False):
            for name, values in systems.items():
                sizes_and_values = zip(*sorted(values.items()), strict=True)
                axis.plot(*sizes_and_values, color=colours[name], marker="o", markersize=_DOT)
            axis.axhline(curves.lines[title], color="#888888", linestyle="--", linewidth=1)
            axis.set(title=title, xlabel=curves.examples, ylabel="accuracy, %", xscale="log")
            sizes = sorted({size for values in systems.values() for size in values})
            axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
            axis.minorticks_off()
        seen = {name for systems in panels.values() for name in systems}
        keys = [
            Line2D([], [], color=colours[name], label=name, marker="o", markersize=_DOT)
            for name in names
            if name in seen
        ]
        keys.append(Line2D([], [], color="black", linestyle="--", linewidth=0.8, label=curves.dashed))
        _legend(figure, keys, 2)
        return _svg(figure)


def _svg(figure: Figure) -> str:
    """Return a figure's `<svg>` element."""
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    text = out.getvalue().decode()
    return text[text.index("<svg") :]


def _panels(figure: Figure, views: Mapping[str, View]) -> Iterator[tuple[Axes, str, View, np.ndarray]]:
    axes = figure.subplots(1, len(views), squeeze=False)[0]
    for axis, (title, view) in zip(axes, views.items(), strict=True):
        axis.set(xticks=[], yticks=[])
        yield axis, title, view, np.asarray(view.points).reshape(-1, 2)


def _legend(figure: Figure, keys: Sequence[Line2D], columns: int) -> None:
    figure.legend(handles=keys, loc="outside lower center", ncols=columns, frameon=False)


def _colours(names: Sequence[str]) -> dict[str, Colour]:
    """Return a colour for each name, in their order."""
    distinct = dict.fromkeys(names)
    if len(distinct) <= 10:
        return {name: colormaps["tab10"](i) for i, name in enumerate(distinct)}
    return {name: colormaps["gist_ncar"](0.02 + 0.93 * i / len(distinct)) for i, name in enumerate(distinct)}
