"""Functions from texts to vectors: shared between processes, or cached."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from emu_core.encoders.base import Encoder, FloatArray, ReportProgress
from emu_core.encoders.joined import JoinedEncoder
from emu_core.evaluation.arrays import Encode
from emu_core.processes import Processes


def shared_encode(
    encoder: Encoder, processes: Processes, *, on_progress: ReportProgress | None = None
) -> Encode:
    """Return `encoder.encode`, with the batches shared among processes, each of which gets all vectors.

    The batches are those of a single process, so the vectors are equal to the bit. Only a single process reports
    progress, because cancelling there would not stop the others.
    """
    if processes.count == 1:
        return lambda texts: encoder.encode(texts, on_progress=on_progress)
    if isinstance(encoder, JoinedEncoder):
        joined, encodes = encoder, [shared_encode(part, processes) for part in encoder.parts]
        return lambda texts: joined.joined_arrays([part_encode(texts) for part_encode in encodes])

    def encode(texts: Sequence[str]) -> FloatArray:
        ids = encoder.ids_of(texts)
        batches = list(encoder.batches(ids))
        process_batches = batches[processes.index :: processes.count]
        vectors_by_batch = [encoder.encode_ids([ids[row] for row in rows]) for rows in process_batches]
        out = np.empty((len(texts), encoder.dim), dtype=np.float32)
        for index, vectors in enumerate(processes.gather_objects(vectors_by_batch)):
            for rows, part in zip(batches[index :: processes.count], vectors, strict=True):
                out[rows] = part
        return out

    return encode


def cached_encode(encode: Encode) -> Encode:
    """Return `encode` with a cache of all lists of texts, for an encoder that does not change."""
    remembered = cache(lambda texts: encode(list(texts)))
    return lambda texts: remembered(tuple(texts))
