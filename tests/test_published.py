"""The tables of README.md and docs/evidence.md, computed anew from the committed results."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from emu_core.bench.peers import Peer

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
FROZEN = pd.read_csv(RESULTS / "frozen.csv", keep_default_na=False)
TUNED = pd.read_csv(RESULTS / "fine_tuned.csv", dtype=str, keep_default_na=False)
ENCODERS = ("use", "e5-small")
FROZEN_SYSTEMS = ("base", "posterior", "logistic-regression", "lda")
SETS = {
    "demo test": "the demo set, test split",
    "sib dev": "SIB-200 (en de es fr ja zh), dev split",
    "home": "Home Assistant, de / es / fr queries, English pool",
    "demo new": "intents without labels, the demo set's",
    "sib new": "intents without labels, SIB-200's",
}
LABELS = {
    "base": "base",
    "contrastive": "contrastive",
    "n-pair": "N-pair",
    "softmax": "softmax",
    "emu": "Emu",
    "emu-without-ld": "Emu without the discriminator",
    "emu-without-ld-cl": "Emu without the center loss too",
    "emu-parallel": "Emu-Parallel",
    "posterior": "**posterior**",
    "logistic-regression": "frozen, logistic regression",
    "lda": "frozen, LDA",
    "st-softmax": "sentence-transformers, softmax classifier",
    "st-multiple-negatives": "sentence-transformers, MultipleNegativesRanking",
    "st-cosent": "sentence-transformers, CoSENT",
    "st-batch-all-triplet": "sentence-transformers, BatchAllTriplet",
    "setfit": "SetFit",
}


def page(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def shares(encoder: str, data: str, system: str, measure: str = "retrieval") -> dict[str, float]:
    """Percent of right answers, by direction or language."""
    of = {"encoder": encoder, "data": data, "system": system, "measure": measure}
    rows = FROZEN[np.logical_and.reduce([FROZEN[name] == value for name, value in of.items()])]
    assert len(rows), of
    return dict(zip(rows["where"], 100 * rows["right"] / rows["queries"], strict=True))


def mean_with_english(encoder: str, data: str, system: str) -> float:
    found = {way: value for way, value in shares(encoder, data, system).items() if "en" in way.split("-")}
    assert len(found) == 11
    return sum(found.values()) / 11


def frozen(encoder: str, data: str, system: str) -> str:
    """A cell of the first table, of a system that leaves the encoder as it is."""
    if data == "home":
        found = shares(encoder, data, system)
        return " / ".join(f"{found[f'{code}-en']:.1f}" for code in ("de", "es", "fr"))
    if data.endswith("new"):
        return f"{sum(mean_with_english(encoder, f'{data} {half}', system) for half in range(4)) / 4:.1f}"
    return f"{mean_with_english(encoder, data, system):.1f}"


def fine_tuned(encoder: str, data: str, system: str) -> "pd.Series[str] | None":
    rows = TUNED[(TUNED["encoder"] == encoder) & (TUNED["data"] == data) & (TUNED["system"] == system)]
    return None if rows.empty else rows.iloc[0]


def first_table() -> list[str]:
    """The evidence page's lines of every set and encoder."""
    lines = []
    for data, title in SETS.items():
        for encoder in ENCODERS:
            of = fine_tuned(encoder, data, "emu")
            seeds = {"3": "three seeds", "1": "one seed"}
            emu = "" if of is None else f"{of['mean']} ({seeds[of['seeds']]})"
            emu = "de 65.9 (two epochs)" if (data, encoder) == ("home", "use") else emu
            name, cells = (
                title if encoder == "use" else "",
                [frozen(encoder, data, one) for one in FROZEN_SYSTEMS],
            )
            lines.append(re.sub(" +", " ", f"| {name} | `{encoder}` | {' | '.join(cells)} | {emu} |"))
    return lines


def classifier_table() -> list[str]:
    """Nearest neighbour in the pool beside the regression as a classifier, on Home Assistant's commands."""
    lines = []
    for encoder in ENCODERS:
        cells = [frozen(encoder, "home", system) for system in ("base", "posterior")]
        for system in ("logistic-regression", "lda"):
            found = shares(encoder, "home", system, "classifier")
            cells.append(" / ".join(f"{found[code]:.1f}" for code in ("de", "es", "fr")))
        lines.append(f"| `{encoder}` | {' | '.join(cells)} |")
    return lines


def peers_table(encoder: str) -> list[str]:
    """The peers' lines on SIB-200, where they were measured."""
    lines = []
    for system, label in LABELS.items():
        of, cpu = fine_tuned(encoder, "sib dev", system), ""
        if of is not None:
            spread = f" ({of['lowest']} to {of['highest']})" if of["lowest"] else ""
            shown, cpu = f"{of['mean']}{spread}", of["cpu_seconds"]
        elif system in FROZEN_SYSTEMS:
            shown = frozen(encoder, "sib dev", system)
            shown = f"**{shown}**" if system == "posterior" else shown
        else:
            continue
        lines.append(
            f"| {label} | {shown} |" + (f" {cpu} |".replace("  ", " ") if encoder == "e5-small" else "")
        )
    return lines


@pytest.mark.parametrize(
    "lines",
    [first_table(), classifier_table(), peers_table("use"), peers_table("e5-small")],
    ids=["sets", "classifiers", "peers use", "peers e5-small"],
)
def test_a_table_of_the_evidence_page_is_that_of_the_results(lines: list[str]) -> None:
    assert "\n".join(lines) in page("docs/evidence.md")


def test_the_readmes_table_is_that_of_the_results() -> None:
    peers, data, rows = [peer.value for peer in Peer], "", 0
    for line in page("README.md").splitlines():
        cells = [cell.strip().strip("*`") for cell in line.strip("|").split("|")]
        if len(cells) != 6 or cells[1] not in ENCODERS:
            continue
        rows += 1
        data = next((key for key, title in SETS.items() if title == cells[0]), data)
        encoder = cells[1]
        assert cells[2:4] == [frozen(encoder, data, system) for system in ("base", "posterior")]
        emu = fine_tuned(encoder, data, "emu")
        assert cells[4] == ("" if emu is None else emu["mean"])
        found = {one: frozen(encoder, data, one) for one in FROZEN_SYSTEMS[2:]}
        tuned = {one: fine_tuned(encoder, data, one) for one in peers}
        found |= {one: of["mean"] for one, of in tuned.items() if of is not None}
        best = max(found, key=lambda one: float(found[one]))
        assert cells[5] == f"{found[best]}: {LABELS[best]}"
    assert rows == 6


def test_means_of_seeds_are_those_of_the_seeds() -> None:
    rows = TUNED[TUNED["by_seed"] != ""]
    assert len(rows)
    for row in rows.to_dict("records"):
        seeds = [float(value) for value in row["by_seed"].split()]
        assert len(seeds) == int(row["seeds"]) and f"{np.mean(seeds):.1f}" == row["mean"]
        assert (f"{min(seeds):.1f}", f"{max(seeds):.1f}") == (row["lowest"], row["highest"])
    assert TUNED["command"].str.startswith("emu bench emu ").all()
