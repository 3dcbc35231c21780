"""Encoders trained from scratch: the verb, its run folder, and what the rest of the product does with them."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

from emu_core import evaluate, forgetting, load_encoder, pretrain, train
from emu_core.api.execute import Hooks
from emu_core.cli import main
from emu_core.data.texts.parallel import ParallelText
from emu_core.data.texts.running_text import RunningText
from emu_core.data.texts.tasks import Tasks
from emu_core.errors import Call, CancelledError, DataError, Fix, RunError, TrainingError
from emu_core.methods.registry import configure
from emu_core.runs.config import RunConfig
from emu_core.runs.data_facts import ParallelFacts
from emu_core.runs.run import Run, RunState, Status, create_run
from emu_core.runs.stored_data import ParallelData, load_data
from emu_core.settings import Settings
from emu_core.training.weight_settings import Trained
from tests.support.raises import raises

WORDS = {
    "en": "dog cat red blue runs sleeps house tree boy girl",
    "de": "hund katze rot blau rennt schlaeft haus baum junge maid",
}
FR = "chien chat rouge bleu court dort maison arbre gars fille"
SMALL: dict[str, dict[str, object]] = {
    "bicvm": {"dim": 16, "epochs": 6, "batch_size": 16},
    "dual-encoder": {
        "dim": 16,
        "embedding_dim": 16,
        "layers": 1,
        "heads": 2,
        "filter_dim": 32,
        "word_buckets": 500,
        "ngram_buckets": 500,
        "epochs": 3,
        "batch_size": 16,
        "hard_negatives": 2,
    },
}


def small(method: str) -> Settings:
    return configure(method, "", **SMALL[method])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Sentences of four words of ten, in three languages word for word."""
    folder = tmp_path_factory.mktemp("text")
    draws = random.Random(0)
    rows = [draws.sample(range(10), 4) for _ in range(150)]
    paths = []
    for code, words in {**WORDS, "fr": FR}.items():
        path = folder / f"train.{code}"
        known = words.split()
        path.write_text("".join(" ".join(known[word] for word in row) + "\n" for row in rows), "utf-8")
        paths.append(path)
    return paths


@pytest.fixture(scope="module")
def bicvm(files: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Run:
    return pretrain(files, out=tmp_path_factory.mktemp("runs") / "b", method="bicvm", config=small("bicvm"))


@pytest.mark.parametrize("method", list(SMALL))
def test_a_run_is_whole_and_its_encoder_opens(method: str, files: list[Path], tmp_path: Path) -> None:
    run = pretrain(files[:2], out=tmp_path / "r", method=method, config=small(method))
    assert run.status().state is RunState.FINISHED and not run.training_folder.exists()
    assert run.config().languages == ("en", "de") and run.config().encoder == ""
    metrics = run.metrics()
    assert set(metrics.translation) == {"en-de", "de-en"}
    assert metrics.translation["en-de"].candidates == run.data(ParallelFacts).dev["en-de"] > 0
    assert run.data(ParallelFacts).pairs["en-de"] + run.data(ParallelFacts).dev["en-de"] <= 150
    vectors = load_encoder(f"run:{run.folder}").encode(["dog runs", "hund rennt", "", "unheard"])
    assert vectors.shape == (4, 16) and np.isfinite(vectors).all()
    assert vectors.any(axis=1).all()  # a zero vector has no cosine
    steps = [record for record in run.history() if record.is_step]
    assert len(steps) == run.status().steps == steps[-1].step
    card = (run.folder / "README.md").read_text("utf-8")
    assert f"method `{method}`" in card and "| en-de |" in card


def test_two_pairs_align_the_languages_that_share_one(bicvm: Run) -> None:
    found = bicvm.metrics().translation
    assert set(found) == {"en-de", "de-en", "en-fr", "fr-en", "de-fr", "fr-de"}
    assert [way for way, one in found.items() if not one.trained] == ["de-fr", "fr-de"]
    assert found["de-fr"].p_at_1 > 5 * 100 / found["de-fr"].candidates  # above chance


@pytest.mark.slow
@pytest.mark.parametrize("method", list(SMALL))
def test_a_stopped_run_goes_on_to_the_same_weights(
    method: str,
    files: list[Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("emu_core.runs.progress.STATUS_INTERVAL_S", 0.0)  # every step is told
    whole = pretrain(files, out=tmp_path / "whole", method=method, config=small(method))
    out = tmp_path / "stopped"

    def stop(status: Status) -> None:
        if status.phase == "training" and status.step >= 5:
            Run(out).cancel()

    with pytest.raises(CancelledError):
        pretrain(
            files, out=out, method=method, config=small(method), hooks=Hooks(checkpoint_s=0), on_progress=stop
        )
    stopped = Run(out)
    assert stopped.status().state is RunState.CANCELLED and stopped.can_resume
    assert main(["resume", str(out)]) == 0
    assert "English, German and French" in capsys.readouterr().out
    resumed = Run(out)
    assert resumed.status().state is RunState.FINISHED
    for name in ("model.safetensors", "config.json"):
        assert (resumed.encoder_folder / name).read_bytes() == (whole.encoder_folder / name).read_bytes()
    assert [r.step for r in resumed.history() if r.is_step] == [r.step for r in whole.history() if r.is_step]


def test_a_run_stores_its_texts_until_it_is_finished(tmp_path: Path) -> None:
    text = ParallelText("en", "de", ("a", "b"), ("ä", "ß"), "x", (0, 1), ("odd",))
    running = RunningText("en", (("one", "two", "three"), ("four", "five", "six")), "r", ("short",))
    data = ParallelData(Tasks((text,), (), (running,), ()), [text.turned()], [])
    config = RunConfig(method="bicvm", data="x", hyperparameters={}, languages=("en", "de"))
    run = create_run(tmp_path / "r", config, data)
    assert run.status().state is RunState.QUEUED and run.can_resume and run.config() == config
    stored = load_data(run.training_folder, "x")
    assert isinstance(stored, ParallelData)
    assert list(stored.tasks.translation) == [text] and list(stored.tasks.running_text) == [running]
    assert stored.dev == [text.turned()] and stored.test == []
    (run.training_folder / "texts-1.parquet").write_bytes(b"damaged")
    with raises(RunError, fix=None, match=run.training_folder.name):
        load_data(run.training_folder, "x")


@pytest.mark.slow
def test_it_can_be_specialised_and_exported(bicvm: Run, tmp_path: Path) -> None:
    run = train("demo", out=tmp_path / "s", encoder=f"run:{bicvm.folder}", train_languages=["en"])
    assert run.metrics().mean_specialised > 0
    assert load_encoder(f"run:{run.folder}").encode(["hund"]).shape[0] == 1


@pytest.mark.slow
def test_word_vectors_alone_are_trained_when_asked_for(bicvm: Run, tmp_path: Path) -> None:
    spec = f"run:{bicvm.folder}"
    with raises(TrainingError, fix=Fix("trained", "all")):
        train("demo", out=tmp_path / "none", method="emu-without-ld", encoder=spec)
    config = configure("emu-without-ld", trained=Trained.ALL, epochs=1)
    run = train("demo", out=tmp_path / "all", method="emu-without-ld", encoder=spec, config=config)
    before, after = (load_encoder(one).encode(["dog runs"]) for one in (spec, f"run:{run.folder}"))
    assert not np.allclose(before, after)


def test_it_is_measured_without_a_base(bicvm: Run) -> None:
    found = evaluate("demo", encoder=f"run:{bicvm.folder}", languages=["en", "de"], split="test")
    assert "changes" not in found
    with raises(RunError, fix=Fix("encoder", f"run:{bicvm.folder}")):
        forgetting(bicvm.folder, translations=bicvm.folder)


def test_the_command_prints_what_it_found(
    files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "r")
    named = [str(file) for file in files[:2]]
    settings = ["--method", "bicvm", "--dim", "8", "--epochs", "1"]
    assert main(["pretrain", *named, *settings, "--out", out]) == 0
    assert "English and German" in " ".join(capsys.readouterr().out.split())
    assert main(["pretrain", *named, *settings, "--out", str(tmp_path / "j"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["translation"]["de-en"]["candidates"] > 0


def test_pairs_with_an_empty_side_are_an_error_or_left_out(
    files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = files[1].read_text("utf-8").split("\n")
    (tmp_path / "train.de").write_text("\n".join([lines[0], "", *lines[2:]]), "utf-8")
    command = ["pretrain", str(files[0]), str(tmp_path / "train.de"), "--method", "bicvm", "--epochs", "1"]
    command += ["--min-count", "1", "--out", str(tmp_path / "r")]
    assert main(command) != 0
    assert "line 2 " in (said := capsys.readouterr().err) and "--drop-empty" in said
    assert main([*command, "--drop-empty"]) == 0
    facts = Run(tmp_path / "r").data(ParallelFacts)
    assert facts.pairs["en-de"] + facts.dev["en-de"] == 149


def test_what_does_not_fit_is_said(files: list[Path], tmp_path: Path) -> None:
    with raises(TrainingError, fix=Call("train")):
        pretrain(files, out=tmp_path / "r", method="emu")
    with pytest.raises(TrainingError, match="BiCVM learns from parallel text alone"):
        pretrain(files, out=tmp_path / "r", method="bicvm", running_text=[files[0]])
    with raises(TrainingError, fix="method", match="bicvm .* heads"):
        configure("bicvm", "", heads=8)
    with raises(TrainingError, fix=None, match="BicvmConfig"):
        pretrain(files, out=tmp_path / "r", config=small("bicvm"))
    short = tmp_path / "train.de"
    short.write_text("ein Satz\n", "utf-8")
    with raises(DataError, fix=None, match="150 .* 1"):
        pretrain([files[0], short], out=tmp_path / "r")
    assert not (tmp_path / "r").exists()
