"""`dual-encoder`: hashed words and n-grams, a transformer and the mean (Chidambaram et al. 2019, section 2.1)."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Self, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from emu_core.encoders.base import BATCH_TOKENS, Encoder, Features, TokenIds, batches_by_length
from emu_core.encoders.onnx_parts import CHECK_TEXTS, OnnxParts
from emu_core.encoders.saved import opening, read_config, read_weights, write_encoder
from emu_core.methods.dual_encoder.batch import SentenceBatch
from emu_core.methods.dual_encoder.hashing import Hashing
from emu_core.methods.dual_encoder.relations import Relations
from emu_core.methods.dual_encoder.settings import DualEncoderConfig, architecture

_IMPORTS = "from emu_core.methods.dual_encoder.hashing import Hashing"
_TO_IDS = """\
hashing = {hashing}


def token_ids(text):
    return hashing.token_ids(text, {max_tokens})  # words, each followed by its n-grams
"""


class TransformerLayer(nn.Module):
    """Self-attention and a feed-forward network, each with a residual (Vaswani et al. 2017, section 3.1).

    Only real words are computed; they are arranged in padded rows for the attention alone. With `pre_norm`, the layer
    norms are before the sub-layers, whose output then begins at 0.
    """

    def __init__(self, dim: int, heads: int, filter_dim: int, dropout: float, pre_norm: bool) -> None:
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
        """Return states (R, dim) of words (R, dim); the mask (B, T) is True on words."""
        # Padding takes the row of some word: as a key it is masked, as a query it is not read. Row numbers are used
        # because the gradient of indexing by a mask takes longer than the attention.
        row = (mask.flatten().cumsum(dim=0) - 1).clamp_min(0).view_as(mask)
        real = mask.flatten().nonzero().squeeze(1)

        def attend(x: Tensor) -> Tensor:
            attended = self._attention(F.embedding(row, self.projection(x)), mask)
            return self.out(attended.flatten(0, 1).index_select(0, real))

        return self._residuals(x, attend)

    def padded(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return states (B, T, dim) of padded words (B, T, dim) like `forward`, in operations of ONNX."""
        return self._residuals(x, lambda x: self.out(self._attention(self.projection(x), mask)))

    def _residuals(self, x: Tensor, attend: Callable[[Tensor], Tensor]) -> Tensor:
        if self.pre_norm:
            x = x + self.dropout(attend(self.attention_norm(x)))
            return x + self.dropout(self._filter(self.filter_norm(x)))
        x = self.attention_norm(x + self.dropout(attend(x)))
        return self.filter_norm(x + self.dropout(self._filter(x)))

    def _attention(self, projected: Tensor, mask: Tensor) -> Tensor:
        """Return the attention (B, T, dim) of queries, keys and values (B, T, 3 dim) under a mask (B, T)."""
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in projected.chunk(3, dim=-1)
        )  # each (B, heads, T, dim / heads)
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
        return attended.transpose(1, 2).flatten(2)

    def _filter(self, x: Tensor) -> Tensor:
        return self.narrow(self.dropout(F.relu(self.wide(x))))


@lru_cache(maxsize=4)
def positions(length: int, dim: int) -> Tensor:
    """Return position encodings (length, dim), sine and cosine in turn (Vaswani et al. 2017, section 3.5)."""
    angle = torch.arange(length).unsqueeze(1) * torch.exp(torch.arange(0, dim, 2) * (-math.log(10_000) / dim))
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


class DualEncoder(Encoder):
    """The shared encoder g, trained from random weights by `DualEncoderTrainer`.

    A word is the mean of its embedding and of tanh of a linear map of its n-grams' sum. If `dim` differs from
    `embedding_dim`, another linear map follows. Token ids are those of `Hashing`.

    Attributes:
        config: the hyper-parameters; those of the training are not used.
        hashing: the buckets of words and n-grams.
        relations: the head of training with inference pairs. `save` writes it, but `open` does not read it, because it
            would not fit an encoder that is trained further; `Relations.open` does.
        sparse: whether the tables' gradients are sparse, as `DualEncoderTrainer` needs and few optimisers support.
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
        """Make an encoder with random weights by seed; torch's own generator is unchanged."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return cls(config, languages)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open what `save` wrote. Raises EncoderError if it is incomplete."""
        with opening(folder, cls.spec):
            config = read_config(folder)
            known = {field.name for field in fields(DualEncoderConfig)}
            languages = [str(code) for code in config.pop("languages")]
            settings = DualEncoderConfig(**{name: value for name, value in config.items() if name in known})
            state = read_weights(folder)
            if any(tensor.dtype != torch.float32 for tensor in state.values()):
                raise ValueError("weights that are not float32")
            if 12 * settings.layers > len(state):  # checked before modules are made for them
                raise ValueError("layers that have no weights")
            # On "meta" no memory is taken for tables that config.json claims but the file does not have.
            with torch.device("meta"):
                encoder = cls(settings, languages)
            encoder.load_state_dict(state, assign=True)
            return encoder.eval()

    def save(self, folder: Path) -> None:
        """Write config.json, model.safetensors and, if there is a head, nli.safetensors."""
        config = {"encoder": self.spec, "languages": list(self.languages), **architecture(self.config)}
        write_encoder(folder, config, self.state_dict())
        if self.relations is not None:
            self.relations.save(folder)

    def onnx_parts(self, folder: Path) -> OnnxParts:
        """Return the graph; hashing needs no files."""
        token_ids = _TO_IDS.format(hashing=self.hashing, max_tokens=self.max_tokens)
        ids = self.token_ids(CHECK_TEXTS)
        return OnnxParts(self.padded_vectors, _IMPORTS, token_ids, ids, counted="words with their n-grams")

    def token_ids(self, texts: Sequence[str]) -> list[TokenIds]:
        """Return `Hashing.token_ids` of each text, truncated to `max_tokens` words."""
        return [self.hashing.token_ids(text, self.max_tokens) for text in texts]

    def collate(self, ids: Sequence[TokenIds]) -> Features:
        """Return `Sentences.batch` on this encoder's device."""
        return self.batch(SentenceBatch.of(ids))

    def batch(self, sentences: SentenceBatch, drop: np.ndarray | None = None) -> Features:
        """Return `sentences.batch(...)` on this encoder's device."""
        features = sentences.batch(self.hashing.words, drop)
        return {name: tensor.to(self.device) for name, tensor in features.items()}

    def batches(self, ids: Sequence[TokenIds], batch_tokens: int | None = None) -> Iterator[list[int]]:
        """Yield batches like every encoder, without counting n-grams."""
        words = self.hashing.words
        lengths = [sum(i < words for i in sentence) for sentence in ids]
        return batches_by_length(lengths, batch_tokens or BATCH_TOKENS)

    def forward(self, features: Features) -> Tensor:
        """Return the sentence vectors (B, dim) of a batch, with length 1 if `config.normalised`."""
        mask = features["attention_mask"]
        # Real words only: (R, dim).
        x = F.embedding(features["input_ids"][mask], self.distinct_word_vectors(features))
        if self.config.layers and self.config.position_scale:
            position_signal = self.config.position_scale * positions(mask.shape[1], self.dim).to(x)
            x = x + position_signal.expand(len(mask), -1, -1)[mask]
        for layer in self.transformer:
            x = layer(x, mask)
        x = x.float()  # under autocast too
        lengths = mask.sum(dim=1)
        ends = lengths.cumsum(dim=0)
        out = F.embedding_bag(torch.arange(len(x), device=x.device), x, ends - lengths, mode="mean")
        return F.normalize(out, dim=-1) if self.config.normalised else out

    def distinct_word_vectors(self, features: Features) -> Tensor:
        """Return the vectors (U, dim) of the batch's distinct words, the transformer's input."""
        words = F.embedding(features["words"], self.words, sparse=self.sparse)
        if self.ngrams is not None:
            rows = F.embedding(features["ngram_rows"], self.ngrams, sparse=self.sparse)
            summed = F.embedding_bag(features["ngrams"], rows, features["ngram_begins"], mode="sum")
            words = (words + torch.tanh(self.ngram_map(summed))) / 2
        return self.projection(words)

    def embeddings(self) -> list[nn.Parameter]:
        """Return the tables of words and of n-grams."""
        return [self.words] if self.ngrams is None else [self.words, self.ngrams]

    def layers(self) -> list[list[nn.Parameter]]:
        """Return the linear maps of words, if there are any, and the transformer's layers."""
        maps = list(self.projection.parameters())
        if self.ngrams is not None:
            maps = [*self.ngram_map.parameters(), *maps]
        return [*([maps] if maps else []), *(list(layer.parameters()) for layer in self.transformer)]

    def padded_vectors(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the vectors (B, dim) of padded ids (B, L) like `forward`, in operations of ONNX.

        Instead of looking up each distinct word once, which takes shapes that depend on the data, the ids of a
        sentence are added up by the word they belong to. The mask (B, L) is 1 on ids and 0 on padding.
        """
        buckets, real = self.hashing.words, attention_mask > 0
        begins = (input_ids < buckets) & real  # (B, L)
        number = begins.long().cumsum(dim=1) - 1  # the number of the word that an id belongs to
        numbers = torch.arange(self.max_tokens).unsqueeze(1)  # (T, 1)
        belongs = (number.unsqueeze(1) == numbers) & real.unsqueeze(1)  # (B, T, L)
        mask = (belongs & begins.unsqueeze(1)).any(dim=2)  # (B, T), words
        word_vectors = F.embedding(torch.where(begins, input_ids, 0), self.words)
        words = (belongs & begins.unsqueeze(1)).to(word_vectors.dtype) @ word_vectors  # (B, T, width)
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
