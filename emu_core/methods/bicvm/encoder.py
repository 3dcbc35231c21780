"""`bicvm`: BiCVM (Hermann and Blunsom 2014), sentence vectors composed of each language's word vectors."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from emu_core.encoders.base import EncoderByLanguage, Features, FloatArray, TokenIds
from emu_core.encoders.onnx_parts import CHECK_TEXTS, OnnxParts
from emu_core.encoders.saved import opening, read_config, read_weights, write_encoder
from emu_core.errors import EncoderError, Fix
from emu_core.methods.bicvm.settings import BicvmConfig, Composition
from emu_core.methods.bicvm.vocabulary import Vocabulary, words

VOCABULARY = "vocabulary.json"
_IMPORTS = """\
import json
from pathlib import Path

from emu_core.methods.bicvm.vocabulary import Vocabulary, words
"""
_TO_IDS = """\
vocabulary = Vocabulary.parse(json.loads(Path("{file}").read_text("utf-8")))


def token_ids(text):
    sentence = words(text)
    return vocabulary.ids(sentence, vocabulary.guess(sentence))[:{max_tokens}]
"""


def compose(table: Tensor, ids: Tensor, before: Tensor, offsets: Tensor, composition: Composition) -> Tensor:
    """Return the vectors (B, d) of concatenated sentences, with gradients; zero for a sentence without words.

    `ADD` is eq. 3, the sum of x_i. `BIGRAM` is the sum of tanh(x_{i-1} + x_i) (Hermann and Blunsom, ACL 2014), with the
    zero vector before the first word.

    Args:
        table: (words, d); row 0 is zero.
        ids: (T,), the words of all sentences.
        before: (T,), the word before each in its sentence, 0 before the first; for `BIGRAM` only.
        offsets: (B,), where each sentence, or each document, begins in `ids`.
        composition: `ADD` or `BIGRAM`.
    """
    if composition is Composition.ADD:
        return F.embedding_bag(ids, table, offsets, mode="sum")
    steps = torch.tanh(F.embedding(before, table, padding_idx=0) + F.embedding(ids, table))  # (T, d)
    return F.embedding_bag(torch.arange(len(ids), device=ids.device), steps, offsets, mode="sum")


def compose_padded(
    table: Tensor, composition: Composition, input_ids: Tensor, attention_mask: Tensor
) -> Tensor:
    """Compose padded words (B, T) to vectors (B, d) like `BicvmEncoder.forward`, in operations of ONNX."""
    real = attention_mask.unsqueeze(-1).float()  # (B, T, 1)
    x = F.embedding(input_ids, table)  # (B, T, d)
    if composition is Composition.BIGRAM:
        x = torch.tanh(x + F.pad(x * real, (0, 0, 1, 0))[:, :-1])  # zero before the first word
    known = attention_mask.sum(dim=1, keepdim=True) > 0
    return torch.where(known, (x * real).sum(dim=1), table[1:].mean(dim=0))


class BicvmEncoder(EncoderByLanguage):
    """Word vectors of several languages in one space, and their composition, which is not normalised.

    The method's own distance is Euclidean. A sentence without known words gets the mean of all word vectors, because
    the zero vector of an empty sum has no cosine.

    Attributes:
        table: (words + 1, dim); row 0 is no word and stays zero.
        vocabulary: the words, by language.
        composition: the sum, or the sum over bigrams.
    """

    spec: ClassVar[str] = "bicvm"
    has_word_vectors: ClassVar[bool] = True
    max_tokens = 512

    def __init__(self, table: Tensor, vocabulary: Vocabulary, composition: Composition) -> None:
        """Raises ValueError if the table does not fit the vocabulary."""
        super().__init__()
        if table.ndim != 2 or len(table) != len(vocabulary) + 1 or not table.shape[1]:
            raise ValueError("the table does not have a row for each word")
        if table.dtype != torch.float32 or not table.isfinite().all() or table[0].any():
            raise ValueError("the table is not of finite numbers, with zeros for no word")
        self.table = nn.Parameter(table)
        self.vocabulary = vocabulary
        self.composition = composition
        self.dim = table.shape[1]
        self.languages = vocabulary.languages

    @classmethod
    def of_texts(cls, texts: Mapping[str, Iterable[str]], config: BicvmConfig, *, seed: int) -> Self:
        """Make an untrained encoder for the words of sentences by language, with Gaussian weights (section 4.1).

        Raises:
            EncoderError: no word of a language occurs `config.min_count` times.
        """
        vocabulary = Vocabulary.of(texts, config.min_count)
        for language, counts in vocabulary.counts.items():
            if not counts:
                raise EncoderError(
                    f"no word of the text in '{language}' occurs {config.min_count} times; lower ",
                    Fix("min_count"),
                )
        draws = torch.Generator().manual_seed(seed)
        table = config.init_deviation * torch.randn(len(vocabulary) + 1, config.dim, generator=draws)
        table[0] = 0
        return cls(table, vocabulary, Composition(config.composition))

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open what `save` wrote. Raises EncoderError if it is incomplete."""
        with opening(folder, cls.spec):
            config = read_config(folder)
            content = (folder / VOCABULARY).read_bytes()
            if config["sha256"] != hashlib.sha256(content).hexdigest():
                raise ValueError("another vocabulary than the one that was saved")
            table = read_weights(folder)["table"]
            return cls(table, Vocabulary.parse(json.loads(content)), Composition(config["composition"]))

    def save(self, folder: Path) -> None:
        """Write config.json, vocabulary.json and model.safetensors."""
        config = {"encoder": self.spec, "dim": self.dim, "composition": str(self.composition)}
        folder.mkdir(parents=True, exist_ok=True)
        config |= {"languages": self.languages, "sha256": self._write_vocabulary(folder)}
        write_encoder(folder, config, {"table": self.table})

    def onnx_parts(self, folder: Path) -> OnnxParts:
        """Write the vocabulary, and return the graph."""
        self._write_vocabulary(folder)
        graph = partial(compose_padded, self.table, self.composition)
        token_ids = _TO_IDS.format(file=VOCABULARY, max_tokens=self.max_tokens)
        # Its own words, too, because it may not know those of the texts.
        known = range(1, min(len(self.vocabulary), len(CHECK_TEXTS)) + 1)
        check_ids = [*self.token_ids(CHECK_TEXTS), *([*range(1, last + 1)] for last in known)]
        return OnnxParts(graph, _IMPORTS, token_ids, check_ids)

    def _write_vocabulary(self, folder: Path) -> str:
        """Write vocabulary.json, and return its checksum."""
        content = json.dumps(self.vocabulary.counts, ensure_ascii=False).encode()
        (folder / VOCABULARY).write_bytes(content)
        return hashlib.sha256(content).hexdigest()

    def token_ids(self, texts: Sequence[str], languages: Sequence[str] | None = None) -> list[TokenIds]:
        """Return the numbers of the known words, truncated to `max_tokens`.

        Args:
            texts: N sentences.
            languages: their languages; one that is "", or not given, is guessed by `Vocabulary.guess`.

        Raises:
            EncoderError: the encoder has no words of a language.
        """
        codes = [""] * len(texts) if languages is None else languages
        self._require(filter(None, codes))
        out = []
        for text, code in zip(texts, codes, strict=True):
            sentence = words(text)
            language = code or self.vocabulary.guess(sentence)
            out.append(self.vocabulary.ids(sentence, language)[: self.max_tokens])
        return out

    def forward(self, features: Features) -> Tensor:
        """Return vectors (B, dim) of word numbers (B, T)."""
        ids, mask = features["input_ids"], features["attention_mask"]
        before = F.pad(ids, (1, 0))[:, :-1]  # 0 before the first
        lengths = mask.sum(dim=1)  # (B,)
        starts = lengths.cumsum(dim=0) - lengths
        composed = compose(self.table, ids[mask], before[mask], starts, self.composition)
        return torch.where(lengths[:, None] > 0, composed, self.table[1:].detach().mean(dim=0)).float()

    def embeddings(self) -> list[nn.Parameter]:
        """Return the word vectors."""
        return [self.table]

    def layers(self) -> list[list[nn.Parameter]]:
        """Return none, because a composition has no weights: only training the embeddings changes this encoder."""
        return []

    def word_vectors(self, language: str) -> tuple[tuple[str, ...], FloatArray]:
        """Return the words of a language, the most frequent first, and their vectors (words, dim).

        Raises:
            EncoderError: the encoder has no words of the language.
        """
        self._require([language])
        known, start = tuple(self.vocabulary.counts[language]), self.vocabulary.starts[language]
        return known, self.table.detach()[start : start + len(known)].cpu().numpy().copy()

    def _require(self, languages: Iterable[str]) -> None:
        for code in languages:
            if code not in self.languages:
                raise EncoderError(
                    f"this encoder has no words of '{code}'; it was trained on: {', '.join(self.languages)}"
                )
