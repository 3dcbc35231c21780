"""The teacher: which encoder can be one, and its vectors of all sentences, computed once."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from emu_core.encoders.base import Encoder, FloatArray, ReportProgress
from emu_core.encoders.encode import shared_encode
from emu_core.encoders.registry import available_encoders
from emu_core.encoders.saved import CONFIG
from emu_core.encoders.specs import RUN_SPEC, distinct_parts, is_run, parts_of
from emu_core.errors import EncoderError, Fix, RunError, TrainingError
from emu_core.files import whole_file
from emu_core.processes import Processes
from emu_core.runs.config import RunTask
from emu_core.runs.run import Run

_PROBE = "Where is the pool?"
_VECTORS = "vectors"


def check_teacher(teacher: str | None, student: str) -> None:
    """Check that there is such an encoder, and that it is not the student, before anything is loaded.

    Raises:
        TrainingError: no teacher is named, or it is the student, or a run without an encoder.
        EncoderError: there is no such encoder, or it can't be used here.
        RunError: there is no such run.
    """
    if not teacher:
        raise TrainingError(
            "no teacher is named; name the encoder or the run to learn from: ", Fix("teacher")
        )
    parts = distinct_parts(teacher)
    if list(map(_identity, parts)) == list(map(_identity, parts_of(student))):
        raise TrainingError(
            f"the teacher {teacher} is also the encoder to train, which could learn nothing from itself; name another ",
            Fix("teacher"),
            " or another ",
            Fix("encoder"),
        )
    for part in parts:
        if is_run(part):
            _check_run(Run(Path(part.removeprefix(RUN_SPEC))))
        else:
            _check_published(part)


def _check_published(teacher: str) -> None:
    kind, colon, name = teacher.partition(":")
    infos = {info.spec: info for info in available_encoders()}
    info = infos.get(kind + colon)
    if info is None or bool(colon) != bool(name):
        raise EncoderError(
            f"there is no encoder '{teacher}' to learn from; name one of {', '.join(infos)} or run:DIR, or several "
            "joined by +: ",
            Fix("teacher"),
        )
    if not info.available:
        raise EncoderError(f"the teacher {teacher} is not available here: {info.reason}")


def _identity(spec: str) -> str | Path:
    return Path(spec.removeprefix(RUN_SPEC)).resolve() if is_run(spec) else spec


def _check_run(run: Run) -> None:
    if (run.encoder_folder / CONFIG).is_file():
        return
    try:
        state, task = run.status().state, run.config().task
    except RunError as error:
        raise RunError("there is no such run to learn from: ", error) from None
    what = "a benchmark" if task is RunTask.BENCH else state
    raise TrainingError(
        f"the run {run.folder} is {what}, and has no encoder to learn from; name a finished training run: ",
        Fix("teacher"),
    )


def teacher_vectors(
    teacher: Encoder,
    texts: Sequence[str],
    processes: Processes,
    *,
    cache: Path,
    on_progress: ReportProgress | None = None,
) -> FloatArray:
    """Return the teacher's vectors (N, dim) of N sentences, read from the folder `cache` if they are there.

    A resumed run, and another run on the same sentences if it shares the folder, does not encode them again.
    """
    file = cache / f"teacher-{_digest(teacher, texts)}.safetensors"
    vectors = _read(file, (len(texts), teacher.dim))
    if processes.agree(vectors is not None) and vectors is not None:
        return vectors
    vectors = shared_encode(teacher, processes, on_progress=on_progress)(texts)
    if processes.main:
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file) as partial:
            save_file({_VECTORS: vectors}, partial)
    return vectors


def _read(file: Path, shape: tuple[int, int]) -> FloatArray | None:
    """Return stored vectors; None if they are missing or incomplete."""
    with suppress(SafetensorError, KeyError, OSError):
        vectors: FloatArray = load_file(file)[_VECTORS]
        if vectors.shape == shape:
            return vectors
    return None


def _digest(teacher: Encoder, texts: Sequence[str]) -> str:
    """Return a checksum of the sentences, the precision and, through a sentence's vector, the teacher's weights."""
    digest = hashlib.sha256(teacher.precision.encode() + teacher.encode([_PROBE]).tobytes())
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()[:32]
