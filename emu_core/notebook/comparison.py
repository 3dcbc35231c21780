"""A comparison that shows itself in a notebook, draws its figures and writes its page, each by one call."""

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
from emu_core.charts.markup import (
    accuracy_summary,
    block,
    escaped,
    forgetting_verdict,
    html_table,
    new_intent_verdict,
    paragraph,
    subject,
)
from emu_core.charts.style import on_white, side_by_side
from emu_core.data.wording import counted
from emu_core.errors import DataError, RunError
from emu_core.evaluation.comparison import Comparison
from emu_core.evaluation.film import Film
from emu_core.evaluation.metric_rows import (
    GUARD_HEAD,
    TextTable,
    guard_rows,
    leakage_table,
)
from emu_core.evaluation.projection import aligned, project, stratified_sample
from emu_core.files import disk_fault, write_whole
from emu_core.notebook.explore import Explorer
from emu_core.runs.run import Run
from emu_core.runs.snapshots import read_film

MOST_ON_MAP = 3_000  # sentences; t-SNE lays out so many in some 9 seconds
Which = Side | Literal["difference"]
_BOTH: tuple[Side, ...] = ("base", "other")
_ALL: tuple[Which, ...] = (*_BOTH, "difference")


@dataclass(frozen=True, eq=False, repr=False)
class NotebookComparison(Comparison):
    """The result of `emu_core.compare`: every table of `Comparison`, and figures for a notebook.

    As the last line of a cell it shows its verdict. Tables are DataFrames: `accuracy`, `means`, `gains`, `guards`,
    `leakage`, `changes()`, `confusion()`, `triples()`. Figures are Plotly's: `comparison.plot.accuracy()` and so on,
    see `Plots`.

    Attributes:
        run: the run whose encoder is compared with its own base; None where two others are compared.
        runs: those among the two that are compared.
    """

    run: Run | None = None
    runs: Sequence[Run] = ()

    def __repr__(self) -> str:
        """Say what is compared, and what came of it."""
        base, other = self.names
        title = f"{other} compared with {base} on {counted(len(self.sentences), 'sentence')}"
        try:
            mean = self.means.iloc[0]
        except DataError as error:
            return f"<{title}: {error}>"
        return f"<{title}: mean Acc@1 {mean['base']:.1f} → {mean['other']:.1f} % over {mean['over']}>"

    def _repr_html_(self) -> str:
        base, other = self.names
        title = f"<h3>{escaped(other)} compared with {escaped(base)}</h3>"
        try:
            return block([title, *self._summary()])
        except DataError as error:  # too few sentences to measure anything on
            return block([title, paragraph(str(error), "worse")])

    def _summary(self) -> Sequence[str]:
        parts = [*subject(self), *accuracy_summary(self)]
        if self.forgetting is not None:
            parts.append(forgetting_verdict(self.forgetting))
        metrics = {} if self.run is None else self.run.metrics()
        if "new_intents" in metrics:
            parts.append(new_intent_verdict(metrics["new_intents"]))
        parts += [paragraph(warning, "worse") for warning in metrics.get("warnings", ())]
        parts.append(html_table(TextTable(GUARD_HEAD, guard_rows(self.metrics["guard"]))))
        if self.leakage is not None:
            parts.append(html_table(leakage_table(self)))
        hint = "Figures: comparison.plot. and the Tab key. Tables: comparison.accuracy, .gains, .guards, .changes() ..."
        return [*parts, paragraph(hint, "note")]

    @cached_property
    def plot(self) -> "Plots":
        """The figures: `plot.accuracy()`, `plot.gains()`, `plot.map()` and the others of `Plots`."""
        return Plots(self)

    def explore(
        self, method: str = "tsne", colour_by: ColourBy = "intent", sentences: int = MOST_ON_MAP
    ) -> Explorer:
        """Show both maps as a widget: what is chosen on one lights up on the other, with its neighbours in a table.

        Args:
            method: "tsne", "umap" or "pca"; the last is there at once.
            colour_by: "intent" or "language"; a button changes it.
            sentences: at most so many, drawn evenly from every intent in every language.

        Raises:
            DataError: there is no such method, or there are too few sentences for it.
            EmuError: ipywidgets or anywidget is not installed: `pip install 'emu-core[notebook]'`.
        """
        return Explorer(self, *self.layout(method, sentences), colour_by)

    @property
    def guards(self) -> pd.DataFrame:
        """Return what every guard that was measured says.

        Columns: `guard` ("language", "new intents", "forgetting" or "training"), `of` (a language, a measure),
        `difference`, `low`, `high` (95 %; points, or a correlation's) and `verdict`. The guard of the training has no
        figures: its verdict is an alarm, such as that the vectors have collapsed.
        """
        rows = [{"guard": "language", "of": row["language"], **row} for row in self.gains.to_dict("records")]
        metrics = {} if self.run is None else self.run.metrics()
        if found := metrics.get("new_intents"):
            rows.append({"guard": "new intents", "of": "intents left out", **found})
        if self.forgetting is not None:
            rows += [
                {
                    "guard": "forgetting",
                    "of": f"{row['part']} {row['name']}",
                    "verdict": "fell" if row["flagged"] else "held",
                    **row,
                }
                for row in self.forgetting.to_dict("records")
            ]
        rows += [
            {"guard": "training", "of": "encoder", "verdict": warning}
            for warning in metrics.get("warnings", ())
        ]
        return pd.DataFrame(rows, columns=["guard", "of", "difference", "low", "high", "verdict"])

    def to_html(self, path: str | Path) -> Path:
        """Write everything as one page with interactive charts, which needs no network, as `emu compare --html` does.

        Raises:
            RunError: the file can't be written.
        """
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            write_whole(Path(path), charts.comparison_page(self))
        except OSError as error:
            raise RunError(f"can't write {path}: {disk_fault(error) or error}; choose another file") from None
        return Path(path)

    @cached_property
    def _film(self) -> Film:
        if self.run is None:
            raise DataError(
                "two encoders have no epochs to play; compare a run that was trained with --snapshots with its base"
            )
        return read_film(self.run)

    def animate(self, colour_by: ColourBy = "intent") -> go.Figure:
        """Draw the run's sentences on one map before training and after each epoch, beside the accuracy by language.

        Args:
            colour_by: "intent" or "language".

        Raises:
            DataError: what is compared is not a run with its base.
            RunError: the run was trained without snapshots, or they are damaged.
        """
        return on_white(charts.animation(self._film, colour_by))

    def animation_page(self, colour_by: ColourBy = "intent") -> str:
        """Return `animate`, from the same argument, as one page that needs no network; raises what it raises."""
        return charts.animation_page(self._film, colour_by, f"{self.names[1]}: the space at each epoch")

    def layout(
        self, method: str = "tsne", sentences: int = MOST_ON_MAP
    ) -> tuple[dict[str, NDArray[np.float32]], pd.DataFrame]:
        """Lay out sentences on a plane by each encoder; computed once for the same arguments.

        Args:
            method: "tsne", "umap" or "pca"; the last is there at once.
            sentences: at most so many, drawn evenly from every intent in every language.

        Returns:
            By the encoder's name the points (n, 2), the second map turned onto the first; the n sentences with their
            number as `row`.

        Raises:
            DataError: there is no such method, or there are too few sentences for it.
        """
        key = (method, sentences)
        if key not in self._layouts:
            languages, intents = (self.sentences[name].tolist() for name in ("language", "intent"))
            rows = stratified_sample(languages, intents, sentences)
            part = self.sentences.iloc[rows].assign(row=rows.astype(np.int32)).reset_index(drop=True)
            maps = {
                name: project(vectors[rows], method)
                for name, vectors in zip(self.names, (self.base, self.other), strict=True)
            }
            base, other = self.names
            maps[other] = aligned(maps[other], maps[base])
            self._layouts[key] = maps, part
        return self._layouts[key]

    @cached_property
    def _layouts(self) -> dict[tuple[str, int], tuple[dict[str, NDArray[np.float32]], pd.DataFrame]]:
        return {}


class Plots:
    """The figures of a comparison, all Plotly's: change them, or write them to a file with `write_html`."""

    def __init__(self, comparison: NotebookComparison) -> None:
        """Draw nothing yet."""
        self._comparison = comparison

    def __repr__(self) -> str:
        """List the figures."""
        names = [name for name in vars(Plots) if not name.startswith("_")]
        return f"<figures: {', '.join(f'{name}()' for name in names)}>"

    def accuracy(self, which: Which | None = None) -> go.Figure:
        """Draw Acc@1 by direction: of the base, of the other encoder, and the difference; or one of the three.

        Args:
            which: "base", "other" or "difference"; None draws all.
        """
        shown = _ALL if which is None else (which,)
        return on_white(side_by_side([charts.accuracy(self._comparison, one) for one in shown]))

    def gains(self) -> go.Figure:
        """Draw what each language's queries gained or lost, with 95 % intervals: the language guard."""
        return on_white(charts.gains(self._comparison))

    def curves(self) -> go.Figure:
        """Draw the losses of the runs that are compared, and their accuracy on dev, over the steps.

        Raises:
            DataError: none of them was trained step by step.
        """
        histories = {run.name: found for run in self._comparison.runs if (found := run.history())}
        if not histories:
            raise DataError("there are no curves to draw; compare a run whose method trains step by step")
        return on_white(charts.loss_curves(histories))

    def triple(self, place: int = 0, *, across_languages: bool = False) -> go.Figure:
        """Draw three sentences that the base encoder takes for each other, as a triangle by each encoder.

        Args:
            place: row of `comparison.triples()`.
            across_languages: of the triples whose third sentence is in another language.

        Raises:
            DataError: there are not so many triples.
        """
        found = len(self._comparison.triples(across_languages=across_languages))
        if not 0 <= place < found:
            raise DataError(f"there is no triple {place}; there are {found}, the first of them 0")
        return on_white(charts.triple(self._comparison, place, across_languages=across_languages))

    def similarity(self, rows: Sequence[int] | None = None) -> go.Figure:
        """Draw the cosines of every two of some sentences by both encoders.

        Args:
            rows: their numbers in `comparison.sentences`; None takes a triple that the base encoder gets wrong, with
                its translations.

        Raises:
            DataError: none are named, and the base encoder gets no triple wrong.
        """
        rows = self._comparison.example_rows() if rows is None else list(rows)
        if not rows:
            raise DataError("there is no example to draw; name sentences: plot.similarity(rows=[0, 1, 2])")
        return on_white(side_by_side([charts.similarity(self._comparison, rows, side) for side in _BOTH]))

    def changes(self, pool: str | None = None) -> go.Figure:
        """Draw how many sentences of each language changed their nearest neighbour, and whether for the better.

        Args:
            pool: the language in which neighbours are looked for; None looks in all at once.
        """
        return on_white(charts.changes(self._comparison, pool))

    def confusion(self, which: Which | None = None, pool: str | None = None) -> go.Figure:
        """Draw which intents are taken for each other, before and after, and the difference; or one of the three.

        Args:
            which: "base", "other" or "difference"; None draws all.
            pool: the language in which neighbours are looked for; None looks in all at once.
        """
        shown = _ALL if which is None else (which,)
        return on_white(side_by_side([charts.confusion(self._comparison, one, pool) for one in shown]))

    def map(
        self, method: str = "tsne", colour_by: ColourBy = "intent", sentences: int = MOST_ON_MAP
    ) -> go.Figure:
        """Draw a map of the sentences by each encoder, on which like sentences are near each other.

        Args:
            method: "tsne", "umap" or "pca"; the last is there at once.
            colour_by: "intent" or "language"; the shape says the other.
            sentences: at most so many, drawn evenly from every intent in every language.
        """
        maps, points = self._comparison.layout(method, sentences)
        return on_white(charts.sentence_maps(maps, points, colour_by))

    def forgetting(self, part: str | None = None) -> go.Figure:
        """Draw what the run's encoder has forgotten, as `emu forgetting` measured it.

        Args:
            part: "sts" or "translations"; None takes the first that was measured.

        Raises:
            DataError: it was not measured.
        """
        measured = self._comparison.forgetting
        there = [] if measured is None else list(dict.fromkeys(measured["part"]))
        if measured is None or not there or (part is not None and part not in there):
            raise DataError(
                f"{part or 'forgetting'} was not measured; call emu_core.forgetting(run, sts=FOLDER) and compare again"
            )
        return on_white(charts.forgetting(measured, part or there[0]))
