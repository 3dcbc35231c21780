"""Labelled sets changed by hand: sentences relabelled, dropped and edited, and their languages detected."""

from types import SimpleNamespace

import numpy as np
import pytest

from emu_core.data import detection
from emu_core.data.demo import load_demo
from emu_core.data.edits import edit_rows
from emu_core.errors import DataError
from tests.support.small import small_set


def test_some_sentences_get_another_intent_and_others_stay() -> None:
    before = small_set(("en", "de"))
    after = before.relabel([0, 5], " spa ")
    changed = np.flatnonzero(before.frame["intent"] != after.frame["intent"])
    assert changed.tolist() == [0, 5] and after.frame["intent"][changed].tolist() == ["spa", "spa"]
    assert after.frame.drop(columns="intent").equals(before.frame.drop(columns="intent"))
    assert before.frame.equals(small_set(("en", "de")).frame), "the set as it was is left alone"


def test_some_sentences_are_dropped() -> None:
    before = small_set(("en",))
    after = before.drop([0, len(before) - 1])
    assert after.frame["text"].tolist() == before.frame["text"].tolist()[1:-1]


def test_what_can_not_be_changed_is_said() -> None:
    few = small_set(("en",))
    with pytest.raises(DataError, match="no row -1"):
        few.drop([0, -1])
    with pytest.raises(DataError, match=f"no row {len(few)}"):
        few.relabel([len(few)], "spa")
    with pytest.raises(DataError, match="no name"):
        few.relabel([0], " ")
    with pytest.raises(DataError, match="two intents"):
        few.relabel(range(len(few)), "spa")


def test_edited_rows_say_what_is_changed() -> None:
    rows = small_set(("en",)).frame
    edits = rows.loc[[3, 7, 9], ["text", "intent", "language"]].assign(keep=[True, True, False])
    same, nothing = edit_rows(rows, edits.assign(keep=True))
    assert same.equals(rows) and nothing == ""
    edits.loc[3, "intent"] = "spa"
    edits.loc[7, ["text", "language"]] = ["wo ist das Bad", "de"]
    found, change = edit_rows(rows, edits)
    assert change == "1 sentence changed, 1 intent changed, 1 language changed, 1 row left out"
    expected = rows.copy()
    expected.loc[3, "intent"] = "spa"
    expected.loc[7, ["text", "language", "annotated"]] = ["wo ist das Bad", "de", ""]
    assert found.equals(expected.drop(index=9).reset_index(drop=True))


@pytest.mark.slow
def test_languages_of_short_sentences_are_detected() -> None:
    demo = load_demo().frame
    found = np.array(detection.detect_languages(demo["text"].tolist()))
    assert (found == demo["language"]).mean() > 0.995
    assert detection.detect_languages([]) == []


SIGNS = ["", "123", "?", "12:30", "👋", "7 + 7", "..."]
GREETINGS = [
    "hi",
    "hola",
    "bonjour",
    "hallo",
    "ciao",
    "olá",
    "hej",
    "salut",
    "merhaba",
    "ahoj",
    "hei",
    "привет",
    "你好",
]


def test_what_its_letters_don_t_tell_is_undetermined() -> None:
    assert set(detection.detect_languages(SIGNS)) == {"und"}
    assert [detection.detect_languages([text]) for text in SIGNS] == [["und"]] * len(SIGNS)
    assert set(detection.detect_languages(GREETINGS)) == {"und"}
    assert [detection.detect_languages([text]) for text in GREETINGS] == [["und"]] * len(GREETINGS)
    among = ["Where is the pool?", *SIGNS, "Wo ist hier bitte der Pool?", "プールはどこですか？"]
    assert detection.detect_languages(among) == ["en", *["und"] * len(SIGNS), "de", "ja"]


def test_greetings_among_many_sentences_of_a_language_are_in_it() -> None:
    english = load_demo().frame.query("language == 'en'")["text"].tolist()[:40]
    assert detection.detect_languages([*english, "hello there", "good evening"]) == ["en"] * 42


def test_a_doubtful_sentence_is_in_a_language_that_others_are_in(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = {"sure": {"de": 0.9, "en": 0.05, "nl": 0.05}, "doubtful": {"de": 0.4, "en": 0.1, "nl": 0.5}}
    fake = SimpleNamespace(labels=["nl", "de", "en"], rank=lambda text: list(alone[text].items()))
    monkeypatch.setattr(detection, "_identifier", lambda: fake)
    assert detection.detect_languages(["doubtful"]) == ["und"]
    assert detection.detect_languages([*["sure"] * 19, "doubtful"]) == ["de"] * 20
