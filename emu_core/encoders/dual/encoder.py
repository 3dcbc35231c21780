"""`dual-encoder`: hashed words and n-grams, a transformer, the mean (Chidambaram et al. 2019, section 2.1)."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from emu_core.config.dual_encoder import DualEncoderConfig, architecture
from emu_core.encoders.base import BATCH_TOKENS, Encoder, Features, TokenIds, batches_by_length
from emu_core.encoders.dual.batch import Sentences
from emu_core.encoders.dual.hashing import Hashing
from emu_core.encoders.dual.layers import TransformerLayer, positions
from emu_core.errors import EncoderError, TrainingError


class DualEncoder(Encoder):
    """The shared encoder g, trained from random weights by `fit_dual_encoder`.

    A word is the mean of its embedding and of tanh of a linear map of its n-grams' sum. Where `dim` is not
    `embedding_dim`, another linear map goes between them. Token ids are those of `Hashing`, which carry words and
    n-grams and need no table of this encoder's own.

    Attributes:
        config: what it is; of the fields that say how it is trained, it reads none.
        hashing: where words and n-grams go.
        sparse: whether the tables' gradients are sparse, which few optimisers take but those of `fit_dual_encoder`.
    """

    spec: ClassVar[str] = "dual-encoder"

    ngrams: nn.Parameter | None

    def __init__(self, config: DualEncoderConfig, languages: Sequence[str]) -> None:
        """An encoder with random weights from torch's own generator."""
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
    def random(cls, config: DualEncoderConfig, languages: Sequence[str], *, seed: int) -> "DualEncoder":
        """An encoder with random weights; the same seed gives the same. Torch's own generator stays as it is."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return cls(config, languages)

    @classmethod
    def from_folder(cls, folder: Path) -> "DualEncoder":
        """Open what `save` wrote. Raises EncoderError when it is not whole."""
        try:
            config = json.loads((folder / "config.json").read_text("utf-8"))
            known = {field.name for field in fields(DualEncoderConfig)}
            languages = [str(code) for code in config.pop("languages")]
            own = DualEncoderConfig(**{name: value for name, value in config.items() if name in known})
            state = load_file(folder / "model.safetensors")
            if any(tensor.dtype != torch.float32 for tensor in state.values()):
                raise ValueError("weights that are not float32")
            if 12 * own.layers > len(state):  # before modules are made for them
                raise ValueError("layers that have no weights")
            # No memory is taken for tables that config.json claims and the file has not.
            with torch.device("meta"):
                encoder = cls(own, languages)
            encoder.load_state_dict(state, assign=True)
            return encoder.eval()
        except FileNotFoundError as missing:
            name = Path(missing.filename or "model.safetensors").name
            raise EncoderError(f"{folder} has no {name}: the run did not finish; train it again") from None
        except (
            TrainingError,
            SafetensorError,
            RuntimeError,
            OSError,
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
        ):
            raise EncoderError(
                f"{folder} does not hold a whole encoder '{cls.spec}'; train the run again"
            ) from None

    def save(self, folder: Path) -> None:
        """Write config.json and model.safetensors."""
        folder.mkdir(parents=True, exist_ok=True)
        state = {name: tensor.detach().cpu().contiguous() for name, tensor in self.state_dict().items()}
        save_file(state, folder / "model.safetensors")
        config = {"encoder": self.spec, "languages": list(self.languages), **architecture(self.config)}
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")

    def token_ids(self, texts: Sequence[str]) -> list[TokenIds]:
        """Ids of each text's words and n-grams, cut to `max_tokens` words; see `Hashing.token_ids`."""
        return [self.hashing.token_ids(text, self.max_tokens) for text in texts]

    def collate(self, ids: Sequence[TokenIds]) -> Features:
        """The batch's distinct words and n-grams, and its sentences as rows of them; see `Sentences.batch`."""
        return self.batch(Sentences.of(ids))

    def batch(self, sentences: Sentences, drop: np.ndarray | None = None) -> Features:
        """`sentences.batch(...)` on this encoder's device."""
        features = sentences.batch(self.hashing.words, drop)
        return {name: tensor.to(self.device) for name, tensor in features.items()}

    def batches(self, ids: Sequence[TokenIds], batch_tokens: int | None = None) -> Iterator[list[int]]:
        """As every encoder's, n-grams not counted."""
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
        """Vectors (U, dim) of the batch's distinct words, as they go into the transformer."""
        words = F.embedding(features["words"], self.words, sparse=self.sparse)
        if self.ngrams is not None:
            rows = F.embedding(features["ngram_rows"], self.ngrams, sparse=self.sparse)
            summed = F.embedding_bag(features["ngrams"], rows, features["ngram_begins"], mode="sum")
            words = (words + torch.tanh(self.ngram_map(summed))) / 2
        out: Tensor = self.projection(words)
        return out

    def embeddings(self) -> list[nn.Parameter]:
        """The tables of words and of n-grams."""
        return [self.words] if self.ngrams is None else [self.words, self.ngrams]

    def layers(self) -> list[list[nn.Parameter]]:
        """The maps of a word, if there are any, and the transformer's layers."""
        maps = list(self.projection.parameters())
        if self.ngrams is not None:
            maps = [*self.ngram_map.parameters(), *maps]
        return [*([maps] if maps else []), *(list(layer.parameters()) for layer in self.transformer)]
