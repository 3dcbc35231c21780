"""A comparison for notebooks: its summary, its figures and its page, each by one call."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from emu_core import charts
from emu_core.charts.comparison import Side
from emu_core.charts.marks import ColourBy
from emu_core.charts.style import on_white, side_by_side
from emu_core.data.wording import counted
from emu_core.errors import DataError, Fix
from emu_core.evaluation.comparison import Comparison
from emu_core.evaluation.film import Film
from emu_core.evaluation.neighbour_changes import Morph
from emu_core.evaluation.projection import aligned, project, stratified_sample
from emu_core.files import write_named
from emu_core.notebook.explore import Explorer
from emu_core.reports import views
from emu_core.reports.cells import comparison_cell, message_cell, view_cell
from emu_core.reports.comparison_page import comparison_page, comparison_title
from emu_core.reports.map_pages import animation_page, morph_page
from emu_core.reports.verdict import comparison_verdict
from emu_core.reports.views import ComparisonView
from emu_core.runs.run import Run
from emu_core.runs.snapshots import read_film

MOST_ON_MAP = 3_000  # sentences, which t-SNE lays out in about 9 seconds
Which = Side | Literal["difference"]
_BOTH: tuple[Side, ...] = ("base", "other")
_ALL: tuple[Which, ...] = (*_BOTH, "difference")


@dataclass(frozen=True, eq=False, repr=False)
class RunComparison(Comparison):
    """The result of `emu_core.compare`: the tables of `Comparison`, and figures for a notebook.

    As the last line of a cell it shows a summary. Tables are DataFrames: `accuracy`, `means`, `gains`,
    `leakage`, `changes()`, `confusion()`, `triples()`. Figures are Plotly's, such as `comparison.plot.accuracy()`;
    see `Plots`.

    Attributes:
        run: the run whose encoder is compared with its own base; None if two others are compared.
        runs: the compared encoders that are runs.
    """

    run: Run | None = None
    runs: Sequence[Run] = ()

    def __repr__(self) -> str:
        base, other = self.names
        title = f"{other} compared with {base} on {counted(len(self.sentences), 'sentence')}"
        try:
            return f"<{title}: {comparison_verdict(self).sentence}>"
        except DataError as error:
            return f"<{title}: {error}>"

    @cached_property
    def film(self) -> Film:
        """The sentences that the run stored before training and after each epoch.

        Raises:
            DataError: the comparison is not of a run with its base.
            RunError: the run was trained without snapshots, or they are damaged.
        """
        if self.run is None:
            raise DataError(
                "two encoders have no epochs to play; compare with its base a run that was trained with ",
                Fix("snapshots", True),
            )
        return read_film(self.run)

    def layout(
        self, method: str = "tsne", sentences: int = MOST_ON_MAP
    ) -> tuple[dict[str, NDArray[np.float32]], pd.DataFrame]:
        """Lay sentences out on a plane by each encoder; the result for the same arguments is cached.

        Args:
            method: "tsne", "umap" or "pca", of which PCA is the fastest.
            sentences: the largest number of sentences, sampled evenly from every intent in every language.

        Returns:
            The points (n, 2) by the encoder's name, the second map rotated onto the first; and the n sentences, with
            their row number in `sentences` as `row`.

        Raises:
            DataError: the method is unknown, or there are too few sentences for it.
        """
        key = (method, sentences)
        if key not in self._layouts:
            languages, intents = (self.sentences[name].tolist() for name in ("language", "intent"))
            rows = stratified_sample(languages, intents, sentences)
            part = self.sentences.iloc[rows].assign(row=rows.astype(np.int32)).reset_index(drop=True)
            base, other = (project(vectors[rows], method) for vectors in (self.base, self.other))
            maps = dict(zip(self.names, (base, aligned(other, base)), strict=True))
            self._layouts[key] = maps, part
        return self._layouts[key]

    def morphed(self, method: str = "tsne", sentences: int = MOST_ON_MAP) -> Morph:
        """Return the maps of `layout`, and how the nearest neighbour of each of their sentences changed.

        The arguments and errors are those of `layout`.
        """
        maps, points = self.layout(method, sentences)
        changes = self.changes()["change"].to_numpy(dtype=str)[points["row"]]
        return Morph(points, self.names, np.stack(list(maps.values())), changes)

    @cached_property
    def _layouts(self) -> dict[tuple[str, int], tuple[dict[str, NDArray[np.float32]], pd.DataFrame]]:
        return {}

    def _repr_html_(self) -> str:
        try:
            return comparison_cell(self)
        except DataError as error:  # too few sentences to measure anything
            return message_cell(str(error), title=comparison_title(self))

    def view(self, name: str) -> "NotebookView":
        """Return a view of the comparison, which shows its figures and its table as the last line of a cell.

        Args:
            name: "accuracy", "gains", "leakage", "changes", "triples" or another name in `emu_core.reports.views`.

        Raises:
            DataError: there is no such view.
        """
        named = {view.name: view for view in views.VIEWS}
        if name not in named:
            raise DataError(f"there is no view '{name[:60]}'; there are: {', '.join(named)}")
        return NotebookView(named[name], self)

    @cached_property
    def plot(self) -> "Plots":
        """The figures: `plot.accuracy()`, `plot.gains()`, `plot.map()` and the others of `Plots`."""
        return Plots(self)

    def explore(
        self, method: str = "tsne", colour_by: ColourBy = "intent", sentences: int = MOST_ON_MAP
    ) -> Explorer:
        """Show both maps as a linked widget: sentences chosen on one are highlighted on both, with their neighbours.

        The arguments are those of `Plots.map`; a button changes the colours.

        Raises:
            DataError: the method is unknown, or there are too few sentences for it.
            EmuError: ipywidgets or anywidget is not installed: `pip install 'emu-core[notebook]'`.
        """
        return Explorer(self, *self.layout(method, sentences), colour_by)

    def to_html(self, path: str | Path) -> Path:
        """Write a page with the comparison and interactive charts; it needs no network.

        Raises:
            RunError: the file can't be written.
        """
        return write_named(path, comparison_page(self))

    def morph(self, method: str = "tsne", sentences: int = MOST_ON_MAP) -> go.Figure:
        """Draw one map that a slider turns from the one encoder's into the other's.

        A sentence whose nearest neighbour became right leaves a green trail, one whose neighbour became wrong an
        orange one (`changes`). The arguments and errors are those of `Plots.map`.
        """
        return on_white(charts.morph(self.morphed(method, sentences)))

    def morph_page(self, method: str = "tsne", sentences: int = MOST_ON_MAP) -> str:
        """Return the figure of `morph` as an HTML page that needs no network; arguments and errors are the same."""
        return morph_page(self.morphed(method, sentences))

    def animate(self, colour_by: ColourBy = "intent") -> go.Figure:
        """Draw the run's sentences on one map before training and after each epoch, beside the accuracy by language.

        Args:
            colour_by: "intent" or "language".

        Raises:
            DataError: the comparison is not of a run with its base.
            RunError: the run was trained without snapshots, or they are damaged.
        """
        return on_white(charts.animation(self.film, colour_by))

    def animation_page(self, colour_by: ColourBy = "intent") -> str:
        """Return the figure of `animate` as an HTML page that needs no network; arguments and errors are the same."""
        return animation_page(self.film, colour_by, self.names[1])


@dataclass(frozen=True, eq=False)
class NotebookView:
    """A view of a comparison in a notebook.

    Attributes:
        view: what is shown.
        comparison: of which it is shown.
    """

    view: ComparisonView
    comparison: Comparison

    def __repr__(self) -> str:
        """Return the title, not the frames of a dataclass."""
        return f"<view: {self.view.title}>"

    @property
    def figures(self) -> list[go.Figure]:
        """Its figures, which may be none."""
        return [on_white(figure) for figure in self.view.figures(self.comparison)]

    @property
    def table(self) -> pd.DataFrame | None:
        """Its numbers; None if they were not measured."""
        return self.view.table(self.comparison)

    def _ipython_display_(self) -> None:
        from IPython.display import HTML, display

        display(HTML(view_cell(self.view, self.comparison)), *self.figures)


class Plots:
    """The figures of a comparison, all Plotly's: change them, or write them to a file with `write_html`.

    `which` is "base", "other" or "difference"; None draws all three side by side. `pool` is the language in which
    neighbours are looked for; None looks in all at once.
    """

    def __init__(self, comparison: RunComparison) -> None:
        self._comparison = comparison

    def __repr__(self) -> str:
        names = [name for name in vars(Plots) if not name.startswith("_")]
        return f"<figures: {', '.join(f'{name}()' for name in names)}>"

    def accuracy(self, which: Which | None = None) -> go.Figure:
        """Draw Acc@1 by direction."""
        shown = _ALL if which is None else (which,)
        return on_white(side_by_side([charts.accuracy(self._comparison, side) for side in shown]))

    def gains(self) -> go.Figure:
        """Draw how much better or worse similar sentences are found in each language, with 95 % intervals."""
        return on_white(charts.gains(self._comparison))

    def curves(self) -> go.Figure:
        """Draw the losses of the compared runs, and their accuracy on dev, over the steps.

        Raises:
            DataError: none of them was trained step by step.
        """
        histories = {run.name: history for run in self._comparison.runs if (history := run.history())}
        if not histories:
            raise DataError("there are no curves to draw; compare a run whose method trains step by step")
        return on_white(charts.loss_curves(histories))

    def triple(self, number: int = 0, *, across_languages: bool = False) -> go.Figure:
        """Draw three sentences that the base encoder confuses, as a triangle by each encoder.

        Args:
            number: row of `comparison.triples()`.
            across_languages: take the triples whose third sentence is in another language.

        Raises:
            DataError: there is no such row.
        """
        count = len(self._comparison.triples(across_languages=across_languages))
        if not 0 <= number < count:
            raise DataError(f"there is no triple {number}; there are {count}, the first of them 0")
        return on_white(charts.triple(self._comparison, number, across_languages=across_languages))

    def similarity(self, rows: Sequence[int] | None = None) -> go.Figure:
        """Draw the cosines between sentences by both encoders.

        Args:
            rows: row numbers in `comparison.sentences`; None takes a triple that the base encoder gets wrong, with its
                translations.

        Raises:
            DataError: no rows are given, and the base encoder gets no triple wrong.
        """
        rows = self._comparison.example_rows() if rows is None else list(rows)
        if not rows:
            raise DataError("there is no example to draw; name sentences: plot.similarity(rows=[0, 1, 2])")
        return on_white(side_by_side([charts.similarity(self._comparison, rows, side) for side in _BOTH]))

    def changes(self, pool: str | None = None) -> go.Figure:
        """Draw how many sentences of each language changed their nearest neighbour, and whether for the better."""
        return on_white(charts.changes(self._comparison, pool))

    def confusion(self, which: Which | None = None, pool: str | None = None) -> go.Figure:
        """Draw which intents are confused with each other."""
        shown = _ALL if which is None else (which,)
        return on_white(side_by_side([charts.confusion(self._comparison, side, pool) for side in shown]))

    def map(
        self,
        method: str = "tsne",
        colour_by: ColourBy = "intent",
        sentences: int = MOST_ON_MAP,
        *,
        shape_languages: bool = False,
    ) -> go.Figure:
        """Draw a map of the sentences by each encoder, on which similar sentences are close together.

        Args:
            method: "tsne", "umap" or "pca", of which PCA is the fastest.
            colour_by: "intent" or "language".
            sentences: the largest number of sentences, sampled evenly from every intent in every language.
            shape_languages: whether the shape of a point shows its language, where the colour shows the intent.
        """
        maps, points = self._comparison.layout(method, sentences)
        figure = charts.sentence_maps(maps, points, colour_by, shape_languages=shape_languages)
        return on_white(figure)

    def forgetting(self, part: str | None = None) -> go.Figure:
        """Draw what the run's encoder has forgotten, as `emu_core.forgetting` measured it.

        Args:
            part: "sts" or "translations"; None takes the first that was measured.

        Raises:
            DataError: it was not measured.
        """
        measured = self._comparison.forgetting
        parts = [] if measured is None else list(dict.fromkeys(measured["part"]))
        if measured is None or not parts or (part is not None and part not in parts):
            raise DataError(
                f"{part or 'forgetting'} was not measured; call emu_core.forgetting(run, sts=FOLDER) and compare again"
            )
        return on_white(charts.forgetting(measured, part or parts[0]))
