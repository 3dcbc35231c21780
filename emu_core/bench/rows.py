"""Rows of accuracies against the base, as Table 2 and the table of peers share them."""

from typing import Any

import numpy as np

from emu_core.bench.marks import mark
from emu_core.bench.results import Results, Row

HEAD = ("mean", "against base", "directions below base")


def accuracy_cells(row: Row, results: Results) -> tuple[str, ...]:
    """Return what HEAD names, then a system's accuracy in each direction with its spread over seeds and marks."""
    directions = results.directions
    values, base = row.accuracy(directions), results.base_accuracy(directions)
    mean = values.mean(axis=0)
    cells = []
    for i, direction in enumerate(directions):
        right = results.base.correct[direction]
        stars = mark(mean[i], int(right.sum()), len(right))
        cells.append(spread(values[:, i]) + stars)
    below = [direction for i, direction in enumerate(directions) if mean[i] < base[i] - 1e-9]
    gain = mean.mean() - base.mean()
    return (spread(values.mean(axis=1)), f"{gain:+.1f}", ", ".join(below) or "none", *cells)


def accuracy_data(row: Row, results: Results) -> dict[str, Any]:
    """Return the same unrounded, for the JSON."""
    directions = results.directions
    values, base = row.accuracy(directions), results.base_accuracy(directions)
    means = values.mean(axis=1)
    return {
        "accuracy": dict(zip(directions, values.mean(axis=0).tolist(), strict=True)),
        "deviation": dict(zip(directions, deviation(values).tolist(), strict=True)),
        "mean": float(means.mean()),
        "mean_deviation": float(deviation(means)),
        "gain": float(means.mean() - base.mean()),
        "least_gain": float((values.mean(axis=0) - base).min()),
        "seeds": len(values),
        "facts": [dict(cell.facts) for cell in row.cells],
    }


def warned(label: str, row: Row) -> tuple[str, ...]:
    """Return what training warned of, a sentence for each different warning."""
    said = dict.fromkeys(word for cell in row.cells for word in cell.facts.get("warnings", ()))
    return tuple(f"{label} warned: {word}." for word in said)


def deviation(values: np.ndarray) -> np.ndarray:
    """Return the standard deviation over seeds (n - 1 below the line); 0 for a single one."""
    return values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1:])


def spread(values: np.ndarray) -> str:
    """Return the mean over seeds, with the standard deviation where there are several."""
    return f"{values.mean():.1f}" + (f" ±{float(deviation(values)):.1f}" if len(values) > 1 else "")
