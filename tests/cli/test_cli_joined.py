"""The commands with joined encoders."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from emu_core.cli import main
from emu_core.data.reading import Reading
from emu_core.encoders.registry import kinds_of
from emu_core.notebook.builder import _training
from emu_core.runs.run import Run
from tests.support.small import small_file
from tests.support.tiny_transformer import tiny_transformer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("joined")


@pytest.fixture(scope="module")
def spec(folder: Path) -> str:
    return f"use+hf:{tiny_transformer(folder / 'tiny', letters=True)}"


@pytest.fixture(scope="module")
def file(folder: Path) -> str:
    return str(small_file(folder))


@pytest.fixture(scope="module")
def trained(folder: Path, spec: str, file: str) -> Run:
    """A run of Emu with a setting that the command names."""
    out = folder / "both"
    arguments = ["train", file, "--method", "emu", "--encoder", spec, "--epochs", "1", "--out", str(out)]
    assert main(arguments) == 0
    return Run(out)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_a_named_setting_holds_for_all_parts_and_the_others_are_their_own(trained: Run, spec: str) -> None:
    config = trained.plan()
    assert config.encoder == spec and config.hyperparameters == {}
    use, hf = (part.hyperparameters for part in config.parts)
    assert (use["epochs"], hf["epochs"]) == (1, 1)
    assert (use["learning_rate"], hf["learning_rate"]) == (3e-4, 1e-4)


@pytest.mark.slow
def test_the_paper_s_preset_is_the_same_for_all_parts(spec: str, file: str, folder: Path) -> None:
    out = folder / "paper"
    arguments = ["train", file, "--method", "emu", "--encoder", spec, "--preset", "paper", "--epochs", "1"]
    assert main([*arguments, "--out", str(out)]) == 0
    assert [part.hyperparameters["learning_rate"] for part in Run(out).plan().parts] == [1e-3, 1e-3]


def test_the_help_names_the_defaults_of_each_part(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "--method", "emu", "--encoder", "use+e5-small", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "Default: 0.0003 or 0.0001 (preset paper: 0.001)" in text
    assert "Default: 5 or 4 (preset paper: 2)" in text and "Default: 16;" in text


def test_evaluate_measures_how_the_run_changed_and_leaves_out_what_it_was_trained_on(
    trained: Run, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = printed(capsys, "evaluate", file, "--run", str(trained.folder))
    assert out["changes"]["en"]["queries"] == 36 and out["left_out"] > 0
    assert out["accuracy"] == pytest.approx(trained.metrics().specialised)


@pytest.mark.slow
def test_evaluate_takes_joined_runs_and_measures_them_against_their_joined_bases(
    trained: Run, spec: str, file: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny = spec.partition("+")[2]
    alone = folder / "alone"
    assert main(["train", file, "--encoder", tiny, "--out", str(alone)]) == 0
    both = f"run:{trained.folder}+run:{alone}"
    out = printed(capsys, "evaluate", file, "--encoder", both)
    assert out["encoder"] == both and out["counts"]["en-en"] == 36
    assert any("that the runs both, alone were trained on" in note for note in out["notes"])
    assert set(out["changes"]) == {"en", "de", "ja"}


@pytest.mark.slow
def test_compare_predict_and_forgetting_take_the_spec(
    trained: Run, spec: str, file: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = printed(capsys, "compare", file, "--encoder", "use", "--encoder", spec)
    assert "use+tiny" in json.dumps(found)
    queries = folder / "queries.csv"
    pd.DataFrame({"text": ["Where is the pool?"], "language": ["en"]}).to_csv(queries, index=False)
    found = printed(capsys, "predict", str(queries), "--pool", file, "--encoder", spec)
    assert "pool" in json.dumps(found)
    found = printed(capsys, "forgetting", str(trained.folder))
    assert found["translations"]


@pytest.mark.slow
def test_suggestions_are_made_with_a_joined_encoder(spec: str, file: str, folder: Path) -> None:
    from emu_core import suggest_labels

    texts = folder / "texts.txt"
    texts.write_text("When does the pool open?\nIs there a gym?\n", "utf-8")
    suggestions = suggest_labels(texts, file, count=2, encoder=spec, reading=Reading(language="en"))
    assert sorted(suggestions["text"]) == ["Is there a gym?", "When does the pool open?"]


def test_the_list_names_both_encoders(capsys: pytest.CaptureFixture[str]) -> None:
    listed = {info["spec"]: info for info in printed(capsys, "encoders")["encoders"]}
    assert listed["use+e5-small"]["name"].startswith("Best quality: both encoders, about ")


def test_an_encoder_named_twice_makes_no_run(
    file: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", file, "--encoder", "use+use", "--out", str(folder / "twice")]) != 0
    assert "'use+use'" in capsys.readouterr().err
    assert not (folder / "twice").exists()


def test_a_notebook_of_the_run_trains_it_with_the_same_settings(trained: Run) -> None:
    code = _training(trained.plan())
    assert "JoinedSettings" in code and code.count("epochs=1") == 2
    settings: Any = {}
    import emu_core
    import emu_core.settings

    made = code[code.index("config=") + len("config=") : code.rindex(",\n    )")]
    settings = eval(made, {"emu_core": emu_core})  # noqa: S307 - our own code
    assert [part.learning_rate for part in settings.parts] == [3e-4, 1e-4]
    assert len(kinds_of(trained.config().encoder)) == 2
