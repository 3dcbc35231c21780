"""Count what docs/papers.md quotes of the papers' experiments on other data, from finished benchmarks.

    python -m benchmarks.paper_tables FOLDER...

takes the folders of `emu bench` and writes benchmarks/results/paper_tables.csv: by experiment, trained system, measure
and direction or language, the sum of the values and their number. `benchmarks.tables --write` writes the tables, which
have the paper's own figures in brackets.
"""

import argparse
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pandas as pd

from emu_core.bench.paper import paper_numbers, paper_words

RESULTS = Path(__file__).parent / "results"
KEYS = ["bench", "cell", "measure", "part", "where"]
SHOWN = {"emu": ("correct",), "dual-encoder": ("eigen", "rank"), "fmda": ("translation", "precision")}

LANGUAGES = ("en", "de", "es", "fr", "ja", "zh")
PARTS = {
    "cls": "[CLS]",
    "mean": "mean pooling",
    "meaning": "meaning",
    "template": "template",
    "residual": "residual",
}
WITHOUT = ("reconstruction", "utterance", "template", "residual", "contrast", "utterance-cross")
ABLATION = (
    ("base", "cls"),
    *(
        (name, "meaning")
        for name in ("baseline", "fmda", *(f"fmda-without-{of}" for of in WITHOUT), "fmda-eq-5")
    ),
)
TARGETS = (
    ("base", "cls"),
    ("base", "mean"),
    ("baseline", "meaning"),
    *(("fmda", part) for part in ("meaning", "template", "residual")),
)
WITHOUT_DISCRIMINATOR, SEED = "emu-without-ld", "s0"
EIGEN = {
    "sum-of-words": "sum of word vectors",
    "translation": "translation ranking",
    "hard-negatives": "hard negatives",
}


@cache
def means(bench: str) -> Mapping[tuple[str, str, str, str], float]:
    """Return the means of an experiment by cell, measure, part and direction."""
    table = pd.read_csv(RESULTS / "paper_tables.csv", keep_default_na=False)
    table = table[table["bench"] == bench]
    keys = zip(*(table[name] for name in KEYS[1:]), strict=True)
    return dict(zip(keys, (table["total"] / table["count"]).tolist(), strict=True))


def gain(trained_on: str, direction: str) -> float:
    """Return by how many percent Emu without its discriminator raises the base encoder's Acc@1."""
    right = means("emu")
    base = right["base." + SEED, "correct", "", direction]
    return 100 * (right[f"{WITHOUT_DISCRIMINATOR}.{trained_on}.{SEED}", "correct", "", direction] / base - 1)


def training_languages() -> list[str]:
    """Return Table 3 of Emu's paper on SIB-200."""
    theirs = paper_numbers("emu")["table3"]
    lines = []
    for trained_on, row in theirs["rows"].items():
        cells = [
            f"{gain(trained_on, way):+.0f} ({said:+.0f})"
            for way, said in zip(theirs["columns"], row, strict=True)
        ]
        lines.append(f"| {trained_on.replace('+', ' + ')} | {' | '.join(cells)} |")
    return lines


def all_pairs() -> list[str]:
    """Return Table 4 of Emu's paper on SIB-200: queries in the language of a row."""
    theirs = paper_numbers("emu")["table4"]
    lines = []
    for asked in LANGUAGES:
        said = dict(zip(theirs["columns"], theirs["rows"][asked], strict=True))
        cells = [f"{gain('en', f'{asked}-{pool}'):+.0f} ({said[pool]:+.0f})" for pool in LANGUAGES]
        lines.append(f"| {asked} | {' | '.join(cells)} |")
    return lines


def eigen() -> list[str]:
    """Return Table 7 of the dual encoder's paper on captions, beside the mean rank of the right translation."""
    found = means("dual-encoder")
    lines = []
    for name, title in EIGEN.items():
        cell = f"{name}.en-de.{SEED}"
        ranks = [found[cell, "rank", "dot", way] for way in ("en-de", "de-en")]
        lines.append(
            f"| {title} | {found[cell, 'eigen', 'mean', 'en-de']:.3f} | {ranks[0]:.1f} / {ranks[1]:.1f} |"
        )
    return lines


def fmda_rows(
    table: str, measure: str, rows: tuple[tuple[str, str], ...], ways: tuple[str, str]
) -> list[str]:
    """Return a table of FMDA's paper on generated commands in percent, by system and embedding."""
    found, theirs = means("fmda"), paper_numbers("fmda")[table]
    columns, lines = theirs["columns"], []
    for system, part in rows:
        cell = system if system == "base" else f"{system}.en-de"
        said = theirs["rows"].get(f"{system} {part}")
        cells = []
        for way in ways:
            place = columns.index(way if way in columns else f"{way} (en-de)")
            theirs_too = "" if said is None else f" ({100 * said[place]:.0f})"
            cells.append(f"{100 * found[f'{cell}.{SEED}', measure, part, way]:.0f}{theirs_too}")
        lines.append(f"| {paper_words('fmda')['labels'][system]} | {PARTS[part]} | {' | '.join(cells)} |")
    return lines


def ablation() -> list[str]:
    """Return Table 4 of FMDA's paper, with two more rows."""
    return fmda_rows("table4", "translation", ABLATION, ("en-de", "de-en"))


def five_targets() -> list[str]:
    """Return Table 6 of FMDA's paper, with mean pooling."""
    return fmda_rows("table6", "precision", TARGETS, ("en", "de"))


def main() -> None:
    """Read the benchmarks and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+")
    tables = []
    for folder in parser.parse_args().folders:
        bench = json.loads((folder / "config.json").read_text("utf-8"))["method"]
        rows = pd.read_parquet(folder / "results.parquet")
        tables.append(rows[rows["measure"].isin(SHOWN[bench])].assign(bench=bench))
    sums = pd.concat(tables).groupby(KEYS)["value"].agg(total="sum", count="size")
    sums.round(4).to_csv(RESULTS / "paper_tables.csv")


if __name__ == "__main__":
    main()
