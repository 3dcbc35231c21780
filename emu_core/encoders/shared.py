"""Encoding shared between processes."""

from collections.abc import Callable, Sequence

import numpy as np

from emu_core.encoders.base import Encoder, FloatArray, batches_by_length
from emu_core.processes import Processes

Encode = Callable[[Sequence[str]], FloatArray]


def shared_encode(encoder: Encoder, processes: Processes, *, batch_tokens: int = 4096) -> Encode:
    """`encoder.encode`, each process encoding every n-th of the batches that one process would make.

    The batches are the same, so the vectors are too, to the bit. Every process gets all of them.
    """
    if processes.count == 1:
        return lambda texts: encoder.encode(texts, batch_tokens=batch_tokens)

    def encode(texts: Sequence[str]) -> FloatArray:
        ids = encoder.token_ids(texts)
        batches = list(batches_by_length([len(i) for i in ids], batch_tokens))
        mine = [row for batch in batches[processes.index :: processes.count] for row in batch]
        own = encoder.encode_ids([ids[row] for row in mine], batch_tokens=batch_tokens)
        out = np.empty((len(texts), encoder.dim), dtype=np.float32)
        for index, vectors in enumerate(processes.gather_objects(own)):
            rows = [row for batch in batches[index :: processes.count] for row in batch]
            out[rows] = vectors
        return out

    return encode
