"""Count what docs/papers.md quotes of the papers' experiments on other data, from finished benchmarks.

    python -m benchmarks.paper_tables FOLDER...

takes the folders of `emu bench` and writes benchmarks/results/paper_tables.csv: by experiment, trained system, measure
and direction or language, the sum of the values and their number. Rows of other experiments stay. Of FMDA with several
language pairs, it also writes fmda_cases.csv: of the first pair, the first `CASES` test utterances, in the order of the
data, that FMDA's meaning has right and another embedding wrong, and the first of which the reverse is true.
`benchmarks.tables --write` writes the tables, which have the paper's own figures in brackets.
"""

import argparse
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from statistics import fmean

import pandas as pd

from emu_core.bench.fmda.experiment import FmdaExperiment
from emu_core.bench.paper import paper_numbers, paper_words
from emu_core.bench.results import Cell, pair_names
from emu_core.runs.run import Run

RESULTS = Path(__file__).parent / "results"
KEYS = ["bench", "cell", "measure", "part", "where"]
SEVERAL = "fmda of several pairs"
SHOWN = {
    "emu": ("correct",),
    "dual-encoder": ("eigen", "rank"),
    "fmda": ("translation", "precision"),
    SEVERAL: ("translation", "template"),
}

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
PAIRS = ("en-de", "en-es", "en-ru")
FAR = {"ru": "ja"}  # the language of another script here, and that of the paper
# What a case compares FMDA's meaning with, by table.
OTHERS = {"7": ("baseline", "meaning"), "8": ("fmda", "template")}
CASES = 2  # each way
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


def several_pairs() -> list[str]:
    """Return Table 9 of FMDA's paper: translations by meaning, and templates by FMDA's template embedding."""
    found, theirs = means(SEVERAL), paper_numbers("fmda")["table9"]["rows"]
    translations = [f"{pair[-2:]}-{pair[:2]}" for pair in PAIRS]
    (ours, paper), lines = next(iter(FAR.items())), []
    for task in (*translations, *dict.fromkeys("-".join(PAIRS).split("-"))):
        measure, part = ("translation", "meaning") if task in translations else ("template", "template")
        single = [pair for pair in PAIRS if set(task.split("-")) <= set(pair.split("-"))]
        models = (("baseline", "meaning", single), ("fmda", part, single), ("fmda", part, ["+".join(PAIRS)]))
        said = theirs[task.replace(ours, paper)]
        cells = [
            100 * fmean(found[f"{system}.{on}.{SEED}", measure, name, task] for on in trained_on)
            for system, name, trained_on in models
        ]
        shown = " | ".join(f"{mean:.0f} ({100 * of:.0f})" for mean, of in zip(cells, said, strict=True))
        lines.append(f"| {task}{f' ({task.replace(ours, paper)})' if ours in task else ''} | {shown} |")
    return lines


def cases() -> list[str]:
    """Return cases like those of Tables 7 and 8 of FMDA's paper, with the English of what is retrieved."""
    table = pd.read_csv(RESULTS / "fmda_cases.csv", keep_default_na=False, dtype=str)
    labels = paper_words("fmda")["labels"]
    lines = []
    for row in table.itertuples(index=False):
        system, part = OTHERS[str(row.table)]
        shown = [
            f"{'right' if row.right == which else 'wrong'}: {text} ({english})"
            for which, text, english in (
                ("meaning", row.meaning, row.meaning_english),
                ("other", row.other, row.other_english),
            )
        ]
        lines.append(
            f"| {row.query} | {shown[0]} | {labels[system]}, {PARTS[part]} | {shown[1]} | {row.of} |"
        )
    return lines


def cases_of(folder: Path) -> pd.DataFrame:
    """Return the cases of a benchmark's first pair, queries in its first language."""
    experiment = FmdaExperiment.open(Run(folder))
    [tested], on = experiment.data.test_pairs(experiment.pairs[:1]), pair_names(experiment.pairs[:1])
    queries, pool = ([utterance.text for utterance in side] for side in (tested.first, tested.second))

    def of(measure: str, system: str, part: str) -> list[int]:
        result = experiment.read(Cell(system, on))
        if result is None:
            raise SystemExit(f"{folder} has no {system} of {on[0]}")
        return [int(value) for value in result.values[measure, part, on[0]]]

    rows = []
    for table, other in OTHERS.items():
        asked = (("fmda", "meaning"), other)
        right, found = ([of(measure, *one) for one in asked] for measure in ("translation", "retrieved"))
        for which, (winner, loser) in {"meaning": right, "other": right[::-1]}.items():
            alone = [row for row, _ in enumerate(queries) if winner[row] and not loser[row]]
            for row in alone[:CASES]:
                texts = [(pool[retrieved[row]], queries[retrieved[row]]) for retrieved in found]
                rows.append((table, which, len(alone), queries[row], *texts[0], *texts[1]))
    columns = ["table", "right", "of", "query", "meaning", "meaning_english", "other", "other_english"]
    return pd.DataFrame(rows, columns=columns)


def main() -> None:
    """Read the benchmarks and write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+")
    tables = []
    for folder in parser.parse_args().folders:
        config = json.loads((folder / "config.json").read_text("utf-8"))
        bench = config["method"]
        if bench == "fmda" and len(config["pairs"]) > 1:
            bench = SEVERAL
            cases_of(folder).to_csv(RESULTS / "fmda_cases.csv", index=False)
        rows = pd.read_parquet(folder / "results.parquet")
        tables.append(rows[rows["measure"].isin(SHOWN[bench])].assign(bench=bench))
    sums = pd.concat(tables).groupby(KEYS)["value"].agg(total="sum", count="size").round(4).reset_index()
    path = RESULTS / "paper_tables.csv"
    there = pd.read_csv(path, keep_default_na=False)
    kept = there[~there["bench"].isin(sums["bench"])]
    pd.concat([kept, sums]).sort_values(KEYS).to_csv(path, index=False)


if __name__ == "__main__":
    main()
