"""The figures of a run as text: the functions `text` of the rows in `figures.py`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import pandas as pd

from emu_core.data.wording import TextTable
from emu_core.evaluation.disentangled import PROBE, DisentangledMetrics, part_table
from emu_core.evaluation.guard import LanguageChange, LeftOut
from emu_core.evaluation.leakage import LeakageChange
from emu_core.evaluation.prediction import PredictionMetrics
from emu_core.evaluation.run_metrics import EigenMetrics, Metrics, NewIntentMetrics, RankingMetrics
from emu_core.evaluation.significance import binomial_interval
from emu_core.evaluation.vector_classifier import Rule
from emu_core.reports.figures_as_text import (
    ACCURACY,
    Sentence,
    fallen_measures,
    forgetting_table,
    guard_sentences,
    guard_table,
    leakage_table,
    named,
    text_rows,
)

_CHANGE = (
    "{accuracy} {base:.1f} → {specialised:.1f} %, {difference:+.1f} points "
    "(95 %: {low:+.1f} to {high:+.1f}): {verdict}."
)
_RULES = {
    Rule.NEIGHBOURS.value: "nearest neighbours",
    Rule.REGRESSION.value: "a logistic regression",
    Rule.BOTH.value: "nearest neighbours and a regression together",
}


@dataclass(frozen=True)
class FigureText:
    """How a figure is told.

    Attributes:
        note: how it was measured, and how to read it.
        sentences: what it says; those of the kind "worse" are warnings.
        table: its numbers.
        cards: name, value and more about it of the few numbers that are enough where there is little room.
    """

    note: str = ""
    sentences: Sequence[Sentence] = ()
    table: TextTable | None = None
    cards: Sequence[tuple[str, str, str]] = ()


def accuracy_text(specialised: Mapping[str, float], metrics: Metrics) -> FigureText | None:
    """Return the accuracy of each direction, with the interval of the specialised encoder's, or why there is none."""
    if not metrics.is_measured:
        note = Sentence(f"Not measured: {metrics.note}.", "note")
        return FigureText(sentences=[note]) if metrics.note else None
    rows, worse = [], []
    for pair, base in metrics.base.items():
        new, count = specialised[pair], metrics.counts[pair]
        interval = binomial_interval(round(new * count / 100), count)
        rows.append({"pair": pair, "base": base, "new": new, "gain": new - base, "interval": interval})
        worse += [pair] if new < base else []
    base, new = metrics.mean_base, metrics.mean_specialised
    gain = f"{new - base:+.1f} points"
    mean = f"The mean over the {metrics.mean_over} went from {base:.1f} to {new:.1f} % ({gain})."
    fallen = f"Worse than the base in: {', '.join(worse)}."
    return FigureText(
        f"Split {metrics.split}; the query's own id is left out of the pool. In s-t the queries are in s.",
        [
            Sentence(mean),
            Sentence(fallen, "worse") if worse else Sentence("No direction got worse.", "better"),
        ],
        TextTable(
            ("direction", "base %", "specialised %", "difference", "95 % interval"),
            text_rows(
                rows,
                "{pair} | {base:.1f} | {new:.1f} | {gain:+.1f} | {interval.low:.1f} to {interval.high:.1f}",
            ),
        ),
        [
            ("Base encoder", f"{base:.1f} %", f"mean of {metrics.mean_over}"),
            ("Specialised", f"{new:.1f} %", gain),
        ],
    )


def cross_validation_text(measured: LeftOut | None, metrics: Metrics) -> FigureText | None:
    """Return how many new sentences are right."""
    return None if measured is None else FigureText(sentences=[Sentence(cross_validation_sentence(measured))])


def cross_validation_sentence(measured: LeftOut, accuracy: str = ACCURACY) -> str:
    """Return how many new sentences are right."""
    return (
        f"Cross-validated on the {measured.queries:,} labelled sentences, {measured.divisions} folds: "
        f"{_CHANGE.format(accuracy=accuracy, **vars(measured))}"
    )


def guard_text(changes: Mapping[str, LanguageChange] | None, metrics: Metrics) -> FigureText:
    """Return which languages lose, and the gain or loss of each."""
    if not changes:
        loss = "Not guarded: no sentences were held out, so a loss in some language would go unnoticed."
        return FigureText(sentences=[Sentence(loss, "worse")])
    note = (
        "The gain or loss of the queries in each language, in points of Acc@1 over all its directions, with a 95 % "
        "interval over the queries."
    )
    return FigureText(note, _verdicts(changes), guard_table(changes))


def prediction_text(measured: PredictionMetrics | None, metrics: Metrics) -> FigureText | None:
    """Return how accurate predictions are, which languages lose, and the gain or loss of each."""
    if measured is None:
        return None
    sentences = [Sentence(prediction_sentence(measured), "note"), *_verdicts(measured.guard)]
    return FigureText(sentences=sentences, table=guard_table(measured.guard))


def prediction_sentence(measured: PredictionMetrics) -> str:
    """Return how accurate predictions from the labelled sentences are by both encoders, the mean of the languages."""
    base, specialised = (fmean(side.values()) for side in (measured.base, measured.specialised))
    return (
        f"Right predictions: {base:.1f} → {specialised:.1f} % ({specialised - base:+.1f} points), the mean of the "
        f"languages, from {measured.pool:,} sentences; {_RULES[measured.base_rule]} for the base encoder, and "
        f"{_RULES[measured.specialised_rule]} for the specialised one, as predictions choose."
    )


def new_intents_text(measured: NewIntentMetrics | None, metrics: Metrics) -> FigureText:
    """Return how sentences of intents without labels gain or lose."""
    note = (
        "Each half of the intents was left out in turn, the method was fitted on the other half, and the labelled "
        "sentences left out were compared with each other in their own language."
    )
    sentence = f"{new_intent_change(measured)} {whitening_sentence(measured)}".rstrip()
    is_flagged = measured is not None and measured.verdict.is_flagged
    return FigureText(note, [Sentence(sentence, "worse" if is_flagged else "note")])


def new_intent_change(measured: NewIntentMetrics | None, accuracy: str = ACCURACY) -> str:
    """Return how sentences of intents without labels gain or lose."""
    if measured is None:
        return "Intents without labels were not measured: that takes four labelled intents or more."
    return f"Sentences of intents without labels: {_CHANGE.format(accuracy=accuracy, **vars(measured))}"


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
    head = ("direction", "P@1 %", "95 % interval", "P@3 %", "P@10 %", "among", "trained on such pairs")
    note = f"Measured on {metrics.measured_on}, by cosine among all of them. In s-t the queries are in s."
    return FigureText(note, table=TextTable(head, rows))


def eigen_text(similarity: Mapping[str, EigenMetrics] | None, metrics: Metrics) -> FigureText | None:
    """Return the eigen-similarity of each pair of languages."""
    if not similarity:
        return None
    rows = text_rows(named(similarity), "{name} | {mean:.3f} | {standard_error:.3f} | {variance:.3f}")
    return FigureText(
        "How differently two languages arrange the same sentences (0: alike), over samples of ten pairs.",
        table=TextTable(("pair", "mean", "standard error", "variance between samples"), rows),
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


def _verdicts(changes: Mapping[str, LanguageChange]) -> list[Sentence]:
    losses = [Sentence(sentence, "worse") for sentence in guard_sentences(changes).values()]
    return losses or [Sentence("No language is seen to lose.", "better")]
