"""The training of a joined encoder: each part by itself, with the weights of a run of its own, then joined again."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from emu_core.data.repeats import sentence_groups
from emu_core.encoders.base import Encoder, FloatArray
from emu_core.encoders.encode import cached_encode
from emu_core.encoders.joined import JoinedEncoder
from emu_core.encoders.registry import open_encoder
from emu_core.errors import RunError, TrainingError
from emu_core.evaluation.arrays import Encode
from emu_core.evaluation.guard import cross_validation, new_intent_guard
from emu_core.evaluation.intent_regression import sampled_rows
from emu_core.evaluation.run_metrics import Metrics, NewIntentMetrics
from emu_core.files import read_json, whole_folder, write_json
from emu_core.runs.checkpoint import Checkpoint
from emu_core.training.fit import Fitted
from emu_core.training.frozen import FrozenFit
from emu_core.training.job import Job, Outcome
from emu_core.training.labels import labelled_rows
from emu_core.training.method import Part

LEFT_OUT_SENTENCES = 2_000  # at most, that new intents and cross-validation are measured on
LEFT_OUT_QUERIES = 1_500


def train_parts(job: Job, parts: Sequence[Part]) -> Outcome:
    """Train every part of the job's encoder in turn, which is the whole encoder if it isn't joined.

    A part that is finished is stored in the run's training folder, so that a resumed run does not train it again.

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
        outcome = _trained_part(job, part, encoder, number, joined, encodes)
        outcomes.append(outcome)
        encodes[number] = outcome.encode
    job.progress.part("")
    # Then join the parts again, and measure what every part's method can be fitted for in seconds.
    fits = [part.method.fit_frozen for part in parts]
    metrics = Metrics(others=_selected_epochs(outcomes))
    if None not in fits:
        metrics = _measure_left_out(job, joined, parts, base, metrics)
    specialised = joined.with_parts([outcome.encoder for outcome in outcomes])
    fitted = Fitted(0, _warnings(parts, outcomes))
    return Outcome(specialised, _joined_encode(joined, encodes), fitted, metrics)


@dataclass(frozen=True)
class _Result:
    """The facts of a finished part, stored beside its encoder; `frames` is the number of its snapshots."""

    selected_epoch: int
    warnings: tuple[str, ...]
    frames: int = 0


def _trained_part(
    job: Job, part: Part, encoder: Encoder, number: int, joined: JoinedEncoder, encodes: Sequence[Encode]
) -> Outcome:
    """Train a part, or open it if it is finished already."""
    count, folder = len(joined.parts), job.run.training_folder / "parts" / str(number)
    title = f"{part.config.encoder} ({number + 1} of {count})"
    job.progress.part(title)
    if (result := _read_result(folder)) is not None:
        trained = open_encoder(folder / "encoder").to(job.config.device)
        outcome = Outcome(trained, job.encode_with(trained), Fitted(result.selected_epoch, result.warnings))
    else:
        snapshots = job.snapshots and job.snapshots.of_part(
            title, count, partial(_with_part, joined, encodes, number)
        )
        if job.processes.main:
            folder.mkdir(parents=True, exist_ok=True)
        of_part = replace(
            job,
            config=part.config,
            base=encoder,
            checkpoint=Checkpoint(folder / "checkpoint.pt", job.checkpoint.every_s),
            measure_base=lambda _: None,
            snapshots=snapshots,
            is_part=True,
            part_encode=None if part.method.fit_frozen is None else encodes[number],
        )
        outcome = part.method.train(of_part, part.settings)
        job.progress.phase("saving")
        fitted = outcome.fitted
        result = _Result(fitted.selected_epoch, fitted.warnings, 0 if snapshots is None else snapshots.last)
        if job.processes.main:
            _store(folder, outcome.encoder, result)
    job.processes.wait()
    if job.snapshots is not None:
        job.snapshots.last += result.frames
    return outcome


def _store(folder: Path, encoder: Encoder, result: _Result) -> None:
    """Write a finished part; its result is written last."""
    shutil.rmtree(folder / "encoder", ignore_errors=True)  # of a process that was killed before the result
    with whole_folder(folder / "encoder") as whole:
        encoder.save(whole)
    write_json(folder / "result.json", asdict(result))


def _read_result(folder: Path) -> _Result | None:
    """Return the result of a part that is finished; None if it is not. Raises RunError if it is damaged."""
    try:
        return msgspec.convert(read_json(folder / "result.json"), _Result)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, msgspec.ValidationError):
        raise RunError(
            f"{folder / 'result.json'} is damaged; delete it to train this part of the encoder again"
        ) from None


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
    new = new_intent_guard(whole, intents, languages, groups, refit, most_rows=LEFT_OUT_QUERIES)
    metrics = replace(metrics, new_intents=None if new is None else NewIntentMetrics(**vars(new)))
    if labelled.held_out_part() is None:
        job.progress.phase("cross-validating")
        left_out = cross_validation(whole, intents, languages, groups, refit, most_rows=LEFT_OUT_QUERIES)
        metrics = replace(metrics, cross_validation=left_out)
    return metrics


def _embed(joined: JoinedEncoder, fits: Sequence[FrozenFit], vectors: FloatArray) -> FloatArray:
    """Return the specialised vectors of joined ones."""
    of_parts = zip(fits, joined.split(vectors), strict=True)
    return joined.joined_arrays([fit.embed(part) for fit, part in of_parts])
