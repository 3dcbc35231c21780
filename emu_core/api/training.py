"""The body of a training run, from loading the encoder to the last status: what `train` and `resume` share."""

import shutil
from pathlib import Path
from typing import Any

from emu_core.api.closing import closing
from emu_core.api.job import Job, Outcome
from emu_core.api.measured import UNGUARDED, Measured, harm, measure_all
from emu_core.api.progress import OnProgress, Progress
from emu_core.api.train_disentangled import train_disentangled
from emu_core.api.train_emu import train_emu
from emu_core.api.train_posterior import train_posterior
from emu_core.config import EmuConfig, FmdaConfig, PosteriorConfig, Settings, settings_from
from emu_core.data.labelled import LabelledSet, UnlabelledSet
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.shared import Encode
from emu_core.processes import Processes
from emu_core.runs.card import model_card
from emu_core.runs.checkpoint import Checkpoint
from emu_core.runs.run import Run, RunState
from emu_core.trainers.loop import Fitted

CHECKPOINT_S = 30.0


def train_run(
    run: Run,
    labelled: LabelledSet,
    unlabelled: UnlabelledSet | None,
    processes: Processes,
    *,
    checkpoint_s: float = CHECKPOINT_S,
    cache: Path | None = None,
    on_progress: OnProgress | None = None,
) -> Run:
    """Train what config.json of a run says, from its checkpoint if there is one, and leave the run finished.

    Raises:
        EmuError: what can't be trained on, with the mend; the run folder then says so too.
    """
    said = run.config()
    config = settings_from(said["method"], said["hyperparameters"])
    epochs = 0 if isinstance(config, PosteriorConfig) else config.epochs
    if isinstance(config, FmdaConfig) and config.two_stage:
        epochs *= 2
    progress = Progress(run, epochs, on_progress, writes=processes.main)
    with closing(progress):
        _train(run, progress, labelled, unlabelled, config, processes, checkpoint_s, cache)
    return run


def _train(
    run: Run,
    progress: Progress,
    labelled: LabelledSet,
    unlabelled: UnlabelledSet | None,
    config: Settings,
    processes: Processes,
    checkpoint_s: float,
    cache: Path | None,
) -> None:
    said = run.config()
    progress.phase("loading")
    encoder = load_encoder(said["encoder"], device=said["device"])
    held_out = labelled.held_out_part()
    base: list[Measured] = []

    def measure_base(encode: Encode) -> None:
        if held_out is not None:
            base.append(measure_all(held_out, encode))

    job = Job(
        run=run,
        said=said,
        progress=progress,
        labelled=labelled,
        unlabelled=unlabelled,
        encoder=encoder,
        processes=processes,
        checkpoint=Checkpoint(run.checkpoint, checkpoint_s),
        cache=cache or run.training_folder,
        before=measure_base,
    )
    outcome = _outcome(job, config)
    progress.phase("evaluating")
    measured = None if held_out is None else measure_all(held_out, outcome.encode)

    progress.phase("saving")
    if not processes.main:
        return
    metrics = _metrics(held_out, base[0] if base else None, measured, outcome.fitted, progress.seconds)
    metrics |= outcome.measured
    run.write("metrics.json", metrics)
    partial = run.folder / ".encoder"
    shutil.rmtree(partial, ignore_errors=True)  # of a process that was killed while it wrote
    outcome.encoder.save(partial)
    partial.rename(run.encoder_folder)
    (run.folder / "README.md").write_text(model_card(run.name, said, run.data(), metrics), "utf-8")
    progress.end(RunState.FINISHED, " ".join(outcome.fitted.warnings))
    run.forget_training()


def _outcome(job: Job, config: Settings) -> Outcome:
    match config:
        case PosteriorConfig():
            return train_posterior(job, config)
        case EmuConfig():
            return train_emu(job, config)
        case _:
            return train_disentangled(job, config)


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
