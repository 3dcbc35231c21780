"""A comparison in plain words, for runs and data of every kind."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from emu_core.evaluation.changes import Changes, PairedChange
from emu_core.evaluation.comparison import Change, Comparison
from emu_core.reports.headline import (
    examples,
    language_bars,
    noun_of,
    reader_language,
    trained_sentence,
)
from emu_core.reports.verdict import comparison_verdict, in_languages
from emu_core.runs.config import RunConfig
from emu_core.runs.data_facts import DataFacts, LabelledFacts, ParallelFacts
from tests.support.sentences import random_sentences

LANGUAGES = ("en", "de", "ja")
DATA = random_sentences(60, LANGUAGES, seed=6)
NOISY = DATA.vectors + 0.5 * np.random.default_rng(1).normal(size=(60, 5))
CONFIG = RunConfig("head", "demo", {}, encoder="use", train_languages=("en",))
FACTS = LabelledFacts(name="demo", rows=3_024, labelled=1_336)
SCRATCH = replace(
    CONFIG, encoder="", train_languages=(), languages=("en", "de"), pairs=(("en", "de"),), method="bicvm"
)
OF_PARTS = replace(
    CONFIG,
    method="emu+head",
    encoder="use+e5-small",
    unlabelled_languages=("de", "ja"),
)


def frame(languages: tuple[str, ...] = LANGUAGES, end: str = "?") -> pd.DataFrame:
    names = dict(zip(LANGUAGES, languages, strict=True))
    return pd.DataFrame(
        {
            "text": [f"sentence {row}{end}" for row in range(60)],
            "intent": DATA.intents,
            "language": [names[code] for code in DATA.languages],
            "id": DATA.ids,
        }
    )


BETTER = Comparison(frame(), NOISY, DATA.vectors)
WORSE = Comparison(frame(), DATA.vectors, NOISY)


@pytest.mark.parametrize(
    ("config", "facts", "others", "words"),
    [
        (CONFIG, FACTS, "", "Trained on 1,336 English questions."),
        (CONFIG, FACTS, "hotel.csv", "Trained on 1,336 English questions of other data, hotel.csv."),
        (
            replace(CONFIG, train_languages=("de", "ja")),
            replace(FACTS, labelled=1),
            "",
            "Trained on 1 German and Japanese question.",
        ),
        (
            replace(CONFIG, train_languages=LANGUAGES),
            FACTS,
            "",
            "Trained on 1,336 questions in three languages.",
        ),
        (
            OF_PARTS,
            FACTS,
            "",
            "Trained on 1,336 English questions, and without labels on questions in two languages.",
        ),
        (
            replace(CONFIG, train_languages=(), unlabelled_languages=LANGUAGES, method="distil"),
            replace(FACTS, labelled=0),
            "",
            "Trained on questions in three languages without their labels.",
        ),
        (
            SCRATCH,
            ParallelFacts(pairs={"en-de": 2_000}),
            "",
            "Trained from scratch on 2,000 pairs of translations in English and German, without intents.",
        ),
        (replace(CONFIG, pairs=(("en", "de"),), method="fmda"), FACTS, "", "Trained on translations, en-de."),
        (replace(CONFIG, train_languages=()), DataFacts(), "", "Trained on questions without their labels."),
    ],
)
def test_what_a_run_was_trained_on(config: RunConfig, facts: DataFacts, others: str, words: str) -> None:
    assert trained_sentence(config, facts, "question", others) == words


@pytest.mark.parametrize("comparison", [BETTER, WORSE])
def test_examples_show_a_win_and_a_loss_in_the_readers_language_and_in_others(comparison: Comparison) -> None:
    changed = comparison.changes("de")
    kinds = set(changed[changed["language"] == "de"]["change"])
    assert {Change.FIXED, Change.BROKEN} <= kinds  # or the test shows nothing
    shown = examples(comparison, "de")
    own, others = shown[:2], shown[2:]
    for two in (own, others):  # what helps on the whole begins with a win
        assert [example.is_win for example in two] == [comparison is BETTER, comparison is WORSE]
    spoken = [comparison.sentences["language"].iloc[example.row] for example in shown]
    assert spoken[:2] == ["de", "de"] and "de" not in spoken[2:]
    assert len({example.text for example in shown}) == len({example.intent for example in shown}) == 4
    for example in shown:
        assert comparison.sentences["text"].iloc[example.row] == example.text
        right = example.now_intent if example.is_win else example.before_intent
        wrong = example.before_intent if example.is_win else example.now_intent
        assert right == example.intent != wrong
    assert examples(Comparison(frame(), DATA.vectors, 2 * DATA.vectors), "de") == []


def test_readers_get_their_language_if_it_is_measured() -> None:
    assert reader_language(BETTER, "de-AT") == "de"
    assert reader_language(BETTER, "ja_JP") == "ja"
    assert reader_language(BETTER, "tlh") == reader_language(BETTER, None) == "en"
    assert reader_language(Comparison(frame(("fr", "de", "ja")), NOISY, DATA.vectors), "xx") == "de"


def test_bars_say_what_they_show() -> None:
    measure = comparison_verdict(WORSE).similar
    html = language_bars(measure)
    for row in WORSE.gains.to_dict("records"):
        assert f"width: {row['other']:.1f}%" in html
        assert f"{row['low']:+.1f} to {row['high']:+.1f}" in html
    assert "Similar sentences of 100, by language" in html
    for change in measure.changes.by_language.values():  # type: ignore[union-attr]
        assert f" of {change.queries}</td>" in html  # few sentences are counted
    for clear in (0, 1, 2):  # only clear losses look like losses
        changes = [
            PairedChange(60.0, 50.0, -10.0, -15.0, 5.0 - 10.0 * (number < clear), 200) for number in range(3)
        ]
        some = Changes(changes[0], dict(zip(LANGUAGES, changes, strict=True)))
        coloured = language_bars(replace(measure, changes=some))
        assert coloured.count('class="worse"') == clear and ("clearly worse" in coloured) == (clear > 0)
        assert '<td class="figures">60 → 50</td>' in coloured
    assert "seen in training" not in html and "seen in training" in language_bars(measure, seen=True)


def test_questions_are_told_from_sentences() -> None:
    assert noun_of(["Where?", "プールはどこですか？", "Turn it off."]) == "question"
    assert noun_of(["Turn it on.", "What?"]) == noun_of([]) == "sentence"
    assert (
        in_languages(["de"]) == "in German" and in_languages([str(n) for n in range(52)]) == "in 52 languages"
    )
