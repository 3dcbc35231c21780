"""Right intents by number of labels and by cost: the README's table and the figures, from the committed outcomes.

    python -m benchmarks.named

draws docs/labels.png and docs/costs.png; `benchmarks.tables` has the table. `benchmarks.intents DATA --vectors FOLDER
--keep` measures what they show, and `benchmarks.fine_tuned` what trains the encoder. No setting of the intent model was
chosen on these sets, but that it is adapted to no sentences in English.

Prints the least leads on the mean of the sets, without and with the queries as unlabelled sentences.

An interval is that of a bootstrap in which sentences are drawn, each with its translations, and the draws of the labels
too, so that it also extends to other draws; with five or three of them, it is a little too narrow.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.outcomes import FOLDER, Measured, Outcomes, outcomes_of
from benchmarks.sets import POOLED
from emu_core.bench.emu.experiment import OURS as OUR_RATE
from emu_core.bench.emu.experiment import THEIRS

DOCS = FOLDER.parents[2] / "docs"
COUNTS = ("0", "1", "2", "4", "8", "all")
LEADS = ("0", "1", "8", "all")  # numbers of labels at which the others are compared
SETS = {
    "sib_test": "SIB-200, test split: en de es fr ja zh, 7 topics, 701 labels",
    "home_new": "Home Assistant: it nl pl, 33 intents, 778 labels",
    "xsid": "xSID: en da de it ja tr, 15 intents, 300 labels",
    "faq": "FAQ: de fr, 64 intents, 284 labels",
    "lu": "`.lu`: de es fr it zh, 18 intents, 459 labels",
    "clinc150": "CLINC150 (small): en, 150 intents, 7,499 labels",
    "banking77": "BANKING77: en, 77 intents, 9,993 labels",
}
BOTH = "use+e5-small"
ENCODERS = {"use": "`use`", BOTH: "both"}
OURS, ADAPTED = "intent_model", "intent_model_adapted"
FROZEN = {
    "regression": "regression",
    "lda": "LDA",
    "class_means": "class means",
    "nearest_name": "the nearest name",
}
TRAINED = {
    "st-softmax": "softmax classifier",
    "st-multiple-negatives": "MultipleNegativesRanking",
    "setfit": "SetFit",
    "setfit-own-budget": "SetFit, its own budget",
}
RATES, MEASURES = (THEIRS, OUR_RATE), ("classifier", "nearest")
SHOTS, SHOT_SETS = ("5", "10"), ("banking77", "clinc150")
# Right intents of others with 5 and 10 labels of BANKING77, then of CLINC150, as listed by the README of
# github.com/jianguoz/Few-Shot-Intent-Detection; those with 10 labels are their authors' own.
PUBLISHED = {
    "RoBERTa, fine-tuned as a classifier (Zhang et al. 2020)": (74.04, 84.27, 87.99, 91.55),
    "USE, frozen, a classifier (Casanueva et al. 2020)": (76.29, 84.23, 87.82, 90.85),
    "USE and ConveRT, frozen, a classifier (Casanueva et al. 2020)": (77.75, 85.19, 90.49, 93.26),
    "DNNC: RoBERTa trained on NLI, compares pairs (Zhang et al. 2020)": (80.40, 86.71, 91.02, 93.76),
    "CPFT: RoBERTa pre-trained on sets of intents (Zhang et al. 2021)": (80.86, 87.20, 92.34, 94.18),
    "ICDA: RoBERTa, more labels from a language model (Lin et al. 2023)": (84.01, 89.79, 92.62, 94.84),
}
DRAWS, AT_ONCE = 6_000, 500  # of the bootstrap
Answers = NDArray[np.float64]  # of a language's sentences: 0 or 1, or means over seeds


class Asked(NamedTuple):
    """The answers of a system, by draw of the labels and language."""

    name: str
    answers: tuple[dict[str, Answers], ...]
    sentences: tuple[dict[str, NDArray[np.int32]], ...]

    @property
    def mean(self) -> float:
        """Right intents in percent, the mean of the languages and of the draws."""
        return 100 * float(np.mean([of.mean() for draw in self.answers for of in draw.values()]))


def parts_with(outcomes: Outcomes, count: str) -> list[str]:
    """Return the parts that have so many labels, a draw each."""
    return outcomes.parts(f"named {count} ")


def named(
    data: str,
    encoder: str,
    count: str,
    system: str,
    label: str = "",
    how: tuple[str, str] = ("", "classifier"),
) -> Asked | None:
    """Return a system's answers with a learning rate, by a measure; None if it was not measured on every draw."""
    outcomes, (rate, measure) = outcomes_of(data), how
    measured = [Measured(part, encoder, system, 0, rate, measure) for part in parts_with(outcomes, count)]
    if not measured or not all(one in outcomes.bits for one in measured):
        return None
    answers = [
        {way.partition("-")[0]: of.astype(float) for way, of in outcomes.right(one).items()}
        for one in measured
    ]
    return Asked(label or system, tuple(answers), tuple(sentences_of(outcomes, one.part) for one in measured))


def sentences_of(outcomes: Outcomes, part: str) -> dict[str, NDArray[np.int32]]:
    """Return the numbers of a part's sentences by language."""
    return {code: numbers for (name, code), numbers in outcomes.sentences.items() if name == part}


def trained(data: str, encoders: Sequence[str]) -> Iterator[Asked]:
    """Yield what trains an encoder with all labels, as a classifier or by its nearest labelled sentence.

    They were asked all sentences, of which those of intents without a label are left out.
    """
    outcomes = outcomes_of(data)
    [part] = parts_with(outcomes, "all")
    asked, whole = sentences_of(outcomes, part), sentences_of(outcomes, POOLED)
    kept = {code: np.isin(whole[code], numbers) for code, numbers in asked.items()}
    kinds = {
        one._replace(seed=0)
        for one in outcomes.bits
        if one.part == POOLED and one.system in TRAINED and one.encoder in encoders
    }
    for kind in sorted(kinds):
        seeds = [outcomes.right(one) for one in outcomes.seeds(kind)]
        by_code = {
            way.partition("-")[0]: np.mean([right[way] for right in seeds], axis=0) for way in seeds[0]
        }
        answers = {code: by_code[code][kept[code]] for code in asked}
        yield Asked(title_of(kind.system, kind.encoder, encoders), (answers,), (asked,))


def trained_on_few(data: str, encoders: Sequence[str], count: str) -> Iterator[Asked]:
    """Yield what trains an encoder with so few labels, by each of its learning rates and both measures."""
    for encoder, system, *how in product(encoders, TRAINED, RATES, MEASURES):
        one = named(data, encoder, count, system, title_of(system, encoder, encoders), (how[0], how[1]))
        if one is not None:
            yield one


def title_of(system: str, encoder: str, encoders: Sequence[str]) -> str:
    """Return the title of what trains an encoder, which is named if there are several."""
    return TRAINED[system] + (f" on `{encoder}`" if len(encoders) > 1 else "")


@cache
def others(data: str, encoder: str, count: str) -> list[Asked]:
    """Return what can be had without the intent model, whether or not it trains an encoder, by rate and measure."""
    frozen = [named(data, encoder, count, system, label) for system, label in FROZEN.items()]
    found, encoders = [one for one in frozen if one is not None], encoder.split("+")
    if found:
        found += trained(data, encoders) if count == "all" else trained_on_few(data, encoders, count)
    return found


def best_other(data: str, encoder: str, count: str) -> Asked | None:
    """Return the best of the others on a set."""
    return max(others(data, encoder, count), key=lambda one: one.mean, default=None)


def ours(data: str, encoder: str, count: str, *, adapts: bool = True) -> Asked | None:
    """Return the intent model, adapted to the sentences that it is asked; without labels, names always are."""
    return named(data, encoder, count, ADAPTED if adapts and count != "0" else OURS)


def least_lead(encoder: str, count: str, *, adapts: bool = True) -> float:
    """Return the lead over the other that is nearest, on the mean of the sets on which that was measured, in points.

    Of an other with several rates, measures, budgets or encoders, the best on each set counts.
    """
    leads: dict[str, dict[str, float]] = {}
    for data in SETS:
        if (model := ours(data, encoder, count, adapts=adapts)) is None:
            continue
        for one in others(data, encoder, count):
            of_system = leads.setdefault(re.split(",| on ", one.name)[0], {})
            of_system[data] = min(of_system.get(data, np.inf), model.mean - one.mean)
    return min(float(np.mean(list(of_system.values()))) for of_system in leads.values())


class Interval(NamedTuple):
    """A mean, or a difference of two, in points, and the draws of its bootstrap."""

    points: float
    drawn: NDArray[np.float64]

    def ends(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the ends of the interval."""
        low, high = np.quantile(self.drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
        return float(low), float(high)

    def __str__(self) -> str:
        low, high = self.ends()
        return f"{self.points:+.1f} ({low:+.1f} to {high:+.1f})"


def interval(one: Asked, other: Asked | None = None, draws: int = DRAWS) -> Interval:
    """Return the mean of a system, or its lead over another, with a bootstrap over sentences and draws of labels."""
    differences = [
        {code: of - (other.answers[draw][code] if other else 0.0) for code, of in answers.items()}
        for draw, answers in enumerate(one.answers)
    ]
    numbers = np.unique(np.concatenate([of for draw in one.sentences for of in draw.values()]))
    codes = list(differences[0])
    rng = np.random.default_rng(0)
    n, d = len(numbers), len(differences)
    sums, counts = np.zeros((n, d, len(codes))), np.zeros((n, d, len(codes)))
    for draw, by_code in enumerate(differences):
        for at, code in enumerate(codes):
            rows = np.searchsorted(numbers, one.sentences[draw][code])
            sums[:, draw, at] = np.bincount(rows, by_code[code], n)
            counts[:, draw, at] = np.bincount(rows, minlength=n)
    whole = sums.sum(axis=0) / counts.sum(axis=0)  # (d, languages)
    drawn = []
    for _ in range(draws // AT_ONCE):
        weights = rng.multinomial(n, np.full(n, 1 / n), size=AT_ONCE).astype(np.float64)
        asked = np.tensordot(weights, counts, 1)
        means = np.where(asked > 0, np.tensordot(weights, sums, 1) / np.maximum(asked, 1), whole)
        labels = rng.multinomial(d, np.full(d, 1 / d), size=AT_ONCE) / d
        drawn.append((means.mean(axis=2) * labels).sum(axis=1))
    return Interval(100 * float(whole.mean()), 100 * np.concatenate(drawn))


def rows() -> list[tuple[str, str]]:
    """Return the rows of the table: set and encoder."""
    return [(data, encoder) for data in SETS for encoder in ENCODERS]


def table() -> list[str]:
    """Return the table: the adapted intent model, and its lead over the best other one.

    A lead, of either side, is bold if its interval excludes 0 at a confidence of 95 % for all leads of the table
    together (Bonferroni).
    """
    leads = len(rows()) * len(LEADS)
    lines = []
    for data, encoder in rows():
        cells = [SETS[data] if encoder == "use" else "", ENCODERS[encoder]]
        for count in COUNTS:
            found = ours(data, encoder, count)
            cells.append("" if found is None else f"{found.mean:.1f}")
        for count in LEADS:
            model, other = ours(data, encoder, count), best_other(data, encoder, count)
            if model is None or other is None:
                cells.append("")
                continue
            lead = interval(model, other)
            low, high = lead.ends(1 - 0.05 / leads)
            text = f"**{lead}**" if low > 0 or high < 0 else str(lead)
            cells.append(f"{text} {other.name}")
        lines.append(" ".join(f"| {' | '.join(cells)} |".split()))
    return lines


def published_table() -> list[str]:
    """Return the intent model with 5 and 10 labels an intent, and what others published."""
    rows = {
        f"**intent model on {title}**": [
            found.mean
            for data in SHOT_SETS
            for count in SHOTS
            if (found := named(data, encoder, count, OURS)) is not None
        ]
        for encoder, title in ENCODERS.items()
    }
    return [
        f"| {' | '.join([title, *(f'{right:.1f}' for right in found)])} |"
        for title, found in (PUBLISHED | rows).items()
    ]


@cache
def figures() -> pd.DataFrame:
    """Return the figures of the intent model that `benchmarks.intents --keep` wrote, with all labels."""
    kept = pd.read_csv(FOLDER.parent / "intents.csv", dtype={"labels": str}, keep_default_na=False)
    return kept[(kept["labels"] == "all") & (kept["encoder"] == "use")]


def known_table() -> list[str]:
    """Return what is named right and known, what is found of others, whether confidence is right, and the time."""
    lines = []
    for data, title in SETS.items():
        of = figures()[figures()["set"] == data].set_index("measure")["value"]
        if of.empty:
            continue
        cells = [f"{of[name]:.1f}" if name in of else "" for name in (OURS, "known_and_right", "none_found")]
        cells.append(f"{of['auroc']:.2f}" if "auroc" in of else "")
        codes = sorted(name.removeprefix("ece_") for name in of.index if re.fullmatch("ece_[a-z]{2}", name))
        cells += [f"{of['ece']:.1f}", ", ".join(f"{code} {of[f'ece_{code}']:.1f}" for code in codes)]
        cells.append(f"{of['fit_cpu_s']:.1f}" if "fit_cpu_s" in of else "")
        lines.append(" ".join(f"| {' | '.join([title.partition(':')[0], *cells])} |".split()))
    return lines


def draw() -> None:
    """Draw right intents against the number of labels."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(SETS), figsize=(13, 3.6), sharey=True, layout="constrained")
    for axes, (data, title) in zip(panels, SETS.items(), strict=True):
        for encoder, colour in (("use", "#0072b2"), (BOTH, "#d55e00")):
            of = "use" if encoder == "use" else "both encoders"
            for label, style, systems in (
                (f"intent model, {of}", "-", [ours(data, encoder, count) for count in COUNTS]),
                (
                    f"best other, {of}",
                    ":",
                    [best_other(data, encoder, count) for count in COUNTS],
                ),
            ):
                found = [(at, one) for at, one in enumerate(systems) if one is not None]
                if not found:
                    continue
                at = [place for place, _ in found]
                means = [one.mean for _, one in found]
                ends = np.array([interval(one, draws=2000).ends() for _, one in found])
                axes.plot(at, means, style, color=colour, marker="o", markersize=3.5, label=label)
                axes.fill_between(at, ends[:, 0], ends[:, 1], color=colour, alpha=0.13, linewidth=0)
        axes.set_title(re.split("[:,(]", title)[0].replace("`", ""), fontsize=11)
        axes.set_xticks(range(len(COUNTS)), COUNTS)
        axes.grid(axis="y", color="#ddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("right intents, %")
    figure.supxlabel("English labels an intent (0: the names of the intents alone)", fontsize=10)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(DOCS / "labels.png", dpi=110)


def print_leads() -> None:
    """Print the least leads on the mean of the sets."""
    for encoder, adapts in product(ENCODERS, (False, True)):
        leads = (f"{count}: {least_lead(encoder, count, adapts=adapts):.1f}" for count in COUNTS)
        print(encoder, "adapted" if adapts else "", *leads)


if __name__ == "__main__":
    draw()
    print_leads()
