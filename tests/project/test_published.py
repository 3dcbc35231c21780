"""The tables of README.md and docs/evidence.md, computed anew from the committed results and the papers' figures."""

import re

import numpy as np
import pandas as pd
import pytest

from emu_core.bench.paper import paper_numbers
from emu_core.bench.peers import Peer
from tests.support.paths import ROOT

RESULTS = ROOT / "benchmarks" / "results"
FROZEN = pd.read_csv(RESULTS / "frozen.csv", keep_default_na=False)
FINE_TUNED = pd.read_csv(RESULTS / "fine_tuned.csv")
EARLIER = pd.read_csv(RESULTS / "earlier_versions.csv", dtype=str, keep_default_na=False)
SCRATCH = pd.read_csv(RESULTS / "from_scratch.csv", keep_default_na=False)
TRANSFER = pd.read_csv(RESULTS / "transfer.csv", keep_default_na=False)
FMDA = pd.read_csv(RESULTS / "fmda.csv")
DISCRIMINATOR = pd.read_csv(RESULTS / "discriminator.csv")
HOME = ("de-en", "es-en", "fr-en")
ENCODERS = ("use", "e5-small")
FROZEN_SYSTEMS = ("base", "posterior", "logistic-regression", "lda")
SETS = {
    "demo test": "demo set, test split",
    "sib dev": "SIB-200 (en de es fr ja zh), dev split",
    "home": "Home Assistant, de / es / fr queries, English pool",
    "demo new": "new intents (without labels), demo set",
    "sib new": "new intents (without labels), SIB-200",
}
LABELS = {
    "base": "base",
    "contrastive": "contrastive",
    "n-pair": "N-pair",
    "softmax": "softmax",
    "emu": "Emu",
    "emu-without-ld": "Emu without the discriminator",
    "emu-without-ld-cl": "Emu without the discriminator and the center loss",
    "emu-parallel": "Emu-Parallel",
    "emu-anchored": "`emu-anchored`",
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
    assert len(found) == ways(data)
    return sum(found.values()) / len(found)


def ways(data: str) -> int:
    """The number of directions measured: queries against the English pool, or all with English on one side."""
    return 3 if data == "home" else 11


def frozen(encoder: str, data: str, system: str) -> str:
    """A cell of the first table, of a system that leaves the encoder as it is."""
    if data == "home":
        return " / ".join(f"{shares(encoder, data, system)[way]:.1f}" for way in HOME)
    if data.endswith("new"):
        return f"{sum(mean_with_english(encoder, f'{data} {half}', system) for half in range(4)) / 4:.1f}"
    return f"{mean_with_english(encoder, data, system):.1f}"


def means_of_seeds() -> pd.DataFrame:
    """Means over seeds, in the columns of `earlier_versions.csv`."""
    of = ["encoder", "data", "system"]
    percent = (100 * FINE_TUNED["right"] / FINE_TUNED["queries"]).groupby(
        [FINE_TUNED[name] for name in [*of, "seed"]]
    )
    assert (percent.size() == percent.size().index.get_level_values("data").map(ways)).all()
    over_seeds = percent.mean().groupby(of)
    names = {"size": "seeds", "mean": "mean", "min": "lowest", "max": "highest"}
    table = over_seeds.agg(list(names)).rename(columns=names).reset_index()
    figures = {name: table[name].map("{:.1f}".format) for name in ("mean", "lowest", "highest")}
    unrounded = {"mean_unrounded": table["mean"]}
    return table.assign(seeds=table["seeds"].astype(str), cpu_seconds="", **unrounded, **figures)


SEEDS = {"3": "three seeds", "1": "one seed"}
TUNED = pd.concat([means_of_seeds(), EARLIER])


def fine_tuned(encoder: str, data: str, system: str) -> "pd.Series[str] | None":
    rows = TUNED[(TUNED["encoder"] == encoder) & (TUNED["data"] == data) & (TUNED["system"] == system)]
    return None if rows.empty else rows.iloc[0]


def emus(encoder: str, data: str) -> str:
    """What `emu` has on a set; empty if that was not measured."""
    if data.endswith("new"):
        halves = [fine_tuned(encoder, f"{data} {half}", "emu") for half in range(4)]
        means = [float(of["mean_unrounded"]) for of in halves if of is not None]
        return f"{np.mean(means):.1f} (one seed)" if means else ""
    if (of := fine_tuned(encoder, data, "emu")) is None:
        return ""
    figures = of["mean"]
    if data == "home":
        rows = FINE_TUNED.query("encoder == @encoder and data == @data and system == 'emu'")
        sums = rows.groupby("where")[["right", "queries"]].sum()
        figures = " / ".join(f"{100 * sums['right'][way] / sums['queries'][way]:.1f}" for way in HOME)
    return f"{figures} ({SEEDS[of['seeds']]})"


def first_table() -> list[str]:
    """The evidence page's lines of every set and encoder."""
    lines = []
    for data, title in SETS.items():
        for encoder in ENCODERS:
            emu = emus(encoder, data)
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
    """The lines of all systems that were measured on SIB-200, and on the two other sets."""

    def shown(system: str, data: str) -> str:
        of = fine_tuned(encoder, data, system)
        if of is not None:
            several = f"{of['lowest']} to {of['highest']}" if of["lowest"] else ""
            over = several if of["seeds"] == "3" else SEEDS[of["seeds"]]
            return f"{of['mean']} ({over})" if over else of["mean"]
        if system not in FROZEN_SYSTEMS:
            return ""
        figure = f"{mean_with_english(encoder, data, system):.1f}"
        return f"**{figure}**" if system == "posterior" else figure

    lines = []
    for system, label in LABELS.items():
        of, sib = fine_tuned(encoder, "sib dev", system), shown(system, "sib dev")
        beside = [shown(system, one) for one in ("demo test", "home")]
        if encoder == "e5-small":
            beside.append("" if of is None else of["cpu_seconds"])
        if sib:
            lines.append(re.sub(" +", " ", f"| {label} | {sib} | {' | '.join(beside)} |"))
    return lines


def cell_of(table: pd.DataFrame, system: str, on: str, measure: str, where: str) -> "pd.Series[float] | None":
    of = {"system": system, "trained_on": on, "measure": measure, "where": where}
    rows = table[np.logical_and.reduce([table[name] == value for name, value in of.items()])]
    return None if rows.empty else rows.iloc[0]


def percent(table: pd.DataFrame, system: str, on: str, measure: str, *wheres: str) -> str:
    """Right answers, in percent, of one or both directions; empty where nothing was measured."""
    found = [cell_of(table, system, on, measure, where) for where in wheres]
    return " / ".join(
        f"{100 * float(one['value']) / float(one['of']):.1f}" for one in found if one is not None
    )


def from_scratch_table() -> list[str]:
    """Encoders trained from scratch: translation retrieval, similarity across languages, time."""
    systems = {
        "sum-of-words": "sum of word vectors, in-batch ranking",
        "dual-encoder": "dual encoder",
        "dual-encoder-without-layers": "dual encoder without its transformer layer",
        "bicvm": "BiCVM, one pair",
        "bicvm+": "BiCVM+, en-de and en-fr",
    }
    lines = []
    for name, label in systems.items():
        system, both = name.removesuffix("+"), name == "bicvm+"
        cells, alike = [], []
        for on in ("en-de", "en-fr"):
            trained_on = "en-de en-fr" if both else on
            source, target = on.split("-")
            cells.append(percent(SCRATCH, system, trained_on, "right", on, f"{target}-{source}"))
            score = cell_of(SCRATCH, system, trained_on, "pearson", on)
            alike += [] if score is None else [f"{100 * float(score['value']):.1f}"]
        cells.append(percent(SCRATCH, system, "en-de en-fr", "right", "de-fr", "fr-de") if both else "")
        cpu = cell_of(SCRATCH, system, "en-de en-fr" if both else "en-de", "cpu_seconds", "")
        assert cpu is not None
        cells += [", ".join(alike), f"{float(cpu['value']):.0f}"]
        lines.append(re.sub(" +", " ", f"| {label} | {' | '.join(cells)} |"))
    return lines


TRAINED = {
    "use": "`use`",
    "sum-of-words": "sum of word vectors",
    "translation": "translation ranking",
    "translation-nli": "translation and NLI at weight 0.1 (default)",
    "translation-nli-1": "translation and NLI at weight 1, as in the paper",
}


def transfer_table() -> list[str]:
    """A classifier on frozen vectors, and similarity."""
    lines = [
        "| majority class | "
        + " | ".join(percent(TRANSFER, "use", "", "majority", name) for name in ("sib", "home", "demo"))
        + " | |"
    ]
    for system, label in TRAINED.items():
        score = cell_of(TRANSFER, system, "", "pearson", "stsb")
        right = [percent(TRANSFER, system, "", "right", name) for name in ("sib", "home", "demo")]
        alike = "" if score is None else f" {float(score['value']):.3f}"
        lines.append(f"| {label} | {' | '.join(right)} |{alike} |")
    return lines


def inference_table() -> list[str]:
    """The head of inference pairs in the language that it learnt, and in the other one."""
    systems = [name for name in TRAINED if "nli" in name]
    largest = [percent(TRANSFER, systems[0], "", "nli_majority", code) for code in ("en", "de")]
    lines = [f"| majority class | {' | '.join(largest)} |"]
    for name in systems:
        lines.append(
            f"| {TRAINED[name]} | {' | '.join(percent(TRANSFER, name, '', 'nli', code) for code in ('en', 'de'))} |"
        )
    return lines


def discriminator_table() -> list[str]:
    """Emu with and without its discriminator: other languages against English, and the probe of the language."""
    wide = DISCRIMINATOR.pivot(
        index=["condition", "seed"], columns="discriminator", values=["other_languages", "probe"]
    )
    lines = []
    for condition in DISCRIMINATOR["condition"].unique():
        of = wide.loc[condition]
        means = of.mean()
        change = of["other_languages"][True] - of["other_languages"][False]
        cells = [f"{means['other_languages', has_it]:.1f}" for has_it in (False, True)] + [
            f"{change.mean():+.1f} ({change.min():+.1f} to {change.max():+.1f})"
        ]
        cells += [f"{means['probe', has_it]:.1f}" for has_it in (False, True)]
        lines.append(f"| {condition} | {' | '.join(cells)} |")
    return lines


def new_templates_table() -> list[str]:
    """FMDA on all queries, and on those whose template no system was given."""
    labels = {
        ("base", "cls"): "[CLS]",
        ("base", "mean"): "mean pooling",
        ("baseline", "meaning"): "baseline, meaning",
        ("fmda", "meaning"): "FMDA, meaning",
        ("fmda", "template"): "FMDA, template",
        ("fmda", "residual"): "FMDA, residual",
        ("fmda-two-stage", "template"): "two-stage, template",
        ("fmda-two-stage", "meaning"): "two-stage, meaning",
    }
    percent = (100 * FMDA["right"] / FMDA["queries"]).set_axis(pd.MultiIndex.from_frame(FMDA.iloc[:, :4]))
    columns = [
        (f"{measure}{of}", where)
        for measure, where in (("translation", ("en-de", "de-en")), ("template", ("en", "de")))
        for of in ("", " new")
    ]
    lines = []
    for place, label in labels.items():
        cells = [
            " / ".join(f"{percent[(*place, name, one)]:.1f}" for one in where) for name, where in columns
        ]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return lines


def emus_paper() -> list[str]:
    """Means over the directions of the paper's Table 2."""
    labels = {
        "base": "LASER, not fine-tuned",
        "emu-without-ld": "Emu without the discriminator",
        "emu": "Emu",
    }
    lines = []
    for name, label in labels.items():
        sets = [one[name]["accuracy"] for one in paper_numbers("emu")["table2"]["datasets"].values()]
        lines.append(f"| {label} | {' | '.join(f'{np.mean(one):.1f}' for one in sets)} |")
    return lines


def fmdas_paper() -> list[str]:
    """The paper's Tables 2 and 3, and two stages of its Table 5."""
    tables = {name: paper_numbers("fmda")[name] for name in ("table2", "table3", "table5")}

    def figures(row: str, columns: tuple[str, ...]) -> str:
        for table in tables.values():
            if row in table["rows"] and set(columns) <= set(table["columns"]):
                at = [table["columns"].index(name) for name in columns]
                return " / ".join(f"{100 * table['rows'][row][place]:.1f}" for place in at)
        return ""

    labels = {
        "base cls": "XLM-R's [CLS]",
        "baseline meaning": "baseline, meaning",
        "fmda meaning": "FMDA, meaning",
        "fmda template": "FMDA, template",
        "fmda residual": "FMDA, residual",
        "fmda-two-stage template": "two-stage, template",
        "fmda-two-stage meaning": "two-stage, meaning",
    }
    columns = ("en-de", "de-en"), ("en-es", "es-en"), ("en (en-de)", "de (en-de)")
    return [
        re.sub(" +", " ", f"| {label} | {' | '.join(figures(row, one) for one in columns)} |")
        for row, label in labels.items()
    ]


COMPUTED = {
    "sets": first_table(),
    "classifiers": classifier_table(),
    "peers use": peers_table("use"),
    "peers e5-small": peers_table("e5-small"),
    "discriminator": discriminator_table(),
    "from scratch": from_scratch_table(),
    "transfer": transfer_table(),
    "inference": inference_table(),
    "new templates": new_templates_table(),
    "Emu's paper": emus_paper(),
    "FMDA's paper": fmdas_paper(),
}
FIGURE = re.compile(r"\d\.\d")


@pytest.mark.parametrize("lines", COMPUTED.values(), ids=COMPUTED)
def test_a_table_of_the_evidence_page_is_that_of_the_results(lines: list[str]) -> None:
    assert lines and "\n".join(lines) in page("docs/evidence.md")


def test_what_is_not_computed_anew_says_that_an_earlier_version_measured_it() -> None:
    known = {line for lines in COMPUTED.values() for line in lines}
    paragraphs = page("docs/evidence.md").split("\n\n")
    tables = [place for place, text in enumerate(paragraphs) if text.startswith("|") and FIGURE.search(text)]
    others = [
        place
        for place in tables
        if any(FIGURE.search(line) and line not in known for line in paragraphs[place].splitlines())
    ]
    assert len(tables) == len(COMPUTED) + len(others) and len(others) == 2
    for place in others:
        beside = " ".join(f"{paragraphs[place - 1]} {paragraphs[place + 1]}".split())
        assert "earlier version" in beside and "`emu " in beside, paragraphs[place]


@pytest.mark.parametrize("table", [SCRATCH, TRANSFER], ids=["from scratch", "transfer"])
def test_shares_are_of_what_was_asked(table: pd.DataFrame) -> None:
    counts = table[~table["measure"].isin(["pearson", "cpu_seconds"])]
    assert len(counts) and (counts["value"].astype(float) <= counts["of"].astype(float)).all()
    assert counts["value"].astype(float).mod(1).eq(0).all()
    assert table[table["measure"] == "pearson"]["value"].astype(float).between(-1, 1).all()


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
        assert cells[4] == emus(encoder, data).partition(" (")[0]
        found = {one: frozen(encoder, data, one) for one in FROZEN_SYSTEMS[2:]}
        tuned = {one: fine_tuned(encoder, data, one) for one in peers}
        found |= {one: of["mean"] for one, of in tuned.items() if of is not None}
        best = max(found, key=lambda one: float(found[one]))
        assert cells[5] == f"{found[best]}: {LABELS[best]}"
    assert rows == 6


def test_a_mean_is_between_its_seeds_and_stands_once() -> None:
    lowest, mean, highest = (EARLIER[name].astype(float) for name in ("lowest", "mean", "highest"))
    assert len(EARLIER) and (lowest <= mean).all() and (mean <= highest).all()
    assert EARLIER["command"].str.startswith("emu bench emu ").all()
    assert not TUNED.duplicated(["encoder", "data", "system"]).any()
