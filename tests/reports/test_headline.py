"""A comparison in plain words, for runs and data of every kind."""

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pandas as pd
import pytest

from emu_core.evaluation.comparison import Change, Comparison
from emu_core.evaluation.guard import LanguageChange, Verdict
from emu_core.reports.headline import (
    examples,
    in_languages,
    language_bars,
    noun_of,
    reader_language,
    result_sentence,
    trained_sentence,
    verdict_of,
    verdict_sentence,
)
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


def test_results_are_those_of_the_mean_and_a_loss_is_as_plain() -> None:
    before, now = (round(BETTER.means[side].iloc[-1]) for side in ("base", "other"))
    assert before < now
    assert result_sentence(BETTER, "question") == (
        f"In three languages it now finds the right intent for {now} of 100 new questions; before, {before}."
    )
    assert result_sentence(WORSE) == (
        f"In three languages it now finds the right intent for only {before} of 100 new sentences; before, {now}."
    )
    same = Comparison(frame(), DATA.vectors, 2 * DATA.vectors)
    assert f"for still {now} of 100 new sentences; as many as before." in result_sentence(same)
    assert f"E5 finds the right intent for {now} of 100" in result_sentence(BETTER, names=("USE", "E5"))
    assert result_sentence(BETTER, names=("USE", "E5")).endswith(f"; USE, {before}.")
    assert "new" not in result_sentence(BETTER, seen=True)
    german = frame()["language"] == "de"
    alone = Comparison(frame()[german], NOISY[german], DATA.vectors[german])
    assert result_sentence(alone).startswith("In German it now finds")


def test_each_language_is_measured_over_the_directions_of_the_headline() -> None:
    for comparison in (BETTER, Comparison(frame(("fr", "de", "ja")), NOISY, DATA.vectors)):
        table, accuracy = comparison.by_language, comparison.accuracy
        for row in table.to_dict("records"):
            directions = accuracy[accuracy["queries"] == row["language"]]
            if comparison is BETTER and row["language"] != "en":
                directions = directions[directions["pool"] == "en"]
            for side in ("base", "other"):
                assert row[side] == pytest.approx(directions[side].mean())
                assert row[f"{side}_low"] < row[side] < row[f"{side}_high"]
            assert row["difference"] == pytest.approx(row["other"] - row["base"])
        directions_each = [3 if code == "en" else 1 for code in table["language"]]
        mean = np.average(table["other"], weights=directions_each)
        assert mean == pytest.approx(comparison.means["other"].iloc[-1])


def change(difference: float, *, clear: bool) -> LanguageChange:
    width = abs(difference) / 2 if clear else abs(difference) * 2
    return LanguageChange(difference, difference - width, difference + width, 50)


def test_the_verdict_names_clear_changes_only() -> None:
    changes = {
        "ja": change(-9.6, clear=True),
        "de": change(-7.2, clear=True),
        "fr": change(-20, clear=False),
        "en": change(3.0, clear=False),
    }
    assert verdict_sentence(changes) == "Worse: Japanese -9.6, German -7.2; the others are not clear."
    changes = changes | {"en": change(3.0, clear=True)}
    assert verdict_sentence(changes) == (
        "Worse: Japanese -9.6, German -7.2; better: English +3.0; the other is not clear."
    )
    assert verdict_sentence({"fr": changes["fr"], "en": change(1, clear=False)}) == (
        "No language is clearly better or worse."
    )
    assert (
        verdict_sentence({"ja": changes["ja"], "de": changes["de"]}) == "Clearly worse in all two languages."
    )
    assert verdict_sentence({"ja": changes["ja"]}) == "Worse: Japanese -9.6."
    many = {f"x{n:02}": change(-n, clear=True) for n in range(1, 12)} | {"en": change(1, clear=False)}
    assert "and 5 more; the other is not clear." in verdict_sentence(many)
    assert verdict_of(BETTER).startswith(("Better: ", "Clearly better in all", "No language"))


@pytest.mark.parametrize("comparison", [BETTER, WORSE])
def test_examples_show_a_win_and_a_loss_whoever_is_better(comparison: Comparison) -> None:
    changed = comparison.changes("de")
    kinds = set(changed[changed["language"] == "de"]["change"])
    assert {Change.FIXED, Change.BROKEN} <= kinds  # or the test shows nothing
    shown = examples(comparison, "de")
    assert {example.is_win for example in shown} == {True, False}
    assert len({example.text for example in shown}) == len(shown) <= 3
    for example in shown:
        sentence = comparison.sentences.iloc[example.row]
        assert (sentence["text"], sentence["language"]) == (example.text, "de")
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
    html = language_bars(WORSE)
    for row in WORSE.by_language.to_dict("records"):
        assert f"{row['base']:.0f} → <b>{row['other']:.0f}</b>" in html
        assert f"width: {row['other']:.1f}%" in html
        assert f"(95 %: {row['other_low']:.1f} to {row['other_high']:.1f})" in html
    assert (WORSE.by_language["difference"] < 0).any()
    for clear in (0, 1, 2):  # only clear losses look like losses
        verdicts = [Verdict.LOSES] * clear + [Verdict.MAY_LOSE] * (3 - clear)
        found = SimpleNamespace(by_language=WORSE.by_language.assign(verdict=verdicts))
        coloured = language_bars(cast(Comparison, found))
        assert coloured.count('class="worse"') == clear and ("clearly worse" in coloured) == (clear > 0)
    assert "seen in training" not in html and "seen in training" in language_bars(WORSE, seen=True)


def test_questions_are_told_from_sentences() -> None:
    assert noun_of(["Where?", "プールはどこですか？", "Turn it off."]) == "question"
    assert noun_of(["Turn it on.", "What?"]) == noun_of([]) == "sentence"
    assert (
        in_languages(["de"]) == "in German" and in_languages([str(n) for n in range(52)]) == "in 52 languages"
    )
