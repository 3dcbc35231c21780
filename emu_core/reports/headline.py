"""A comparison in plain words: what was trained on what, and sentences that show what changed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from emu_core.data.languages import language_name
from emu_core.data.wording import counted, shown
from emu_core.evaluation.changes import Verdict
from emu_core.evaluation.comparison import Comparison
from emu_core.evaluation.neighbour_changes import Change
from emu_core.evaluation.run_metrics import Metrics
from emu_core.reports.templating import render_html
from emu_core.reports.verdict import Measure, amounts, cells, conjoined, in_languages
from emu_core.runs.config import RunConfig
from emu_core.runs.data_facts import DataFacts, LabelledFacts, ParallelFacts

_QUESTION_MARKS = ("?", "？", "؟", ";", "か。")


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


def about_run(config: RunConfig, facts: DataFacts) -> str:
    """Return which encoder was specialised, how and on what: "use, specialised with the method head on demo"."""
    intents = facts.intents if isinstance(facts, LabelledFacts) and config.train_languages else 0
    what = shown(config.data) + (f", {counted(intents, 'intent')}" if intents else "")
    if not config.encoder:
        return f"The method {config.method} on {what}"
    return f"{shown(config.encoder)}, specialised with the method {config.method} on {what}"


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
        spoken = conjoined(language_name(code) for code in config.languages)
        what = f" on {counted(pairs, 'pair')} of translations" if pairs else ""
        return f"Trained from scratch{what}{f' in {spoken}' if spoken else ''}, without intents."
    if config.pairs:
        return f"Trained on translations, {conjoined('-'.join(pair) for pair in config.pairs)}{of_data}."
    labelled = facts.labelled if isinstance(facts, LabelledFacts) else 0
    if not (labelled and config.train_languages):
        where = f" {in_languages(config.unlabelled_languages)}" if config.unlabelled_languages else ""
        return f"Trained on {noun}s{where} without their labels{of_data}."
    if len(config.train_languages) <= 2:
        spoken = conjoined(language_name(code) for code in config.train_languages)
        what = f"{counted(labelled, f'{spoken} {noun}')}"
    else:
        what = f"{counted(labelled, noun)} {in_languages(config.train_languages)}"
    others_read = [code for code in config.unlabelled_languages if code not in config.train_languages]
    if others_read:
        what += f", and without labels on {noun}s {in_languages(others_read)}"
    return f"Trained on {what}{of_data}."


def measured_sentence(metrics: Metrics) -> str:
    """Return how many sentences a run was measured on; "" if none were held out."""
    measured = metrics.right_intents or metrics.similar_sentences
    if measured is None:
        return ""
    where = in_languages(list(measured.by_language))
    return f"Measured on {counted(measured.overall.queries, 'sentence')} that were held out, {where}."


def language_bars(measure: Measure, *, seen: bool = False) -> str:
    """Return HTML with a bar for each language, before and after; what is clearly worse stands out."""
    by_language = {} if measure.changes is None else measure.changes.by_language
    rows = [
        {
            "name": language_name(code),
            "is_worse": change.verdict is Verdict.WORSE,
            "change": change,
            "amounts": amounts(change).removesuffix(" of 100"),
            "hover": "; ".join(cells(change)),
        }
        for code, change in by_language.items()
    ]
    return render_html("language_bars.html.j2", rows=rows, measure=measure, seen=seen)


def reader_language(comparison: Comparison, locale: str | None) -> str:
    """Return the language of a locale such as "de-AT" if it is measured, else English, else the first one."""
    wanted = (locale or "").replace("_", "-").casefold()
    for code in (wanted, wanted.partition("-")[0], "en"):
        if code in comparison.languages:
            return code
    return comparison.languages[0]


def examples(comparison: Comparison, language: str) -> list[Example]:
    """Return one win and one loss in a language and one of each in the others, as far as there are such sentences.

    Of each kind, short sentences come first, and each is of another intent. Neighbours are of the sentence's language,
    so that who reads it understands them. What helps on the whole begins with a win.
    """
    others = [code for code in comparison.languages if code != language]
    is_better = comparison.means["difference"].iloc[-1] >= 0
    kinds = (Change.FIXED, Change.BROKEN) if is_better else (Change.BROKEN, Change.FIXED)
    found: list[tuple[int, pd.Series[str]]] = []
    for codes in ([language], others):
        table = _changed_by_length(comparison, codes)
        for kind in kinds:
            left = table[table["change"] == kind]
            new = left[~left["intent"].isin([facts["intent"] for _, facts in found])]
            found += [(int(row), facts) for row, facts in (new if len(new) else left).head(1).iterrows()]
    return [_example(row, facts) for row, facts in found]


def _changed_by_length(comparison: Comparison, languages: Sequence[str]) -> pd.DataFrame:
    """Return the sentences of some languages, each once, with neighbours in their own language; short ones first."""
    tables = [comparison.changes(code) for code in languages]
    if not tables:
        return pd.DataFrame(columns=["change", "intent"])
    parts = [table[table["language"] == code] for code, table in zip(languages, tables, strict=True)]
    table = pd.concat(parts)
    length = table[["sentence", "base_neighbour", "other_neighbour"]].map(len).sum(axis=1)
    return table.assign(length=length).sort_values("length", kind="stable").drop_duplicates("sentence")


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
