"""Figures of a comparison as text, in tables and sentences, and what figures of a run share with them."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pandas as pd

from emu_core.data.wording import TextTable, counted
from emu_core.evaluation.comparison import SIGNIFICANT, Comparison
from emu_core.evaluation.forgetting import PARTS
from emu_core.evaluation.leakage import LeakageChange

PROTOCOL = (
    "A sentence is right if its nearest neighbour in the pool's language has its intent; the sentence itself and its "
    "translations are left out (leave-one-out, Acc@1)."
)
_FORGETTING = {"sts": "STS Spearman", "translations": "translations %"}

Facts = Mapping[str, Any]


class Sentence(NamedTuple):
    """A sentence of a kind: "worse", "better", "note" or ""."""

    text: str
    kind: str = ""


def text_rows(rows: Iterable[Facts] | pd.DataFrame, row: str) -> list[tuple[str, ...]]:
    """Return a row of text for each record; `row` has a format string for each cell: "{name} | {base:.1f}"."""
    cells = row.split(" | ")
    records = rows.to_dict("records") if isinstance(rows, pd.DataFrame) else rows
    return [tuple(cell.format(**record) for cell in cells) for record in records]


def named(of: Mapping[str, object]) -> list[dict[str, object]]:
    """Return the fields of instances of a dataclass, with their names among them."""
    return [{"name": name, **vars(figures)} for name, figures in of.items()]


def leakage_table(leakage: LeakageChange, names: tuple[str, str] = ("before", "after")) -> TextTable:
    """Return a row for each measure of the leakage of two encoders."""
    base, specialised = leakage.base, leakage.specialised
    measures = {
        "a linear probe (balanced accuracy)": (base.probe, specialised.probe, base.probe_chance),
        "the nearest neighbours (share in the own language)": (
            base.neighbours,
            specialised.neighbours,
            base.neighbours_chance,
        ),
    }
    rows = [(what, *(f"{value:.1f}" for value in values)) for what, values in measures.items()]
    return TextTable(("measure", *(f"{name} %" for name in names), "chance %"), rows)


def fallen_measures(forgetting: pd.DataFrame) -> list[str]:
    """Return the names of the measures of `Comparison.forgetting` that fell too far, such as "STS de"."""
    fallen = forgetting[forgetting["flagged"]]
    return [f"{PARTS[part].short} {name}" for part, name in zip(fallen["part"], fallen["name"], strict=True)]


def forgetting_table(forgetting: pd.DataFrame) -> TextTable:
    """Return a row for each measure of `Comparison.forgetting`."""
    records = forgetting.to_dict("records")
    for record in records:
        part, fell = record["part"], "fell" if record["flagged"] else ""
        record |= {"what": _FORGETTING[part], "places": PARTS[part].places, "fell": fell}
    rows = text_rows(
        records,
        "{what} {name} | {base:.{places}f} | {specialised:.{places}f} | {difference:+.{places}f} | "
        "{low:+.{places}f} to {high:+.{places}f} | {count:,} | {fell}",
    )
    return TextTable(("measure", "before", "after", "change", "95 % interval", "pairs", ""), rows)


def significance_sentence(comparison: Comparison) -> str:
    """Return what the stars and the test over all language pairs mean."""
    count = len(comparison.accuracy)
    return (
        f"A star: p < {SIGNIFICANT} in an exact McNemar test of this language pair alone; with "
        f"{counted(count, 'language pair')}, chance gives about {SIGNIFICANT * count:.1f} stars. All language pairs "
        f"together: {p_value(comparison.wilcoxon.p_value)} (Wilcoxon signed-rank test)."
    )


def protocol_sentences(comparison: Comparison) -> str:
    """Return when a sentence is right, and what `significance_sentence` says."""
    return f"{PROTOCOL} {significance_sentence(comparison)}"


def p_value(value: float) -> str:
    """Return "p = 0.021", or "p < 0.001"."""
    return f"p = {value:.3f}" if value >= 0.001 else "p < 0.001"


def accuracy_table(comparison: Comparison) -> TextTable:
    """Return a row for each direction."""
    base, other = comparison.names
    head = ["language pair", "sentences", f"{base} %", "95 %", f"{other} %", "95 %", "difference", "95 %"]
    shown = comparison.accuracy.assign(
        p=[f"{p:.3f}" if p >= 0.001 else "<0.001" for p in comparison.accuracy["p_value"]]
    )
    rows = text_rows(
        shown,
        "{pair} | {n:,} | {base:.1f} | {base_low:.1f} to {base_high:.1f} | {other:.1f} | "
        "{other_low:.1f} to {other_high:.1f} | {difference:+.1f} | "
        "{difference_low:+.1f} to {difference_high:+.1f} | {fixed} | {broken} | {p}",
    )
    return TextTable([*head, "fixed", "broken", "p"], rows)


def change_counts_table(comparison: Comparison) -> TextTable:
    """Return how many neighbours changed, by language."""
    table = comparison.change_counts()
    language, *changes = table.columns
    row = " | ".join([f"{{{language}}}", *(f"{{{change}:,}}" for change in changes)])
    return TextTable([language, *changes], text_rows(table, row))


def confusion_table(comparison: Comparison) -> TextTable:
    """Return how often sentences of one intent have a neighbour of another, the largest changes first."""
    counts = comparison.confusion()
    counts = counts[counts["intent"] != counts["neighbour"]]
    counts = counts.sort_values("difference", key=abs, ascending=False, kind="stable")
    rows = text_rows(counts, "{intent} | {neighbour} | {base:,} | {other:,} | {difference:+,}")
    return TextTable(("intent", "the neighbour's", *comparison.names, "difference"), rows)


def triples_table(comparison: Comparison, *, across_languages: bool = False) -> TextTable:
    """Return the suggested triples with the cosines of S1 and S2 and of S1 and S3 by both encoders."""
    rows = text_rows(
        comparison.triples(across_languages=across_languages),
        "{s1} | {s2} | {s3} | {base_s12:.2f} | {base_s13:.2f} | {other_s12:.2f} | {other_s13:.2f}",
    )
    cosines = [f"{name}: {which}" for name in comparison.names for which in ("S1-S2", "S1-S3")]
    return TextTable(("S1", "S2: another intent", "S3: the same intent", *cosines), rows)


def changes_table(comparison: Comparison, rows: pd.DataFrame, *, with_change: bool = False) -> TextTable:
    """Return rows of `Comparison.changes`, with or without the kind of the change."""
    base, other = comparison.names
    heads = {
        "change": "change", "sentence": "sentence", "language": "language", "intent": "intent",
        "base_neighbour": f"{base}: nearest", "base_intent": "intent",
        "other_neighbour": f"{other}: nearest", "other_intent": "intent",
    }  # fmt: skip
    columns = list(heads) if with_change else list(heads)[1:]
    return TextTable([heads[column] for column in columns], rows[columns].to_numpy().tolist())
