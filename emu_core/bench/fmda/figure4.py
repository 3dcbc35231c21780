"""Figure 4: language and meaning embeddings of one pair, and template embeddings of one intent."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from emu_core.bench.fmda.result import View
from emu_core.bench.pictures import as_svg, colour_of, drawing, shortened

TITLES = {
    "a": "(a) language embeddings",
    "b": "(b) meaning embeddings",
    "c": "(c) template embeddings, two stages",
}
NOTE = (
    "(a) and (b): test utterances of the first pair, up to 800 in each language, colour the language. (c): sentences "
    "of one intent in the first language, five of each of up to four templates with other slot values, colour the "
    "template. Each panel is a t-SNE of its own, so places can't be compared between panels. One seed."
)
_MARKERS = ("o", "x", "^", "s")


def figure_4(views: Mapping[str, View]) -> str:
    """Draw the panels side by side, each with its own legend.

    Args:
        views: by letter.

    Returns:
        An `<svg>` element.
    """
    with drawing() as figure_of:
        figure = figure_of((5.0 * len(views), 5.4))
        panels = figure.subplots(1, len(views), squeeze=False)[0]
        for axis, (letter, view) in zip(panels, sorted(views.items()), strict=True):
            _draw(axis, view)
            axis.set(title=TITLES[letter], xticks=[], yticks=[])
        return as_svg(figure)


def _draw(axis: Axes, view: View) -> None:
    points = np.asarray(view.points).reshape(-1, 2)
    names = list(dict.fromkeys(view.labels))
    few = len(points) <= 100
    keys = []
    for i, name in enumerate(names):
        at = [row for row, label in enumerate(view.labels) if label == name]
        mark, colour = _MARKERS[i % len(_MARKERS)], colour_of(i, len(names))
        axis.scatter(
            points[at, 0],
            points[at, 1],
            s=36 if few else 9,
            marker=mark,
            color=colour,
            linewidths=0.8,
            alpha=0.8,
        )
        keys.append(
            Line2D(
                [], [], linestyle="none", marker=mark, color=colour, label=shortened(name, 60), markersize=5
            )
        )
    axis.legend(handles=keys, loc="upper center", bbox_to_anchor=(0.5, -0.02), frameon=False, fontsize=8)
