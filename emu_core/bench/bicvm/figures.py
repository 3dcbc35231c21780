"""Figure 2 (accuracy by training documents) and Figure 3 (words of several languages on a plane)."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from emu_core.bench.bicvm.documents import DocumentResults
from emu_core.bench.pictures import as_svg, colour_of, drawing, shortened
from emu_core.bench.pretrained.result import WordView

FIGURE_2_NOTE = (
    "Accuracy in percent by the number of training documents (logarithmic), mean over draws and seeds; the dashed line "
    "is the majority class. The paper prints its Figure 2 as a picture without numbers."
)
FIGURE_3_NOTE = (
    "t-SNE of word vectors, colour the language. Words of one meaning should lie together. Left: words in all "
    "languages; right: other words, of the languages that have no parallel text with each other where there are such. "
    "Frequent words are those whose translation in every language is sure: each the other's likeliest by Dice's "
    "coefficient, which is a half or more. Each chart is a t-SNE of its own, so places can't be compared between "
    "charts. One seed."
)


def figure_2(found: DocumentResults) -> str:
    """Draw a panel a direction, a line a system. Returns an `<svg>` element."""
    rows = found.rows()
    columns = min(2, len(found.ways))
    height = -(-len(found.ways) // columns)
    with drawing() as figure_of:
        figure = figure_of((5.4 * columns, 3.4 * height + 0.28 * len(rows)))
        panels = figure.subplots(height, columns, squeeze=False, sharey=True).ravel()
        for axis in panels[len(found.ways) :]:
            axis.set_visible(False)
        seen: set[int] = set()
        for axis, way in zip(panels, found.ways, strict=False):
            sizes = found.sizes(way)
            for i, (_, _, _, by_way) in enumerate(rows):
                points = [
                    (n, score.mean) for n in sizes if (score := found.score(by_way[way], way, n)) is not None
                ]
                if points:
                    seen.add(i)
                    axis.plot(
                        *zip(*points, strict=True), marker="o", markersize=3.5, color=colour_of(i, len(rows))
                    )
            axis.axhline(found.majority[way], color="#888888", linestyle="--", linewidth=1)
            axis.set(
                title=f"{way[0]} → {way[1]}", xlabel="training documents", ylabel="accuracy, %", xscale="log"
            )
            axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
            axis.minorticks_off()
        keys = [
            Line2D([], [], marker="o", markersize=3.5, color=colour_of(i, len(rows)), label=label)
            for i, (_, label, _, _) in enumerate(rows)
            if i in seen
        ]
        keys.append(Line2D([], [], color="black", linestyle="--", linewidth=0.8, label="majority class"))
        figure.legend(handles=keys, loc="outside lower center", ncols=2, frameon=False)
        return as_svg(figure)


def figure_3(views: Mapping[str, WordView], languages: Sequence[str]) -> str:
    """Draw the charts side by side.

    Args:
        views: by name.
        languages: the order of the colours.

    Returns:
        An `<svg>` element.
    """
    with drawing() as figure_of:
        figure = figure_of((6.6 * len(views), 6.0))
        panels = figure.subplots(1, len(views), squeeze=False)[0]
        for axis, view in zip(panels, views.values(), strict=True):
            _draw(axis, view, languages)
        keys = [
            Line2D([], [], linestyle="none", marker="o", color=colour_of(i, len(languages)), label=code)
            for i, code in enumerate(languages)
        ]
        figure.legend(handles=keys, loc="outside lower center", ncols=len(languages), frameon=False)
        return as_svg(figure)


def found_words(view: WordView) -> str:
    """How many of the shown words have their translation nearest, as a sentence."""
    ways = ", ".join(f"{way} {right} of {count}" for way, (right, count) in view.found.items())
    return f"{view.note[:1].upper()}{view.note[1:]}; translations that are the nearest of all words: {ways}."


def _draw(axis: Axes, view: WordView, languages: Sequence[str]) -> None:
    points = np.asarray(view.points).reshape(-1, 2)
    for (x, y), code, word in zip(points, view.languages, view.words, strict=True):
        colour = colour_of(languages.index(code), len(languages))
        axis.plot([x], [y], marker="o", markersize=3, color=colour)
        axis.annotate(
            shortened(word), (x, y), xytext=(3, 3), textcoords="offset points", fontsize=8, color=colour
        )
    axis.margins(0.14)
    axis.set(title=shortened(view.note, 70), xticks=[], yticks=[])
