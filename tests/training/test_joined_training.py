"""The training of joined encoders: the weights of each part alone, one run folder, and going on after a kill."""

import json
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from msgspec import UNSET
from safetensors.numpy import load_file

from emu_core import configure, load_encoder, resume, train
from emu_core.api.execute import Hooks, execute
from emu_core.api.train import plan_training
from emu_core.data.sets import LabelledSet
from emu_core.encoders.base import Encoder
from emu_core.encoders.joined import JoinedEncoder
from emu_core.encoders.saved import CHECKSUMS
from emu_core.errors import CancelledError, TrainingError
from emu_core.processes import SINGLE_PROCESS
from emu_core.runs.run import Run, RunState, Status, create_run, list_runs
from emu_core.runs.snapshots import read_film
from emu_core.settings import JoinedSettings
from tests.support.processes import create_and_finish, exit_code
from tests.support.short_plans import SETTINGS, Plan, with_dev
from tests.support.small import INTENTS, small_set
from tests.support.tiny_transformer import tiny_transformer

EMU: dict[str, Any] = {"epochs": 2, "last_layers": 1, "trained": "last-layers"}


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("models")
    first, second = (tiny_transformer(folder / f"tiny-{n}", layers=n, letters=True) for n in (1, 2))
    return f"hf:{first}", f"hf:{second}"


@pytest.fixture(scope="module")
def kept(specs: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run of Emu on two joined transformers, with snapshots."""
    spec = "+".join(specs)
    return train(
        small_set(),
        out=tmp_path_factory.mktemp("runs") / "emu-joined",
        method="emu",
        encoder=spec,
        config=configure("emu", spec, **EMU),
        snapshots=True,
    )


def parts(encoder: Encoder) -> Sequence[Encoder]:
    assert isinstance(encoder, JoinedEncoder)
    return encoder.parts


def assert_equal_weights(first: Encoder, second: Encoder) -> None:
    expected, weights = first.state_dict(), second.state_dict()
    assert expected.keys() == weights.keys()
    for name, weight in weights.items():
        assert torch.equal(weight, expected[name]), name


def opened(run: Run) -> Encoder:
    return load_encoder(f"run:{run.folder}")


@pytest.mark.slow
@pytest.mark.parametrize(("method", "changes"), [("head", {}), ("emu", EMU), ("softmax", EMU)])
def test_each_part_has_the_weights_of_the_part_trained_alone(
    method: str, changes: dict[str, Any], specs: tuple[str, str], tmp_path: Path
) -> None:
    names = ("use", specs[1])
    spec = "+".join(names)
    joined = train(
        small_set(),
        out=tmp_path / "j",
        method=method,
        encoder=spec,
        config=configure(method, spec, **changes),
    )
    for number, (name, part) in enumerate(zip(names, parts(opened(joined)), strict=True)):
        config = configure(method, name, **changes)
        alone = train(small_set(), out=tmp_path / f"r{number}", method=method, encoder=name, config=config)
        assert_equal_weights(opened(alone), part)
        assert joined.part(number).config().hyperparameters == alone.config().hyperparameters
    base = load_encoder(spec)
    assert (
        any(
            not torch.equal(weight, other)
            for part, of_base in zip(parts(opened(joined)), parts(base), strict=True)
            for weight, other in zip(part.parameters(), of_base.parameters(), strict=False)
        )
        or method == "head"
    )


def test_every_part_has_its_own_defaults_and_a_named_setting_holds_for_all(specs: tuple[str, str]) -> None:
    config, _ = plan_training(small_set(), method="emu", encoder=f"use+{specs[0]}")
    use, hf = (part.hyperparameters for part in config.parts)
    assert [part.encoder for part in config.parts] == ["use", specs[0]] and config.hyperparameters == {}
    assert (use["learning_rate"], hf["learning_rate"]) == (3e-4, 1e-4)
    spec = f"use+{specs[0]}"
    config, _ = plan_training(
        small_set(), method="emu", encoder=spec, config=configure("emu", spec, learning_rate=0.01)
    )
    assert [part.hyperparameters["learning_rate"] for part in config.parts] == [0.01, 0.01]
    assert [part.hyperparameters["last_layers"] for part in config.parts] == [5, 2]
    alike = configure("emu", epochs=7)  # the paper's, for all parts
    config, _ = plan_training(small_set(), method="emu", encoder=spec, config=alike)
    assert [part.hyperparameters["epochs"] for part in config.parts] == [7, 7]


def test_settings_for_another_number_of_parts_or_another_method_are_refused(specs: tuple[str, str]) -> None:
    with pytest.raises(TrainingError, match="settings are those of 2 encoders, and the encoder joins 1"):
        plan_training(small_set(), method="emu", encoder="use", config=configure("emu", "use+e5-small"))
    mixed = JoinedSettings((configure("emu", "use"), configure("head", "hf")))
    with pytest.raises(TrainingError, match="which is not what the method emu takes"):
        plan_training(small_set(), method="emu", encoder=f"use+{specs[0]}", config=mixed)


@pytest.mark.slow
def test_both_encoders_are_measured_joined(kept: Run, specs: tuple[str, str]) -> None:
    metrics, held_out = kept.metrics(), small_set().held_out_part()
    assert held_out is not None and metrics.is_measured and metrics.counts["en-en"] == 36
    assert metrics.others == {"selected_epochs": [2, 2]} and metrics.new_intents is UNSET
    from emu_core.evaluation.run_metrics import measure_accuracy

    for encoder, figures in (
        (load_encoder("+".join(specs)), metrics.base),
        (opened(kept), metrics.specialised),
    ):
        assert measure_accuracy(held_out, encoder.encode).accuracy == pytest.approx(figures)
    assert metrics.base != metrics.specialised


@pytest.mark.slow
def test_snapshots_are_of_the_whole_encoder(kept: Run) -> None:
    film = read_film(kept)
    assert len(film.titles) == 5 and film.titles[0] == "before training"
    assert "(1 of 2): epoch 1" in film.titles[1] and "(2 of 2): epoch 2" in film.titles[4]


def test_the_log_says_which_part_and_counts_on(kept: Run) -> None:
    history = kept.history()
    steps = [record for record in history if record.is_step]
    assert [record.step for record in steps] == list(range(1, len(steps) + 1))
    assert [record.epoch for record in history if not record.is_step] == [1, 2, 3, 4]
    assert len({record.part for record in steps}) == 2
    assert [record.part for record in steps] == sorted(record.part for record in steps)
    seconds = [record.seconds for record in steps]
    assert seconds == sorted(seconds)


def test_config_and_card_hold_the_settings_of_each_part(kept: Run, specs: tuple[str, str]) -> None:
    whole, *parts = (
        json.loads((kept.folder / folder / "config.json").read_text("utf-8"))
        for folder in (".", "parts/0", "parts/1")
    )
    assert "parts" not in whole and whole["hyperparameters"] == {}
    assert [(part["encoder"], part["method"]) for part in parts] == [(spec, "emu") for spec in specs]
    assert all(part["hyperparameters"]["epochs"] == 2 for part in parts)
    card = (kept.folder / "README.md").read_text("utf-8")
    assert "| epochs | 2 |" in card and "each encoder by itself" in card


@pytest.mark.slow
def test_new_intents_and_cross_validation_are_measured_on_the_joined_encoder(
    specs: tuple[str, str], tmp_path: Path
) -> None:
    labelled = small_set()
    whole = LabelledSet(labelled.frame.assign(split=""), "whole")
    spec = f"use+{specs[0]}"
    run = train(whole, out=tmp_path / "r", method="head", encoder=spec)
    metrics = run.metrics()
    assert metrics.new_intents and metrics.cross_validation is not None
    english = whole.select(languages=["en"])
    base = load_encoder(spec)
    from emu_core.evaluation.changes import new_intent_change

    frame = english.frame
    expected = new_intent_change(
        base.encode(frame["text"].tolist()),
        frame["intent"].tolist(),
        frame["language"].tolist(),
        frame["id"].tolist(),
        lambda rows: lambda vectors: vectors,
    )
    assert expected is not None
    assert metrics.new_intents.base == pytest.approx(expected.base)  # type: ignore[union-attr]
    assert metrics.new_intents.queries == len(frame)  # type: ignore[union-attr]


@pytest.mark.slow
def test_the_status_says_which_part_is_trained(specs: tuple[str, str], tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []

    def look(status: Status) -> None:
        if (status.part, status.phase) not in seen:
            seen.append((status.part, status.phase))

    run = train(
        small_set(), out=tmp_path / "r", method="emu", encoder="+".join(specs),
        config=configure("emu", "hf", **EMU), on_progress=look,
    )  # fmt: skip
    trained = [part for part, phase in seen if phase == "training"]
    assert trained == [f"{specs[0]} (1 of 2)", f"{specs[1]} (2 of 2)"]
    assert seen[-1] == ("", "saving") and run.status().part == ""


def short_plan(specs: tuple[str, str], method: str, **changes: Any) -> Plan:
    """Plan a run on three intents: too few to leave half of them out, which would take most of its time."""
    spec, frame = "+".join(specs), with_dev().frame
    three = LabelledSet(frame[frame["intent"].isin(INTENTS[:3])].reset_index(drop=True), "three intents")
    config = configure(method, spec, **changes)
    return plan_training(three, method=method, encoder=spec, config=config, snapshots=True)


def checksums(run: Run) -> dict[str, str]:
    """Return those of the encoder, without transformers' notes on a tokenizer, which grow when it is opened again."""
    values: dict[str, str] = json.loads((run.encoder_folder / CHECKSUMS).read_text("utf-8"))
    return {name: value for name, value in values.items() if Path(name).name != "tokenizer_config.json"}


def snapshots(run: Run) -> dict[str, np.ndarray[Any, Any]]:
    paths = run.snapshots_folder.glob("*.safetensors")
    return {path.name: load_file(path)["vectors"].astype(np.float32) for path in paths}


@pytest.mark.slow
@pytest.mark.parametrize(("method", "changes"), [("head", {}), ("emu", SETTINGS)])
def test_a_run_killed_at_any_renaming_ends_with_the_same_weights(
    method: str, changes: dict[str, Any], specs: tuple[str, str], tmp_path: Path
) -> None:
    plan = short_plan(specs, method, **changes)
    whole = Run(tmp_path / "whole")
    assert exit_code(create_and_finish, str(whole.folder), *plan, 1e9) == 0
    frames = snapshots(whole)
    for number in count(1, 7):
        run = Run(tmp_path / f"r{number}")
        if exit_code(create_and_finish, str(run.folder), *plan, 1e9, number) == 0:
            break
        assert exit_code(create_and_finish, str(run.folder), *plan, 1e9) == 0
        assert checksums(run) == checksums(whole)
        # Of a head, the last bits depend on the number of sentences at once.
        assert frames.keys() == snapshots(run).keys()
        for name, vectors in snapshots(run).items():
            np.testing.assert_allclose(vectors, frames[name], atol=2e-3)
        assert run.status().state is RunState.FINISHED and not run.training_folder.exists()
    assert number > 10


@pytest.mark.slow
def test_a_finished_part_is_not_trained_again(specs: tuple[str, str], tmp_path: Path) -> None:
    plan = short_plan(specs, "emu", **SETTINGS)
    whole = resume(create_run(tmp_path / "whole", *plan).folder)
    run = create_run(tmp_path / "r", *plan)

    def cancel_in_second(status: Status) -> None:
        if "2 of 2" in status.part and status.phase == "training":
            run.cancel()

    with pytest.raises(CancelledError):
        resume(run.folder, hooks=Hooks(checkpoint_s=0), on_progress=cancel_in_second)
    first, second = run.part(0), run.part(1)
    assert first.status().state is RunState.FINISHED and first.encoder_folder.is_dir()
    assert second.status().state is RunState.QUEUED and not second.encoder_folder.exists()
    assert second.checkpoint.is_file() and not first.training_folder.exists()
    assert {listed.name for listed in list_runs(tmp_path)} == {"r", "whole"}
    trained: list[str] = []

    def note(status: Status) -> None:
        if status.phase == "training" and status.part not in trained:
            trained.append(status.part)

    resume(run.folder, on_progress=note)
    assert trained == [f"{specs[1]} (2 of 2)"]
    assert checksums(run) == checksums(whole)
    assert not first.encoder_folder.exists() and not second.training_folder.exists()
    assert [record.step for record in run.history()] == [record.step for record in whole.history()]


def test_a_run_whose_joined_runs_have_changed_is_one_sentence(specs: tuple[str, str], tmp_path: Path) -> None:
    plan = short_plan(specs, "head")
    run = create_run(tmp_path / "r", *plan)
    run.part(2).write_plan(run.part(0).config())
    with pytest.raises(TrainingError, match="joins other encoders than when the run was made"):
        execute(run, SINGLE_PROCESS)


@pytest.mark.slow
def test_a_joined_run_is_specialised_part_by_part(kept: Run, tmp_path: Path) -> None:
    run = train(small_set(), out=tmp_path / "r", method="head", encoder=f"run:{kept.folder}")
    assert [part.encoder for part in run.plan().parts] == ["hf", "hf"]
    for part, base in zip(parts(opened(run)), parts(opened(kept)), strict=True):
        assert part.spec == "head"
        assert_equal_weights(base, part.base)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_weights_and_another_seed_others(
    kept: Run, specs: tuple[str, str], tmp_path: Path
) -> None:
    spec = "+".join(specs)
    again, other = (
        train(
            small_set(), out=tmp_path / f"r{seed}", method="emu", encoder=spec, seed=seed,
            config=configure("emu", spec, **EMU),
        )
        for seed in (0, 1)
    )  # fmt: skip
    assert_equal_weights(opened(kept), opened(again))
    assert any(
        not np.array_equal(a, b)
        for a, b in zip(opened(kept).state_dict().values(), opened(other).state_dict().values(), strict=True)
    )


@pytest.mark.slow
def test_a_run_that_others_join_is_renamed_in_them_too(
    kept: Run, specs: tuple[str, str], tmp_path: Path
) -> None:
    first = train(small_set(), out=tmp_path / "first", method="head", encoder=specs[0])
    above = train(
        small_set(), out=tmp_path / "above", method="head", encoder=f"run:{first.folder}+{specs[1]}"
    )
    renamed, plan = first.rename("renamed"), above.plan()
    assert plan.encoder == f"run:{renamed.folder}+{specs[1]}" and len(plan.parts) == 2
    moved = above.rename("moved").put_aside()
    assert moved.plan() == plan
    assert moved.put_back().plan() == plan
