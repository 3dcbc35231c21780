"""How a cell's encoder is trained from scratch: as `emu pretrain` does, but for the run's folder."""

from dataclasses import dataclass
from typing import Any

from emu_core.bench.cells import Cell
from emu_core.bench.costs import Pace, Took, now, since
from emu_core.bench.parallel.texts import BenchTexts
from emu_core.config.bicvm import BicvmConfig
from emu_core.config.dual_encoder import DualEncoderConfig
from emu_core.data.parallel.held_out import hold_out, usual_count
from emu_core.data.parallel.text import ParallelText
from emu_core.data.texts.tasks import Tasks
from emu_core.encoders.base import Encoder
from emu_core.encoders.dual.encoder import DualEncoder
from emu_core.evaluation.run_metrics import mean_p_at_1
from emu_core.trainers.bicvm import BicvmTrainer, untrained_encoder
from emu_core.trainers.dual_encoder import DualEncoderTrainer
from emu_core.trainers.fit import Fitted, Trainer, fit


@dataclass(frozen=True)
class Recipe:
    """How a system is trained.

    Attributes:
        config: the settings, whose class names the method.
        dialogues: whether it learns from dialogues, too.
        running: whether it learns from running text, too.
        nli: whether it learns from NLI, too.
    """

    config: DualEncoderConfig | BicvmConfig
    dialogues: bool = False
    running: bool = False
    nli: bool = False


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained encoder.

    Attributes:
        encoder: on its device.
        took: how long training took, from the texts to the encoder, the choice of the epoch included.
        speed: sentence pairs a second ("seconds") and a second of the processor ("cpu_seconds") of the steps.
        facts: settings and counts that a reader should see.
    """

    encoder: Encoder
    took: Took
    speed: dict[str, float]
    facts: dict[str, Any]


def trained(cell: Cell, recipe: Recipe, texts: BenchTexts, device: str) -> Trained:
    """Train a cell.

    Raises:
        EmuError: what can't be trained, with how to fix it.
    """
    whole, _ = texts.of_pairs(cell.on)
    train, dev = hold_out(whole, usual_count(whole), cell.seed)
    given = texts.tasks
    tasks = Tasks(
        train,
        given.dialogues if recipe.dialogues else (),
        given.running_text if recipe.running else (),
        given.nli if recipe.nli else (),
    )
    start, pace = now(), Pace()
    encoder, fitted = _fitted(recipe.config, tasks, dev, cell.seed, device, pace)
    facts: dict[str, Any] = {"selected_epoch": fitted.selected_epoch, "pairs": sum(map(len, train))}
    if fitted.warnings:
        facts["warnings"] = list(fitted.warnings)
    return Trained(encoder, since(start), pace.speed(recipe.config.batch_size), facts)


def _fitted(
    config: DualEncoderConfig | BicvmConfig,
    tasks: Tasks,
    dev: list[ParallelText],
    seed: int,
    device: str,
    pace: Pace,
) -> tuple[Encoder, Fitted]:
    encoder: Encoder
    if isinstance(config, BicvmConfig):
        words = untrained_encoder(tasks.translation, config, seed=seed).to(device)
        encoder, score = words, lambda: mean_p_at_1(words.encode, dev)
        trainer: Trainer = BicvmTrainer(words, tasks.translation, config, seed=seed, score=score)
    else:
        languages = tuple(dict.fromkeys(code for text in tasks.translation for code in text.languages))
        dual = DualEncoder.random(config, languages, seed=seed).to(device)
        encoder, score = dual, lambda: mean_p_at_1(dual.encode, dev)
        trainer = DualEncoderTrainer(dual, tasks, config, seed=seed, score=score)
    return encoder, fit(trainer, on_record=pace, should_stop=lambda: False)
