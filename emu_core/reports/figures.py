"""The figures of a run: the one list that measures, card, text, notebook cells and the app are loops over."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET

from emu_core.data.languages import language_name
from emu_core.data.repeats import group_numbers
from emu_core.errors import RunError
from emu_core.evaluation.changes import Changes, similar_changes
from emu_core.evaluation.comparison import leakage_change
from emu_core.evaluation.prediction import right_intents
from emu_core.evaluation.run_metrics import HeldOut, Metrics
from emu_core.reports import run_figures_as_text as texts
from emu_core.reports.run_figures_as_text import FigureText
from emu_core.reports.verdict import BEFORE_AND_AFTER, COSTS, RIGHT_INTENTS, SIMILAR_SENTENCES, run_verdict

if TYPE_CHECKING:  # a card needs no plotly
    import plotly.graph_objects as go


class Column(NamedTuple):
    """A column of the table of runs: its head, the number of a run, None if it has none, and how that is written."""

    head: str
    number: Callable[[Metrics], float | None]
    format: str = "%.1f"
    is_cost: bool = False  # and no result, by which runs are compared

    @property
    def is_change(self) -> bool:
        """Whether it is the difference of two numbers, which is written with its sign."""
        return self.format.startswith("%+")


class HubResult(NamedTuple):
    """A result in the header of a model card, in percent."""

    subset: str  # a language, or a direction
    split: str
    task: str
    metric: str
    percent: float


@dataclass(frozen=True)
class Figure:
    """A figure of a run: how it is measured, told and drawn.

    Attributes:
        name: in metrics.json.
        title: its heading.
        text: returns how it is told, from its value and all figures of the run; None if there is nothing to tell. It is
            called only where it was measured, maybe with the result that it can't be.
        measure: returns its value from the held-out sentences by the base encoder and by the specialised one, None if
            it can't be measured; None if it is measured elsewhere, as by a method.
        stored: its type, if `Metrics` has no attribute of its name.
        charts: returns how it is drawn, from its value.
        columns: its columns of the table of runs.
        hub_results: returns what the Hugging Face hub shows of it, from its value and all figures of the run.
        is_of_scratch: whether it is one of runs that train an encoder from scratch; None for one of every run.
        is_brief: whether it is also shown where there is little room: in a notebook's cell and in the app.
    """

    name: str
    title: str
    text: Callable[[Any, Metrics], FigureText | None]
    measure: Callable[[HeldOut, HeldOut], object] | None = None
    stored: type | None = None
    charts: "Callable[[Any], Sequence[go.Figure]]" = lambda value: ()
    columns: Sequence[Column] = ()
    hub_results: Callable[[Any, Metrics], Iterable[HubResult]] = lambda value, metrics: ()
    is_of_scratch: bool | None = False
    is_brief: bool = True

    def value(self, metrics: Metrics) -> Any:
        """Return the figure of a run; UNSET if it was not measured.

        Raises:
            RunError: what is stored is of another type.
        """
        if self.stored is None:
            return getattr(metrics, self.name)
        value = metrics.others.get(self.name, UNSET)
        try:
            return value if value is UNSET else msgspec.convert(value, self.stored)
        except msgspec.ValidationError as error:
            raise RunError(f"{self.name} in metrics.json is damaged ({error}); train the run again") from None

    def told(self, metrics: Metrics) -> FigureText | None:
        """Return how the figure of a run is told; None if there is nothing to tell."""
        value = self.value(metrics)
        return None if value is UNSET else self.text(value, metrics)


def measured_figures(base: HeldOut | None, specialised: HeldOut | None) -> dict[str, object]:
    """Return the figures of held-out sentences by name: None if there are no such sentences, or too few."""
    measures = {figure.name: figure.measure for figure in FIGURES if figure.measure is not None}
    if base is None or specialised is None:
        return dict.fromkeys(measures)
    return {name: measure(base, specialised) for name, measure in measures.items()}


def told_figures(metrics: Metrics, *, is_brief: bool = False) -> dict[str, FigureText]:
    """Return how the figures of a run are told, by their titles; where there is little room, those that are brief."""
    told = {figure.title: figure.told(metrics) for figure in FIGURES if figure.is_brief or not is_brief}
    return {title: text for title, text in told.items() if text is not None}


def hub_results(metrics: Metrics) -> list[HubResult]:
    """Return what the Hugging Face hub shows of a run."""
    return [
        result
        for figure in FIGURES
        if (value := figure.value(metrics)) is not UNSET
        for result in figure.hub_results(value, metrics)
    ]


def _change_charts(changes: Changes | None, title: str) -> "Sequence[go.Figure]":
    from emu_core.charts.intervals import change_intervals

    return () if changes is None else [change_intervals(changes.frame, BEFORE_AND_AFTER, title.lower())]


def _on_hub(title: str, changes: Changes | None, metrics: Metrics) -> Iterable[HubResult]:
    by_language = {} if changes is None else changes.by_language
    return [
        HubResult(
            code, metrics.split, title, f"{title} in {language_name(code)}, percent", change.specialised
        )
        for code, change in by_language.items()
    ]


def _columns(title: str, changes_of: Callable[[Metrics], Changes | None]) -> tuple[Column, ...]:
    """Return the columns of a measure: the number after training, and its change."""

    def number(metrics: Metrics, side: str) -> float | None:
        changes = changes_of(metrics)
        return None if changes is None else float(getattr(changes.overall, side))

    return (
        Column(title, lambda metrics: number(metrics, "specialised")),
        Column(f"{title}: change", lambda metrics: number(metrics, "difference"), "%+.1f"),
    )


FIGURES = (
    Figure(
        "right_intents",
        RIGHT_INTENTS,
        lambda measured, metrics: texts.measure_text(run_verdict(metrics).intents),
        lambda base, specialised: right_intents(base.predicted, specialised.predicted),
        charts=lambda value: _change_charts(value, RIGHT_INTENTS),
        columns=_columns(RIGHT_INTENTS, lambda metrics: metrics.right_intents),
        hub_results=lambda value, metrics: _on_hub(RIGHT_INTENTS, value, metrics),
    ),
    Figure(
        "similar_sentences",
        SIMILAR_SENTENCES,
        lambda measured, metrics: texts.measure_text(run_verdict(metrics).similar),
        lambda base, specialised: similar_changes(
            base.measured.accuracy, specialised.measured.accuracy, group_numbers(base.sentences.frame)
        ),
        charts=lambda value: _change_charts(value, SIMILAR_SENTENCES),
        columns=_columns(SIMILAR_SENTENCES, lambda metrics: metrics.similar_sentences),
        hub_results=lambda value, metrics: _on_hub(SIMILAR_SENTENCES, value, metrics),
    ),
    Figure("specialised", f"{SIMILAR_SENTENCES} by language pair", texts.directions_text, is_brief=False),
    Figure("cross_validation", "Cross-validation", texts.cross_validation_text, is_brief=False),
    Figure("new_intents", "Intents without labels", texts.new_intents_text, is_brief=False),
    Figure(
        "leakage",
        "Language in the vectors",
        texts.leakage_text,
        lambda base, specialised: leakage_change(base.measured, specialised.measured),
        is_brief=False,
    ),
    Figure("parts", "Parts of the vectors", texts.parts_text, is_brief=False),
    Figure(
        "translation",
        "Translation retrieval",
        texts.translation_text,
        columns=(Column("P@1", lambda metrics: metrics.trained_p_at_1),),
        hub_results=lambda value, metrics: [
            HubResult(pair, "test", "Translation retrieval", "P@1, percent", ranking.p_at_1)
            for pair, ranking in (value or {}).items()
        ],
        is_of_scratch=True,
    ),
    Figure("eigen_similarity", "Eigen-similarity", texts.eigen_text, is_of_scratch=True, is_brief=False),
    Figure(
        "peak_memory_mb",
        COSTS,
        texts.costs_text,
        columns=(Column("Memory, MB", lambda metrics: metrics.peak_memory_mb or None, "%.0f", is_cost=True),),
        is_of_scratch=None,
        is_brief=False,
    ),
)
