"""The execution of a training run, from loading the encoder to the final status, for all methods."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from emu_core.api.inputs import without_heads
from emu_core.encoders.base import Encoder
from emu_core.encoders.registry import load_encoder
from emu_core.errors import Call, CancelledError, EmuError, Message, RunError, TrainingError
from emu_core.evaluation.arrays import Encode, Vectors
from emu_core.evaluation.run_metrics import HeldOut, Metrics, labelled_metrics, parallel_metrics
from emu_core.files import disk_fault, remove_partial
from emu_core.intents.labelled import drawn, fit_intents, measure_all
from emu_core.intents.unlabelled import MOST_OF_RUN, adapted_to
from emu_core.methods.registry import parts_of_run
from emu_core.notebook.training import live_progress
from emu_core.processes import Processes
from emu_core.reports.card import write_card
from emu_core.reports.figures import measured_figures
from emu_core.runs.checkpoint import Checkpoint
from emu_core.runs.config import RunConfig
from emu_core.runs.costs import peak_memory
from emu_core.runs.intents import StoredIntents, store_intents
from emu_core.runs.progress import OnProgress, Progress
from emu_core.runs.run import Run, RunState
from emu_core.runs.snapshots import BEFORE, Snapshots
from emu_core.runs.stored_data import LabelledData, ParallelData, load_data
from emu_core.runs.trained_on import TrainedOn, trained_on
from emu_core.training.fit import ran_out
from emu_core.training.job import Job, Outcome
from emu_core.training.memory import OnForecast
from emu_core.training.plan import store_outcome, taught, train_parts


@dataclass(frozen=True)
class Hooks:
    """Options for a program that trains for its users, such as the command, the app, a benchmark or an estimator.

    Attributes:
        checkpoint_s: seconds between two checkpoints for `resume`; 0 writes one after each step.
        cache: folder where FMDA and its baseline keep the frozen encoder's states for other runs on the same sentences;
            None deletes them when the run is finished.
        measures: whether methods measure themselves, which nobody sees of a run that is gone once it is finished.
        keep_examples: whether the run's folder keeps the labelled sentences, as the reasons for the intents that it
            names; their vectors and intents stay in any case.
        on_forecast: called before training with the memory that it needs, if that was measured.
        on_audit: called before training with the findings of the audit of files, a sentence each.
        on_outcome: called with what the method returned, for what runs do not store.

    Examples:
        >>> import emu_core
        >>> texts = ["Where is the pool?", "Can I swim here?", "Call me a taxi", "I need a cab"]
        >>> labelled, findings = (texts, ["pool", "pool", "taxi", "taxi"]), []
        >>> hooks, english = emu_core.Hooks(on_audit=findings.extend), emu_core.Reading(language="en")
        >>> run = emu_core.train(labelled, out="runs/audited", reading=english, hooks=hooks)
        >>> findings[0]
        '4 of 4 rows kept: 2 intents in 1 language.'
    """

    checkpoint_s: float = 30.0
    cache: str | Path | None = None
    measures: bool = True
    keep_examples: bool = True
    on_forecast: OnForecast | None = None
    on_audit: Callable[[Sequence[str]], object] | None = None
    on_outcome: Callable[[Outcome], object] | None = None


def execute(
    run: Run, processes: Processes, *, hooks: Hooks | None = None, on_progress: OnProgress | None = None
) -> Run:
    """Start a queued run, or resume a stopped one from its checkpoint, and finish it.

    The folder of the run has config.json and the data. The processes share the work; the other arguments are those of
    `train`.

    Raises:
        EmuError: the run failed; its status has the message, too.
    """
    hooks = hooks or Hooks()
    with run.locked() if processes.main else nullcontext(), peak_memory() as megabytes:
        config = run.plan()
        parts = parts_of_run(config)
        teacher = () if config.teacher is None else parts_of_run(config.teacher)
        data = load_data(run.training_folder, config.data)
        with record_failure(run, on_progress or live_progress(run), writes=processes.main) as progress:
            if processes.main:
                remove_partial(run.folder)
            progress.phase("loading")
            base: list[Asked] = []
            # Where labels are learnt, the base encoder's intents are calibrated as those of the trained one will be.
            is_unchanged = not teacher and all(part.method.fit_frozen for part in parts)
            seen = trained_on(without_heads(config.encoder)) if is_unchanged else None
            snapshots = Snapshots(run, data, writes=processes.main) if config.snapshots else None

            def measure_base(encode: Encode) -> None:
                if snapshots is not None:
                    snapshots.take(0, BEFORE, encode)
                if isinstance(data, LabelledData) and data.labelled.held_out_part() is not None:
                    base.append(asked_encoder(job, config, job.encoder, encode, known=seen))

            job = Job(
                run=run,
                config=config,
                data=data,
                base=load_encoder(config.encoder, device=config.encoder_device) if config.encoder else None,
                progress=progress,
                processes=processes,
                checkpoint=Checkpoint(run.checkpoint, hooks.checkpoint_s),
                cache=run.training_folder if hooks.cache is None else Path(hooks.cache),
                measure_base=measure_base,
                snapshots=snapshots,
                measures=hooks.measures,
            )
            if config.teacher is not None:
                job, parts = taught(job, parts, teacher, config.teacher)
            outcome = train_parts(job, parts)
            if hooks.on_outcome is not None:
                hooks.on_outcome(outcome)
            if snapshots is not None:
                # No epochs, or no snapshots of them.
                if not (snapshots.last and outcome.fitted.selected_epoch):
                    snapshots.take_trained(outcome.encode)
                snapshots.finish()
            progress.phase("evaluating")
            trained = None
            if isinstance(data, LabelledData) and len(data.learnt_rows(config)):
                trained = asked_encoder(
                    job,
                    config,
                    outcome.encoder,
                    outcome.encode,
                    plain=outcome.plain,
                    known=seen,
                    before=base[0] if base else None,
                )
            metrics = replace(
                _measured(data, base[0].held_out if base else None, trained, outcome),
                selected_epoch=outcome.fitted.selected_epoch,
                seconds=round(progress.seconds, 1),
                peak_memory_mb=round(megabytes(), 1),
            )
            progress.phase("saving")
            if processes.main:
                known = trained_on(config.encoder)
                others = (
                    other
                    for part in parts
                    for other in part.method.other_encoders(part.config.hyperparameters)
                )
                for other in others:
                    known = known.with_those_of(trained_on(other))
                if isinstance(job.data, LabelledData):
                    known = known.joined(job.data.learnt_sentences(job.config))
                _finish(run, outcome, known, metrics, progress, None if trained is None else trained.intents)
    return run


@dataclass(frozen=True, eq=False)
class Asked:
    """An encoder, and the intent model on it, asked for the held-out sentences.

    Attributes:
        intents: the model, and the sentences that it is fitted on; None without labelled sentences.
        vectors: (P, dim), theirs.
        held_out: what is measured; None if nothing is held out.
    """

    intents: StoredIntents | None
    vectors: Vectors
    held_out: HeldOut | None


def asked_encoder(
    job: Job,
    config: RunConfig,
    encoder: Encoder,
    encode: Encode,
    *,
    plain: Encode | None = None,
    known: TrainedOn | None = None,
    before: Asked | None = None,
) -> Asked:
    """Fit the intent model of a run on an encoder, and ask both for the held-out sentences.

    The model is calibrated for the languages of the run's sentences without labels.

    Args:
        job: of the run.
        config: that of the run, which names the languages whose labels are used; a student's job names none.
        encoder: the base encoder, or the trained one.
        encode: its `encode`.
        plain: that of its `without_head`; None makes one.
        known: the sentences that it has learnt, which are not held out; None for all that the run learns.
        before: the base encoder. Where the vectors are still the same, so is the model.
    """
    data, bare = job.labelled_data, encoder.without_head
    held_out, labelled = data.labelled.held_out_part(), drawn(data.learnt_rows(config))
    plain = encode if bare is encoder else plain or job.encode_with(bare)
    vectors: Vectors = np.empty((0, bare.dim), np.float32)
    asked = None if held_out is None else plain(held_out.frame["text"].tolist())
    intents: StoredIntents | None = None
    if len(labelled):
        vectors = plain(labelled.frame["text"].tolist())
        if before is not None and np.array_equal(vectors, before.vectors):
            intents = before.intents
        else:
            seen = np.ones(len(labelled), dtype=bool) if known is None else known.rows(labelled.frame)
            model = fit_intents(
                labelled,
                plain,
                vectors=vectors,
                asked=np.flatnonzero(~seen),
                dims=bare.part_dims,
                part_languages=bare.part_languages,
                languages=bare.languages,
                unseen=held_out,
                unseen_vectors=asked,
                compact=True,
            )
            if data.unlabelled is not None:
                texts, spoken = (data.unlabelled.frame[name].tolist() for name in ("text", "language"))
                model = adapted_to(
                    model, texts, spoken, lambda rows: plain([texts[row] for row in rows]), MOST_OF_RUN
                )
            intents = StoredIntents(model, labelled)
    if held_out is None or asked is None:
        return Asked(intents, vectors, None)
    model_of_run = None if intents is None else intents.model
    moved = asked if bare is encoder else encode(held_out.frame["text"].tolist())
    return Asked(intents, vectors, measure_all(held_out, labelled, moved, model_of_run, asked))


def _measured(
    data: LabelledData | ParallelData, base: HeldOut | None, trained: "Asked | None", outcome: Outcome
) -> Metrics:
    """Return what the method measured, the warnings, and the figures of the trained and of the base encoder."""
    warnings = outcome.fitted.warnings
    if isinstance(data, ParallelData):
        return replace(
            parallel_metrics(outcome.encode, data.test or data.dev, outcome.metrics),
            warnings=tuple(dict.fromkeys([*data.tasks.notes, *warnings])),
            measured_on="the test pairs" if data.test else "pairs held out, which chose the epoch",
        )
    held_out, specialised = data.labelled.held_out_part(), None
    if trained is not None:
        specialised = trained.held_out
    elif held_out is not None:  # without labels, nothing is predicted
        vectors = outcome.encode(held_out.frame["text"].tolist())
        specialised = measure_all(held_out, held_out, vectors, None)
    metrics = labelled_metrics(outcome.metrics, base, specialised)
    return replace(metrics.with_figures(measured_figures(base, specialised)), warnings=warnings)


def _finish(
    run: Run,
    outcome: Outcome,
    known: TrainedOn,
    metrics: Metrics,
    progress: Progress,
    intents: StoredIntents | None,
) -> None:
    """Write encoder, the sentences it was trained on, intents, metrics, card and final status, and delete the data."""
    store_outcome(run, outcome, metrics, known)
    if intents is not None:
        store_intents(run, intents, keep_examples=run.config().keep_examples)
    write_card(run)
    progress.end(RunState.FINISHED, Message(" ".join(outcome.fitted.warnings)))
    run.delete_training()


@contextmanager
def record_failure(run: Run, on_progress: OnProgress | None, *, writes: bool = True) -> Iterator[Progress]:
    """Mark a run, locked by this process, as running; if the block fails, write the final status and raise the error.

    `on_progress` is called with the run's status when it changes; the status is written by the process that `writes`.

    Raises:
        CancelledError: the run was stopped, for example from the keyboard.
        RunError: the disk is full, or the folder can't be written any more.
        TrainingError: memory ran out.
    """
    progress: Progress | None = None

    def end(state: RunState, message: Message) -> None:
        if progress is not None:
            with suppress(OSError):  # a full disk; without a final status, the run counts as interrupted
                progress.end(state, message)

    try:
        progress = Progress(run, on_progress, writes=writes)
        yield progress
    except (CancelledError, KeyboardInterrupt) as stop:
        message = Message(*stop.args) or Message("stopped from the keyboard")
        end(RunState.CANCELLED, message)
        raise CancelledError(message, "; resume it with ", Call("resume", str(run.folder))) from None
    except EmuError as error:
        end(RunState.FAILED, error.message)
        raise
    except BaseException as error:
        if ran_out(error):
            failure: EmuError = TrainingError(
                "memory ran out while the sentences were encoded; use a device with more, or a smaller encoder"
            )
        elif isinstance(error, Exception) and (why := disk_fault(error)):
            failure = RunError(
                f"can't write to {run.folder}: {why}; fix that, then resume with ",
                Call("resume", str(run.folder)),
            )
        else:
            end(RunState.FAILED, Message(f"{type(error).__name__}: {error}"))
            raise
        end(RunState.FAILED, failure.message)
        raise failure from error
