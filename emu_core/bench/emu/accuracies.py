"""The accuracies of Emu's benchmark: of each system by direction and over seeds, compared with the base encoder."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from emu_core.bench.emu.experiment import BASE, OURS, THEIRS, EmuExperiment, peer_system
from emu_core.bench.paper import paper_words
from emu_core.bench.papers import Preset
from emu_core.bench.peers import Peer
from emu_core.bench.results import PAPER, CellValues, OverSeeds, Results, deviation, with_deviation
from emu_core.bench.specs import Column
from emu_core.evaluation.significance import Difference, binomial_interval, paired_bootstrap, wilcoxon

_WORDS = paper_words("emu")
LABELS, NOTES = _WORDS["labels"], _WORDS["notes"]
MEAN_COLUMNS = (
    Column("mean", shown=lambda of: with_deviation(of["mean"], of["mean_deviation"], of["seeds"])),
    Column("gain", "against base", "{:+.1f}"),
    Column("below_base", "directions below base", lambda of: ", ".join(of["below_base"]) or "none"),
)
AGAINST_BEST = "minus the best peer (95 %)"
LEVELS = (("***", 0.01), ("**", 0.05), ("*", 0.10))
PAPERS_SUFFIX = f".{PAPER}"  # of the key of a row with the paper's settings


def row_label(key: str) -> str:
    """Return the label of a row: of a system, a peer, or a system with the paper's settings."""
    name = key.removesuffix(PAPERS_SUFFIX)
    return LABELS.get(name, name) + (", the paper's settings" if name != key else "")


def level_above(accuracy: float, base_correct: int, queries: int) -> float | None:
    """Return the significance level at which an accuracy, in percent, lies above the base's interval; None if at none.

    The interval is binomial, of `base_correct` right answers to `queries` queries, also for a mean over seeds.
    """
    above = (
        level for _, level in LEVELS if accuracy > binomial_interval(base_correct, queries, 1 - level).high
    )
    return next(above, None)


def level_of(p_value: float) -> float | None:
    """Return the smallest significance level above a p-value; None if there is none."""
    return next((level for _, level in LEVELS if p_value < level), None)


def stars(level: float | None) -> str:
    """Return the marks of a significance level: "***", "**", "*" or ""."""
    return next((marks for marks, marked in LEVELS if marked == level), "")


class PeerOverSeeds(NamedTuple):
    """A peer's cells, of the better of its learning rates if it has two."""

    label: str
    row: OverSeeds
    whose: str = ""  # learning rate it is: "theirs" or "ours", as in the cells
    rate: str = ""  # the learning rate


class Accuracies:
    """The Acc@1 of the benchmark's systems in percent, by direction and over seeds."""

    def __init__(self, experiment: EmuExperiment, results: Results) -> None:
        self.experiment, self.results = experiment, results
        self.directions = experiment.directions
        self.base = results.of(BASE, seeds=(0,))
        # Whether the paper's methods are also trained with the paper's settings.
        self.with_papers = experiment.settings.preset is Preset.PAPER

    def of(self, key: str, on: Sequence[str] | None = None) -> OverSeeds:
        """Return the system of a row over its seeds, trained on the benchmark's languages or on others."""
        trained_on = self.experiment.config.train_languages if on is None else on
        return self.results.of(
            key.removesuffix(PAPERS_SUFFIX), trained_on, PAPER if key.endswith(PAPERS_SUFFIX) else ""
        )

    def percent(self, row: OverSeeds, directions: Sequence[str] | None = None) -> np.ndarray:
        """Return accuracies (seeds, directions); `directions` None takes Table 2's."""
        ways = self.directions if directions is None else directions
        return np.array(
            [[100 * cell.values["correct", "", way].mean() for way in ways] for cell in row.cells]
        )

    def base_percent(self, directions: Sequence[str] | None = None) -> np.ndarray:
        """Return the base encoder's accuracies (directions,)."""
        return np.asarray(self.percent(self.base, directions)[0])

    def peer(self, peer: Peer) -> PeerOverSeeds:
        """Return a peer over its seeds."""
        on, label, system = self.experiment.config.train_languages, LABELS[peer], peer_system(peer)
        if peer.is_frozen:
            return PeerOverSeeds(label, self.results.of(system, on, seeds=(0,)))
        if peer.has_own_budget:
            row = self.results.of(system, on, THEIRS, seeds=self.results.seeds[:1])
            return PeerOverSeeds(label, row, THEIRS, "2e-05")
        tried = {rate: self.results.of(system, on, rate) for rate in (THEIRS, OURS)}
        whose = self.best(tried)
        if not whose:
            return PeerOverSeeds(label, tried[THEIRS])
        rate = "2e-05" if whose == THEIRS else f"{self.experiment.budget.learning_rate:g}"
        return PeerOverSeeds(f"{label} (learning rate {rate}, {whose})", tried[whose], whose, rate)

    def best(self, rows: Mapping[str, OverSeeds]) -> str:
        """Return the name of the system with the highest mean; "" if none was measured."""
        means = {name: float(self.percent(row).mean()) for name, row in rows.items() if row.cells}
        return max(means, key=means.__getitem__, default="")

    def difference(self, row: OverSeeds, other: OverSeeds) -> Difference | None:
        """Return the points by which one system leads another; None if the base's cell does not name its sentences."""
        return self.mean_difference([(self.base, row, other)])

    def mean_difference(self, parts: Sequence[tuple[OverSeeds, OverSeeds, OverSeeds]]) -> Difference | None:
        """Return the mean difference over parts, each with the base encoder, a system, and the one to compare with."""
        differences, sentences = list[CellValues](), list[CellValues]()
        for base, row, other in parts:
            for way in self.directions:
                numbers = base.cells[0].values.get(("sentence", "", way.partition("-")[0]))
                ours, theirs = (one.values("correct", "", way) for one in (row, other))
                if numbers is None or ours is None or theirs is None:
                    return None
                differences.append(ours.mean(axis=0) - theirs.mean(axis=0))
                sentences.append(numbers)
        return paired_bootstrap(differences, [numbers.astype(np.int64) for numbers in sentences])

    @property
    def columns(self) -> tuple[Column, ...]:
        """A column for each direction: its accuracy with its mark, of the output of `numbers`."""
        return tuple(Column(way, shown=partial(_marked, way)) for way in self.directions)

    def numbers(self, row: OverSeeds) -> dict[str, Any]:
        """Return a system's accuracies in percent, by direction and over all, compared with the base's; for JSON."""
        values, base = self.percent(row), self.base_percent()
        mean, means = values.mean(axis=0), values.mean(axis=1)
        accuracy = dict(zip(self.directions, mean.tolist(), strict=True))
        gains = dict(zip(self.directions, (mean - base).tolist(), strict=True))
        right = {way: self.base.cells[0].values["correct", "", way] for way in accuracy}
        return {
            "accuracy": accuracy,
            "deviation": dict(zip(self.directions, deviation(values).tolist(), strict=True)),
            "mean": float(means.mean()),
            "mean_deviation": float(deviation(means)),
            "gain": float(means.mean() - base.mean()),
            "least_gain": min(gains.values()),
            "below_base": [way for way, gain in gains.items() if gain < -1e-9],
            "significance": {
                way: level_above(base_accuracy, int(right[way].sum()), len(right[way]))
                for way, base_accuracy in accuracy.items()
            },
            "seeds": len(values),
            "facts": [dict(cell.facts) for cell in row.cells],
        }

    def changes(self, ways: Mapping[str, str], row: OverSeeds) -> dict[str, float | None]:
        """Return changes relative to the base's accuracy in percent; `ways` are the directions by name."""
        base, mean = (self.percent(of, list(ways.values())).mean(axis=0) for of in (self.base, row))
        changes = [None if b == 0 else float(100 * (m - b) / b) for m, b in zip(mean, base, strict=True)]
        return dict(zip(ways, changes, strict=True))

    def drop(self, with_it: OverSeeds, without: OverSeeds, _: object) -> dict[str, Any]:
        """Return by how much a system is better than the same one without a component."""
        drops = self.percent(with_it).mean(axis=0) - self.percent(without).mean(axis=0)
        p_value = wilcoxon(drops).p_value
        return {
            "drop": float(drops.mean()),
            "p_value": p_value,
            "significance": level_of(p_value),
            "directions": dict(zip(self.directions, drops.tolist(), strict=True)),
        }


def _marked(way: str, of: Mapping[str, Any]) -> str:
    shown = with_deviation(of["accuracy"][way], of["deviation"][way], of["seeds"])
    return shown + stars(of["significance"][way])
