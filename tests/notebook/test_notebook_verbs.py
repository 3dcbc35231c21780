"""`emu_core.train` and the other verbs of the front door: those of the API, with a card and rich results."""

import inspect
import pickle
from pathlib import Path

import pytest

import emu_core
from emu_core.api.compare import compare
from emu_core.api.execute import Face
from emu_core.api.resume import resume
from emu_core.api.train import train
from emu_core.errors import RunError
from emu_core.notebook.comparison import NotebookComparison
from emu_core.notebook.run import NotebookRun
from emu_core.runs.run import Run, RunState
from tests.support.small import small_set

VERBS = ("compare", "export", "forgetting", "pretrain", "resume", "train")
HANDED_DOWN = ("face", "write_readme")


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_has_the_parameters_and_the_help_of_the_api_but_not_what_writes_for_people(name: str) -> None:
    verb, module = getattr(emu_core, name), __import__(f"emu_core.api.{name}", fromlist=[name])
    of_api = inspect.signature(getattr(module, name)).parameters
    parameters = list(inspect.signature(verb).parameters)
    assert parameters == [parameter for parameter in of_api if parameter not in HANDED_DOWN]
    documented = inspect.getdoc(verb) or ""
    assert all(f"\n    {parameter}: " in documented for parameter in parameters)
    assert not any(parameter in documented for parameter in HANDED_DOWN)
    assert pickle.loads(pickle.dumps(verb)) is verb  # noqa: S301


def test_no_card_is_forgotten(tmp_path: Path) -> None:
    data, cards = small_set(("en", "de")), []

    def write_card(run: Run) -> None:
        assert (run.folder / "metrics.json").is_file() and run.encoder_folder.is_dir()
        assert run.status().state is RunState.RUNNING
        cards.append(run.name)

    made = train(Face(write_card), data, out=tmp_path / "made", device="cpu")
    assert cards == ["made"] and type(made) is Run and made.status().state is RunState.FINISHED
    assert not (made.folder / "README.md").exists()
    with pytest.raises(TypeError):
        train(data, out=tmp_path / "none")  # type: ignore[arg-type, call-arg]


def test_a_run_whose_card_failed_is_visibly_unfinished(tmp_path: Path) -> None:
    def fail(run: Run) -> None:
        raise OSError(28, "no space left on device")

    with pytest.raises(RunError, match="can't write to"):
        train(Face(fail), small_set(("en", "de")), out=tmp_path / "run", device="cpu")
    assert Run(tmp_path / "run").status().state is RunState.FAILED
    finished = emu_core.resume(tmp_path / "run")
    assert finished.status().state is RunState.FINISHED
    assert (finished.folder / "README.md").read_text("utf-8").count("\n# run\n") == 1


def test_results_show_themselves(tmp_path: Path) -> None:
    data = small_set(("en", "de"))
    run = emu_core.train(data, out=tmp_path / "run", device="cpu")
    again, comparison = emu_core.resume(run.folder), emu_core.compare(data, run, device="cpu")
    assert type(run) is type(again) is NotebookRun and type(comparison) is NotebookComparison
    mean = f"<b>{run.metrics().mean_specialised:.1f} %</b>"
    assert mean in run._repr_html_() == again._repr_html_()
    plain = compare(data, run.folder, device="cpu")
    assert repr(comparison) == repr(plain) and not hasattr(plain, "_repr_html_")
    assert comparison.run is not None and comparison.run.name == "run"
    assert not hasattr(resume(Face(lambda run: None), run.folder), "_repr_html_")
