"""Right intents against the CPU time that all labels take: docs/costs.png, from the committed outcomes.

    python -m benchmarks.costs

The sets are those that chose nothing and were measured once, at the end. CPU seconds are those of one fit or training,
which for a frozen encoder come after encoding, from results/intents.csv (`benchmarks.intents --keep`) and
results/training_seconds.csv (`benchmarks.fine_tuned`).
"""

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

from benchmarks.named import BOTH, DOCS, FROZEN, MEASURES, OURS, SETS, TRAINED
from benchmarks.outcomes import FOLDER, Measured, outcomes_of
from benchmarks.sets import POOLED, UNTOUCHED

COLOURS = {"use": "#0072b2", "e5-small": "#009e73", BOTH: "#d55e00"}
REACH = 40  # names of points that differ by less than this factor would meet
TITLES = {OURS: "intent model", "emu": "Emu", **FROZEN, **TRAINED}


class Cost(NamedTuple):
    """What a system took, and what it reaches."""

    system: str
    encoder: str
    cpu_s: float
    right: float  # intents, in percent


def frozen_costs(data: str) -> Iterator[Cost]:
    """Yield what classifies the vectors of an encoder that stays as it is."""
    kept = pd.read_csv(FOLDER.parent / "intents.csv", dtype={"labels": str}, keep_default_na=False)
    kept = kept[(kept["set"] == data) & (kept["labels"] == "all")]
    for encoder, rows in kept.groupby("encoder"):
        figures = rows.groupby("measure")["value"].mean()
        for system in (OURS, *FROZEN):
            seconds = "fit_cpu_s" if system == OURS else f"{system}_cpu_s"
            if seconds in figures:
                # The clock of the CPU has steps of a hundredth.
                yield Cost(system, str(encoder), max(figures[seconds], 0.01), figures[system])


def trained_costs(data: str) -> Iterator[Cost]:
    """Yield what trains an encoder: by the better learning rate, by its classifier or by the nearest sentence."""
    seconds = pd.read_csv(FOLDER.parent / "training_seconds.csv", keep_default_na=False)
    seconds = seconds[(seconds["set"] == data) & (seconds["part"] == POOLED)]
    outcomes = outcomes_of(data)
    for (encoder, system), of_system in seconds.groupby(["encoder", "system"]):
        found = [
            (outcomes.accuracies(one, [POOLED]).mean(), of_rate["cpu_s"].mean())
            for rate, of_rate in of_system.groupby("rate")
            for measure in MEASURES
            if outcomes.seeds(one := Measured(POOLED, str(encoder), str(system), 0, str(rate), measure))
        ]
        right, cpu_s = max(found)
        yield Cost(str(system), str(encoder), cpu_s, right)


def draw() -> None:
    """Draw a panel for each set."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(UNTOUCHED), figsize=(11, 4.2), layout="constrained")
    encoders = set[str]()
    for axes, data in zip(panels, UNTOUCHED, strict=True):
        costs = [*frozen_costs(data), *trained_costs(data)]
        for one in costs:
            marker = "*" if one.system == OURS else "o"
            size = 13 if marker == "*" else 5
            axes.plot(one.cpu_s, one.right, marker, color=COLOURS[one.encoder], markersize=size)
        encoders |= {one.encoder for one in costs}
        step = (max(one.right for one in costs) - min(one.right for one in costs)) / 24  # a line's height
        lines: list[Cost] = []  # as they are written: names of points that are close move up
        for one in sorted(costs, key=lambda one: one.right):
            near = [line.right for line in lines if 1 / REACH < line.cpu_s / one.cpu_s < REACH]
            lines.append(one._replace(right=max([one.right, *(place + step for place in near)])))
        for line in lines:
            place = (line.cpu_s, line.right)
            axes.annotate(
                f"  {TITLES[line.system]}", place, va="center", fontsize=8, color=COLOURS[line.encoder]
            )
        axes.set_xscale("log")
        axes.set_xlim(0.005, 3000)
        axes.set_title(SETS[data].partition(",")[0].partition(":")[0], fontsize=11)
        axes.grid(color="#ddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("right intents, %")
    figure.supxlabel("CPU seconds of one fit or training with all English labels", fontsize=10)
    for encoder in (one for one in COLOURS if one in encoders):
        panels[0].plot([], [], "o", color=COLOURS[encoder], label="both" if encoder == BOTH else encoder)
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(DOCS / "costs.png", dpi=110)


if __name__ == "__main__":
    draw()
