"""The presets best and fast: both encoders joined, and a student of that, in one run each; and joined methods."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from emu_core import compare, configure, export, load_encoder, resume, train
from emu_core.api.execute import Hooks
from emu_core.api.train import plan_training
from emu_core.cli import main
from emu_core.data.sets import LabelledSet
from emu_core.encoders.base import Encoder
from emu_core.encoders.joined import JoinedEncoder
from emu_core.encoders.specs import BOTH
from emu_core.errors import CancelledError, DataError, TrainingError
from emu_core.methods import presets as presets_module
from emu_core.methods.presets import Preset, presets
from emu_core.methods.registry import default_method
from emu_core.notebook.builder import _training
from emu_core.runs.intents import load_intents
from emu_core.runs.run import Run, RunState, Status
from emu_core.runs.trained_on import trained_on, trained_rows
from emu_core.settings import JoinedSettings
from emu_core.training.method import Needs
from tests.support.raises import raises
from tests.support.small import small_set
from tests.support.tiny_transformer import tiny_transformer

TWO = small_set(("en", "de"))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Preset]:
    """The presets with a tiny transformer in the place of the second encoder."""
    spec = f"hf:{tiny_transformer(tmp_path_factory.mktemp('models') / 'tiny', letters=True)}"
    best = replace(presets()["best"], encoder=f"use+{spec}")
    return {"best": best, "fast": replace(presets()["fast"], teacher=best)}


@pytest.fixture
def are_tiny(tiny: Mapping[str, Preset], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presets_module, "presets", lambda: tiny)


@pytest.fixture(scope="module")
def made(tiny: Mapping[str, Preset], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Run]:
    """A finished run of each preset."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(presets_module, "presets", lambda: tiny)
        return {
            name: train(TWO, out=folder / name, preset=name, snapshots=True, device="cpu") for name in tiny
        }


def opened(run: Run) -> Encoder:
    return load_encoder(f"run:{run.folder}")


def assert_equal_weights(first: Encoder, second: Encoder) -> None:
    expected, weights = first.state_dict(), second.state_dict()
    assert expected.keys() == weights.keys()
    assert all(torch.equal(weight, expected[name]) for name, weight in weights.items())


def test_presets_are_made_of_the_default_methods_and_both_encoders() -> None:
    best, fast = presets().values()
    assert (best.method, best.encoder, best.teacher) == (default_method(), "+".join(BOTH), None)
    assert (fast.method, fast.encoder) == (default_method(Needs.SENTENCES), BOTH[0])
    assert fast.teacher == best and fast.of_labels == best


@pytest.mark.slow
@pytest.mark.parametrize(("method", "names"), [(None, ["head", "head"]), ("emu+head", ["emu", "head"])])
def test_parts_have_the_weights_of_runs_alone(
    method: str | None,
    names: list[str],
    made: Mapping[str, Run],
    tiny: Mapping[str, Preset],
    tmp_path: Path,
) -> None:
    """Of the best and of joined methods."""
    spec = tiny["best"].encoder
    run = (
        made["best"]
        if method is None
        else train(TWO, out=tmp_path / "joined", method=method, encoder=spec, device="cpu")
    )
    config, joined, kinds = run.plan(), opened(run), spec.split("+")
    assert [(part.encoder, part.method) for part in config.parts] == list(zip(kinds, names, strict=True))
    assert config.method == (method or tiny["best"].method) and config.teacher is None
    assert isinstance(joined, JoinedEncoder)
    for number, (kind, name) in enumerate(zip(kinds, names, strict=True)):
        alone = train(TWO, out=tmp_path / str(number), method=name, encoder=kind, device="cpu")
        assert_equal_weights(opened(alone), joined.parts[number])
    card = (run.folder / "README.md").read_text("utf-8")
    assert f"`{config.method}`" in card


@pytest.mark.slow
def test_the_fast_one_is_the_student_of_the_best(made: Mapping[str, Run], tmp_path: Path) -> None:
    """One run folder has what the best run and a student of it would have, to the bit."""
    run, best = made["fast"], made["best"]
    config = run.plan()
    assert (config.encoder, config.parts) == ("use", ())
    assert config.teacher == best.plan().everywhere(unlabelled_languages=("de",))
    teacher = f"run:{best.folder}"
    alone = train(
        TWO,
        out=tmp_path / "student",
        method="distil",
        config=configure("distil", "use", teacher=teacher),
        device="cpu",
    )
    assert_equal_weights(opened(alone), opened(run))
    assert (trained_on(f"run:{run.folder}").hashes == trained_on(f"run:{alone.folder}").hashes).all()
    rows, _ = trained_rows(f"run:{run.folder}", LabelledSet(TWO.frame.assign(annotated="x"), "other"))
    assert rows.tolist() == (TWO.frame["split"] == "train").tolist()
    assert run.metrics().specialised == pytest.approx(alone.metrics().specialised)
    assert not run.training_folder.exists()
    assert not list((run.folder / "teacher").rglob("*.safetensors"))
    card = (run.folder / "README.md").read_text("utf-8")
    assert "from a teacher that was trained first, in the same run (`use` with the method" in card
    assert "72 labelled sentences of 6 intents in en; sentences in de without their labels" in card
    assert "| teacher's whitening |" in card
    assert set(load_intents(run.folder).labelled.languages) == {"en"}  # German labels are not used
    assert {record.part for record in run.history()} == {"student"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["best", "fast"])
def test_a_run_of_a_preset_is_compared_and_exported_like_others(
    name: str, made: Mapping[str, Run], tmp_path: Path
) -> None:
    comparison = compare(TWO, made[name])
    assert comparison.view("accuracy") is not None
    folder = export(made[name], tmp_path / "export")
    texts = small_set().frame["text"].head(4).tolist()
    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True, trust_remote_code=True)
    vectors = opened(made[name]).encode(texts)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert model.encode(texts, normalize_embeddings=True) == pytest.approx(vectors, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["hf", "student"])
def test_a_stopped_run_goes_on_where_it_stopped(
    where: str, made: Mapping[str, Run], are_tiny: None, tmp_path: Path
) -> None:
    run = Run(tmp_path / "r")
    seen: list[str] = []

    def stop(status: Status) -> None:
        if status.part.startswith(where) and (status.phase == "fitting" or status.step):
            run.cancel()

    def look(status: Status) -> None:
        if status.phase in ("fitting", "training") and status.part not in seen:
            seen.append(status.part)

    with pytest.raises(CancelledError):
        train(
            TWO, out=run.folder, preset="fast", device="cpu", snapshots=True,
            hooks=Hooks(checkpoint_s=0), on_progress=stop,
        )  # fmt: skip
    assert run.can_resume
    resume(run.folder, on_progress=look)
    assert run.status().state is RunState.FINISHED
    # What is finished is not trained again.
    assert [part[:3] for part in seen] == (["hf:", "stu"] if where == "hf" else ["stu"])
    assert_equal_weights(opened(run), opened(made["fast"]))
    assert len(list(run.snapshots_folder.glob("*.safetensors"))) == len(
        list(made["fast"].snapshots_folder.glob("*.safetensors"))
    )


def test_labels_and_sentences_of_a_preset_are_those_of_its_teacher(are_tiny: None) -> None:
    config, data = plan_training(
        small_set(), preset="fast", train_languages=["de"], unlabelled_languages=["ja"]
    )
    assert (config.train_languages, config.unlabelled_languages) == (("de",), ("ja",))
    assert data.facts(config).labelled == 72
    sentences = data.for_student(config).unlabelled
    assert sentences is not None and sentences.languages == ("de", "ja")
    held_out = small_set().held_out_part()
    assert held_out is not None
    assert not set(sentences.frame["text"]) & set(held_out.frame["text"])


def test_what_a_preset_can_not_be_is_refused(are_tiny: None, tmp_path: Path) -> None:
    for other in ({"method": "emu"}, {"encoder": "use"}, {"config": configure("emu", "use")}):
        with raises(TrainingError, fix="preset", match="best"):
            plan_training(small_set(), preset="best", **other)  # type: ignore[arg-type]
    with pytest.raises(TrainingError, match="no preset 'better'; there are: best, fast"):
        plan_training(small_set(), preset="better")
    texts = tmp_path / "mails.en.txt"
    texts.write_text("Where is the pool?\nDo you allow dogs?\n", "utf-8")
    with pytest.raises(DataError):
        train(texts, out=tmp_path / "r", preset="fast")


@pytest.mark.parametrize(
    ("method", "encoder", "fix", "named"),
    [
        ("head+emu", "use", None, "2 methods.* use has 1"),
        ("head+emu", None, "encoder", r"head\+emu"),
        ("head+distil", "use+e5-small", None, "distil"),
        ("head+nothing", "use+e5-small", None, "'nothing'"),
    ],
)
def test_joined_methods_need_a_part_each(
    method: str, encoder: str | None, fix: str | None, named: str
) -> None:
    with raises(TrainingError, fix=fix, match=named):
        plan_training(small_set(), method=method, encoder=encoder)


def test_settings_of_each_part_are_those_of_its_method(tiny: Mapping[str, Preset]) -> None:
    spec = tiny["best"].encoder
    kinds = spec.split("+")
    settings = JoinedSettings((configure("emu", kinds[0]), configure("head", kinds[1])))
    config, _ = plan_training(small_set(), method="emu+head", encoder=spec, config=settings)
    assert ["epochs" in part.hyperparameters for part in config.parts] == [True, False]
    with raises(TrainingError, fix=None, match="JoinedSettings|EmuConfig.* head"):  # settings for all parts
        plan_training(small_set(), method="head+emu", encoder=spec, config=configure("emu", "use"))
    with raises(TrainingError, fix=None, match="JoinedSettings|EmuConfig.* head"):
        plan_training(small_set(), method="head+emu", encoder=spec, config=settings)


@pytest.mark.slow
def test_the_command_takes_presets_and_joined_methods(
    tiny: Mapping[str, Preset],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["train", "demo", "--preset", "best", "--method", "emu"]) != 0
    assert " best " in (said := capsys.readouterr().err) and "--method" in said
    assert main(["train", "demo", "--preset", "fast", "--epochs", "2"]) != 0
    assert "--epochs" in (said := capsys.readouterr().err) and " fast " in said
    spec, out = tiny["best"].encoder, tmp_path / "joined"
    file = tmp_path / "small.csv"
    small_set(("en", "de")).frame.to_csv(file, index=False)
    assert main(["train", str(file), "--method", "emu+head", "--encoder", spec, "--epochs", "1"]) != 0
    assert "--epochs" in (said := capsys.readouterr().err) and "--method emu+head" in said
    assert main(["train", str(file), "--method", "emu+head", "--encoder", spec, "--out", str(out)]) == 0
    assert [part.method for part in Run(out).plan().parts] == ["emu", "head"]
    with pytest.raises(SystemExit):
        main(["train", "--preset", "best", "--help"])
    assert "20 times as long" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_a_notebook_of_a_preset_trains_it_again(made: Mapping[str, Run], are_tiny: None) -> None:
    fast, best = (_training(made[name].plan()) for name in ("fast", "best"))
    assert "preset='fast'" in fast and "config=" not in fast and "method=" not in fast
    assert f"method={made['best'].config().method!r}" in best and "JoinedSettings((" in best


def test_a_student_needs_memory_beside_its_teacher() -> None:
    forecasts = []
    for name in ("best", "fast"):
        plan_training(small_set(), preset=name, on_forecast=forecasts.append)
    best, fast = forecasts
    assert fast.needed - best.needed > 300 * 2**20
