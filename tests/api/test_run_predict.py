"""A run names intents by itself, as a classifier made of it does."""

from pathlib import Path

import pytest

from emu_core import IntentClassifier, train
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
