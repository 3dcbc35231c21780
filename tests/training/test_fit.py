"""The training loop with every method: stopping and resuming, selection, early stopping, what goes wrong."""

import math
import os
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from emu_core.data.slots.utterances import slot_pairs
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.token_states import require_transformer
from emu_core.errors import CancelledError, RunError, TrainingError
from emu_core.methods.bicvm.settings import BicvmConfig
from emu_core.methods.bicvm.trainer import BicvmTrainer, untrained_encoder
from emu_core.methods.distil.settings import DistilConfig
from emu_core.methods.distil.trainer import DistilTrainer
from emu_core.methods.dual_encoder.settings import DualEncoderConfig, Optimizer
from emu_core.methods.dual_encoder.trainer import DualEncoderTrainer
from emu_core.methods.emu.batches import TrainingData
from emu_core.methods.emu.settings import EmuConfig
from emu_core.methods.emu.trainer import EmuTrainer
from emu_core.methods.fmda.batches import prepare_disentangling
from emu_core.methods.fmda.settings import FmdaConfig, MeaningLanguageConfig
from emu_core.methods.fmda.trainer import DisentangleTrainer
from emu_core.runs.checkpoint import Checkpoint, CheckpointPosition, CheckpointState
from emu_core.runs.log import Record
from emu_core.training.fit import Fitted, Stage, Trainer, fit, ran_out
from emu_core.training.weight_settings import Trained
from tests.support.raises import raises
from tests.support.slot_set import slot_set
from tests.support.tiny_encoder import CLASSES, TinyEncoder, sentences
from tests.support.tiny_transformer import tiny_transformer
from tests.support.toy_tasks import ALL, TINY, dual_encoder

EPOCHS = 4
Make = Callable[[], Trainer[Any]]


@pytest.fixture(scope="module")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> TransformerEncoder:
    return require_transformer(load_encoder(f"hf:{tiny_transformer(tmp_path_factory.mktemp('tiny'))}"))


def emu(**changes: Any) -> Trainer[Any]:
    """Two training languages, so that batches, critics and draws differ."""
    config = EmuConfig(
        epochs=EPOCHS, batch_size=8, critic_hidden=10, critic_steps=2, adversary_every=3, **changes
    )
    torch.manual_seed(1)
    data = TrainingData(
        {t: sentences(t, 12) for t in ("en", "de")},
        {other: dict(enumerate(sentences(other).ids)) for other in ("en", "fr", "ja")},
        tuple(map(str, range(CLASSES))),
        ("a warning of the data",),
        tokens=lambda drawn: drawn,
    )
    return EmuTrainer(TinyEncoder(), data, config, seed=0)


def lora(transformer: TransformerEncoder) -> Trainer[Any]:
    encoder = deepcopy(transformer)  # LoRA is merged into its weights
    data = TrainingData(
        {"en": replace(sentences("en", 16), ids=[[2, 4 + i % 12, 3] for i in range(16)])},
        {},
        ("0", "1", "2"),
        (),
        tokens=lambda drawn: drawn,
    )
    config = EmuConfig(epochs=EPOCHS, batch_size=4, adversary="none", trained=Trained.LORA, lora_rank=2)  # type: ignore[arg-type]
    return EmuTrainer(encoder, data, config, seed=0)


def disentangling(
    transformer: TransformerEncoder, config: FmdaConfig | MeaningLanguageConfig
) -> Callable[[], Trainer[Any]]:
    train, dev = (slot_pairs(slot_set().select(splits=[part]), [("en", "de")]) for part in ("train", "dev"))
    data = prepare_disentangling(transformer, train, dev, config, seed=0)
    return lambda: DisentangleTrainer(transformer, data, config, seed=0)


def dual(optimizer: Optimizer) -> Trainer[Any]:
    config: DualEncoderConfig = replace(
        TINY, epochs=EPOCHS, optimizer=optimizer, embedding_multiplier=2.0, bidirectional=True, steps=30
    )
    tasks = replace(ALL, dialogues=(), running_text=())
    return DualEncoderTrainer(dual_encoder(config), tasks, config, seed=0)


def bicvm() -> Trainer[Any]:
    config = BicvmConfig(
        dim=6, margin=5.0, noise=3, epochs=EPOCHS, batch_size=4, init_deviation=0.5, word_dropout=0.2
    )
    return BicvmTrainer(untrained_encoder(ALL.translation, config, seed=0), ALL.translation, config, seed=0)


def distil() -> Trainer[Any]:
    torch.manual_seed(1)
    ids = [sentence for language in ("en", "ja") for sentence in sentences(language, 12).ids]
    teacher_vectors = np.random.default_rng(0).normal(size=(len(ids), 5)).astype(np.float32)
    config = DistilConfig(epochs=EPOCHS, batch_size=8)
    return DistilTrainer(TinyEncoder(), ids, teacher_vectors, config, seed=0)


METHODS = ("emu", "lora", "distil", "fmda", "meaning-language", "dual-sgd", "dual-adam", "bicvm")


@pytest.fixture(scope="module")
def makers(transformer: TransformerEncoder) -> dict[str, Make]:
    shared: dict[str, Any] = {"negatives": 2, "batch_size": 3, "epochs": EPOCHS, "patience": 9}
    return {
        "emu": lambda: emu(decay=True),
        "lora": lambda: lora(transformer),
        "distil": distil,
        "fmda": disentangling(transformer, FmdaConfig(hidden=8, two_stage=True, standardised=True, **shared)),
        "meaning-language": disentangling(transformer, MeaningLanguageConfig(**shared)),
        "dual-sgd": lambda: dual(Optimizer.SGD),
        "dual-adam": lambda: dual(Optimizer.ADAM),
        "bicvm": bicvm,
    }


@pytest.fixture(params=METHODS)
def make(request: pytest.FixtureRequest, makers: dict[str, Make]) -> Make:
    """Make a trainer of each method, with a score of its weights."""
    return with_score(makers[request.param])


@pytest.fixture(params=[method for method in METHODS if method != "lora"])
def make_plain(request: pytest.FixtureRequest, makers: dict[str, Make]) -> Make:
    """The same, where weights have the same names during training and after it."""
    return with_score(makers[request.param])


def with_score(make: Make) -> Make:
    def made() -> Trainer[Any]:
        trainer = make()
        trainer.stages = [replace(stage, score=lambda: -size(trainer.model)) for stage in trainer.stages]
        return trainer

    return made


def size(model: nn.Module) -> float:
    return sum(weight.detach().abs().sum().item() for weight in model.parameters())


def scored(
    trainer: Trainer[Any], scores: Iterable[float], patience: int | None = None
) -> list[CheckpointState]:
    """Let a trainer's last stage have these scores; the list gets the weights of each epoch that is scored."""
    states: list[CheckpointState] = []
    left = iter(scores)

    def score() -> float:
        assert not trainer.model.training
        states.append(copy_of(trainer.model))
        return next(left)

    *before, last = trainer.stages
    trainer.stages = [
        *(replace(stage, score=None) for stage in before),
        replace(last, score=score, patience=patience),
    ]
    return states


def copy_of(model: nn.Module) -> CheckpointState:
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def same(a: CheckpointState, b: CheckpointState) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def trained(
    trainer: Trainer[Any], checkpoint: Checkpoint | None = None, stop_at: int = -1, kill_at: int = -1
) -> tuple[Fitted, list[Record]]:
    """Train; stop before a step (from 0), or die after one (from 1)."""
    records: list[Record] = []

    def hear(record: Record) -> None:
        records.append(record)
        if record.is_step and record.step == kill_at:
            raise InterruptedError

    steps = count()
    done = fit(trainer, on_record=hear, should_stop=lambda: next(steps) == stop_at, checkpoint=checkpoint)
    return done, records


class WrittenAfter(Checkpoint):
    """Written after one step."""

    step = 0

    @property
    def due(self) -> bool:
        self.step -= 1
        return self.step == 0


def resumed(make: Make, path: Path, **stop: int) -> tuple[CheckpointState, Fitted, list[Record]]:
    """Stop or kill training, and go on in a new trainer."""
    checkpoint = WrittenAfter(path / "checkpoint.pt")
    checkpoint.step = stop.get("kill_at", 0) - 1
    with pytest.raises((CancelledError, InterruptedError)):
        trained(make(), checkpoint, **stop)
    torch.manual_seed(99)  # another process has other generators
    again = make()
    done, records = trained(again, Checkpoint(checkpoint.path, every_s=3600))
    return copy_of(again.model), done, records


@pytest.fixture
def whole(make: Make) -> tuple[CheckpointState, Fitted, list[Record]]:
    """Training that nobody stopped."""
    trainer = make()
    done, records = trained(trainer)
    return copy_of(trainer.model), done, records


@pytest.mark.slow
def test_stopped_training_goes_on_to_the_same_weights(
    make: Make, whole: tuple[CheckpointState, Fitted, list[Record]], tmp_path: Path
) -> None:
    weights, done, records = whole
    steps = [record for record in records if record.is_step]
    epochs = [record for record in records if not record.is_step]
    trainer = make()
    assert (len(steps), len(epochs)) == (trainer.total_steps, trainer.total_epochs)
    assert [record.step for record in steps] == list(range(1, len(steps) + 1))
    assert [record.epoch for record in epochs] == list(range(1, len(epochs) + 1))
    ends = [epoch.step for epoch in epochs]
    # Before the first step, in an epoch, at its end, and in the last.
    for number, stop in enumerate((0, 2, ends[0], ends[-2] + 1, ends[-1] - 1)):
        found, its_done, rest = resumed(make, tmp_path / f"stop-{number}", stop_at=stop)
        assert same(found, weights) and its_done == done
        assert (
            rest == [r for r in records if r.step > stop or (r.kind, r.step) == ("epoch", stop)][-len(rest) :]
        )
        assert [r.step for r in rest if r.is_step] == list(range(stop + 1, len(steps) + 1))
    # Killed after the first step and at an epoch's last: the step is done again.
    for number, kill in enumerate((1, ends[1])):
        found, its_done, rest = resumed(make, tmp_path / f"kill-{number}", kill_at=kill)
        assert same(found, weights) and its_done == done
        assert rest[0] == steps[kill - 1]


def test_a_checkpoint_says_where_training_was(make: Make, tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "training" / "checkpoint.pt", every_s=3600)
    assert checkpoint.position() == CheckpointPosition(0, 0) and checkpoint.read() is None
    with pytest.raises(CancelledError, match="after 2 steps"):
        trained(make(), checkpoint, stop_at=2)
    assert checkpoint.position() == CheckpointPosition(1, 2)
    assert [path.name for path in checkpoint.path.parent.iterdir()] == ["checkpoint.pt"]


def test_of_equal_epochs_the_first_is_kept(make_plain: Make) -> None:
    trainer = make_plain()
    states = scored(trainer, [10.0, 30.0, 30.0, 20.0])
    done, records = trained(trainer)
    earlier = trainer.total_epochs - EPOCHS
    assert done.selected_epoch == earlier + 2
    assert [record.dev_accuracy for record in records if record.dev_accuracy is not None] == [10, 30, 30, 20]
    assert same(copy_of(trainer.model), states[1]) and not same(states[1], states[3])


def test_training_ends_when_nothing_gets_better(make_plain: Make) -> None:
    trainer = make_plain()
    states = scored(trainer, [5.0, 7.0, 7.0, 8.0], patience=1)
    done, records = trained(trainer)
    assert len(states) == 3 and same(copy_of(trainer.model), states[1])
    earlier = trainer.total_epochs - EPOCHS
    assert done.selected_epoch == earlier + 2
    assert records[-1].epoch == earlier + 3


@pytest.mark.slow
def test_the_last_epoch_is_kept_without_a_score(make_plain: Make) -> None:
    trainer, scored_trainer = make_plain(), make_plain()
    trainer.stages = [replace(stage, score=None) for stage in trainer.stages]
    states = scored(scored_trainer, [1.0, 2.0, 3.0, 4.0])
    done, records = trained(trainer)
    trained(scored_trainer)
    assert done.selected_epoch == trainer.total_epochs
    assert records[-1].dev_accuracy is None
    assert same(copy_of(trainer.model), states[-1])
    assert all(weight.requires_grad for weight in trainer.model.parameters())
    assert not trainer.model.training


def test_a_loss_that_is_no_number_stops_training(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = make()
    step, steps = trainer.step, count(1)

    def broken(batch: Any) -> dict[str, float]:
        losses = step(batch)
        return losses | {"some_part": math.nan} if next(steps) == 3 else losses

    monkeypatch.setattr(trainer, "step", broken)
    with pytest.raises(TrainingError, match=r"the some-part loss is nan at step 3.*lower learning_rate"):
        trained(trainer)


def test_a_batch_that_does_not_fit_is_shortened(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = make()
    step = trainer.step

    def limited(batch: Any) -> dict[str, float]:
        if len(batch) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")
        return step(batch)

    monkeypatch.setattr(trainer, "step", limited)
    tried = (
        "and none of 2 fits"
        if len(next(iter(trainer.batches(1, 0)))) < 4
        else "a batch of 2 fits: batch_size=2"
    )
    with pytest.raises(TrainingError, match=f"memory ran out at a batch of .* examples.*{tried}"):
        trained(trainer)


class Line(Trainer[list[float]]):
    """Moves one number by the mean of each batch."""

    weighs_by_size = True

    def __init__(self, epochs: int = 2, score: Callable[[], float] | None = None) -> None:
        self.model = nn.Linear(1, 1, bias=False)
        self.stages = [Stage(epochs, 2, score)]
        with torch.no_grad():
            self.model.weight.zero_()

    def batches(self, epoch: int, done: int) -> Iterator[list[float]]:
        yield from ([1.0, 2.0, 3.0], [float(epoch)])[done:]

    @torch.no_grad()
    def step(self, batch: list[float]) -> dict[str, float]:
        self.model.weight += float(np.mean(batch))
        return {"loss": float(np.mean(batch))}

    def state_dict(self) -> CheckpointState:
        return self.model.state_dict()

    def load_state_dict(self, state: CheckpointState) -> None:
        self.model.load_state_dict(state)


def test_a_trainer_of_few_lines_is_enough(tmp_path: Path) -> None:
    trainer = Line()
    done, records = trained(trainer)
    assert done == Fitted(2, ()) and trainer.model.weight.item() == 2 + 1 + 2 + 2
    assert [r.loss for r in records] == [2, 1, (6 + 1) / 4, 2, 2, (6 + 2) / 4]
    assert [(r.kind, r.step, r.epoch) for r in records][2:4] == [("epoch", 2, 1), ("step", 3, 2)]
    weights, its_done, _ = resumed(Line, tmp_path, stop_at=3)
    assert same(weights, copy_of(trainer.model)) and its_done == done


def test_memory_advice_where_a_method_can_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Line, batch: list[float]) -> dict[str, float]:
        raise MemoryError

    monkeypatch.setattr(Line, "step", full)
    with pytest.raises(
        TrainingError, match="at a batch of 3 examples, and none of 2 fits; take a device with"
    ):
        trained(Line())
    monkeypatch.setattr(Line, "batches", lambda self, epoch, done: [[1.0] * 8])
    with pytest.raises(TrainingError, match="at a batch of 8 examples; lower batch_size, or take a device"):
        trained(Line())


def test_another_error_is_not_taken_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Line, batch: list[float]) -> dict[str, float]:
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(Line, "step", broken)
    with pytest.raises(RuntimeError, match="shapes do not match"):
        trained(Line())


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 8 bytes"), True),
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (RuntimeError("could not allocate a name"), False),
        (ValueError("x"), False),
    ],
)
def test_the_signs_of_memory_that_ran_out(error: Exception, expected: bool) -> None:
    assert ran_out(error) is expected


class Hostile:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("owned",)


@pytest.mark.parametrize("content", ["empty", "text", "cut", "hostile", "other"])
def test_a_damaged_checkpoint_says_how_to_go_on(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    checkpoint = Checkpoint(tmp_path / "checkpoint.pt", every_s=0)
    trained(Line(), checkpoint)
    whole = checkpoint.path.read_bytes()
    match content:
        case "hostile":
            torch.save({"position": (1, 1), "state": Hostile()}, checkpoint.path)
        case "other":
            torch.save({"x": 1}, checkpoint.path)
        case _:
            checkpoint.path.write_bytes(
                {"empty": b"", "text": b"no checkpoint", "cut": whole[:-300]}[content]
            )
    for read in (checkpoint.read, checkpoint.position):
        with raises(RunError, fix=None, match=checkpoint.path.name):
            read()
    assert not (tmp_path / "owned").exists()


def change_shape(state: CheckpointState) -> None:
    """A number for a whole weight, which copying would spread over it."""
    name = next(iter(state["encoder"]))
    state["encoder"][name] = state["encoder"][name].flatten()[:1]


def add_weight(state: CheckpointState) -> None:
    state["encoder"]["another"] = torch.zeros(1)


def lose_weight(state: CheckpointState) -> None:
    del state["encoder"][next(iter(state["encoder"]))]


def shrink_centres(state: CheckpointState) -> None:
    state["centers"] = state["centers"].flatten()[:1]


@pytest.mark.parametrize("change", [change_shape, add_weight, lose_weight, shrink_centres])
def test_a_checkpoint_of_other_weights_is_damaged(
    change: Callable[[CheckpointState], None], tmp_path: Path
) -> None:
    checkpoint = WrittenAfter(tmp_path / "checkpoint.pt")
    checkpoint.step = 1
    with pytest.raises(InterruptedError):
        trained(emu(), checkpoint, kill_at=2)
    content = torch.load(checkpoint.path, weights_only=True)
    change(content["state"]["trainer"])
    torch.save(content, checkpoint.path)
    with raises(RunError, fix=None, match=checkpoint.path.name):
        trained(emu(), Checkpoint(checkpoint.path))


def test_checkpoints_wait_longer_where_writing_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("emu_core.runs.checkpoint.time.monotonic", lambda: now[0])
    checkpoint = Checkpoint(tmp_path / "c" / "checkpoint.pt", every_s=10.0)
    now[0] = 9.9
    assert not checkpoint.due
    now[0] = 10.0
    assert checkpoint.due
    real = Path.replace

    def slow(self: Path, target: Path) -> Path:
        now[0] += 2.0
        return real(self, target)

    monkeypatch.setattr(Path, "replace", slow)
    checkpoint.write({"x": torch.ones(2)}, CheckpointPosition(1, 1))
    now[0] = 12.0 + 99.9
    assert not checkpoint.due
    now[0] = 12.0 + 100.0
    assert checkpoint.due
    state = checkpoint.read()
    assert (
        state is not None
        and torch.equal(state["x"], torch.ones(2))
        and checkpoint.position() == CheckpointPosition(1, 1)
    )


def test_state_on_another_device_is_read_on_the_cpu(tmp_path: Path) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    checkpoint = Checkpoint(tmp_path / "checkpoint.pt")
    checkpoint.write({"x": torch.ones(2, device="cuda")}, CheckpointPosition(1, 1))
    state = checkpoint.read()
    assert state is not None and isinstance(state["x"], Tensor) and state["x"].device.type == "cpu"
