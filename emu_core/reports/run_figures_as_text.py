"""The figures of a run as text: the functions `text` of the rows in `figures.py`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from emu_core.data.wording import TextTable
from emu_core.evaluation.changes import LeftOut, Verdict
from emu_core.evaluation.disentangled import PROBE, DisentangledMetrics, part_table
from emu_core.evaluation.leakage import LeakageChange
from emu_core.evaluation.run_metrics import EigenMetrics, Metrics, NewIntentMetrics, RankingMetrics
from emu_core.evaluation.significance import binomial_interval
from emu_core.reports.figures_as_text import (
    Sentence,
    fallen_measures,
    forgetting_table,
    leakage_table,
    named,
    text_rows,
)
from emu_core.reports.verdict import Measure, left_out_sentence, memory_text, time_text


@dataclass(frozen=True)
class FigureText:
    """How a figure is told.

    Attributes:
        note: how it was measured, and how to read it.
        sentences: what it says; those of the kind "worse" are warnings.
        table: its numbers.
    """

    note: str = ""
    sentences: Sequence[Sentence] = ()
    table: TextTable | None = None


def measure_text(measure: Measure) -> FigureText | None:
    """Return a measure of the verdict by language; None if it was not taken."""
    return None if measure.changes is None else FigureText(measure.note, table=measure.table())


def directions_text(specialised: Mapping[str, float], metrics: Metrics) -> FigureText | None:
    """Return how similar sentences are found in each direction, with the interval of the specialised encoder's."""
    if not metrics.is_measured or not specialised:
        return None
    rows = []
    for pair, base in metrics.base.items():
        new, count = specialised[pair], metrics.counts[pair]
        interval = binomial_interval(round(new * count / 100), count)
        rows.append({"pair": pair, "base": base, "new": new, "gain": new - base, "interval": interval})
    return FigureText(
        f"Split {metrics.split}. In s-t, sentences in s are looked up among those in t.",
        table=TextTable(
            ("language pair", "before", "after", "change", "95 % interval of after"),
            text_rows(
                rows,
                "{pair} | {base:.1f} % | {new:.1f} % | {gain:+.1f} | {interval.low:.1f} to {interval.high:.1f}",
            ),
        ),
    )


def cross_validation_text(measured: LeftOut | None, metrics: Metrics) -> FigureText | None:
    """Return how many new sentences are right."""
    if measured is None:
        return None
    return FigureText(sentences=[Sentence(left_out_sentence(measured, f"In {measured.divisions} folds"))])


def new_intents_text(measured: NewIntentMetrics | None, metrics: Metrics) -> FigureText:
    """Return how similar sentences of intents without labels are found."""
    note = (
        "Each half of the intents was left out in turn, the method was fitted on the other half, and the labelled "
        "sentences left out were compared with each other in their own language."
    )
    sentence = f"{new_intent_change(measured)} {whitening_sentence(measured)}".rstrip()
    is_worse = measured is not None and measured.verdict is Verdict.WORSE
    return FigureText(note, [Sentence(sentence, "worse" if is_worse else "note")])


def new_intent_change(measured: NewIntentMetrics | None) -> str:
    """Return how similar sentences of intents without labels are found."""
    if measured is None:
        return "Intents without labels were not measured: that takes four labelled intents or more."
    return left_out_sentence(measured, "Intents without labels")


def whitening_sentence(measured: NewIntentMetrics | None) -> str:
    """Return why the stronger whitening was chosen; "" if it was not."""
    strength = None if measured is None else measured.strength
    if strength is None or not strength.is_stronger:
        return ""
    return (
        f"The stronger whitening was chosen ({strength.whitening:g}, with a share of {strength.share:g}): "
        "with intents left out, the share of a sentence's neighbours that have its intent rose by "
        f"{strength.gain:.1f} points (standard error {strength.error:.1f})."
    )


def leakage_text(leakage: LeakageChange | None, metrics: Metrics) -> FigureText | None:
    """Return how well the vectors of both encoders predict the language."""
    if leakage is None:
        return None
    note = (
        f"How well the vectors of {leakage.base.sentences:,} held-out sentences predict which of "
        f"{leakage.base.languages} languages each is in; at chance level they carry no language identity."
    )
    return FigureText(note, table=leakage_table(leakage))


def parts_text(parts: DisentangledMetrics | None, metrics: Metrics) -> FigureText | None:
    """Return what each embedding of a method that splits vectors encodes."""
    if parts is None:
        return None
    notes = [Sentence(note, "note") for note in parts.notes]
    if not parts.counts.translation:
        return FigureText(sentences=notes)
    table = part_table(parts)
    probe = f" {PROBE}: the accuracy of a linear probe that predicts the language." if PROBE in table else ""
    note = (
        "Acc@1 of each embedding in retrieving translations, and sentences of the same template, in percent."
    )
    rows = [[name, *(f"{value:.1f}" for value in values)] for name, *values in table.itertuples(index=False)]
    return FigureText(note + probe, notes, TextTable(list(table.columns), rows))


def translation_text(translation: Mapping[str, RankingMetrics] | None, metrics: Metrics) -> FigureText | None:
    """Return the translation retrieval of each direction."""
    if translation is None:
        return None
    rows = text_rows(
        (record | {"trained": "yes" if record["trained"] else "no"} for record in named(translation)),
        "{name} | {p_at_1:.1f} | {low:.1f} to {high:.1f} | {p_at_3:.1f} | {p_at_10:.1f} | {candidates:,} | {trained}",
    )
    head = ("language pair", "P@1 %", "95 % interval", "P@3 %", "P@10 %", "among", "trained on such pairs")
    note = f"Measured on {metrics.measured_on}, by cosine among all of them. In s-t the queries are in s."
    return FigureText(note, table=TextTable(head, rows))


def costs_text(peak_memory_mb: float, metrics: Metrics) -> FigureText | None:
    """Return how long the training took, and the memory that its process held; None if the memory is unknown."""
    if not peak_memory_mb:
        return None
    rows = [("time", time_text(metrics.seconds)), ("memory", memory_text(peak_memory_mb))]
    note = (
        "Time of the whole run; the most resident memory of its process, with libraries and data and without that of a "
        "GPU."
    )
    return FigureText(note, table=TextTable(("", "training"), rows))


def eigen_text(similarity: Mapping[str, EigenMetrics] | None, metrics: Metrics) -> FigureText | None:
    """Return the eigen-similarity of each pair of languages."""
    if not similarity:
        return None
    rows = text_rows(named(similarity), "{name} | {mean:.3f} | {standard_error:.3f} | {variance:.3f}")
    return FigureText(
        "How differently two languages arrange the same sentences (0: alike), over samples of ten pairs.",
        table=TextTable(("language pair", "mean", "standard error", "variance between samples"), rows),
    )


def forgetting_text(forgetting: pd.DataFrame) -> FigureText:
    """Return what `emu_core.forgetting` measured of a run."""
    fallen, small = fallen_measures(forgetting), forgetting.attrs["measured_on"]
    note = (
        "Whether the encoder is still as good as its base at other tasks: the rank correlation of cosines with human "
        "similarity scores, and how often a sentence's translation is its nearest neighbour. 95 % intervals of the "
        "difference." + (f" Measured on {small}." if small else "")
    )
    verdict = (
        Sentence(f"Fell by more than 0.02 or 1 point: {', '.join(fallen)}.", "worse")
        if fallen
        else Sentence("Nothing fell by more than 0.02 or 1 point.", "better")
    )
    return FigureText(note, [verdict], forgetting_table(forgetting))
