"""Gather what benchmarks measured with few labels into results/few_shot.csv, for the evidence page's tables.

    emu bench emu demo --encoder use --tables few-shot --out bench/demo
    emu bench emu sib200/ --encoder use --tables few-shot --out bench/sib
    python -m benchmarks.few_shot demo=bench/demo sib=bench/sib

A row is the Acc@1 in percent of one system, trained on one draw of the labels: the mean over the benchmark's
directions. Of a benchmark that is not finished, those numbers of labels are taken of which all cells are finished. Rows
of sets that are not named stay.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.tables import RESULTS
from emu_core.bench.emu.experiment import BASE, EmuExperiment
from emu_core.bench.job import open_bench
from emu_core.bench.results import CellResult
from emu_core.runs.run import Run

COLUMNS = ("data", "encoder", "system", "rate", "labels", "draw", "accuracy")


def rows_of(data: str, folder: Path) -> list[tuple[str, str, str, str, int, int, float]]:
    """Return a row for every finished cell of a benchmark; of the base encoder with 0 labels."""
    experiment = open_bench(Run(folder))
    if not isinstance(experiment, EmuExperiment):
        raise SystemExit(f"{folder} is a benchmark of another paper")
    encoder = experiment.config.encoder
    cells = [(cell, experiment.read(cell)) for cell in experiment.cells()]
    unfinished = {cell.labels for cell, result in cells if result is None}
    return [
        (
            data,
            encoder,
            cell.system,
            cell.variant,
            cell.labels,
            cell.seed,
            _accuracy(result, experiment.directions),
        )
        for cell, result in cells
        if result is not None and cell.labels not in unfinished and (cell.labels or cell.system == BASE)
    ]


def _accuracy(result: CellResult, directions: Sequence[str]) -> float:
    return round(100 * float(np.mean([result.values["correct", "", way].mean() for way in directions])), 4)


def main() -> None:
    """Gather and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", metavar="SET=FOLDER", help="benchmarks, each of a set")
    named = dict(item.split("=", 1) for item in parser.parse_args().folders)
    rows = [row for data, folder in named.items() for row in rows_of(data, Path(folder))]
    path = RESULTS / "few_shot.csv"
    kept = pd.read_csv(path, keep_default_na=False)
    kept = kept[~kept["data"].isin(named)]
    pd.concat([kept, pd.DataFrame(rows, columns=COLUMNS)]).to_csv(path, index=False)


if __name__ == "__main__":
    main()
