"""The body of a run that trains an encoder from nothing: what `pretrain` and `resume` share."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from emu_core.api.closing import closing
from emu_core.api.pretrained_metrics import mean_p_at_1, pretrained_metrics
from emu_core.api.progress import OnProgress, OnRecord, Progress
from emu_core.config.bicvm import BicvmConfig
from emu_core.config.dual_encoder import DualEncoderConfig
from emu_core.config.pretraining import Pretraining, pretraining_settings_from
from emu_core.data.parallel.text import ParallelText
from emu_core.data.texts.dialogues import Dialogues
from emu_core.data.texts.nli import Nli
from emu_core.data.texts.running_text import RunningText
from emu_core.encoders.base import Encoder
from emu_core.encoders.dual_encoder import DualEncoder
from emu_core.runs.checkpoint import Checkpoint
from emu_core.runs.pretrained_card import pretrained_card
from emu_core.runs.run import Run, RunState
from emu_core.trainers.bicvm import fit_bicvm, most_steps, untrained_encoder
from emu_core.trainers.dual_encoder import Plan, fit_dual_encoder
from emu_core.trainers.dual_tasks import Tasks
from emu_core.trainers.loop import Fitted

CHECKPOINT_S = 30.0
Fit = Callable[[OnRecord, Callable[[], bool], Callable[[], float], Checkpoint], Fitted]


def pretrain_run(
    run: Run,
    tasks: Tasks,
    dev: Sequence[ParallelText],
    test: Sequence[ParallelText],
    *,
    checkpoint_s: float = CHECKPOINT_S,
    on_progress: OnProgress | None = None,
) -> Run:
    """Train what config.json of a run says, from its checkpoint if there is one, and leave the run finished.

    Args:
        run: its folder.
        tasks: what is trained on.
        dev: pairs that choose the epoch.
        test: pairs that the encoder is measured on; none takes those of `dev`.
        checkpoint_s: seconds between two checkpoints.
        on_progress: called with the run's status as it moves.

    Raises:
        EmuError: what can't be trained on, with the mend; the run folder then says so too.
    """
    said = run.config()
    plan = _plan(said, tasks)
    progress = Progress(run, plan.epochs, on_progress)
    with closing(progress):
        _train(run, progress, plan, tasks, dev, test, checkpoint_s)
    return run


@dataclass(frozen=True, eq=False)
class _Plan:
    """An encoder with random weights and how it is trained.

    Attributes:
        encoder: on its device.
        epochs: at most.
        steps: at most.
        fit: trains the encoder.
    """

    encoder: Encoder
    epochs: int
    steps: int
    fit: Fit


def _plan(said: dict[str, Any], tasks: Tasks) -> _Plan:
    config = pretraining_settings_from(said["method"], said["hyperparameters"])
    seed, device = said["seed"], said["device"]
    match config:
        case DualEncoderConfig():
            dual = DualEncoder.random(config, said["languages"], seed=seed).to(device)
            plan = Plan.of(tasks, config)
            return _Plan(
                dual,
                -(-plan.steps // plan.epoch),
                plan.steps,
                lambda record, stop, score, at: fit_dual_encoder(
                    dual,
                    tasks,
                    config,
                    seed=seed,
                    on_record=record,
                    should_stop=stop,
                    score=score,
                    checkpoint=at,
                ),
            )
        case BicvmConfig():
            words = untrained_encoder(tasks.translation, config, seed=seed).to(device)
            return _Plan(
                words,
                config.epochs,
                most_steps(tasks.translation, config),
                lambda record, stop, score, at: fit_bicvm(
                    words,
                    tasks.translation,
                    config,
                    seed=seed,
                    on_record=record,
                    should_stop=stop,
                    score=score,
                    checkpoint=at,
                ),
            )


def _train(
    run: Run,
    progress: Progress,
    plan: _Plan,
    tasks: Tasks,
    dev: Sequence[ParallelText],
    test: Sequence[ParallelText],
    checkpoint_s: float,
) -> None:
    said = run.config()
    checkpoint = Checkpoint(run.checkpoint, checkpoint_s)
    at = checkpoint.facts()
    step = int(at.get("step", 0))
    epoch = int(at.get("epoch", step * plan.epochs // plan.steps + 1 if step else 0))
    with progress.training(plan.steps, epoch, step) as record:
        fitted = plan.fit(
            record, lambda: run.cancel_asked, lambda: mean_p_at_1(plan.encoder.encode, dev), checkpoint
        )
    progress.phase("evaluating")
    metrics = {
        "selected_epoch": fitted.selected_epoch,
        "seconds": round(progress.seconds, 1),
        "warnings": [*fitted.warnings, *_notes(tasks), *_advice(said["method"], tasks)],
        "measured_on": "the test pairs" if test else "pairs held out, which chose the epoch",
        **pretrained_metrics(plan.encoder.encode, test or dev),
    }
    progress.phase("saving")
    run.write("metrics.json", metrics)
    partial = run.folder / ".encoder"
    shutil.rmtree(partial, ignore_errors=True)  # of a process that was killed while it wrote
    plan.encoder.save(partial)
    partial.rename(run.encoder_folder)
    card = pretrained_card(run.name, said, run.data(), metrics)
    (run.folder / "README.md").write_text(card, "utf-8")
    progress.end(RunState.FINISHED, " ".join(fitted.warnings))
    run.forget_training()


def _notes(tasks: Tasks) -> list[str]:
    """What the readers found odd about the texts."""
    texts: list[ParallelText | Dialogues | RunningText | Nli] = [*tasks.translation, *tasks.dialogues]
    texts += [*tasks.running_text, *tasks.nli]
    return list(dict.fromkeys(note for text in texts for note in text.notes))


def _advice(method: str, tasks: Tasks) -> list[str]:
    """What data that is not there would add to a dual encoder."""
    if method != Pretraining.DUAL_ENCODER:
        return []
    missing = [
        (tasks.running_text, "running text (--running-text) teaches what a sentence is about"),
        (tasks.dialogues, "comments with responses (--dialogues) teach what a sentence is meant to do"),
        (tasks.nli, "NLI pairs (--nli) teach which sentences contradict each other"),
    ]
    said = [what for there, what in missing if not there]
    if not said:
        return []
    return [
        "trained on translation ranking"
        + (" alone" if len(said) == len(missing) else " and other tasks")
        + ", which is enough to find translations; for similarity and classification the paper adds more: "
        + ", ".join(said)
    ]
