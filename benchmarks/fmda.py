"""Count what docs/evidence.md quotes of FMDA, from a finished `emu bench fmda`.

Writes benchmarks/results/fmda.csv, or fmda_weights.csv with `--weights`: the number of correct queries by system,
embedding, measure and direction or language. Measures that end in "new" have only queries whose template no system was
given.
"""

import argparse
from pathlib import Path

import pandas as pd

from emu_core.bench.fmda.experiment import NEW

RESULTS = Path(__file__).parent / "results"
MEASURES = [f"{measure}{of}" for measure in ("translation", "template") for of in ("", NEW)]


def main() -> None:
    """Read the benchmark and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "folder", type=Path, help="of emu bench fmda commands --tables 2 3 5 --seeds 0 --pair en-de"
    )
    parser.add_argument("--weights", action="store_true", help="of --tables 2 4, with equation 5's weights")
    options = parser.parse_args()
    rows = pd.read_parquet(options.folder / "results.parquet").query("measure in @MEASURES")
    rows = rows.assign(system=rows["cell"].str.partition(".")[0])
    counts = rows.groupby(["system", "part", "measure", "where"])["value"].agg(right="sum", queries="size")
    counts.astype(int).to_csv(RESULTS / f"fmda{'_weights' if options.weights else ''}.csv")


if __name__ == "__main__":
    main()
