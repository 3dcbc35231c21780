"""The maps as PNG or SVG files, drawn by matplotlib without a browser."""

import io
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from threading import Lock
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib import font_manager, rc_context
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from emu_core.charts import marks
from emu_core.charts.marks import ColourBy
from emu_core.charts.style import FAINT, GREY, short

Format = Literal["png", "svg"]
# A glyph is taken from the first font that has it, as intents may be in any script.
_FONTS = (
    "DejaVu Sans", "Noto Sans", "Noto Sans CJK JP", "Noto Sans Arabic", "Noto Sans Thai", "Arial Unicode MS",
)  # fmt: skip
_ROWS = 34  # in a column of the legend
_settings = Lock()  # matplotlib's settings are global


def maps_file(
    panels: Mapping[str, NDArray[np.float32]],
    points: pd.DataFrame,
    colour_by: ColourBy,
    chosen: Set[int],
    *,
    file_format: Format,
    shown: NDArray[np.bool_] | None = None,
    focus: Collection[str] = (),
    shape_languages: bool = False,
) -> bytes:
    """Return the picture of `sentence_maps`, from the same arguments, on white; text in an SVG stays text."""
    coloured = marks.groups(points, colour_by, focus)
    shaped = marks.shapes(points, colour_by) if shape_languages else None
    lit = np.ones(len(points), dtype=bool) if shown is None else shown
    if chosen:
        lit = lit & points["row"].isin(chosen).to_numpy()
    part, size = points[lit], 22 if len(points) <= 2_000 else 8
    alpha = np.where(part["trained"], 0.2, 0.9) if "trained" in part else np.full(len(part), 0.9)
    colour_of = {group.value: group.colour for group in coloured}
    if shaped:
        letter = part["language"].map({value: group.shape[1] for value, group in shaped.items()})
    else:
        letter = part[colour_by].map({group.value: group.mark[1] for group in coloured})
    with drawing((5.8 * len(panels) + 2.6, 6.6)) as figure:
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for axis, (title, places) in zip(axes, panels.items(), strict=True):
            axis.scatter(places[~lit, 0], places[~lit, 1], s=size, alpha=FAINT, color=GREY, linewidths=0)
            # One call for each colour and shape, whatever the number of points.
            for (value, mark), at in part.groupby([part[colour_by], letter.rename("mark")]).indices.items():
                look: dict[str, object] = {"color": colour_of[value], "marker": mark, "alpha": alpha[at]}
                axis.scatter(*places[lit][at].T, s=size, linewidths=0, **look)
            for name in marks.cluster_names(
                places[lit], part["intent"].to_numpy(object), marks.MAX_NAMED_CLUSTERS, panels=len(panels)
            ):
                axis.annotate(
                    short(name.intent, marks.GROUP_NAME), (name.at_x, name.at_y), (name.x, name.y),
                    ha="center", va="center", weight="bold", size=8,
                    arrowprops={"arrowstyle": "-", "linewidth": 0.7},
                    path_effects=[withStroke(linewidth=2.5, foreground="white", alpha=0.8)],
                )  # fmt: skip
            axis.set(title=title, xticks=[], yticks=[])
        figure.legend(
            handles=_keys(
                (f"{short(of.name, 30)} ({of.count:,})", of.colour, "o" if shaped else of.mark[1])
                for of in coloured
            ),
            title=f"{marks.TITLES[colour_by]}: colour", loc="outside right upper",
            ncols=-(-min(len(coloured), marks.MOST_LISTED) // _ROWS), frameon=False,
        )  # fmt: skip
        if shaped:
            figure.legend(
                handles=_keys((short(group.name, 30), GREY, group.shape[1]) for group in shaped.values()),
                title="Language: shape", loc="outside lower left",
                ncols=4 * len(panels), frameon=False,
            )  # fmt: skip
        out = io.BytesIO()
        figure.savefig(
            out, format=file_format, dpi=150, metadata={"Date": None} if file_format == "svg" else None
        )
    return out.getvalue()


@contextmanager
def drawing(size: tuple[float, float]) -> Iterator[Figure]:
    """Configure matplotlib, and yield an empty figure of a size in inches."""
    installed_fonts = {font.name for font in font_manager.fontManager.ttflist}
    settings: Any = {
        "font.family": [font for font in _FONTS if font in installed_fonts],
        "font.size": 9,
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": "emu",  # equal pictures are equal files
        "text.parse_math": False,  # dollar signs in a name are no formula
    }
    with _settings, rc_context(settings):
        yield Figure(figsize=size, layout="constrained")


def key(label: str, colour: Any, marker: str, **style: Any) -> Line2D:
    """Return a legend's entry."""
    return Line2D([], [], linestyle="none", marker=marker, color=colour, label=label, **style)


def _keys(of: Iterable[tuple[str, str, str]]) -> list[Line2D]:
    """Return a legend's entries from names, colours and markers; of too many, how many more there are."""
    keys = [key(name, *look, markersize=6, markeredgewidth=0) for name, *look in of]
    unlisted = len(keys) - marks.MOST_LISTED
    more = [Line2D([], [], linestyle="none", label=f"and {unlisted} more")] if unlisted > 0 else []
    return [*keys[: marks.MOST_LISTED], *more]
