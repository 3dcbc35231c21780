"""Encoders that stay open in this process, and the vectors of sentences that they have encoded before."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np

from emu_core.devices import Precision, encoding_precision
from emu_core.encoders.base import Encoder, FloatArray, ReportProgress
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.specs import RUN_SPEC, is_run, parts_of

MAX_REMEMBERED_BYTES = 2**27
"""Of the vectors of one encoder: 65,536 sentences of 512 dimensions. More are encoded again."""

_VECTORS: WeakKeyDictionary[Encoder, dict[tuple[Precision, str], FloatArray]] = WeakKeyDictionary()


def opened_encoder(spec: str, device: str = "cpu") -> Encoder:
    """Return an encoder as `load_encoder` opens it, or as it is open already if it is one of the last two.

    Raises:
        EncoderError: as `load_encoder`.
    """
    return _opened(spec, device, encoding_precision(device), _versions(spec))


def remembered_vectors(
    encoder: Encoder,
    texts: Sequence[str],
    *,
    keeps: bool = True,
    on_progress: ReportProgress | None = None,
) -> FloatArray:
    """Return the vectors (N, dim) of texts, of which only those are encoded that were not encoded before.

    The memory is that of this process, and is gone when the encoder is. With `keeps` false, nothing is added to it.
    `on_progress` is that of `Encoder.encode`.
    """
    distinct = list(dict.fromkeys(texts))
    limit = MAX_REMEMBERED_BYTES // (4 * encoder.dim)
    if not distinct or len(distinct) > limit:
        return encoder.encode(texts, on_progress=on_progress)
    known, precision = _VECTORS.setdefault(encoder, {}), encoder.precision
    missing = [text for text in distinct if (precision, text) not in known]
    if not keeps:
        known = {key: known[key] for text in distinct if (key := (precision, text)) in known}
    elif len(known) + len(missing) > limit:
        known.clear()
        missing = distinct
    if missing:
        vectors = encoder.encode(missing, on_progress=on_progress)
        known.update({(precision, text): vector for text, vector in zip(missing, vectors, strict=True)})
    return np.stack([known[precision, text] for text in texts])


def close_encoders() -> None:
    """Close the encoders that are open, and forget their vectors."""
    _opened.cache_clear()


@lru_cache(maxsize=2)
def _opened(spec: str, device: str, _precision: Precision, _versions: tuple[int, ...]) -> Encoder:
    return load_encoder(spec, device=device)


def _versions(spec: str) -> tuple[int, ...]:
    """Return when the encoder of each run was written, so that a run that was trained again is opened again."""
    folders = [Path(part.removeprefix(RUN_SPEC)) / "encoder" for part in parts_of(spec) if is_run(part)]
    return tuple(folder.stat().st_mtime_ns for folder in folders if folder.is_dir())
