"""How a cell's encoder is trained: as `emu pretrain` does, but for the run's folder."""

from dataclasses import dataclass, field
from typing import Any

from emu_core.api.pretrained_metrics import mean_p_at_1
from emu_core.bench.pretrained.cells import PretrainedCell
from emu_core.bench.pretrained.setting import Recipe
from emu_core.bench.pretrained.texts import BenchTexts
from emu_core.bench.stopwatch import Moment, Took, now, since
from emu_core.config.bicvm import BicvmConfig
from emu_core.config.dual_encoder import DualEncoderConfig
from emu_core.data.held_out_pairs import hold_out, usual_count
from emu_core.data.parallel_text import ParallelText
from emu_core.encoders.base import Encoder
from emu_core.encoders.dual.encoder import DualEncoder
from emu_core.trainers.bicvm import fit_bicvm, untrained_encoder
from emu_core.trainers.dual_encoder import fit_dual_encoder
from emu_core.trainers.dual_tasks import Tasks
from emu_core.trainers.loop import Fitted, Record


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained encoder.

    Attributes:
        encoder: on its device.
        took: how long training took, from the texts to the encoder, the choice of the epoch included.
        speed: see `PretrainedResult`.
        facts: settings and counts that a reader should see.
    """

    encoder: Encoder
    took: Took
    speed: dict[str, float]
    facts: dict[str, Any]


def trained(cell: PretrainedCell, recipe: Recipe, texts: BenchTexts, device: str) -> Trained:
    """Train what a cell says.

    Raises:
        EmuError: what can't be trained, with the mend.
    """
    whole, _ = texts.of_pairs(cell.pairs)
    train, dev = hold_out(whole, usual_count(whole), cell.seed)
    start, pace = now(), Pace()
    encoder, fitted = _fitted(cell, recipe, Tasks(train, *_others(recipe, texts)), dev, device, pace)
    facts: dict[str, Any] = {"selected_epoch": fitted.selected_epoch, "pairs": sum(map(len, train))}
    if fitted.warnings:
        facts["warnings"] = list(fitted.warnings)
    return Trained(encoder, since(start), pace.speed(_batch(recipe)), facts)


def _others(recipe: Recipe, texts: BenchTexts) -> tuple[Any, Any, Any]:
    return (
        texts.dialogues if recipe.dialogues else (),
        texts.running if recipe.running else (),
        texts.nli if recipe.nli else (),
    )


def _fitted(
    cell: PretrainedCell, recipe: Recipe, tasks: Tasks, dev: list[ParallelText], device: str, pace: "Pace"
) -> tuple[Encoder, Fitted]:
    match recipe.config:
        case DualEncoderConfig() as config:
            dual = DualEncoder.random(config, cell.languages, seed=cell.seed).to(device)
            return dual, fit_dual_encoder(
                dual,
                tasks,
                config,
                seed=cell.seed,
                on_record=pace,
                should_stop=lambda: False,
                score=lambda: mean_p_at_1(dual.encode, dev),
            )
        case BicvmConfig() as config:
            words = untrained_encoder(tasks.translation, config, seed=cell.seed).to(device)
            return words, fit_bicvm(
                words,
                tasks.translation,
                config,
                seed=cell.seed,
                on_record=pace,
                should_stop=lambda: False,
                score=lambda: mean_p_at_1(words.encode, dev),
            )


def _batch(recipe: Recipe) -> int:
    return recipe.config.batch_size


@dataclass
class Pace:
    """How long the steps take, heard from training's records.

    Neither the first step counts, which begins with reading the texts, nor what is measured after an epoch.

    Attributes:
        steps: that were timed.
        seconds: that they took.
        cpu_seconds: that the processor took for them.
    """

    steps: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    _last: Moment | None = field(default=None, repr=False)

    def __call__(self, record: Record) -> None:
        """Hear of a step or an epoch."""
        moment = now()
        if record["kind"] == "step" and self._last is not None:
            took = since(self._last, moment)
            self.steps, self.seconds = self.steps + 1, self.seconds + took.seconds
            self.cpu_seconds += took.cpu_seconds
        self._last = moment

    def speed(self, batch: int) -> dict[str, float]:
        """Pairs a second of the clock and of the processor; empty where there was no second step."""
        if not self.steps or not self.seconds or not self.cpu_seconds:
            return {}
        pairs = self.steps * batch
        return {"seconds": pairs / self.seconds, "cpu_seconds": pairs / self.cpu_seconds}
