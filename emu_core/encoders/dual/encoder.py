"""`dual-encoder`: hashed words and n-grams, a transformer, the mean (Chidambaram et al. 2019, section 2.1)."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Self, cast

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

from emu_core.config.dual_encoder import DualEncoderConfig, architecture
from emu_core.encoders.base import BATCH_TOKENS, Encoder, Features, TokenIds, batches_by_length
from emu_core.encoders.dual.batch import Sentences
from emu_core.encoders.dual.hashing import Hashing
from emu_core.encoders.dual.relations import Relations
from emu_core.encoders.onnx_parts import CHECK_TEXTS, OnnxParts
from emu_core.encoders.saved import WEIGHTS, opening, read_config, write_encoder

IMPORTS = "from emu_core.encoders.dual.hashing import Hashing"
TO_IDS = """\
hashing = {hashing}


def token_ids(text):
    return hashing.token_ids(text, {max_tokens})  # words, each followed by its n-grams
"""


class TransformerLayer(nn.Module):
    """Self-attention and a feed-forward network, each with a residual (Vaswani et al. 2017, section 3.1).

    Only real words are computed, one after the other; they are set out in rows for the attention alone.
    """

    def __init__(self, dim: int, heads: int, filter_dim: int, dropout: float, pre_norm: bool) -> None:
        """`pre_norm` puts the layer norms before the sub-layers, whose output then begins at zero."""
        super().__init__()
        self.heads, self.pre_norm, self.dropout = heads, pre_norm, nn.Dropout(dropout)
        self.projection = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.wide, self.narrow = nn.Linear(dim, filter_dim), nn.Linear(filter_dim, dim)
        self.attention_norm, self.filter_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        if pre_norm:
            for last in (self.out, self.narrow):
                nn.init.zeros_(last.weight)
                nn.init.zeros_(last.bias)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Words (R, dim) of sentences, and the mask (B, T), True on words -> (R, dim)."""
        # Padding takes the row of some word: as a key it is masked, as a query it is not read. By row numbers, for
        # a mask's own gradient takes longer than the attention.
        row = (mask.flatten().cumsum(dim=0) - 1).clamp_min(0).view_as(mask)
        real = mask.flatten().nonzero().squeeze(1)

        def attend(x: Tensor) -> Tensor:
            found = self._attention(F.embedding(row, self.projection(x)), mask)
            return self.out(found.flatten(0, 1).index_select(0, real))

        return self._residuals(x, attend)

    def padded(self, x: Tensor, mask: Tensor) -> Tensor:
        """As `forward`, on padded batches (B, T, dim) -> (B, T, dim), by operations that ONNX can hold."""
        return self._residuals(x, lambda x: self.out(self._attention(self.projection(x), mask)))

    def _residuals(self, x: Tensor, attend: Callable[[Tensor], Tensor]) -> Tensor:
        if self.pre_norm:
            x = x + self.dropout(attend(self.attention_norm(x)))
            return x + self.dropout(self._filter(self.filter_norm(x)))
        x = self.attention_norm(x + self.dropout(attend(x)))
        return self.filter_norm(x + self.dropout(self._filter(x)))

    def _attention(self, projected: Tensor, mask: Tensor) -> Tensor:
        """Queries, keys and values (B, T, 3 dim), and the mask (B, T) -> (B, T, dim)."""
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in projected.chunk(3, dim=-1)
        )  # each (B, heads, T, dim / heads)
        found = F.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
        return found.transpose(1, 2).flatten(2)

    def _filter(self, x: Tensor) -> Tensor:
        return self.narrow(self.dropout(F.relu(self.wide(x))))


@lru_cache(maxsize=4)
def positions(length: int, dim: int) -> Tensor:
    """Return position encodings (length, dim) by sine and cosine in turn (Vaswani et al. 2017, section 3.5)."""
    angle = torch.arange(length).unsqueeze(1) * torch.exp(torch.arange(0, dim, 2) * (-math.log(10_000) / dim))
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


class DualEncoder(Encoder):
    """The shared encoder g, trained from random weights by `DualEncoderTrainer`.

    A word is the mean of its embedding and of tanh of a linear map of its n-grams' sum. Where `dim` is not
    `embedding_dim`, another linear map goes between them. Token ids are those of `Hashing`, which carry words and
    n-grams and need no table of this encoder's own.

    Attributes:
        config: what it is; of the fields that say how it is trained, it reads none.
        hashing: where words and n-grams go.
        relations: the head that training with inference pairs leaves, which `save` writes, too; `Relations.open` opens
            it, and `open` does not, for it does not fit an encoder that is then trained further.
        sparse: whether the tables' gradients are sparse, which few optimisers take but those of `DualEncoderTrainer`.
    """

    spec: ClassVar[str] = "dual-encoder"

    ngrams: nn.Parameter | None
    relations: Relations | None = None

    def __init__(self, config: DualEncoderConfig, languages: Sequence[str]) -> None:
        super().__init__()
        self.config, self.languages, self.sparse = config, tuple(languages), False
        self.dim, self.max_tokens = config.dim, config.max_tokens
        self.hashing = Hashing(config.word_buckets, config.ngram_buckets, config.ngram_min, config.ngram_max)
        width, first = config.embedding_dim, (-config.table_range, config.table_range)
        self.words = nn.Parameter(torch.empty(config.word_buckets, width).uniform_(*first))
        self.register_parameter("ngrams", None)
        if config.ngram_max:
            self.ngrams = nn.Parameter(torch.empty(config.ngram_buckets, width).uniform_(*first))
            self.ngram_map = nn.Linear(width, width)
        self.projection = nn.Linear(width, config.dim) if width != config.dim else nn.Identity()
        layer = config.heads, config.filter_dim, config.dropout, config.pre_norm
        self.transformer = nn.ModuleList(TransformerLayer(config.dim, *layer) for _ in range(config.layers))

    @classmethod
    def random(cls, config: DualEncoderConfig, languages: Sequence[str], *, seed: int) -> Self:
        """Make an encoder with random weights; the same seed gives the same. Torch's own generator stays as it is."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return cls(config, languages)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open what `save` wrote. Raises EncoderError when it is not whole."""
        with opening(folder, cls.spec):
            config = read_config(folder)
            known = {field.name for field in fields(DualEncoderConfig)}
            languages = [str(code) for code in config.pop("languages")]
            own = DualEncoderConfig(**{name: value for name, value in config.items() if name in known})
            state = load_file(folder / WEIGHTS)
            if any(tensor.dtype != torch.float32 for tensor in state.values()):
                raise ValueError("weights that are not float32")
            if 12 * own.layers > len(state):  # before modules are made for them
                raise ValueError("layers that have no weights")
            # No memory is taken for tables that config.json claims and the file has not.
            with torch.device("meta"):
                encoder = cls(own, languages)
            encoder.load_state_dict(state, assign=True)
            return encoder.eval()

    def save(self, folder: Path) -> None:
        """Write config.json and model.safetensors, and nli.safetensors where there is a head."""
        config = {"encoder": self.spec, "languages": list(self.languages), **architecture(self.config)}
        write_encoder(folder, config, self.state_dict())
        if self.relations is not None:
            self.relations.save(folder)

    def onnx_parts(self, folder: Path) -> OnnxParts:
        """Return the graph; hashing needs no file."""
        token_ids = TO_IDS.format(hashing=self.hashing, max_tokens=self.max_tokens)
        ids = self.token_ids(CHECK_TEXTS)
        return OnnxParts(self.padded_vectors, IMPORTS, token_ids, ids, counted="words with their n-grams")

    def token_ids(self, texts: Sequence[str]) -> list[TokenIds]:
        """Return ids of each text's words and n-grams, cut to `max_tokens` words; see `Hashing.token_ids`."""
        return [self.hashing.token_ids(text, self.max_tokens) for text in texts]

    def collate(self, ids: Sequence[TokenIds]) -> Features:
        """Return the batch's distinct words and n-grams, and its sentences as rows of them; see `Sentences.batch`."""
        return self.batch(Sentences.of(ids))

    def batch(self, sentences: Sentences, drop: np.ndarray | None = None) -> Features:
        """Return `sentences.batch(...)` on this encoder's device."""
        features = sentences.batch(self.hashing.words, drop)
        return {name: tensor.to(self.device) for name, tensor in features.items()}

    def batches(self, ids: Sequence[TokenIds], batch_tokens: int | None = None) -> Iterator[list[int]]:
        """Batch as every encoder does, with n-grams not counted."""
        words = self.hashing.words
        lengths = [sum(i < words for i in sentence) for sentence in ids]
        return batches_by_length(lengths, batch_tokens or BATCH_TOKENS)

    def forward(self, features: Features) -> Tensor:
        """A batch -> sentence vectors (B, dim), of length 1 if `config.normalised`."""
        mask = features["attention_mask"]
        x: Tensor = F.embedding(
            features["input_ids"][mask], self.word_vectors(features)
        )  # (R, dim), real words only
        if self.config.layers and self.config.position_scale:
            place = self.config.position_scale * positions(mask.shape[1], self.dim).to(x)
            x = x + place.expand(len(mask), -1, -1)[mask]
        for layer in self.transformer:
            x = layer(x, mask)
        x = x.float()  # under autocast too
        lengths = mask.sum(dim=1)
        ends = lengths.cumsum(dim=0)
        out = F.embedding_bag(torch.arange(len(x), device=x.device), x, ends - lengths, mode="mean")
        return F.normalize(out, dim=-1) if self.config.normalised else out

    def word_vectors(self, features: Features) -> Tensor:
        """Return vectors (U, dim) of the batch's distinct words, as they go into the transformer."""
        words = F.embedding(features["words"], self.words, sparse=self.sparse)
        if self.ngrams is not None:
            rows = F.embedding(features["ngram_rows"], self.ngrams, sparse=self.sparse)
            summed = F.embedding_bag(features["ngrams"], rows, features["ngram_begins"], mode="sum")
            words = (words + torch.tanh(self.ngram_map(summed))) / 2
        out: Tensor = self.projection(words)
        return out

    def embeddings(self) -> list[nn.Parameter]:
        """Return the tables of words and of n-grams."""
        return [self.words] if self.ngrams is None else [self.words, self.ngrams]

    def layers(self) -> list[list[nn.Parameter]]:
        """Return the maps of a word, if there are any, and the transformer's layers."""
        maps = list(self.projection.parameters())
        if self.ngrams is not None:
            maps = [*self.ngram_map.parameters(), *maps]
        return [*([maps] if maps else []), *(list(layer.parameters()) for layer in self.transformer)]

    def padded_vectors(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, L) ids, (B, L) 1 on them and 0 on padding -> (B, dim): `forward` by operations that ONNX can hold.

        `forward` looks up each distinct word of a batch once, which takes shapes that depend on the data. Here a
        sentence's ids, words and n-grams as `Hashing.token_ids` gives them, are added up by the word they belong to.
        """
        buckets, real = self.hashing.words, attention_mask > 0
        begins = (input_ids < buckets) & real  # (B, L)
        number = begins.long().cumsum(dim=1) - 1  # of the word that an id belongs to
        numbers = torch.arange(self.max_tokens).unsqueeze(1)  # (T, 1)
        belongs = (number.unsqueeze(1) == numbers) & real.unsqueeze(1)  # (B, T, L)
        mask = (belongs & begins.unsqueeze(1)).any(dim=2)  # (B, T), words
        own = F.embedding(torch.where(begins, input_ids, 0), self.words)
        words = (belongs & begins.unsqueeze(1)).to(own.dtype) @ own  # (B, T, width)
        if self.ngrams is not None:
            grams = F.embedding(torch.where(begins | ~real, 0, input_ids - buckets), self.ngrams)
            summed = (belongs & ~begins.unsqueeze(1)).to(grams.dtype) @ grams
            words = (words + torch.tanh(self.ngram_map(summed))) / 2
        scale = self.config.position_scale if self.config.layers else 0.0
        x = self.projection(words) + scale * positions(self.max_tokens, self.dim)  # (B, T, dim)
        for layer in cast("list[TransformerLayer]", list(self.transformer)):
            x = layer.padded(x, mask)
        shares = mask.to(x.dtype) / mask.sum(dim=1, keepdim=True)
        out = (shares.unsqueeze(1) @ x).squeeze(1)
        return F.normalize(out, dim=-1) if self.config.normalised else out
