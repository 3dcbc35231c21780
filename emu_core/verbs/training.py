"""The body of a training run, from loading the encoder to the last status: what `train` and `resume` share."""

import shutil
from collections.abc import Callable, Sequence
from typing import Any

from emu_core.card import model_card
from emu_core.config import EmuConfig, PosteriorConfig, Settings, settings_from
from emu_core.data.demo import reference_texts
from emu_core.data.labelled import LabelledSet
from emu_core.data.unlabelled import UnlabelledSet
from emu_core.devices import Precision
from emu_core.encoders.base import Encoder
from emu_core.encoders.posterior import PosteriorEncoder
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.shared import Encode, head_after, once, shared_encode
from emu_core.errors import CancelledError, EmuError, TrainingError
from emu_core.processes import Processes
from emu_core.runs import Run, RunState
from emu_core.trainers.checkpoint import Checkpoint
from emu_core.trainers.loop import Fitted, fit, steps_per_epoch
from emu_core.trainers.memory import ran_out
from emu_core.trainers.posterior import check_rows, fit_head
from emu_core.trainers.prepare import TrainingData, labelled_rows, prepare
from emu_core.verbs.inputs import measure
from emu_core.verbs.measured import UNGUARDED, Measured, harm, measure_all
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
    said = run.config()
    config = settings_from(said["method"], said["hyperparameters"])
    epochs = config.epochs if isinstance(config, EmuConfig) else 0
    progress = Progress(run, epochs, on_progress, writes=processes.main)
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
    config: Settings,
    processes: Processes,
    checkpoint_s: float,
) -> None:
    said = run.config()
    progress.phase("loading")
    encoder = load_encoder(said["encoder"], device=said["device"])
    held_out = _held_out(labelled)
    if isinstance(config, PosteriorConfig):
        check_rows(labelled_rows(labelled.train_part(), said["train_languages"])[1], config)
        encode = once(shared_encode(encoder, processes))  # what is under the head stays as it is
        base = None if held_out is None else measure_all(held_out, encode)
        progress.phase("fitting")
        with_head = _with_posterior(encoder, encode, labelled, said["train_languages"], config)
        specialised: Encoder = with_head
        after = head_after(encode, with_head.head)
        fitted = Fitted(0, ())
    else:
        encode = after = shared_encode(encoder, processes)
        data = prepare(encoder, labelled.train_part(), unlabelled, said["train_languages"], config)
        base = None if held_out is None else measure_all(held_out, encode)
        fitted = _fit(run, progress, labelled, encoder, encode, data, config, processes, checkpoint_s)
        specialised = encoder
    progress.phase("evaluating")
    measured = None if held_out is None else measure_all(held_out, after)

    progress.phase("saving")
    if not processes.main:
        return
    metrics = _metrics(held_out, base, measured, fitted, progress.seconds)
    run.write("metrics.json", metrics)
    partial = run.folder / ".encoder"
    shutil.rmtree(partial, ignore_errors=True)  # of a process that was killed while it wrote
    specialised.save(partial)
    partial.rename(run.encoder_folder)
    (run.folder / "README.md").write_text(model_card(run.name, said, run.data(), metrics), "utf-8")
    progress.end(RunState.FINISHED, " ".join(fitted.warnings))
    run.forget_training()


def _fit(
    run: Run,
    progress: Progress,
    labelled: LabelledSet,
    encoder: Encoder,
    encode: Encode,
    data: TrainingData,
    config: EmuConfig,
    processes: Processes,
    checkpoint_s: float,
) -> Fitted:
    """Train the encoder's weights in place."""
    said = run.config()
    checkpoint = Checkpoint(run.checkpoint, checkpoint_s)
    at = checkpoint.facts()
    steps = steps_per_epoch(data, config) * config.epochs
    with progress.training(steps, at.get("epoch", 0), at.get("step", 0)) as record:
        return fit(
            encoder,
            data,
            config,
            seed=said["seed"],
            on_record=record,
            should_stop=lambda: processes.agree(run.cancel_asked),
            held_out_accuracy=_selection(labelled, said["train_languages"], encode),
            checkpoint=checkpoint,
            precision=Precision(said["precision"]),
            processes=processes,
        )


def _with_posterior(
    encoder: Encoder,
    encode: Encode,
    labelled: LabelledSet,
    train_languages: Sequence[str],
    config: PosteriorConfig,
) -> PosteriorEncoder:
    """The encoder as it is, with a head fitted on its vectors of the training sentences."""
    texts, labels = labelled_rows(labelled.train_part(), train_languages)
    reference = (
        {language: encode(some) for language, some in reference_texts().items()}
        if config.language_directions or config.centering
        else {}
    )
    return PosteriorEncoder(encoder, fit_head(encode(texts), labels, reference, config))


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
    base: Measured | None,
    specialised: Measured | None,
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
            "note": "no rows of split test or dev, so nothing was measured and no language could be guarded: measure "
            "on other sentences with emu evaluate FILE --run DIR",
            **UNGUARDED,
        }
    # With English among the languages the mean is the paper's, over the directions with English on one side.
    average = "en" if "en" in held_out.languages and len(held_out.languages) > 1 else None
    before, after = base.accuracy, specialised.accuracy
    return common | {
        "split": held_out.splits[0],
        "languages": list(held_out.languages),
        "counts": before.counts,
        "base": before.accuracy,
        "specialised": after.accuracy,
        "mean_over": f"directions with {average} on one side" if average else "all directions",
        "mean_base": before.mean_with(average) if average else before.mean,
        "mean_specialised": after.mean_with(average) if average else after.mean,
        **harm(base, specialised),
    }
