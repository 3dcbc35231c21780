"""The body of a training run, from loading the encoder to the last status: what `train` and `resume` share."""

import shutil
from collections.abc import Callable, Sequence
from typing import Any

from emu_core.card import model_card
from emu_core.config import EmuConfig
from emu_core.data.labelled import LabelledSet
from emu_core.data.unlabelled import UnlabelledSet
from emu_core.devices import Precision
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.shared import Encode, shared_encode
from emu_core.errors import CancelledError, EmuError, TrainingError
from emu_core.evaluation.leave_one_out import LeaveOneOut
from emu_core.processes import Processes
from emu_core.runs import Run, RunState
from emu_core.trainers.checkpoint import Checkpoint
from emu_core.trainers.loop import Fitted, fit, steps_per_epoch
from emu_core.trainers.memory import ran_out
from emu_core.trainers.prepare import prepare
from emu_core.verbs.inputs import measure
from emu_core.verbs.progress import OnProgress, Progress

CHECKPOINT_S = 30.0


def train_run(
    run: Run,
    labelled: LabelledSet,
    unlabelled: UnlabelledSet | None,
    processes: Processes,
    *,
    checkpoint_s: float = CHECKPOINT_S,
    on_progress: OnProgress | None = None,
) -> Run:
    """Train what config.json of a run says, from its checkpoint if there is one, and leave the run finished.

    Raises:
        EmuError: what can't be trained on, with the mend; the run folder then says so too.
    """
    config = EmuConfig(**run.config()["hyperparameters"])
    progress = Progress(run, config.epochs, on_progress, writes=processes.main)
    try:
        _train(run, progress, labelled, unlabelled, config, processes, checkpoint_s)
    except (CancelledError, KeyboardInterrupt) as stop:
        progress.end(RunState.CANCELLED, str(stop) or "stopped from the keyboard")
        raise CancelledError(str(stop) or "stopped from the keyboard") from None
    except EmuError as error:
        progress.end(RunState.FAILED, str(error))
        raise
    except BaseException as error:
        message = (
            "memory ran out while the sentences were encoded; use a device with more, or a smaller encoder"
        )
        if not ran_out(error):
            progress.end(RunState.FAILED, f"{type(error).__name__}: {error}")
            raise
        progress.end(RunState.FAILED, message)
        raise TrainingError(message) from error
    return run


def _train(
    run: Run,
    progress: Progress,
    labelled: LabelledSet,
    unlabelled: UnlabelledSet | None,
    config: EmuConfig,
    processes: Processes,
    checkpoint_s: float,
) -> None:
    said = run.config()
    train_languages = said["train_languages"]
    progress.phase("loading")
    encoder = load_encoder(said["encoder"], device=said["device"])
    encode = shared_encode(encoder, processes)
    data = prepare(encoder, labelled.train_part(), unlabelled, train_languages, config)
    held_out = _held_out(labelled)
    base = None if held_out is None else measure(held_out, encode)

    checkpoint = Checkpoint(run.checkpoint, checkpoint_s)
    at = checkpoint.facts()
    steps = steps_per_epoch(data, config) * config.epochs
    with progress.training(steps, at.get("epoch", 0), at.get("step", 0)) as record:
        fitted = fit(
            encoder,
            data,
            config,
            seed=said["seed"],
            on_record=record,
            should_stop=lambda: processes.agree(run.cancel_asked),
            held_out_accuracy=_selection(labelled, train_languages, encode),
            checkpoint=checkpoint,
            precision=Precision(said["precision"]),
            processes=processes,
        )
    progress.phase("evaluating")
    specialised = None if held_out is None else measure(held_out, encode)

    progress.phase("saving")
    if not processes.main:
        return
    metrics = _metrics(held_out, base, specialised, fitted, progress.seconds)
    run.write("metrics.json", metrics)
    partial = run.folder / ".encoder"
    shutil.rmtree(partial, ignore_errors=True)  # of a process that was killed while it wrote
    encoder.save(partial)
    partial.rename(run.encoder_folder)
    (run.folder / "README.md").write_text(model_card(run.name, said, run.data(), metrics), "utf-8")
    progress.end(RunState.FINISHED, " ".join(fitted.warnings))
    run.forget_training()


def _selection(
    labelled: LabelledSet, train_languages: Sequence[str], encode: Encode
) -> Callable[[], float] | None:
    """What chooses the epoch: labels of the training languages only, since the others' must stay unread."""
    dev = labelled.dev_part()
    if dev is None or not set(train_languages) <= set(dev.languages):
        return None
    part = dev.select(languages=train_languages)
    return lambda: measure(part, encode).mean


def _held_out(labelled: LabelledSet) -> LabelledSet | None:
    for split in ("test", "dev"):
        if split in labelled.splits:
            return labelled.select(splits=[split])
    return None


def _metrics(
    held_out: LabelledSet | None,
    base: LeaveOneOut | None,
    specialised: LeaveOneOut | None,
    fitted: Fitted,
    seconds: float,
) -> dict[str, Any]:
    common = {
        "selected_epoch": fitted.selected_epoch,
        "seconds": round(seconds, 1),
        "warnings": list(fitted.warnings),
    }
    if held_out is None or base is None or specialised is None:
        return common | {
            "note": "no rows of split test or dev: measure on other sentences with emu evaluate FILE --run DIR"
        }
    # With English among the languages the mean is the paper's, over the directions with English on one side.
    average = "en" if "en" in held_out.languages and len(held_out.languages) > 1 else None
    return common | {
        "split": held_out.splits[0],
        "languages": list(held_out.languages),
        "counts": base.counts,
        "base": base.accuracy,
        "specialised": specialised.accuracy,
        "mean_over": f"directions with {average} on one side" if average else "all directions",
        "mean_base": base.mean_with(average) if average else base.mean,
        "mean_specialised": specialised.mean_with(average) if average else specialised.mean,
    }
