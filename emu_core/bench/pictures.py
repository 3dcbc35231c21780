"""The report's pictures, as SVG that stands in the page itself."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np
from matplotlib import colormaps, font_manager, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from emu_core.bench.result import CellResult

# A glyph is taken from the first of these that has it: intents are named in every script.
_FONTS = ("DejaVu Sans", "Noto Sans", "Noto Sans CJK JP", "Noto Sans Arabic", "Noto Sans Thai")
_MARKERS = ("o", "x")  # the paper's: a ring for the first language, a cross for the second
_MOST_NAMED = 30
_NAME = 30
_settings = Lock()  # matplotlib's are the whole process's


def maps_picture(
    views: Mapping[str, CellResult], intents: Sequence[str], languages: Sequence[str], shown: Sequence[str]
) -> str:
    """Draw Figure 2: a panel a system, colour the intent, ring and cross the two languages.

    Args:
        views: a finished cell by its title.
        intents: of the test set's rows.
        languages: of the test set's rows.
        shown: the two languages.

    Returns:
        An `<svg>` element.
    """
    names = sorted({intents[row] for view in views.values() for row in view.map_rows})
    colour = {name: colour_of(i, len(names)) for i, name in enumerate(names)}
    with drawing() as figure_of:
        figure = figure_of((4.2 * len(views), 5.0))
        panels = figure.subplots(1, len(views), squeeze=False)[0]
        for axis, (title, view) in zip(panels, views.items(), strict=True):
            _draw_map(axis, view, intents, languages, shown, colour)
            axis.set(title=title, xticks=[], yticks=[])
        keys = [
            Line2D([], [], linestyle="none", marker=mark, color="#555555", label=code, fillstyle="none")
            for mark, code in zip(_MARKERS, shown, strict=False)
        ]
        keys += [
            Line2D([], [], linestyle="none", marker="s", color=colour[name], label=shortened(name))
            for name in names[:_MOST_NAMED]
        ]
        if len(names) > _MOST_NAMED:
            keys.append(
                Line2D([], [], linestyle="none", label=f"and {len(names) - _MOST_NAMED} more intents")
            )
        figure.legend(handles=keys, loc="outside lower center", ncols=6, frameon=False)
        return as_svg(figure)


def bars_picture(
    values: Mapping[str, tuple[float, float]],
    base: float,
    *,
    label: str = "Acc@1, % (the line is the base encoder)",
) -> str:
    """Draw a bar for each system's mean accuracy with its spread over seeds, and a line at the base.

    Args:
        values: mean and standard deviation in percent, by the system's name.
        base: the mean of what the line shows.
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
        axis.set_yticks(places, [shortened(name, 60) for name in values])
        axis.set(xlabel=label, xlim=(0, 100))
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
        return as_svg(figure)


def _draw_map(
    axis: Axes,
    view: CellResult,
    intents: Sequence[str],
    languages: Sequence[str],
    shown: Sequence[str],
    colour: Mapping[str, Any],
) -> None:
    points = np.asarray(view.map_points).reshape(-1, 2)
    for marker, code in zip(_MARKERS, shown, strict=False):
        at = [i for i, row in enumerate(view.map_rows) if languages[row] == code]
        colours = [colour[intents[view.map_rows[i]]] for i in at]
        paint: dict[str, Any] = (
            {"facecolors": "none", "edgecolors": colours} if marker == "o" else {"c": colours}
        )
        axis.scatter(points[at, 0], points[at, 1], s=16, marker=marker, linewidths=0.9, **paint)


@contextmanager
def drawing() -> Iterator[Callable[[tuple[float, float]], Figure]]:
    """Matplotlib's settings for a picture; gives what makes a figure of a size in inches."""
    there = {font.name for font in font_manager.fontManager.ttflist}
    settings: Any = {
        "font.family": [font for font in _FONTS if font in there],
        "font.size": 9,
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": "emu",  # the same picture is the same file
        "text.parse_math": False,  # a name with dollar signs is a name
    }
    with _settings, rc_context(settings):
        yield lambda size: Figure(figsize=size, layout="constrained")


def as_svg(figure: Figure) -> str:
    """Return a figure as an `<svg>` element, the same each time."""
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    text = out.getvalue().decode()
    return text[text.index("<svg") :]


def colour_of(i: int, count: int) -> Any:
    """Return the i-th of so many colours."""
    if count <= 10:
        return colormaps["tab10"](i)
    return colormaps["gist_ncar"](0.02 + 0.93 * i / count)


def shortened(name: str, most: int = _NAME) -> str:
    """Return a name on one line, of at most so many characters."""
    line = " ".join(name.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
