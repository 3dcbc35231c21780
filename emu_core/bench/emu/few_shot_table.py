"""The table and the curve of Emu's benchmark with few labels."""

from collections.abc import Sequence
from dataclasses import dataclass

from emu_core.bench.emu.accuracies import LABELS, NOTES, Accuracies, row_label
from emu_core.bench.emu.experiment import BASE, few_shot_systems
from emu_core.bench.emu.few_shot import numbers_of_labels
from emu_core.bench.pictures import Curves, Picture
from emu_core.bench.specs import Column, Line, TableSpec
from emu_core.bench.tables import Table
from emu_core.evaluation.significance import student_interval


def few_shot_table(accuracies: Accuracies) -> Table:
    """Return the accuracies of methods and peers with few labels, each a mean over draws of the labels."""
    experiment = accuracies.experiment
    numbers = numbers_of_labels(experiment.data.train, experiment.config.train_languages)
    base = float(accuracies.base_percent().mean())
    lines = [Line((LABELS[BASE],), shown={str(count): f"{base:.1f}" for count in numbers})]
    for system, rates in few_shot_systems().items():
        key = system.removeprefix("peer.")
        measured = {str(count): _few_shot(accuracies, system, rates, count) for count in numbers}
        means = {count: figures for count, figures in measured.items() if isinstance(figures, FewShot)}
        reason = "" if means else str(measured[str(numbers[0])])
        lines.append(Line((row_label(key),), key, figures=means, missing=reason))
    columns = [Column(str(count), f"{count} labels") for count in numbers]
    return TableSpec("emu", "few_shot", ("system",), columns, ("few_shot", "rates"), missing="").table(lines)


@dataclass(frozen=True)
class FewShot:
    """A system's mean Acc@1 in percent over draws of the labels, with its 95 % interval; None for a single draw."""

    mean: float
    low: float | None
    high: float | None
    draws: int
    learning_rate: str  # whose it is, of a peer that is trained

    def __str__(self) -> str:
        return f"{self.mean:.1f}" + ("" if self.high is None else f" ±{self.high - self.mean:.1f}")


def _few_shot(accuracies: Accuracies, system: str, rates: Sequence[str], labels: int) -> FewShot | str:
    """Return a system's accuracies with the learning rate that is better on average, or why none was measured."""
    experiment = accuracies.experiment
    on, draws = experiment.config.train_languages, range(experiment.settings.draws)
    rows = {rate: accuracies.results.of(system, on, rate, draws, labels) for rate in rates}
    means = {rate: accuracies.percent(row).mean(axis=1) for rate, row in rows.items() if row.cells}
    if not means:
        return next(iter(rows.values())).reason
    rate = max(means, key=lambda name: means[name].mean())
    values = means[rate]
    low, high = student_interval(values, 0.95) if len(values) > 1 else (None, None)
    return FewShot(float(values.mean()), low, high, len(values), rate)


def few_shot_picture(table: Table, base: float) -> Picture:
    """Return the curves of a few-shot table, with a line at the base encoder's accuracy in percent."""
    title = "Acc@1 by the number of labels"
    curves = {
        row_label(key): {int(count): figures["mean"] for count, figures in data.items()}
        for key, data in table.data.items()
        if "not_measured" not in data
    }
    drawing = Curves({title: curves}, {title: base}, list(curves), "labels an intent", LABELS[BASE])
    return Picture("figure_few_shot", title, NOTES["few_shot"], drawing)
