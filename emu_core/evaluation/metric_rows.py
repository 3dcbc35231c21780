"""Figures in rows and sentences of plain text, for the model card, the command, the app and reports."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from emu_core.data.languages import language_name
from emu_core.data.wording import counted
from emu_core.evaluation.comparison import SIGNIFICANT, Comparison
from emu_core.evaluation.forgetting import PARTS
from emu_core.evaluation.guard import Verdict, flagged

GUARD_HEAD = ("language", "difference", "95 % interval", "queries", "verdict")
LEAKAGE_HEAD = ("measure", "base %", "specialised %", "chance %")
FORGETTING_HEAD = ("measure", "base", "specialised", "difference", "95 % interval", "pairs", "")
MOST_NAMED = 6  # directions in a sentence
_VERDICTS = {
    Verdict.LOSES: "Loses",
    Verdict.MAY_LOSE: "May lose (the estimate is below zero, the interval is not)",
}
_LEAKAGE = {
    "probe": "a linear probe (balanced accuracy)",
    "neighbours": "the nearest neighbours (share in the own language)",
}
_FORGETTING = {"sts": "STS Spearman", "translations": "translations %"}

Facts = Mapping[str, Any]


class TextTable(NamedTuple):
    """A table of text: its column names and its rows."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def guard_rows(guard: Mapping[str, Facts]) -> list[tuple[str, ...]]:
    """Return a row for each language of a guard as metrics.json has it, under `GUARD_HEAD`."""
    return [
        (
            language,
            f"{change['difference']:+.1f}",
            _interval(change["low"], change["high"], "+.1f"),
            f"{change['queries']:,}",
            change["verdict"],
        )
        for language, change in guard.items()
    ]


def guard_sentences(guard: Mapping[str, Facts]) -> dict[Verdict, str]:
    """Return by verdict which languages lose and which may lose, the worst first; empty where none does."""
    return {
        verdict: f"{_VERDICTS[verdict]}: {', '.join(_named(code, points) for code, points in languages.items())}."
        for verdict, languages in flagged(guard).items()
    }


def new_intent_sentence(found: Facts | None) -> str:
    """Return what sentences of intents without labels gain or lose, of `new_intents` as metrics.json has it."""
    if found is None:
        return "Intents without labels were not measured: that takes four labelled intents or more."
    return (
        f"Sentences of intents that no label was given for: Acc@1 {found['base']:.1f} → {found['specialised']:.1f} %, "
        f"{found['difference']:+.1f} points (95 %: {_interval(found['low'], found['high'], '+.1f')}): "
        f"{found['verdict']}."
    )


def cross_validation_sentence(found: Facts) -> str:
    """Return how many new sentences are right by cross-validation, `cross_validation` as metrics.json has it."""
    return (
        f"Cross-validated on the {found['queries']:,} labelled sentences, {found['divisions']} folds: Acc@1 "
        f"{found['base']:.1f} → {found['specialised']:.1f} %, {found['difference']:+.1f} points (95 %: "
        f"{_interval(found['low'], found['high'], '+.1f')}): {found['verdict']}."
    )


def leakage_rows(leakage: Mapping[str, Facts]) -> list[tuple[str, ...]]:
    """Return a row for each measure of the leakage as metrics.json has it, under `LEAKAGE_HEAD`."""
    base, specialised = leakage["base"], leakage["specialised"]
    return [
        (what, f"{base[name]:.1f}", f"{specialised[name]:.1f}", f"{base[f'{name}_chance']:.1f}")
        for name, what in _LEAKAGE.items()
    ]


def forgetting_rows(forgetting: Facts) -> list[tuple[str, ...]]:
    """Return a row for each measure of a forgetting check as forgetting.json has it, under `FORGETTING_HEAD`."""
    return [
        _forgetting_row({"part": part, "name": name, **found})
        for part in PARTS
        for name, found in forgetting[part].items()
    ]


def _forgetting_row(found: Facts) -> tuple[str, ...]:
    places = PARTS[found["part"]].places
    return (
        f"{_FORGETTING[found['part']]} {found['name']}",
        f"{found['base']:.{places}f}",
        f"{found['specialised']:.{places}f}",
        f"{found['difference']:+.{places}f}",
        _interval(found["low"], found["high"], f"+.{places}f"),
        f"{found['count']:,}",
        "fell" if found["flagged"] else "",
    )


def fallen_sentence(comparison: Comparison) -> str:
    """Return which directions got worse: how many, a colon, and the worst of them; "" where none did."""
    fallen = comparison.fallen
    if fallen.empty:
        return ""
    named = "; ".join(
        f"{language_name(row['queries'])} queries in a pool of {language_name(row['pool'])} {row['base']:.1f} → "
        f"{row['other']:.1f} ({p_value(row['p_value'])})"
        for row in fallen.head(MOST_NAMED).to_dict("records")
    )
    more = f"; and {len(fallen) - MOST_NAMED} more" if len(fallen) > MOST_NAMED else ""
    return f"{counted(len(fallen), 'direction')} of {len(comparison.accuracy)} got worse: {named}{more}."


def significance_sentence(comparison: Comparison) -> str:
    """Return what the stars and the test over all directions mean."""
    directions = len(comparison.accuracy)
    return (
        "Each sentence's nearest neighbour in the pool's language decides; the sentence itself and its translations "
        f"are left out (leave-one-out, Acc@1). A star: p < {SIGNIFICANT} in an exact McNemar test of this direction "
        f"alone; with {counted(directions, 'direction')}, chance gives about {SIGNIFICANT * directions:.1f} stars. "
        f"All directions together: {p_value(comparison.wilcoxon.p_value)} (Wilcoxon signed-rank test)."
    )


def p_value(value: float) -> str:
    """Return "p = 0.021", or "p < 0.001"."""
    return f"p = {value:.3f}" if value >= 0.001 else "p < 0.001"


def accuracy_table(comparison: Comparison) -> TextTable:
    """Return a row for each direction."""
    rows = [
        (
            row["pair"],
            f"{row['n']:,}",
            *(
                cell
                for side in ("base", "other")
                for cell in (f"{row[side]:.1f}", _interval(row[f"{side}_low"], row[f"{side}_high"], ".1f"))
            ),
            f"{row['difference']:+.1f}",
            _interval(row["difference_low"], row["difference_high"], "+.1f"),
            str(row["fixed"]),
            str(row["broken"]),
            f"{row['p_value']:.3f}" if row["p_value"] >= 0.001 else "<0.001",
        )
        for row in comparison.accuracy.to_dict("records")
    ]
    base, other = comparison.names
    head = [
        "direction",
        "queries",
        f"{base} %",
        "95 %",
        f"{other} %",
        "95 %",
        "difference",
        "95 %",
        "fixed",
        "broken",
    ]
    return TextTable([*head, "p"], rows)


def means_table(comparison: Comparison) -> TextTable:
    """Return the mean over all directions, and over those with English."""
    rows = [
        (row["over"], f"{row['base']:.1f}", f"{row['other']:.1f}", f"{row['difference']:+.1f}")
        for row in comparison.means.to_dict("records")
    ]
    return TextTable(("mean of", *comparison.names, "difference"), rows)


def leakage_table(comparison: Comparison) -> TextTable:
    """Return a row for each measure of the leakage, which was measured."""
    head = ("measure", *(f"{name} %" for name in comparison.names), "chance %")
    return TextTable(head, leakage_rows(comparison.metrics["leakage"]))


def change_counts_table(comparison: Comparison) -> TextTable:
    """Return how many neighbours changed, by language."""
    table = comparison.change_counts()
    return TextTable(
        list(table.columns), [[str(row[0]), *(f"{count:,}" for count in row[1:])] for row in table.to_numpy()]
    )


def confusion_table(comparison: Comparison) -> TextTable:
    """Return how often sentences of one intent have a neighbour of another, the largest changes first."""
    counts = comparison.confusion()
    counts = counts[counts["intent"] != counts["neighbour"]]
    counts = counts.sort_values("difference", key=abs, ascending=False, kind="stable")
    rows = [
        (row["intent"], row["neighbour"], f"{row['base']:,}", f"{row['other']:,}", f"{row['difference']:+,}")
        for row in counts.to_dict("records")
    ]
    return TextTable(("intent", "the neighbour's", *comparison.names, "difference"), rows)


def triples_table(comparison: Comparison, *, across_languages: bool = False) -> TextTable:
    """Return the suggested triples with the cosines of S1 and S2 and of S1 and S3 by both encoders."""
    rows = [
        (
            row["s1"],
            row["s2"],
            row["s3"],
            *(f"{row[f'{side}_{which}']:.2f}" for side in ("base", "other") for which in ("s12", "s13")),
        )
        for row in comparison.triples(across_languages=across_languages).to_dict("records")
    ]
    cosines = [f"{name}: {which}" for name in comparison.names for which in ("S1-S2", "S1-S3")]
    return TextTable(("S1", "S2: another intent", "S3: the same intent", *cosines), rows)


def forgetting_table(forgetting: pd.DataFrame) -> TextTable:
    """Return `Comparison.forgetting` as text."""
    return TextTable(FORGETTING_HEAD, [_forgetting_row(row) for row in forgetting.to_dict("records")])


def _interval(low: float, high: float, form: str) -> str:
    return f"{low:{form}} to {high:{form}}"


def _named(code: str, points: float) -> str:
    return f"{language_name(code)} ({code}, {points:+.1f} points)"
