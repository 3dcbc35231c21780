"""The fine-tuned rows of README.md and docs/evidence.md, from finished runs of `emu bench emu`.

Writes benchmarks/results/fine_tuned.csv: the number of correct queries for each encoder, data set, system, seed and
direction with English on one side. Tests compute the tables of the pages from this file.
"""

import argparse
from pathlib import Path

import pandas as pd

from benchmarks.default_method import LABELLED
from emu_core.files import read_json

OUT = Path(__file__).parent / "results" / "fine_tuned.csv"
CELL = r"(?:peer\.)?(?P<system>[\w-]+)(?:\.(?P<rate>ours|theirs))?\.en\.s(?P<seed>\d+)"
FROZEN = ("posterior", "logistic-regression", "lda")  # measured by benchmarks/published.py


def correct_queries(folder: Path, data: str) -> pd.DataFrame:
    """Return the counts of one benchmark; of a peer, those with the better of its two learning rates.

    Args:
        folder: the benchmark's run folder.
        data: the name of its data set in the tables, such as "sib dev".
    """
    rows = pd.read_parquet(folder / "results.parquet").query("measure == 'correct' and part == ''")
    rows = pd.concat([rows, rows["cell"].str.extract(CELL)], axis=1).dropna(subset="system")
    rows = rows[
        rows["where"].str.split("-").map(lambda pair: LABELLED in pair) & ~rows["system"].isin(FROZEN)
    ]
    rows = rows.fillna({"rate": ""}).astype({"value": int})
    means = rows.groupby(["system", "rate"])["value"].mean()
    best = means.groupby("system").idxmax()
    rows = rows[pd.MultiIndex.from_frame(rows[["system", "rate"]]).isin(best)]
    counts = rows.groupby(["system", "seed", "where"])["value"].agg(right="sum", queries="size").reset_index()
    return counts.assign(encoder=read_json(folder / "config.json")["encoder"], data=data)


def main() -> None:
    """Read the benchmarks and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    folders = {"type": Path, "required": True, "nargs": "+", "metavar": "DIR"}
    parser.add_argument("--sib", help="folders of `emu bench emu` on SIB-200", **folders)
    parser.add_argument("--demo", help="folders of `emu bench emu` on the demo set", **folders)
    options = parser.parse_args()
    tables = [correct_queries(folder, "sib dev") for folder in options.sib]
    tables += [correct_queries(folder, "demo test") for folder in options.demo]
    columns = ["encoder", "data", "system", "seed", "where", "right", "queries"]
    pd.concat(tables)[columns].drop_duplicates(columns[:5]).to_csv(OUT, index=False)


if __name__ == "__main__":
    main()
