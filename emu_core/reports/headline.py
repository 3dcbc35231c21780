"""A comparison in plain words: what was trained on what, and in which languages it helps."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from emu_core.data.languages import language_name
from emu_core.data.wording import counted, shown
from emu_core.evaluation.comparison import Comparison
from emu_core.evaluation.guard import LanguageChange, Verdict
from emu_core.evaluation.neighbour_changes import Change
from emu_core.reports.templating import render_html
from emu_core.runs.config import RunConfig
from emu_core.runs.data_facts import DataFacts, LabelledFacts, ParallelFacts

NUMBERS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_QUESTION_MARKS = ("?", "？", "؟", ";", "か。")
_MOST_NAMED = 6  # languages in a sentence
_WINS_AND_LOSSES = {
    True: (Change.FIXED, Change.BROKEN, Change.FIXED),
    False: (Change.BROKEN, Change.FIXED, Change.BROKEN),
}


@dataclass(frozen=True)
class Example:
    """A sentence whose nearest neighbour changed.

    Attributes:
        row: its number among the sentences of the comparison.
        is_win: whether the new neighbour is the right one; otherwise the old one was.
        text, intent: the sentence.
        before, before_intent: its neighbour by the base encoder.
        now, now_intent: its neighbour by the other one.
    """

    row: int
    is_win: bool
    text: str
    intent: str
    before: str
    before_intent: str
    now: str
    now_intent: str


def noun_of(texts: Iterable[str]) -> str:
    """Return "question" if most of the texts end like one, else "sentence"."""
    ends = [text.rstrip().endswith(_QUESTION_MARKS) for text in texts]
    return "question" if 2 * sum(ends) > len(ends) else "sentence"


def in_languages(codes: Sequence[str]) -> str:
    """Return "in German", "in six languages"."""
    if len(codes) == 1:
        return f"in {language_name(codes[0])}"
    count = NUMBERS[len(codes)] if len(codes) < len(NUMBERS) else f"{len(codes):,}"
    return f"in {count} languages"


def sentences_in(count: int, noun: str, languages: Sequence[str]) -> str:
    """Return "324 questions in three languages"."""
    return f"{counted(count, noun)} {in_languages(languages)}"


def alone_sentence(sentences: str, name: str, *, is_run: bool = False, is_twice: bool = False) -> str:
    """Return what a map of one encoder shows, and what to do next.

    Args:
        sentences: those on the map, such as "324 questions in three languages".
        name: the encoder.
        is_run: whether the encoder is a run, which can be compared with its base.
        is_twice: whether it was chosen as both of the two encoders.
    """
    seen = (
        f"The map shows {sentences} as {shown(name, 40)} sees them: those it finds alike are near each other."
    )
    if is_twice:
        return f"{seen} A and B are the same encoder; choose another B above to compare it with."
    if is_run:
        return f"{seen} Choose an encoder B above to compare it with."
    return f"{seen} Train a run to see what your labels change."


def trained_sentence(config: RunConfig, facts: DataFacts, noun: str = "sentence", others: str = "") -> str:
    """Return what a run was trained on: "Trained on 336 English questions" and a full stop.

    Args:
        config: the settings of the run.
        facts: those of its data.
        noun: what the data consists of, in the singular.
        others: the name of the data if it isn't the data that is shown.
    """
    of_data = f" of other data, {shown(others)}" if others else ""
    if not config.encoder:
        pairs = sum(facts.pairs.values()) if isinstance(facts, ParallelFacts) else 0
        spoken = _and(language_name(code) for code in config.languages)
        what = f" on {counted(pairs, 'pair')} of translations" if pairs else ""
        return f"Trained from scratch{what}{f' in {spoken}' if spoken else ''}, without intents."
    if config.pairs:
        return f"Trained on translations, {_and('-'.join(pair) for pair in config.pairs)}{of_data}."
    labelled = facts.labelled if isinstance(facts, LabelledFacts) else 0
    if not (labelled and config.train_languages):
        where = f" {in_languages(config.unlabelled_languages)}" if config.unlabelled_languages else ""
        return f"Trained on {noun}s{where} without their labels{of_data}."
    if len(config.train_languages) <= 2:
        spoken = _and(language_name(code) for code in config.train_languages)
        what = f"{counted(labelled, f'{spoken} {noun}')}"
    else:
        what = f"{counted(labelled, noun)} {in_languages(config.train_languages)}"
    others_read = [code for code in config.unlabelled_languages if code not in config.train_languages]
    if others_read:
        what += f", and without labels on {noun}s {in_languages(others_read)}"
    return f"Trained on {what}{of_data}."


def result_sentence(
    comparison: Comparison,
    noun: str = "sentence",
    *,
    seen: bool = False,
    names: tuple[str, str] | None = None,
) -> str:
    """Return of how many of 100 sentences both encoders find the right intent.

    Args:
        comparison: of two encoders.
        noun: what the sentences are, in the singular.
        seen: whether one encoder was trained on some of them.
        names: both encoders, unless they are one before and after training.
    """
    before, now = (round(comparison.means[side].iloc[-1]) for side in ("base", "other"))
    where = in_languages(comparison.languages)
    what = f"100 {noun}s that were partly seen in training" if seen else f"100 new {noun}s"
    only = "only " if now < before else "still " if now == before else ""
    finds = f"finds the right intent for {only}{now} of {what}"
    if names is not None:
        base, other = (shown(name, 40) for name in names)
        return f"{where[0].upper()}{where[1:]} {other} {finds}; {base}, {before}."
    end = f"before, {before}" if now != before else "as many as before"
    return f"{where[0].upper()}{where[1:]} it now {finds}; {end}."


def verdict_sentence(changes: Mapping[str, LanguageChange]) -> str:
    """Return which languages clearly got worse and better, the largest changes first, and that others are not clear."""
    ways = {"worse": Verdict.LOSES, "better": Verdict.GAINS}
    by_size = sorted(changes.items(), key=lambda item: -abs(item[1].difference))
    named = {way: [item for item in by_size if item[1].verdict is verdict] for way, verdict in ways.items()}
    if not any(named.values()):
        return "No language is clearly better or worse." if len(changes) > 1 else "The change is not clear."
    if len(changes) > 1:
        for way, items in named.items():
            if len(items) == len(changes):
                return f"Clearly {way} {in_languages(list(changes)).replace('in ', 'in all ')}."
    parts = [f"{way}: {_listed(items)}" for way, items in named.items() if items]
    unclear = len(changes) - sum(map(len, named.values()))
    parts += [f"the other{' is' if unclear == 1 else 's are'} not clear"] if unclear else []
    line = "; ".join(parts)
    return f"{line[0].upper()}{line[1:]}."


def verdict_of(comparison: Comparison) -> str:
    """Return the `verdict_sentence` of `Comparison.by_language`."""
    rows = comparison.by_language.to_dict("records")
    fields = ("difference", "low", "high", "queries")
    return verdict_sentence(
        {row["language"]: LanguageChange(**{field: row[field] for field in fields}) for row in rows}
    )


def language_bars(comparison: Comparison, *, seen: bool = False) -> str:
    """Return HTML with a bar for each language: before, and after with its interval; clear losses stand out."""
    found = comparison.by_language
    is_worse = found["verdict"] == Verdict.LOSES
    rows = found.assign(name=found["language"].map(language_name), is_worse=is_worse)
    return render_html("language_bars.html.j2", rows=rows.to_dict("records"), seen=seen)


def reader_language(comparison: Comparison, locale: str | None) -> str:
    """Return the language of a locale such as "de-AT" if it is measured, else English, else the first one."""
    wanted = (locale or "").replace("_", "-").casefold()
    for code in (wanted, wanted.partition("-")[0], "en"):
        if code in comparison.languages:
            return code
    return comparison.languages[0]


def examples(comparison: Comparison, language: str) -> list[Example]:
    """Return up to three sentences of a language, with wins and losses alike: one at least of each kind there is.

    Of each kind, short sentences come first, and each is of another intent. Neighbours are of the same language, so
    that a reader understands them.
    """
    table = comparison.changes(language)
    table = table[table["language"] == language]
    length = table[["sentence", "base_neighbour", "other_neighbour"]].map(len).sum(axis=1)
    table = table.assign(length=length).sort_values("length", kind="stable").drop_duplicates("sentence")
    is_better = comparison.means["difference"].iloc[-1] >= 0
    kinds = _WINS_AND_LOSSES[bool(is_better)]
    rows: list[int] = []
    for kind in (*kinds, *kinds):  # the second time for what the other kind lacks
        left = table[(table["change"] == kind) & ~table.index.isin(rows)]
        new = left[~left["intent"].isin(table.loc[rows, "intent"])]
        rows += (new if len(new) else left).index[:1].tolist()
    return [_example(int(row), table.loc[row]) for row in rows[: len(kinds)]]


def _example(row: int, facts: "pd.Series[str]") -> Example:
    return Example(
        row,
        facts["change"] == Change.FIXED,
        facts["sentence"],
        facts["intent"],
        facts["base_neighbour"],
        facts["base_intent"],
        facts["other_neighbour"],
        facts["other_intent"],
    )


def _listed(items: Sequence[tuple[str, LanguageChange]]) -> str:
    named = ", ".join(
        f"{language_name(code)} {change.difference:+.1f}" for code, change in items[:_MOST_NAMED]
    )
    return f"{named} and {len(items) - _MOST_NAMED} more" if len(items) > _MOST_NAMED else named


def _and(names: Iterable[str]) -> str:
    *most, last = [*names] or [""]
    return f"{', '.join(most)} and {last}" if most else last
