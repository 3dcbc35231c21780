"""`emu_core.train` and the other verbs of the front door are those of `emu_core.api`."""

import inspect
import pickle
import re
from pathlib import Path

import pytest

import emu_core
from emu_core import Reading
from emu_core.api import execute
from emu_core.api.intent_classifier import IntentClassifier
from emu_core.errors import Call, RunError
from emu_core.notebook.comparison import RunComparison
from emu_core.notebook.predictions import Predictions
from emu_core.reports.verdict import run_verdict
from emu_core.runs.run import Run, RunState
from tests.support.raises import raises
from tests.support.small import small_set

VERBS = ("compare", "export", "forgetting", "predict", "pretrain", "resume", "train")


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_is_the_one_of_the_api_and_explains_each_parameter(name: str) -> None:
    verb = getattr(emu_core, name)
    assert verb is getattr(__import__(f"emu_core.api.{name}", fromlist=[name]), name)
    documented = inspect.getdoc(verb) or ""
    explained = re.sub(r"\n    \*+", "\n    ", documented)
    assert all(f"\n    {parameter}: " in explained for parameter in inspect.signature(verb).parameters)
    assert pickle.loads(pickle.dumps(verb)) is verb  # noqa: S301


@pytest.mark.slow
def test_the_card_is_written_where_the_run_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cards, usual = list[str](), execute.write_card

    def write_card(run: Run) -> None:
        assert (run.folder / "metrics.json").is_file() and run.encoder_folder.is_dir()
        assert run.status().state is RunState.RUNNING
        cards.append(run.name)
        usual(run)

    monkeypatch.setattr(execute, "write_card", write_card)
    made = emu_core.train(small_set(("en", "de")), out=tmp_path / "made", device="cpu")
    assert cards == ["made"] and made.status().state is RunState.FINISHED
    assert (made.folder / "README.md").read_text("utf-8").count("\n# made\n") == 1


@pytest.mark.slow
def test_a_run_whose_card_failed_is_visibly_unfinished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(run: Run) -> None:
        raise OSError(28, "no space left on device")

    with monkeypatch.context() as patch, raises(RunError, fix=Call("resume", str(tmp_path / "run"))):
        patch.setattr(execute, "write_card", fail)
        emu_core.train(small_set(("en", "de")), out=tmp_path / "run", device="cpu")
    assert Run(tmp_path / "run").status().state is RunState.FAILED
    finished = emu_core.resume(tmp_path / "run")
    assert finished.status().state is RunState.FINISHED
    assert (finished.folder / "README.md").read_text("utf-8").count("\n# run\n") == 1


@pytest.mark.slow
def test_results_show_themselves(tmp_path: Path) -> None:
    data = small_set(("en", "de"))
    run = emu_core.train(data, out=tmp_path / "run", device="cpu")
    again, comparison = emu_core.resume(run.folder), emu_core.compare(data, run, device="cpu")
    assert type(run) is type(again) is Run and type(comparison) is RunComparison
    assert comparison.run is not None and comparison.run.name == "run"
    amounts = f"<b>{run_verdict(run.metrics()).similar.amounts}</b>"
    assert amounts in run._repr_html_() == again._repr_html_()
    texts = data.frame["text"].tolist()[:2]
    english = Reading(language="en")
    predictions = emu_core.predict(texts, pool=data, run=run, device="cpu", reading=english)
    explained = IntentClassifier(f"run:{run.folder}", device="cpu").fit(data).explain(texts, languages="en")
    assert type(predictions) is type(explained) is Predictions
    assert predictions._repr_html_() == explained._repr_html_()
