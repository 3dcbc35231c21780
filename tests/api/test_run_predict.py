"""A run names intents by itself, as a classifier made of it does."""

from pathlib import Path

import pandas as pd
import pytest

from emu_core import IntentClassifier, predict, train
from emu_core.errors import InputError, RunError
from emu_core.intents.answers import NO_INTENT
from emu_core.runs.run import Run, RunState, Status
from tests.support.raises import raises
from tests.support.small import small_set

ASKED = ["Wo ist der Pool?", "I need a taxi.", "12345", " ", "The derivative of a sine is a cosine"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(small_set(), out=tmp_path_factory.mktemp("runs") / "asked", device="cpu")


@pytest.mark.slow
def test_it_answers_as_its_classifier(run: Run) -> None:
    named = run.predict(ASKED, device="cpu")
    assert named == IntentClassifier.from_run(run, device="cpu").predict(ASKED).tolist()
    assert named[0] == "pool" and named[2:4] == [NO_INTENT, NO_INTENT]
    assert run.predict([]) == []


def test_it_adapts_as_predict_does(run: Run) -> None:
    """To languages of which the labels calibrate none, so that some answers are others."""
    rows = small_set(("es",)).frame
    texts, languages = [*rows["text"], "12345"], ["es"] * (len(rows) + 1)
    frame = pd.DataFrame({"text": texts, "language": languages})
    for adapt in (False, True):
        expected = predict(frame, run=run, adapt=adapt, device="cpu")["intent"]
        named = run.predict(texts, languages=languages, adapt=adapt, device="cpu")
        assert named == expected.tolist()
    assert named != run.predict(texts, languages="es", device="cpu")
    assert run.predict([], adapt=True) == [] and run.predict(["pool"], adapt=True)


def test_it_refuses_half_a_character(run: Run) -> None:
    with pytest.raises(InputError, match="sentence 2 of 2 holds half a character"):
        run.predict(["pool", "\u00e9\ud800"])


@pytest.mark.parametrize(
    ("texts", "languages", "message"),
    [
        (ASKED[:1], "none such", "'none such' is not a language"),
        (ASKED[:2], ["en"], "2 sentences and 1 languages"),
        (ASKED[0], (), "a str is a single sentence"),
    ],
)
def test_it_refuses_what_a_classifier_refuses(
    texts: list[str], languages: str | list[str], message: str, run: Run
) -> None:
    for asked in (run, IntentClassifier.from_run(run, device="cpu")):
        with pytest.raises(InputError, match=message):
            asked.predict(texts, languages=languages)


def test_a_run_without_intents_says_what_to_give(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.write_status(Status(RunState.FINISHED))
    with raises(RunError, fix="pool"):
        run.predict(ASKED)
