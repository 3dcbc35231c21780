"""The verdict on a run, or on a comparison: the one source of what every face says of it, in the same words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, Final

import pandas as pd

from emu_core.data.languages import language_name
from emu_core.data.wording import TextTable, counted, shown
from emu_core.evaluation.changes import Changes, LeftOut, PairedChange, Verdict
from emu_core.evaluation.comparison import Comparison, Trained
from emu_core.evaluation.prediction import FEW, BeforeAndAfter, RightIntents, Share
from emu_core.evaluation.run_metrics import Metrics
from emu_core.reports.figures_as_text import Sentence, fallen_measures

NUMBERS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
BEFORE_AND_AFTER: Final = ("before", "after")  # the encoders of a run and its base
_ALIKE_POINTS = 1.5  # an unclear change that is smaller is none
_MOST_NAMED = 6  # languages in a sentence
_CLEAR_ERRORS = 1.96  # standard errors of a difference that is clear, as in a 95 % interval
RIGHT_INTENTS, SIMILAR_SENTENCES, COSTS = "Right intents", "Similar sentences", "What it costs"
_NOTES = {
    RIGHT_INTENTS: "Sentences that were held out are asked in each language; an intent model, fitted on the labelled "
    "sentences, names their intents. The most likely intent counts, whether or not it is rejected.",
    SIMILAR_SENTENCES: "Of a held-out sentence, the nearest other one must have its intent; repeats and translations "
    "of it are left out (leave-one-out, the papers' Acc@1). If there is English, sentences of another language are "
    "looked up among English ones, and English ones among those of every language. Where fewer than a hundred are "
    "counted, a sentence that is looked up in several languages counts by the share of them in which it is right; all "
    "languages together are the mean of the language pairs and no sum.",
}
_VERBS = {RIGHT_INTENTS: "names the intents", SIMILAR_SENTENCES: "finds similar sentences"}


@dataclass(frozen=True)
class Measure:
    """A measure of two encoders, over all languages and in each.

    Attributes:
        title: its name, which nothing else has.
        note: what is asked, and when an answer is right.
        over: what all languages together are, in words: "mean of 3 languages".
        changes: None if it was not measured, and then
        missing: why not, in a sentence.
        names: of the two encoders.
    """

    title: str
    note: str
    over: str = ""
    changes: Changes | None = None
    missing: str = ""
    names: tuple[str, str] = BEFORE_AND_AFTER

    @property
    def clause(self) -> str:
        """The result in words: "names the intents better (52 → 59 of 100)"; "" if it was not measured."""
        if self.changes is None:
            return ""
        change, before = self.changes.overall, self.names[0]
        is_run = self.names == BEFORE_AND_AFTER
        if change.verdict is not Verdict.NOT_CLEAR:
            how = change.verdict.value + ("" if is_run else f" than {shown(before, 40)}")
        elif abs(change.difference) < _ALIKE_POINTS:
            how = f"as well as {before if is_run else shown(before, 40)}"
        else:
            how = "neither clearly better nor worse" + ("" if is_run else f" than {shown(before, 40)}")
        return f"{_VERBS[self.title]} {how} ({self.amounts})"

    @property
    def amounts(self) -> str:
        """The numbers before and after: "26 → 44 of 100", or "9 → 12 of 22" of few sentences; "" if not measured."""
        if self.changes is None:
            return ""
        return amounts(self.changes.overall)

    @property
    def languages(self) -> str:
        """In which languages it is clearly better or worse, the largest changes first; "" of one language or none."""
        if self.changes is None or len(self.changes.by_language) < 2:
            return ""
        by_language = self.changes.by_language
        by_size = sorted(by_language, key=lambda code: -abs(by_language[code].difference))
        ways = {
            way: [code for code in by_size if by_language[code].verdict is way]
            for way in (Verdict.WORSE, Verdict.BETTER)
        }
        for way, codes in ways.items():
            if len(codes) == len(by_language):
                return f"{self.title}: {way} in all {_number(len(codes))} languages."
        if not any(change.difference for change in by_language.values()):
            return f"{self.title}: the same in every language."
        if not any(ways.values()):
            return f"{self.title}: no language is clearly better or worse."
        parts = [f"{way} in {_named(codes)}" for way, codes in ways.items() if codes]
        if unclear := len(by_language) - sum(map(len, ways.values())):
            parts.append(f"not clear in {'the other' if unclear == 1 else f'the other {_number(unclear)}'}")
        return f"{self.title}: {'; '.join(parts)}."

    def table(self, most: int | None = None) -> TextTable:
        """Return a row for each language and one for all; of more than `most` languages, those that changed most."""
        if self.changes is None:
            return TextTable((), [])
        by_language = self.changes.by_language
        codes = list(by_language)
        if most is not None and len(codes) > most:
            largest = sorted(codes, key=lambda code: -abs(by_language[code].difference))[:most]
            codes = [code for code in codes if code in largest]
        head, rows = changes_table({code: by_language[code] for code in codes}, self.names)
        if len(codes) < len(by_language):
            rows = [*rows, (f"{len(by_language) - len(codes)} more languages changed less", *[""] * 6)]
        if len(by_language) > 1:
            whole = self.changes.overall
            rows = [*rows, (self.over, *cells(whole))]
        return TextTable(head, rows)

    def to_json(self) -> dict[str, Any]:
        """Return its words and its numbers."""
        return {
            "title": self.title,
            "sentence": self.clause or self.missing,
            "languages": self.languages,
            **({"overall": None, "by_language": {}} if self.changes is None else _plain(self.changes)),
        }


@dataclass(frozen=True)
class RunVerdict:
    """The verdict on a run, or on how two encoders differ.

    Attributes:
        sentence: the verdict.
        kind: "better", "worse" or "note".
        intents: the right intents.
        similar: the similar sentences.
        unknown: what becomes of sentences of unknown intents, and which right intents are rejected; none if that was
            not measured.
        took: how long the training took, "" if that is unknown.
        memory: the most that its process held, "" if that is unknown.
        other_tasks: whether it still does other tasks as well.
        warnings: of the training.
    """

    sentence: str
    kind: str
    intents: Measure
    similar: Measure
    unknown: tuple[str, ...]
    took: str
    memory: str
    other_tasks: Sentence
    warnings: tuple[str, ...]

    @property
    def costs(self) -> str:
        """Time and memory of the training, in a sentence; "" if neither is known."""
        took = f" in {self.took}" if self.took else ""
        memory = f" with {self.memory} of memory" if self.memory else ""
        return f"Trained{took}{memory}." if took or memory else ""

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures that were taken, the headline first."""
        return tuple(measure for measure in (self.intents, self.similar) if measure.changes is not None)

    @property
    def told(self) -> tuple[Measure, ...]:
        """The measures that were taken, in the order of the sentence: what is clear comes before what is not."""
        return _as_told(*self.measures)

    @property
    def cards(self) -> list[tuple[str, str, str]]:
        """The measures and the costs: of each a title, a number in large letters, and more about it."""
        cards = []
        for measure in self.measures:
            assert measure.changes is not None  # noqa: S101 - one that was taken
            change = measure.changes.overall
            more = f"{change.difference:+.1f} points (95 %: {change.low:+.1f} to {change.high:+.1f}): {change.verdict}"
            cards.append((measure.title, measure.amounts, more))
        return [*cards, (COSTS, ", ".join(filter(None, (self.took, self.memory))), self.other_tasks.text)]

    @property
    def lines(self) -> list[Sentence]:
        """All that is said beside the tables, the verdict first."""
        lines = [Sentence(self.sentence, self.kind)]
        for measure in (self.intents, self.similar):
            if text := measure.languages or measure.missing:
                lines.append(Sentence(text, "note"))
            if measure is self.intents:
                lines += [Sentence(text, "note") for text in self.unknown]
        if self.costs:
            lines.append(Sentence(self.costs, "note"))
        return [*lines, self.other_tasks, *(Sentence(text, "worse") for text in self.warnings)]

    def to_json(self) -> dict[str, Any]:
        """Return all words and numbers."""
        return {
            "sentence": self.sentence,
            "kind": self.kind,
            "right_intents": self.intents.to_json(),
            "similar_sentences": self.similar.to_json(),
            "unknown_intents": list(self.unknown),
            "took": self.took,
            "memory": self.memory,
            "other_tasks": self.other_tasks.text,
            "warnings": list(self.warnings),
        }


def run_verdict(metrics: Metrics, forgetting: pd.DataFrame | None = None) -> RunVerdict:
    """Return the verdict on a run.

    Args:
        metrics: of the run.
        forgetting: what `read_forgetting` returns of it.
    """
    missing = "not measured, as no sentence was held out." if metrics.note else "not measured."
    intents = _intents(metrics.right_intents, "not measured." if metrics.is_measured else missing)
    similar = _similar(metrics.similar_sentences, metrics.mean_over, missing)
    sentence = ""
    if metrics.trained_p_at_1 is not None:
        sentence = _translations(metrics)
    elif metrics.similar_sentences is None:
        sentence = "Nothing is measured yet."
        if metrics.note:
            sentence = _not_held_out(metrics.cross_validation)
        elif metrics.is_measured:
            sentence = (
                "An earlier version measured this run; compare it with its base encoder to measure it again."
            )
    of_unknown = None if metrics.right_intents is None else metrics.right_intents.unknown
    unknown, others = _unknown(metrics.right_intents), _other_tasks(forgetting)
    return _verdict(intents, similar, of_unknown, unknown, metrics.trained, others, sentence)


def comparison_verdict(comparison: Comparison) -> RunVerdict:
    """Return the verdict on two encoders.

    Raises:
        DataError: there are too few sentences to measure anything.
    """
    trained = comparison.trained or Trained(0.0)
    names = comparison.names if comparison.trained is None else BEFORE_AND_AFTER
    intents = _intents(comparison.intents, "not measured on these sentences.", names)
    similar = _similar(comparison.similar, comparison.means["over"].iloc[0], "", names)
    return _verdict(
        intents,
        similar,
        None if comparison.intents is None else comparison.intents.unknown,
        _unknown(comparison.intents),
        trained,
        _other_tasks(comparison.forgetting),
    )


def in_languages(codes: Sequence[str]) -> str:
    """Return "in German", "in six languages"."""
    return f"in {language_name(codes[0])}" if len(codes) == 1 else f"in {_number(len(codes))} languages"


def conjoined(names: Iterable[str]) -> str:
    """Return "a, b and c"."""
    *most, last = [*names] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def changes_table(
    changes: Mapping[str, PairedChange], names: tuple[str, str] = BEFORE_AND_AFTER
) -> TextTable:
    """Return a row for each language: its sentences, both numbers, the change, its interval and whether it is clear."""
    head = (
        "language",
        "sentences",
        *(shown(name, 20) for name in names),
        "change",
        "95 % interval",
        "verdict",
    )
    return TextTable(head, [(language_name(code), *cells(change)) for code, change in changes.items()])


def amounts(change: PairedChange) -> str:
    """Return the numbers before and after: "26 → 44 of 100", or "9 → 12 of 22" of few sentences."""
    if change.queries < FEW:
        counts = [round(side * change.queries / 100) for side in (change.base, change.specialised)]
        return f"{' → '.join(map(str, counts))} of {change.queries}"
    rounds_away = f"{change.base:.0f}" == f"{change.specialised:.0f}"
    places = int(change.verdict is not Verdict.NOT_CLEAR and rounds_away)
    return f"{change.base:.{places}f} → {change.specialised:.{places}f} of 100"


def cells(change: PairedChange) -> tuple[str, ...]:
    """Return the cells of a change: sentences, before, after, difference, interval and verdict; see `amounts`."""
    sides = [f"{side:.1f} %" for side in (change.base, change.specialised)]
    if change.queries < FEW:
        counts = [side * change.queries / 100 for side in (change.base, change.specialised)]
        sides = [f"{count:.1f}".removesuffix(".0") + f" of {change.queries}" for count in counts]
    interval = f"{change.low:+.1f} to {change.high:+.1f}"
    return (f"{change.queries:,}", *sides, f"{change.difference:+.1f}", interval, change.verdict.value)


def share_text(of: BeforeAndAfter) -> str:
    """Return "59 → 58 of 100", or "9 → 8 of 22" of few sentences."""
    if min(of.base.of, of.specialised.of) >= FEW:
        return f"{of.base.percent:.0f} → {of.specialised.percent:.0f} of 100"
    if of.base.of != of.specialised.of:
        return " → ".join(map(_share, (of.base, of.specialised)))
    return f"{of.base.count} → {of.specialised.count} of {of.base.of}"


def left_out_sentence(measured: LeftOut, what: str) -> str:
    """Return how similar sentences are found among those that the method was fitted without."""
    return (
        f"{what}: {SIMILAR_SENTENCES.lower()} {amounts(measured)} ({measured.difference:+.1f} points, "
        f"95 %: {measured.low:+.1f} to {measured.high:+.1f}): {measured.verdict}."
    )


def _verdict(
    intents: Measure,
    similar: Measure,
    of_unknown: BeforeAndAfter | None,
    unknown: Sequence[str],
    trained: Trained,
    other_tasks: Sentence,
    sentence: str = "",
) -> RunVerdict:
    measured = [measure.changes for measure in (intents, similar) if measure.changes is not None]
    verdicts = [changes.overall.verdict for changes in measured]
    in_a_language = [change.verdict for changes in measured for change in changes.by_language.values()]
    finds_fewer, clause = _unknown_clause(of_unknown)
    is_worse = finds_fewer or Verdict.WORSE in (*verdicts, *in_a_language)
    kind = "worse" if is_worse else "better" if Verdict.BETTER in verdicts else "note"
    if not sentence:
        clauses = [measure.clause for measure in _as_told(intents, similar)]
        sentence = "; ".join(filter(None, [*clauses, clause]))
        subject = "" if intents.names == BEFORE_AND_AFTER else f"{shown(intents.names[1], 40)} "
        sentence = f"{subject}{sentence}." if subject else f"{sentence[0].upper()}{sentence[1:]}."
    return RunVerdict(
        sentence,
        kind,
        intents,
        similar,
        tuple(unknown),
        time_text(trained.seconds),
        memory_text(trained.peak_memory_mb),
        other_tasks,
        tuple(trained.warnings),
    )


def _as_told(*measures: Measure) -> tuple[Measure, ...]:
    """Return measures in the order in which they are told: those that are clearly better or worse first."""

    def is_unclear(measure: Measure) -> bool:
        return measure.changes is None or measure.changes.overall.verdict is Verdict.NOT_CLEAR

    return tuple(sorted(measures, key=is_unclear))


def _intents(
    measured: RightIntents | None, missing: str, names: tuple[str, str] = BEFORE_AND_AFTER
) -> Measure:
    if measured is None:
        return Measure(
            RIGHT_INTENTS, _NOTES[RIGHT_INTENTS], missing=f"{RIGHT_INTENTS}: {missing}", names=names
        )
    count = len(measured.by_language)
    over = f"mean of {count} languages" if measured.overall.queries >= FEW else f"all {count} languages"
    return Measure(RIGHT_INTENTS, _NOTES[RIGHT_INTENTS], over, measured, names=names)


def _similar(
    measured: Changes | None, over: str, missing: str, names: tuple[str, str] = BEFORE_AND_AFTER
) -> Measure:
    note = _NOTES[SIMILAR_SENTENCES]
    if measured is None:
        return Measure(SIMILAR_SENTENCES, note, missing=f"{SIMILAR_SENTENCES}: {missing}", names=names)
    return Measure(SIMILAR_SENTENCES, note, f"mean of {over}", measured, names=names)


def _unknown_clause(found: BeforeAndAfter | None) -> tuple[bool, str]:
    """Return whether clearly fewer sentences of unknown intents are found, and that, or that more are; "" for neither.

    The two shares may be of different sentences, so that their difference has the errors of both.
    """
    if found is None or not (found.base.of and found.specialised.of):
        return False, ""
    before, after = (side.count / side.of for side in (found.base, found.specialised))
    errors = before * (1 - before) / found.base.of + after * (1 - after) / found.specialised.of
    if abs(after - before) <= _CLEAR_ERRORS * errors**0.5:
        return False, ""
    how = "fewer" if after < before else "more"
    return after < before, f"finds {how} sentences of unknown intents ({share_text(found)})"


def _unknown(measured: RightIntents | None) -> list[str]:
    if measured is None:
        return []
    lines = []
    if measured.unknown is not None:
        which = "labelled intents, left out in turn" if measured.are_left_out else "held out"
        lines.append(f"Sentences of unknown intents ({which}) found as such: {share_text(measured.unknown)}.")
    lines.append(f"Right intents rejected as unknown: {share_text(measured.rejected)}.")
    return lines


def _other_tasks(forgetting: pd.DataFrame | None) -> Sentence:
    if forgetting is None:
        return Sentence("Other tasks (similarity scores, translations): not measured.", "note")
    fallen = ", ".join(fallen_measures(forgetting))
    if fallen:
        return Sentence(f"Other tasks: {fallen} fell too far.", "worse")
    return Sentence("Other tasks: no measure fell too far.", "better")


def _not_held_out(measured: LeftOut | None) -> str:
    line = "No sentence was held out, so whether new ones are answered better is not known."
    if measured is None:
        return line
    return f"{line} {left_out_sentence(measured, f'In cross-validation, {measured.divisions} folds')}"


def _translations(metrics: Metrics) -> str:
    trained = [ranking for ranking in (metrics.translation or {}).values() if ranking.trained]
    least = min(ranking.candidates for ranking in trained)
    percent = fmean(ranking.p_at_1 for ranking in trained)
    amount = f"{percent:.0f} of 100" if least >= FEW else f"{round(percent * least / 100)} of {least}"
    return (
        f"Finds {amount} translations, the mean over the {counted(len(trained), 'language pair')} trained on."
    )


def time_text(seconds: float) -> str:
    """Return "12 s" or "21 minutes"; "" if the duration is unknown."""
    if not seconds:
        return ""
    return f"{max(1, seconds):.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def memory_text(megabytes: float) -> str:
    """Return "640 MB" or "1.6 GB"; "" if the memory is unknown."""
    if not megabytes:
        return ""
    return f"{max(1, megabytes):.0f} MB" if megabytes < 1_000 else f"{megabytes / 1_024:.1f} GB"


def _share(of: Share) -> str:
    return f"{of.percent:.0f} of 100" if of.of >= FEW else f"{of.count} of {of.of}"


def _named(codes: Sequence[str]) -> str:
    names = [language_name(code) for code in codes[:_MOST_NAMED]]
    if len(codes) > _MOST_NAMED:
        names.append(f"{_number(len(codes) - _MOST_NAMED)} more")
    return conjoined(names)


def _number(count: int) -> str:
    return NUMBERS[count] if count < len(NUMBERS) else f"{count:,}"


def _plain(changes: Changes) -> Mapping[str, Any]:
    return {
        "overall": asdict(changes.overall),
        "by_language": {code: asdict(change) for code, change in changes.by_language.items()},
    }
