"""Two linked maps in a notebook: sentences chosen on one are highlighted on both, with their neighbours."""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from emu_core.charts.marks import ColourBy
from emu_core.charts.scatter import sentence_maps
from emu_core.charts.style import CLOSEST, on_white
from emu_core.data.repeats import sentence_groups
from emu_core.data.wording import TextTable, counted
from emu_core.errors import EmuError
from emu_core.evaluation.comparison import Comparison
from emu_core.evaluation.retrieval import nearest
from emu_core.reports.cells import chosen_cell, neighbours_cell
from emu_core.reports.figures_as_text import changes_table

_NEIGHBOURS = 5
WIDTH = 960  # pixels; a figure inside a box of widgets has no automatic width
_MOST_LISTED = 100  # chosen sentences in the table
COLOURS: tuple[ColourBy, ColourBy] = ("intent", "language")


class Explorer:
    """Two maps of the same sentences as a Jupyter widget, or as a picture if there are no widgets.

    Attributes:
        chosen: row numbers of the chosen sentences in `comparison.sentences`, set by `choose` or the mouse.
        figure: the maps, a Plotly widget.
        widget: the whole, a box of ipywidgets.
    """

    def __init__(
        self,
        comparison: Comparison,
        maps: Mapping[str, NDArray[np.float32]],
        points: pd.DataFrame,
        colour_by: ColourBy,
    ) -> None:
        """Draw sentences.

        Args:
            comparison: of two encoders.
            maps: positions (n, 2) of the points, by the encoder's name.
            points: n sentences, with their row number in `comparison.sentences` as `row`.
            colour_by: "intent" or "language".

        Raises:
            EmuError: ipywidgets or anywidget is not installed.
        """
        try:
            import_module("anywidget")  # plotly's widget needs it
            import ipywidgets
        except ImportError:
            raise EmuError(
                "comparison.explore() needs ipywidgets and anywidget: pip install 'emu-core[notebook]'; "
                "comparison.plot.map() draws the maps without them"
            ) from None
        self._comparison, self._maps, self._points = comparison, maps, points
        self._groups = sentence_groups(comparison.sentences)
        self._place = {int(row): index for index, row in enumerate(points["row"])}
        self.chosen: tuple[int, ...] = ()
        # One figure holds both colourings, because a second would send plotly's script (5 MB) again.
        drawn = {by: on_white(sentence_maps(maps, points, by)) for by in COLOURS}
        rings = [
            go.Scattergl(
                x=[None], y=[None], xaxis=f"x{axis}", yaxis=f"y{axis}",
                mode="markers", hoverinfo="skip", showlegend=False,
                marker={"symbol": "circle-open", "size": 22, "color": CLOSEST, "line": {"width": 3}},
                unselected={"marker": {"opacity": 1}},
            )
            for axis in ("", "2")
        ]  # fmt: skip
        self.figure = go.FigureWidget(
            [*drawn["intent"].data, *drawn["language"].data, *rings], drawn["intent"].layout
        )
        self.figure.update_layout(dragmode="lasso", width=WIDTH, height=560)
        self._legends = {
            by: {name: figure.layout[name] for name in ("legend", "legend2")} for by, figure in drawn.items()
        }
        split = len(drawn["intent"].data)
        self._coloured = {"intent": self.figure.data[:split], "language": self.figure.data[split:-2]}
        self._rings = self.figure.data[-2:]
        self._traces = [trace for trace in self.figure.data if trace.customdata is not None]
        self._gathered: list[int] = []
        for trace in self._traces:
            trace.on_selection(self._on_selection)
            trace.on_deselect(self._on_deselect)
            trace.on_hover(self._on_hover)
        buttons = ipywidgets.ToggleButtons(
            options=COLOURS, value=colour_by, description="Colour by", style={"description_width": "initial"}
        )
        buttons.observe(lambda change: self.colour(change["new"]), "value")
        clear = ipywidgets.Button(description="Clear", icon="times")
        clear.on_click(lambda _: self.choose(()))
        self._about, self._list = ipywidgets.HTML(), ipywidgets.HTML()
        self.widget = ipywidgets.VBox(
            [ipywidgets.HBox([buttons, clear]), self.figure, self._about, self._list]
        )
        self.colour(colour_by)
        self._list.value = self._table()

    def __repr__(self) -> str:
        """Describe the maps, for where they can't be shown."""
        return f"<maps of {counted(len(self._points), 'sentence')} by {' and '.join(self._maps)}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, object]:
        """Return the widget, and a picture for where there are no widgets, such as nbconvert and GitHub."""
        from emu_core.charts.stills import maps_file  # which imports matplotlib

        chosen = frozenset(self.chosen)
        still = maps_file(self._maps, self._points, self._colour_by, chosen, file_format="png")
        bundle = {"image/png": b64encode(still).decode(), "text/plain": repr(self)}
        return self.widget._repr_mimebundle_() | bundle

    def choose(self, rows: Iterable[int]) -> None:
        """Highlight sentences on both maps, and list their neighbours by both encoders.

        Args:
            rows: row numbers in `comparison.sentences`; none clears the choice.
        """
        self.chosen = tuple(row for row in dict.fromkeys(int(row) for row in rows) if row in self._place)
        if not self.chosen:
            # Only the browser knows the outline that the mouse drew, and would choose its points again.
            self.figure.layout.selections = [{"type": "rect", "x0": 0, "x1": 0, "y0": 0, "y1": 0}]
            self.figure.layout.selections = ()
        with self.figure.batch_update():
            for trace in self._traces:
                places = np.flatnonzero(np.isin(trace.customdata, self.chosen)).tolist()
                trace.selectedpoints = places if self.chosen else None
        self._list.value = self._table()

    def hover(self, row: int) -> None:
        """Ring the sentence of a row number on both maps, and show its nearest neighbours by both encoders."""
        with self.figure.batch_update():
            for ring, places in zip(self._rings, self._maps.values(), strict=True):
                x, y = places[self._place[row]].tolist()
                ring.update(x=[x], y=[y])
        self._about.value = self._neighbours(row)

    def colour(self, by: ColourBy) -> None:
        """Colour the points by intent or by language."""
        self._colour_by = by
        with self.figure.batch_update():
            for name, traces in self._coloured.items():
                for trace in traces:
                    trace.visible = name == by
            self.figure.update_layout(self._legends[by])

    def _on_selection(self, trace: Any, points: Any, _: Any) -> None:
        """Collect a selection: plotly calls this for every trace in turn, with the points of that trace."""
        if trace is self._traces[0]:
            self._gathered = []
        self._gathered += [int(trace.customdata[index]) for index in points.point_inds]
        if trace is self._traces[-1]:
            self.choose(self._gathered)

    def _on_deselect(self, trace: Any, _: Any) -> None:
        if trace is self._traces[-1]:
            self.choose(())

    def _on_hover(self, trace: Any, points: Any, _: Any) -> None:
        if points.point_inds:
            self.hover(int(trace.customdata[points.point_inds[0]]))

    def _neighbours(self, row: int) -> str:
        sentences = self._comparison.sentences
        sentence = sentences.loc[row]
        cells: list[list[str]] = [[] for _ in range(_NEIGHBOURS)]
        for vectors in (self._comparison.base, self._comparison.other):
            neighbours = nearest(vectors, [row], _NEIGHBOURS, self._groups)
            for line, at, cosine in zip(cells, neighbours.rows[0], neighbours.cosines[0], strict=True):
                if at < 0:  # there are no more neighbours
                    line += ["", "", ""]
                    continue
                near = sentences.loc[at]
                mark = "✓" if near["intent"] == sentence["intent"] else "✗"
                line += [f"{cosine:.2f}", f"{near['text']} ({near['language']})", f"{mark} {near['intent']}"]
        head = [cell for name in self._comparison.names for cell in ("cosine", f"{name}: nearest", "intent")]
        return neighbours_cell(sentence, TextTable(head, cells))

    def _table(self) -> str:
        if not self.chosen:
            return chosen_cell()
        rows = self._comparison.changes().loc[list(self.chosen[:_MOST_LISTED])]
        title = f"{counted(len(self.chosen), 'sentence')} chosen"
        if len(self.chosen) > _MOST_LISTED:
            title += f", the first {_MOST_LISTED} of them listed"
        return chosen_cell(f"{title}.", changes_table(self._comparison, rows, with_change=True))
