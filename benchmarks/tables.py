"""The tables of README.md and the pages Evidence and Check us that follow from the committed outcomes, as Markdown.

    python -m benchmarks.tables

prints them all, and `--write` writes them into the pages, which a test compares with them. An interval is that of a
paired bootstrap over sentences (95 %), in which a sentence is drawn with its translations; the pool stays as it is, and
seeds are averaged. In the first table, of `benchmarks.named`, draws of the labels are drawn, too. Trained systems that
were not measured again since outcomes are kept have only the counts of `results/fine_tuned.csv`, and no interval.
"""

import argparse
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks import named, paper_tables
from benchmarks.outcomes import Measured, Outcomes, outcomes_of
from benchmarks.sets import FEW, FEW_LABELS, POOLED, known_part
from emu_core.bench.emu.experiment import OURS, THEIRS
from emu_core.bench.peers import Peer
from emu_core.evaluation.significance import Difference, student_interval

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGES = (
    ROOT / "README.md",
    ROOT / "docs" / "evidence.md",
    ROOT / "docs" / "check-us.md",
    ROOT / "docs" / "papers.md",
    ROOT / "docs" / "reviewer.md",
    ROOT / "benchmarks" / "ARCHIVE.md",
)
_MARKED = re.compile(
    r"(?P<head><!-- table: (?P<name>[^>]+) -->\n\n\|.*\n\|[- |]+\|\n)(?P<rows>(?:\|.*\n)*)"
)  # the rows of a table, below a comment with its name
ENCODERS = ("use", "e5-small")
MINILM = "hf:sentence-transformers/all-MiniLM-L6-v2"  # reads English alone
HOME = ("de-en", "es-en", "fr-en")
SEEDS = {1: "one seed", 2: "two seeds", 3: "three seeds"}
QUARTERS, HALVES = "quarter ", "new "
LABELS = {
    "base": "base",
    "base-evened": "base, languages evened out",
    "contrastive": "contrastive",
    "n-pair": "N-pair",
    "softmax": "softmax",
    "emu": "`emu`",
    "emu-without-ld": "Emu without the discriminator",
    "emu-without-ld-cl": "Emu without the discriminator and the center loss",
    "emu-parallel": "Emu-Parallel",
    "emu-anchored": "`emu-anchored`",
    "head": "`head`",
    "logistic-regression": "frozen, logistic regression",
    "lda": "frozen, LDA",
    "prototypes": "frozen, means of the intents",
    "st-softmax": "sentence-transformers, softmax classifier",
    "st-multiple-negatives": "sentence-transformers, MultipleNegativesRanking",
    "st-cosent": "sentence-transformers, CoSENT",
    "st-batch-all-triplet": "sentence-transformers, BatchAllTriplet",
    "setfit": "SetFit",
    "setfit-own-budget": "SetFit, its own budget",
}
PEERS = tuple(peer.value for peer in Peer)
FROZEN_PEERS = tuple(peer.value for peer in Peer if peer.is_frozen)


class Where(NamedTuple):
    """What a row of a table is measured on."""

    data: str  # a set of `benchmarks.sets`
    parts: str  # the beginning of the names of its parts
    title: str
    most: int | None = None  # of the parts, the first so many; None for all

    @property
    def names(self) -> list[str]:
        """The parts."""
        return outcomes_of(self.data).parts(self.parts)[: self.most]

    @property
    def choosing(self) -> list[str]:
        """The parts on which a peer's learning rate is chosen."""
        return self.names if self.parts == FEW_LABELS else [known_part(self.data)]


DEMO, DEMO_QUARTERS = (
    Where("demo", "test", "demo set, test split"),
    Where("demo", QUARTERS, "demo set, quarters"),
)
SIB_DEV = Where("sib", "dev", "SIB-200 (en de es fr ja zh), dev split")
SIB_QUARTERS = Where("sib", QUARTERS, "SIB-200 (en de es fr ja zh), quarters")
HOME_ASSISTANT = Where("home", POOLED, "Home Assistant's commands: de es fr, 33 intents, 778 labels")
HOME_TITLE = "Home Assistant, de / es / fr queries, English pool"
DEMO_NEW = Where("demo", HALVES, "new intents (without labels), demo set")
SIB_NEW = Where("sib", HALVES, "new intents (without labels), SIB-200")
SIB_NEW_FEW = Where("sib", HALVES, "new intents (without labels), SIB-200", 3)
DEMO_FEW = Where("demo", FEW_LABELS, f"demo set, {FEW} labels an intent")
SIB_FEW = Where("sib", FEW_LABELS, f"SIB-200, {FEW} labels an intent")
REAL = (
    Where("xsid", POOLED, "xSID: en da de it ja tr, 15 intents, 300 labels"),
    Where("faq", POOLED, "FAQ on the pandemic: de fr, 64 intents, 284 labels"),
    Where("lu", POOLED, "Bot Framework `.lu`: de es fr it zh, 18 intents, 459 labels"),
    Where("banking77", POOLED, "BANKING77: en, 77 intents, 9,993 labels"),
    Where("clinc150", POOLED, "CLINC150 (small): en, 150 intents, 7,499 labels"),
)


@cache
def counts() -> pd.DataFrame:
    """Return the counts of trained systems whose outcomes were not kept."""
    return pd.read_csv(RESULTS / "fine_tuned.csv")


class Figure(NamedTuple):
    """A system's accuracy in percent: a mean over directions and parts, by seed."""

    system: str
    by_seed: tuple[float, ...]
    measured: Measured | None = None  # its outcomes; None if only counts were kept

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return float(np.mean(self.by_seed))

    @property
    def text(self) -> str:
        """The mean, with the lowest and the highest seed if there are several."""
        if len(self.by_seed) == 1:
            return f"{self.mean:.1f}"
        return f"{self.mean:.1f} ({min(self.by_seed):.1f} to {max(self.by_seed):.1f})"

    @property
    def with_seeds(self) -> str:
        """The mean and the number of seeds of a trained system."""
        is_trained = self.system not in ("base", "base-evened", "head", *FROZEN_PEERS)
        return f"{self.mean:.1f} ({SEEDS[len(self.by_seed)]})" if is_trained else f"{self.mean:.1f}"


@cache
def figure(where: Where, encoder: str, system: str, measure: str = "nearest") -> Figure | None:
    """Return a system's accuracy; of a peer, at the learning rate that is better on intents with labels.

    With few labels, the rate is the better one over the draws.
    """
    if not where.names:
        return None
    outcomes, found = outcomes_of(where.data), list[Figure]()
    for rate in ("", THEIRS, OURS):
        measured = Measured("", encoder, system, 0, rate, measure)
        seeds = _common_seeds(outcomes, measured, where.names)
        if seeds:
            found.append(Figure(system, _by_seed(outcomes, measured, where.names), measured))
    if len(found) > 1:
        by_rate = [
            outcomes.accuracies(one.measured._replace(measure="nearest"), where.choosing).mean()
            for one in found
            if one.measured is not None
        ]
        found = [found[int(np.argmax(by_rate))]]
    kept = _counted(where, encoder, system) if measure == "nearest" else None
    if kept is not None and (not found or len(found[0].by_seed) < len(kept.by_seed)):
        return kept
    return found[0] if found else None


def _common_seeds(outcomes: Outcomes, measured: Measured, parts: Sequence[str]) -> set[int]:
    """Return the seeds with which a system was measured on every part."""
    seeds = [{one.seed for one in outcomes.seeds(measured._replace(part=part))} for part in parts]
    return set.intersection(*seeds) if seeds else set()


def _by_seed(outcomes: Outcomes, measured: Measured, parts: Sequence[str]) -> tuple[float, ...]:
    seeds = sorted(_common_seeds(outcomes, measured, parts))
    per_part = [
        [np.mean([way.mean() for way in outcomes.right(measured._replace(part=part, seed=seed)).values()])]
        for seed in seeds
        for part in parts
    ]
    means = 100 * np.array(per_part).reshape(len(seeds), len(parts)).mean(axis=1)
    return tuple(means.tolist())


def _counted(where: Where, encoder: str, system: str) -> Figure | None:
    """Return the accuracy of a system whose outcomes were not kept."""
    names = [f"{where.data} {part}" for part in where.names] if where.data != "home" else ["home"]
    table = counts()
    rows = table[(table["encoder"] == encoder) & (table["system"] == system) & table["data"].isin(names)]
    if rows["data"].nunique() < len(names):
        return None
    percent = (100 * rows["right"] / rows["queries"]).groupby([rows["seed"], rows["data"]]).mean()
    return Figure(system, tuple(percent.groupby("seed").mean().tolist()))


@cache
def difference(where: Where, one: Figure, other: Figure, confidence: float = 0.95) -> Difference | None:
    """Return the points by which a system leads another; None if the outcomes of one were not kept."""
    if one.measured is None or other.measured is None:
        return None
    return outcomes_of(where.data).difference(one.measured, other.measured, where.names, confidence)


def shown_difference(where: Where, one: Figure, other: Figure) -> str:
    """Return the points with their interval, or without one."""
    points = difference(where, one, other)
    return f"{one.mean - other.mean:+.1f}" if points is None else str(points)


def line(cells: Iterable[str]) -> str:
    """Return a row of a table."""
    return " ".join(f"| {' | '.join(cells)} |".split())


def text_of(found: Figure | None) -> str:
    """Return a cell; empty if nothing was measured."""
    return "" if found is None else found.with_seeds


def home_text(encoder: str, system: str, measure: str = "nearest") -> str:
    """Return the accuracies of the commands by language."""
    found = figure(HOME_ASSISTANT, encoder, system, measure)
    if found is None or found.measured is None:
        return ""
    outcomes = outcomes_of("home")
    answers = [outcomes.right(one) for one in outcomes.seeds(found.measured._replace(part=POOLED))]
    ways = HOME if measure == "nearest" else [way.partition("-")[0] for way in HOME]
    values = [100 * np.mean([right[way].mean() for right in answers]) for way in ways]
    seeds = found.with_seeds.partition(" ")[2]
    return " / ".join(f"{value:.1f}" for value in values) + (f" {seeds}" if seeds else "")


def sets_table() -> list[str]:
    """Every set with intents that have labels, and the systems that leave the encoder as it is, and Emu."""
    systems = ("base", "base-evened", "head", "logistic-regression", "lda", "emu")
    lines = []
    for where in (DEMO, DEMO_QUARTERS, SIB_DEV, SIB_QUARTERS, HOME_ASSISTANT):
        for encoder in ENCODERS:
            if where is HOME_ASSISTANT:
                cells = [home_text(encoder, system) for system in systems]
            else:
                cells = [text_of(figure(where, encoder, system)) for system in systems]
            title = HOME_TITLE if where is HOME_ASSISTANT else where.title
            lines.append(line([title if encoder == "use" else "", f"`{encoder}`", *cells]))
    return lines


def classifiers_table() -> list[str]:
    """Nearest neighbour in the pool beside classifiers, on Home Assistant's commands."""
    lines = []
    for encoder in ENCODERS:
        cells = [home_text(encoder, system) for system in ("base", "head")]
        cells += [home_text(encoder, system, "classifier") for system in ("logistic-regression", "lda")]
        lines.append(line([f"`{encoder}`", *cells]))
    return lines


def few_table() -> list[str]:
    """Every system with few labels an intent, by the nearest sentence and as a classifier; means over draws."""
    lines = []
    for system, label in LABELS.items():
        found = [
            [figure(where, encoder, system, measure) for measure in ("nearest", "classifier")]
            for where in (DEMO_FEW, SIB_FEW)
            for encoder in ENCODERS
        ]
        if any(one for pair in found for one in pair):
            pairs = [["" if one is None else one.text for one in pair] for pair in found]
            lines.append(
                line(
                    [
                        label,
                        *(" / ".join(filter(None, [nearest, own and f"*{own}*"])) for nearest, own in pairs),
                    ]
                )
            )
    return lines


@cache
def few_shot_draws() -> pd.DataFrame:
    """Return the accuracy of each system on each draw of the labels, which `benchmarks.few_shot` gathered."""
    return pd.read_csv(RESULTS / "few_shot.csv", keep_default_na=False)


def few_shot_table(data: str) -> list[str]:
    """Systems by the number of labels: the mean over the draws and half of its 95 % interval.

    A peer has the learning rate that is better with that number of labels.
    """
    draws = few_shot_draws()
    measured = draws[(draws["data"] == data) & (draws["system"] != "base")]
    lines = []
    numbers = sorted(measured["labels"].unique())
    for system, label in LABELS.items():
        of = measured[measured["system"].str.removeprefix("peer.") == system]
        cells = [few_shot_text(of[of["labels"] == number]) for number in numbers]
        if any(cells):
            lines.append(line([label, *cells]))
    return lines


def few_shot_text(draws: pd.DataFrame) -> str:
    """Return the mean over draws with half of its interval, of the better learning rate; "" without draws."""
    if draws.empty:
        return ""
    by_rate = draws.groupby("rate")["accuracy"]
    values = by_rate.get_group(by_rate.mean().idxmax()).to_numpy()
    return f"{values.mean():.1f} ±{student_interval(values, 0.95)[1] - values.mean():.1f}"


def new_intents_table(encoder: str) -> list[str]:
    """Every system that was measured on intents without labels, compared with the base encoder."""
    lines = []
    for system, label in LABELS.items():
        cells = []
        for where in (DEMO_NEW, SIB_NEW_FEW, SIB_NEW):
            found, base = figure(where, encoder, system), figure(where, encoder, "base")
            if found is None or base is None:
                cells += ["", ""]
                continue
            cells += [found.with_seeds, "" if system == "base" else shown_difference(where, found, base)]
        if any(cells):
            lines.append(line([label, *cells]))
    return lines


def peers_table(encoder: str) -> list[str]:
    """Every system on SIB-200, the demo set and the commands, and as a classifier."""
    lines = []
    for system, label in LABELS.items():
        found = [figure(where, encoder, system) for where in (SIB_DEV, DEMO, HOME_ASSISTANT)]
        found += [figure(where, encoder, system, "classifier") for where in (SIB_DEV, DEMO)]
        if any(found):
            lines.append(line([label, *("" if one is None else one.text for one in found)]))
    return lines


def real_table(encoder: str) -> list[str]:
    """The real sets: the nearest labelled sentence, or a classifier, and the lead over the best alternative."""
    lines = []
    for where in REAL:
        systems = [figure(where, encoder, system) for system in ("base", "base-evened", "head", "emu")]
        frozen = [figure(where, encoder, system, "classifier") for system in FROZEN_PEERS]
        trained = [figure(where, encoder, system) for system in PEERS if system not in FROZEN_PEERS]
        trained += [
            figure(where, encoder, system, "classifier") for system in PEERS if system not in FROZEN_PEERS
        ]
        best = max((one for one in trained if one), key=lambda one: one.mean, default=None)
        if systems[0] is None:
            continue
        cells = [text_of(one) for one in (*systems, *frozen)]
        cells.append("" if best is None else f"{best.with_seeds}: {LABELS[best.system]}{_as(best)}")
        lines.append(line([where.title, *cells]))
    return lines


def _as(found: Figure) -> str:
    is_classifier = found.measured is not None and found.measured.measure == "classifier"
    return ", classifier" if is_classifier else ""


def alternatives(where: Where, encoder: str) -> list[Figure]:
    """Return what can be had without our methods: the encoder, evened out or not, and every peer in either use.

    Retrieval among the measured sentences has no place for a classifier.
    """
    found = [figure(where, encoder, system) for system in ("base", "base-evened", *PEERS)]
    if where.parts == POOLED:
        found += [figure(where, encoder, system, "classifier") for system in PEERS]
    return [one for one in found if one is not None]


def best_classifier(where: Where, encoder: str) -> Figure | None:
    """Return the best classifier with the same labels, Emu's own layer among them."""
    found = [figure(where, encoder, system, "classifier") for system in LABELS]
    return max((one for one in found if one is not None), key=lambda one: one.mean, default=None)


PROTOCOL_ROWS = (DEMO, SIB_QUARTERS, SIB_FEW, DEMO_NEW, SIB_NEW_FEW, HOME_ASSISTANT, *REAL)


def protocol_table() -> list[str]:
    """The nearest sentence decides, as in the paper.

    A figure is bold if it leads every other one of its row by an interval that excludes 0, at 95 % for all bold rows
    together (Bonferroni). Only real sets have bold figures: on the others, settings were chosen, or the pool is the
    sample itself, which the interval does not cover.
    """
    lines = []
    for where in PROTOCOL_ROWS:
        title = where.title
        for encoder in ENCODERS:
            base = figure(where, encoder, "base")
            if base is None:
                continue
            ours = [figure(where, encoder, system) for system in ("head", "emu")]
            best = max(alternatives(where, encoder), key=lambda one: one.mean)
            row = [base, *ours, *([] if best.system == "base" else [best])]
            leader = max((one for one in row if one is not None), key=lambda one: one.mean)
            cells = []
            for one in row:
                text = "" if one is None else f"{one.mean:.1f}"
                is_bold = where in REAL and one is leader and _leads(where, one, row)
                cells.append(f"**{text}**" if is_bold else text)
            if best.system == "base":
                cells.append("the base")
            else:
                cells[-1] += f": {LABELS[best.system]}{_as(best)}"
            against = "" if row[1] is None else shown_difference(where, row[1], best)
            classifier = best_classifier(where, encoder)
            named_best = "" if classifier is None else f"{classifier.mean:.1f}: {LABELS[classifier.system]}"
            lines.append(line([title, f"`{encoder}`", *cells, against, named_best]))
            title = ""
    return lines


def commands_table() -> list[str]:
    """What measures each row of the protocol's table: arguments of `benchmarks.fine_tuned`.

    The part on which a peer's learning rate is chosen comes first.
    """
    lines = []
    for where in PROTOCOL_ROWS:
        first = [] if where.parts == FEW_LABELS else where.choosing
        own = [where.parts.strip()] if where.most is None else where.names
        named = " ".join(f'"{part}"' if " " in part else part for part in dict.fromkeys([*first, *own]))
        lines.append(line([where.title, f"`--sets {where.data} --parts {named}`"]))
    return lines


def _leads(where: Where, one: Figure, row: Sequence[Figure | None]) -> bool:
    """Return whether a system leads all others of a row, each by a difference whose interval excludes zero."""
    for other in row:
        if other is None or other is one:
            continue
        points = difference(where, one, other, 1 - 0.05 / (len(REAL) * len(ENCODERS)))
        if points is None or points.low <= 0:
            return False
    return True


@cache
def tables() -> dict[str, list[str]]:
    """Return every table by name, but for those of which nothing was measured."""
    made = {
        "named": named.table(),
        "known": named.known_table(),
        "published": named.published_table(),
        "training languages": paper_tables.training_languages(),
        "all pairs": paper_tables.all_pairs(),
        "eigen-similarity": paper_tables.eigen(),
        "ablation of FMDA": paper_tables.ablation(),
        "five targets": paper_tables.five_targets(),
        "several pairs": paper_tables.several_pairs(),
        "cases": paper_tables.cases(),
        "protocol": protocol_table(),
        "commands": commands_table(),
        "sets": sets_table(),
        "classifiers": classifiers_table(),
        "few labels": few_table(),
        **{f"few-shot curve {data}": few_shot_table(data) for data in few_shot_draws()["data"].unique()},
        **{f"new intents {encoder}": new_intents_table(encoder) for encoder in ENCODERS},
        **{f"peers {encoder}": peers_table(encoder) for encoder in ENCODERS},
        **{f"real {encoder}": real_table(encoder) for encoder in (*ENCODERS, MINILM)},
    }
    return {name: lines for name, lines in made.items() if lines}


def written(page: str) -> str:
    """Return a page with the rows of every table below a comment such as `<!-- table: sets -->` computed anew."""
    of = tables()

    def rows(match: re.Match[str]) -> str:
        return match["head"] + "".join(f"{line}\n" for line in of[match["name"]])

    return _MARKED.sub(rows, page)


def main() -> None:
    """Print the tables, or write them into the pages."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write them into the pages")
    if parser.parse_args().write:
        for path in PAGES:
            path.write_text(written(path.read_text("utf-8")), "utf-8")
        return
    for name, lines in tables().items():
        print(f"\n{name}\n")
        print("\n".join(lines))


if __name__ == "__main__":
    main()
