"""A run that is a plan of runs: those in its folder are trained first, to be joined, or for it to learn from."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from emu_core.data.repeats import sentence_groups
from emu_core.encoders.base import FloatArray
from emu_core.encoders.encode import cached_encode
from emu_core.encoders.joined import JoinedEncoder
from emu_core.encoders.registry import load_encoder, open_encoder
from emu_core.encoders.saved import write_checksums
from emu_core.encoders.specs import RUN_SPEC
from emu_core.errors import TrainingError
from emu_core.evaluation.arrays import Encode
from emu_core.evaluation.changes import cross_validation, new_intent_change
from emu_core.evaluation.run_metrics import Metrics, NewIntentMetrics
from emu_core.files import whole_folder
from emu_core.intents.regression import sampled_rows
from emu_core.runs.checkpoint import Checkpoint
from emu_core.runs.config import RunConfig
from emu_core.runs.run import Run, RunState, Status
from emu_core.runs.trained_on import TrainedOn
from emu_core.training.fit import Fitted
from emu_core.training.frozen import FrozenFit
from emu_core.training.job import Job, Outcome
from emu_core.training.labels import labelled_rows
from emu_core.training.method import Part

LEFT_OUT_SENTENCES = 2_000  # at most, that new intents and cross-validation are measured on
LEFT_OUT_QUERIES = 1_500


def train_parts(job: Job, parts: Sequence[Part]) -> Outcome:
    """Train the run of each part of the job's encoder in turn, or the whole encoder if it isn't joined.

    A part that is finished is stored in its run, so that a resumed run does not train it again.

    Raises:
        EmuError: as the methods of the parts; or the encoders that the run joins are others than when it was made.
    """
    joined = job.base
    if not isinstance(joined, JoinedEncoder):
        (whole,) = parts
        return whole.method.train(job, whole.settings)
    if len(joined.parts) != len(parts):
        raise TrainingError(
            f"the encoder {job.config.encoder} joins other encoders than when the run was made; train a new run"
        )
    # First measure the base encoder. Its vectors are kept for the methods that leave it as it is.
    base = [
        job.encode_with(encoder)
        if part.method.fit_frozen is None
        else cached_encode(job.encode_with(encoder))
        for part, encoder in zip(parts, joined.parts, strict=True)
    ]
    job.measure_base(_joined_encode(joined, base))
    # Then train each part as in a run of its own; snapshots are of the whole encoder.
    encodes, outcomes = list(base), list[Outcome]()
    for number, (part, encoder) in enumerate(zip(parts, joined.parts, strict=True)):
        title = f"{part.config.encoder} ({number + 1} of {len(parts)})"
        job.progress.part(title)
        of_whole = partial(_with_part, joined, encodes, number)
        snapshots = job.snapshots and job.snapshots.of_part(title, len(parts), of_whole)
        of_part = replace(
            _inside(job, job.run.part(number), part.config),
            base=encoder,
            snapshots=snapshots,
            part_encode=None if part.method.fit_frozen is None else encodes[number],
        )
        outcomes.append(_opened(of_part) or _stored(of_part, part.method.train(of_part, part.settings)))
        encodes[number] = outcomes[-1].encode
    job.progress.part("")
    # Then join the parts again, and measure what every part's method can be fitted for in seconds.
    metrics = Metrics(others=_selected_epochs(outcomes))
    if job.measures and all(part.method.fit_frozen for part in parts):
        metrics = _measure_left_out(job, joined, parts, base, metrics)
    specialised = joined.with_parts([outcome.encoder for outcome in outcomes])
    fitted = Fitted(0, _warnings(parts, outcomes))
    plain = _joined_encode(joined, [outcome.plain or outcome.encode for outcome in outcomes])
    return Outcome(specialised, _joined_encode(joined, encodes), fitted, metrics, plain=plain)


def taught(
    job: Job, parts: tuple[Part, ...], teacher: Sequence[Part], config: RunConfig
) -> tuple[Job, tuple[Part, ...]]:
    """Train the teacher's run unless it is finished; return job and parts of its student, which reads no labels.

    Args:
        job: of the whole run.
        parts: those of the run's encoder.
        teacher: those of the encoder that it learns from.
        config: of the teacher's run.

    Raises:
        EmuError: as `train_parts`.
    """
    of_teacher = _inside(job, job.run.teacher, config)
    if not _is_finished(of_teacher):
        of_teacher = replace(of_teacher, base=load_encoder(config.encoder, device=config.encoder_device))
        _stored(of_teacher, train_parts(of_teacher, teacher))
    job.progress.part("student")
    spec = f"{RUN_SPEC}{of_teacher.run.folder}"
    parts = tuple(replace(part, settings=part.method.learning_from(part.settings, spec)) for part in parts)
    data, unlabelled = job.labelled_data.for_student(job.config), replace(job.config, train_languages=())
    return replace(job, data=data, config=unlabelled), parts


def _inside(job: Job, run: Run, config: RunConfig) -> Job:
    """Return the job of a run in the job's folder, which is not measured by itself."""
    return replace(
        job,
        run=run,
        config=config,
        base=None,
        checkpoint=Checkpoint(run.checkpoint, job.checkpoint.every_s),
        measure_base=lambda _: None,
        snapshots=None,
        measures=False,
    )


def _is_finished(job: Job) -> bool:
    return job.processes.agree(job.run.status().state is RunState.FINISHED)


def _opened(job: Job) -> Outcome | None:
    """Return the outcome of a run inside another; None if it isn't finished."""
    if not _is_finished(job):
        return None
    trained, metrics = (
        open_encoder(job.run.encoder_folder).placed(job.config.encoder_device),
        job.run.metrics(),
    )
    bare = trained.without_head
    return Outcome(
        trained,
        job.encode_with(trained),
        Fitted(metrics.selected_epoch, metrics.warnings),
        plain=job.encode_with(bare),
    )


def _stored(job: Job, outcome: Outcome) -> Outcome:
    """Store the outcome of a run inside another; its status is written last."""
    job.progress.phase("saving")
    if job.processes.main:
        fitted = outcome.fitted
        store_outcome(job.run, outcome, Metrics(fitted.selected_epoch, warnings=fitted.warnings))
        job.run.write_status(Status(RunState.FINISHED))
        job.run.delete_training()
    job.processes.wait()
    return outcome


def store_outcome(run: Run, outcome: Outcome, metrics: Metrics, known: TrainedOn | None = None) -> None:
    """Write a run's metrics and its encoder, with the sentences it was trained on, if they are given."""
    run.write("metrics.json", metrics.to_json())
    if run.encoder_folder.exists():  # left by a process that was killed before the final status
        shutil.rmtree(run.encoder_folder)
    with whole_folder(run.encoder_folder) as partial:
        outcome.encoder.save(partial)
        if known is not None:
            known.save(partial)
        write_checksums(partial)


def _joined_encode(joined: JoinedEncoder, encodes: Sequence[Encode]) -> Encode:
    """Return the `encode` of the joined encoder, given those of its parts."""
    of_parts = list(encodes)
    return lambda texts: joined.joined_arrays([encode(texts) for encode in of_parts])


def _with_part(joined: JoinedEncoder, encodes: Sequence[Encode], number: int, encode: Encode) -> Encode:
    """Return the `encode` of the joined encoder, of which one part is being trained."""
    return _joined_encode(joined, [*encodes[:number], encode, *encodes[number + 1 :]])


def _selected_epochs(outcomes: Sequence[Outcome]) -> dict[str, list[int]]:
    epochs = [outcome.fitted.selected_epoch for outcome in outcomes]
    return {"selected_epochs": epochs} if any(epochs) else {}


def _warnings(parts: Sequence[Part], outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Return each part's warnings, which name the part unless they are the same for all."""
    warnings = [outcome.fitted.warnings for outcome in outcomes]
    return tuple(
        dict.fromkeys(
            warning if all(warning in other for other in warnings) else f"{part.config.encoder}: {warning}"
            for part, of_part in zip(parts, warnings, strict=True)
            for warning in of_part
        )
    )


def _measure_left_out(
    job: Job, joined: JoinedEncoder, parts: Sequence[Part], base: Sequence[Encode], metrics: Metrics
) -> Metrics:
    """Measure the joined encoder on intents that were left out, and on sentences where none are held out.

    Every part's method is fitted again, with settings that it chooses on the labels that remain.
    """
    job.progress.phase("leaving intents out")
    labelled = job.labelled_data.labelled
    learnt = labelled_rows(labelled.train_part(), job.config.train_languages)
    rows = learnt.iloc[sampled_rows(learnt["label"].tolist(), LEFT_OUT_SENTENCES)]
    texts, intents, languages = (rows[name].tolist() for name in ("text", "intent", "language"))
    groups = sentence_groups(rows)
    vectors = [encode(texts) for encode in base]
    row_of = {text: row for row, text in enumerate(texts)}

    def encode_part(number: int, asked: Sequence[str]) -> FloatArray:
        if all(text in row_of for text in asked):
            return vectors[number][[row_of[text] for text in asked]]
        return base[number](asked)

    def refit(kept: NDArray[np.intp]) -> Callable[[FloatArray], FloatArray]:
        labels = np.unique(np.asarray(intents)[kept], return_inverse=True)[1].tolist()
        kept_texts, kept_groups = ([of[row] for row in kept] for of in (texts, groups))
        fits = [
            fit.fit(part.settings, partial(encode_part, number), kept_texts, labels, kept_groups)
            for number, part in enumerate(parts)
            if (fit := part.method.fit_frozen) is not None
        ]
        return partial(_embed, joined, fits)

    whole = joined.joined_arrays(vectors)
    new = new_intent_change(whole, intents, languages, groups, refit, most_rows=LEFT_OUT_QUERIES)
    metrics = replace(metrics, new_intents=None if new is None else NewIntentMetrics(**new.given()))
    if labelled.held_out_part() is None:
        job.progress.phase("cross-validating")
        left_out = cross_validation(whole, intents, languages, groups, refit, most_rows=LEFT_OUT_QUERIES)
        metrics = replace(metrics, cross_validation=left_out)
    return metrics


def _embed(joined: JoinedEncoder, fits: Sequence[FrozenFit], vectors: FloatArray) -> FloatArray:
    """Return the specialised vectors of joined ones."""
    of_parts = zip(fits, joined.split(vectors), strict=True)
    return joined.joined_arrays([fit.embed(part) for fit, part in of_parts])
