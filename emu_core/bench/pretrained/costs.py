"""What each system costs: time, memory, and its speed beside the plain sum of words'."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from emu_core.bench.memory import LEGEND
from emu_core.bench.pretrained.cells import pair_names
from emu_core.bench.pretrained.grid import MISSING
from emu_core.bench.pretrained.results import PretrainedResults
from emu_core.bench.table import Table

SPEED_NOTE = (
    "Sentence pairs (of the other tasks, examples) that the training steps take in a second of the clock, and in a "
    "second of the processor (all threads), which other work on the machine disturbs less; mean over seeds. Counted "
    "are the steps alone, the mining of hard negatives included; not the first step, which begins with reading the "
    "words, nor what is measured after each epoch. Each ratio is to the sum of words trained on the same pairs, or "
    "else on the first."
)
COSTS_NOTE = (
    "Mean over seeds. Seconds of training count from the texts to the trained encoder, the measuring that chooses the "
    "epoch included; CPU seconds are what all threads computed in that time; seconds in all also measure."
)


def speed_table(
    results: PretrainedResults, systems: Sequence[str], plain: str, labels: Mapping[str, str]
) -> Table:
    """Sentence pairs a second, and how many times the plain model's.

    Args:
        results: the finished cells.
        systems: a row for each of them and what it was trained on.
        plain: the system that the others are compared with.
        labels: what to call each.
    """
    rows, data = [], dict[str, Any]()
    first = _speed(results, plain, results.pairs[:1])
    for system, pairs, _ in results.trained(systems):
        own = _speed(results, system, pairs)
        if not own:
            continue
        base = _speed(results, plain, pairs) or first
        ratios = {name: own[name] / base[name] for name in own} if base else {}
        data[f"{system} on {pair_names(pairs)}"] = {
            **own,
            **{f"ratio_{name}": r for name, r in ratios.items()},
        }
        rows.append(
            (
                labels[system],
                pair_names(pairs),
                *(
                    cell
                    for name in ("seconds", "cpu_seconds")
                    for cell in (f"{own[name]:,.0f}", f"{ratios[name]:.2f}" if ratios else MISSING)
                ),
            )
        )
    head = ("model", "trained on", "pairs a second", "ratio", "pairs a CPU second", "ratio (CPU)")
    return Table(
        "speed", "Training speed beside the plain sum of words", head, tuple(rows), (), (SPEED_NOTE,), data
    )


def costs_table(results: PretrainedResults, systems: Sequence[str], labels: Mapping[str, str]) -> Table:
    """A row for each system and the pairs it is trained on."""
    rows, data = [], dict[str, Any]()
    for system, pairs, row in results.trained(systems):
        if not row.cells:
            continue
        costs = {
            "seconds": float(np.mean([cell.seconds for cell in row.cells])),
            "cpu_seconds": float(np.mean([cell.cpu_seconds for cell in row.cells])),
            "seconds_whole": float(np.mean([cell.seconds_whole for cell in row.cells])),
            "peak_mb": max(cell.peak_mb for cell in row.cells),
            "gpu_mb": max(cell.gpu_mb for cell in row.cells),
        }
        data[f"{system} on {pair_names(pairs)}"] = {
            **costs,
            "selected_epochs": [cell.facts.get("selected_epoch") for cell in row.cells],
        }
        shown = (f"{value:.{0 if name.endswith('mb') else 1}f}" for name, value in costs.items())
        rows.append((labels[system], pair_names(pairs), *shown))
    head = (
        "model",
        "trained on",
        "seconds of training",
        "CPU seconds",
        "seconds in all",
        "peak MB",
        "GPU MB",
    )
    return Table(
        "costs", "Time and memory", head, tuple(rows), _warnings(results), (COSTS_NOTE, LEGEND), data
    )


def _speed(results: PretrainedResults, system: str, pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    found = [cell.speed for cell in results.row(system, pairs).cells if cell.speed]
    if not found:
        return {}
    return {name: float(np.mean([speed[name] for speed in found])) for name in ("seconds", "cpu_seconds")}


def _warnings(results: PretrainedResults) -> tuple[str, ...]:
    """What training warned of, each warning once."""
    said = (
        f"{cell.label} warned: {word}."
        for cell, result in results.cells.items()
        for word in result.facts.get("warnings", ())
    )
    return tuple(dict.fromkeys(said))
