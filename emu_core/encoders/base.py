"""The base class of all encoders: a trainable module from sentences to vectors."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from emu_core.data.cleaning import clean
from emu_core.data.held_texts import texts_of
from emu_core.data.wording import counted
from emu_core.devices import Precision, encoding_precision, split_device
from emu_core.encoders.onnx_parts import OnnxParts
from emu_core.errors import EncoderError, Fix

Features = dict[str, Tensor]
TokenIds = list[int]
FloatArray = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
ReportProgress = Callable[[int, int], None]
BATCH_TOKENS = 4096


@dataclass(frozen=True)
class EncoderInfo:
    """Facts about an encoder that need no loading; empty values are up to the model."""

    spec: str
    """The name for `load_encoder`; if it ends in a colon, a model's name or folder follows."""
    name: str
    dim: int  # length of its vectors
    languages: tuple[str, ...]  # codes of the languages it was trained on
    size_mb: int  # on disk
    licence: str  # SPDX name
    available: bool  # whether it can be loaded on this machine
    reason: str  # if not, why, and how to fix it
    hub_name: str = ""  # of the same model on the Hugging Face hub, if it is there


@dataclass(frozen=True)
class Tokens:
    """The tokenizer of an encoder without its weights."""

    max_tokens: int
    """Longer sentences are truncated to this many tokens."""
    ids_of: Callable[[Sequence[str]], list[TokenIds]]
    """As `Encoder.ids_of`."""


class Encoder(nn.Module, ABC):
    """A multilingual sentence encoder whose weights can be trained.

    Tokenising and padding are separate, so that a trainer tokenises each sentence once and pads each batch to its own
    length.

    Attributes:
        spec: its kind in a saved folder's config.json, which is the name of a published encoder.
        dim: length of a sentence vector.
        languages: codes of the languages it was trained on.
        max_tokens: longer sentences are truncated to this many tokens.
        pad_id: the token id that fills a batch.
        has_word_vectors: whether it has a vector for each word of a language.
        computes_in_bf16: whether it can compute vectors in bfloat16; the class then reads `_precision` where gradients
            are off.
    """

    spec: ClassVar[str]
    has_word_vectors: ClassVar[bool] = False
    computes_in_bf16: ClassVar[bool] = False
    _precision: Precision = Precision.FP32
    dim: int
    languages: tuple[str, ...]
    max_tokens: int
    pad_id: int = 0

    @abstractmethod
    def token_ids(self, texts: Sequence[str]) -> list[TokenIds]:
        """Return the token ids of each text, truncated to `max_tokens`.

        Some encoders make other tokens of a text with blanks around it, so that callers take `ids_of`.
        """

    def ids_of(self, texts: Sequence[str]) -> list[TokenIds]:
        """Return `token_ids` of texts without blanks at either end, which are no part of a sentence."""
        return self.token_ids(clean(texts_of(texts)))

    def limit_tokens(self, most: int) -> None:
        """Truncate texts to `most` tokens from now on."""
        self.max_tokens = most

    @property
    def part_dims(self) -> tuple[int, ...]:
        """The lengths of the vectors that stand side by side in one of this encoder: several if it joins others."""
        return (self.dim,)

    @property
    def part_languages(self) -> tuple[tuple[str, ...], ...]:
        """The languages of the encoders whose vectors stand side by side; none of one where that is not known."""
        return (self.languages,)

    @property
    def read_languages(self) -> tuple[str, ...]:
        """The languages that it or one of its parts was trained on; none where that is not known."""
        parts = self.part_languages
        return tuple(dict.fromkeys(chain.from_iterable(parts))) if all(parts) else ()

    @property
    def without_head(self) -> "Encoder":
        """The encoder before vectors are moved towards the intents of labelled sentences; this one if it moves none.

        An intent model is fitted on its vectors: moved ones of labelled sentences tell their labels, and those of other
        sentences do not.
        """
        return self

    def combined_ids(self, ids: Sequence[TokenIds], most: int) -> TokenIds:
        """Return the token ids of a sentence that combines all, repeated up to `most` or `max_tokens`."""
        together, most = [token for sentence in ids for token in sentence], min(most, self.max_tokens)
        return (together * most)[:most]

    def collate(self, ids: Sequence[TokenIds]) -> Features:
        """Return a batch for `forward`: `input_ids` and `attention_mask`, both (B, T); the mask is True on tokens."""
        tokens, mask = pad(ids, self.pad_id)
        return {"input_ids": tokens.to(self.device), "attention_mask": mask.to(self.device)}

    @abstractmethod
    def forward(self, features: Features) -> Tensor:
        """Return sentence vectors (B, dim), float32, with gradients."""

    @abstractmethod
    def embeddings(self) -> list[nn.Parameter]:
        """Return the embedding table, which is first unpacked to floats if it is stored in fewer bytes."""

    @abstractmethod
    def layers(self) -> list[list[nn.Parameter]]:
        """Return all other weights that affect the vectors, in layers from input to output."""

    def weights_changed(self) -> None:
        """Take note that weights were changed through `Tensor.data`, as merging LoRA's does; torch doesn't count it."""

    @classmethod
    @abstractmethod
    def open(cls, folder: Path) -> Self:
        """Open what `save` wrote. Raises EncoderError if it is incomplete."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write safetensors and JSON into `folder`, which `open` and `open_encoder` read."""

    @classmethod
    def info(cls) -> EncoderInfo | None:
        """Describe the published encoder that `load` opens; None if there is none."""
        return None

    @classmethod
    def load(cls, name: str = "") -> Self:
        """Open the published weights, of the model `name` if there are several.

        Raises:
            EncoderError: they are not on this machine; the message says how to get them.
        """
        raise EncoderError(f"there is no published encoder '{cls.spec}'; name a run of yours as run:DIR")

    @classmethod
    def open_tokens(cls, source: str | Path) -> Tokens:
        """Return the tokenizer of a published or saved encoder.

        This one opens the weights, too, at the latest when it is first used. An encoder whose tokenizer is separate
        leaves them on disk.

        Args:
            source: the name that `load` takes, or the folder that `open` takes.

        Raises:
            EncoderError: as `load` and `open`.
        """
        opened = cache(lambda: cls.open(source) if isinstance(source, Path) else cls.load(source))
        return Tokens(
            getattr(cls, "max_tokens", 0) or opened().max_tokens, lambda texts: opened().ids_of(texts)
        )

    def onnx_parts(self, folder: Path) -> OnnxParts:
        """Return a graph for ONNX, and write the files of its tokenizer into `folder`.

        Raises:
            EncoderError: the encoder has no such graph.
        """
        raise EncoderError(
            f"the encoder '{self.spec}' can't be exported to ONNX; export it for sentence-transformers: ",
            Fix("format", "sentence-transformers"),
        )

    def word_vectors(self, language: str) -> tuple[tuple[str, ...], FloatArray]:
        """Return the words of a language, the most frequent first, and their vectors (words, dim).

        Raises:
            EncoderError: the encoder has no word vectors, or no words of the language.
        """
        raise EncoderError(
            f"the encoder '{self.spec}' has no word vectors; choose a run of a method that learns them"
        )

    def __repr__(self) -> str:
        """Return what it is in a line, and not each of its layers, which `named_modules` has."""
        known = counted(len(self.languages), "language") if self.languages else "unknown languages"
        return f"<{type(self).__name__}: {self.dim:,} dimensions, {known}>"

    @property
    def bare(self) -> "Encoder":
        """The encoder under any layers on it, which has the tokens and the embedding table."""
        return self

    @property
    def device(self) -> torch.device:
        """The device that the weights are on."""
        return next(self.parameters()).device

    @property
    def precision(self) -> Precision:
        """The precision in which `encode` computes: bfloat16 if any encoder in it does; vectors are float32."""
        parts = (part._precision for part in self.modules() if isinstance(part, Encoder))
        return Precision.BF16 if Precision.BF16 in parts else Precision.FP32

    def placed(self, device: str) -> Self:
        """Move it to a device such as "cpu" or "cuda:0:bf16"; it then computes vectors in `encoding_precision`."""
        precision = encoding_precision(device)
        for part in self.modules():
            if isinstance(part, Encoder) and part.computes_in_bf16:
                part._precision = precision
        return self.to(split_device(device)[0])

    def tokenize(self, texts: Sequence[str]) -> Features:
        """Return `collate(ids_of(texts))`."""
        return self.collate(self.ids_of(texts))

    def encode(
        self,
        texts: Sequence[str],
        *,
        batch_tokens: int | None = None,
        on_progress: ReportProgress | None = None,
    ) -> FloatArray:
        """Encode texts without gradient, in evaluation mode.

        Args:
            texts: N sentences: a list, a Series or an array of strings.
            batch_tokens: tokens in a batch, padding included; by default what suits the encoder.
            on_progress: called with (sentences done, N) after each batch.

        Returns:
            Array (N, dim), float32, in the order of `texts`.

        Raises:
            DataError: `texts` are no strings, or a single one.
            EncoderError: a vector is not finite.
        """
        return self.encode_ids(self.ids_of(texts), batch_tokens=batch_tokens, on_progress=on_progress)

    def encode_ids(
        self,
        ids: Sequence[TokenIds],
        *,
        batch_tokens: int | None = None,
        on_progress: ReportProgress | None = None,
    ) -> FloatArray:
        """Encode tokenised sentences like `encode`."""
        with evaluation_mode(self):
            vectors = self.vectors(ids, batch_tokens=batch_tokens, on_progress=on_progress).cpu().numpy()
        if not np.isfinite(vectors).all():
            raise EncoderError(
                "the encoder's vectors are not finite numbers: its weights are damaged, or its training diverged; "
                "lower ",
                Fix("learning_rate"),
                " and train it again",
            )
        return vectors

    @torch.no_grad()
    def vectors(
        self,
        ids: Sequence[TokenIds],
        *,
        batch_tokens: int | None = None,
        on_progress: ReportProgress | None = None,
    ) -> Tensor:
        """Encode like `encode_ids`, but in the current mode and on the encoder's device: (N, dim)."""
        out = torch.empty((len(ids), self.dim), device=self.device)
        for rows, batch in self.in_batches(ids, batch_tokens, on_progress):
            out[rows] = self.batch_vectors(batch).float()  # layers on an encoder may be in reduced precision
        return out

    def in_batches(
        self,
        ids: Sequence[TokenIds],
        batch_tokens: int | None = None,
        on_progress: ReportProgress | None = None,
    ) -> Iterator[tuple[list[int], list[TokenIds]]]:
        """Yield the rows and the token ids of each of `batches`, and report progress after each."""
        done = 0
        for rows in self.batches(ids, batch_tokens):
            yield rows, [ids[row] for row in rows]
            done += len(rows)
            if on_progress is not None:
                on_progress(done, len(ids))

    def vectors_with_gradient(self, ids: Sequence[TokenIds]) -> Tensor:
        """Return the vectors (N, dim) of a training step's sentences, computed in parts if that saves work."""
        tokens = self.step_tokens
        if tokens is None:
            return self(self.collate(ids)).float()
        parts = list(batches_by_length([len(i) for i in ids], tokens))
        vectors = torch.cat([self(self.collate([ids[row] for row in rows])).float() for rows in parts])
        return vectors[np.argsort(np.concatenate(parts))]

    @property
    def step_tokens(self) -> int | None:
        """Tokens computed together in a training step, padding included; None for all at once."""
        return None

    def batches(self, ids: Sequence[TokenIds], batch_tokens: int | None = None) -> Iterator[list[int]]:
        """Yield the rows that `encode` computes together; the rows of a batch alone are one batch again."""
        return batches_by_length([len(i) for i in ids], batch_tokens or BATCH_TOKENS)

    def batch_vectors(self, ids: Sequence[TokenIds]) -> Tensor:
        """Return the vectors (B, dim) of one batch, without gradient."""
        return self(self.collate(ids)).float()


class EncoderByLanguage(Encoder):
    """An encoder that tokenises each language by its own rules, and guesses languages that are not given."""

    @abstractmethod
    def token_ids(self, texts: Sequence[str], languages: Sequence[str] | None = None) -> list[TokenIds]:
        """Return the token ids of each text, truncated to `max_tokens`; a language that is "" is guessed."""

    def encode(
        self,
        texts: Sequence[str],
        *,
        batch_tokens: int | None = None,
        on_progress: ReportProgress | None = None,
        languages: Sequence[str] | None = None,
    ) -> FloatArray:
        """Encode like every encoder, with the texts' languages."""
        ids = self.token_ids(clean(texts_of(texts)), languages)
        return self.encode_ids(ids, batch_tokens=batch_tokens, on_progress=on_progress)


def encode_in(encoder: Encoder, texts: Sequence[str], language: str) -> FloatArray:
    """Return the vectors (N, dim) of texts in a language, by that language's rules if the encoder has such."""
    if isinstance(encoder, EncoderByLanguage):
        return encoder.encode(texts, languages=[language] * len(texts))
    return encoder.encode(texts)


@contextmanager
def evaluation_mode(module: nn.Module) -> Iterator[None]:
    """Put a module into evaluation mode for the duration of the block."""
    was_training = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(was_training)


def batches_by_length(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Yield rows in batches of at most `batch_tokens` padded tokens, the shortest sentences first."""
    batch: list[int] = []
    for row in np.argsort(np.asarray(lengths), kind="stable").tolist():
        # The newest row is the longest and sets the padded width.
        if batch and (len(batch) + 1) * lengths[row] > batch_tokens:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def batches_by_beginning(
    ids: Sequence[TokenIds], batch_tokens: int, distinct_tokens: int
) -> Iterator[list[int]]:
    """Yield rows, sorted by their token ids, in batches of limited tokens and distinct tokens.

    A single sentence may exceed the limits.
    """
    batch: list[int] = []
    tokens, seen = 0, set[int]()
    for row in sorted(range(len(ids)), key=ids.__getitem__):
        tokens += len(ids[row])
        seen.update(ids[row])
        if batch and (tokens > batch_tokens or len(seen) > distinct_tokens):
            yield batch
            batch, tokens, seen = [], len(ids[row]), set(ids[row])
        batch.append(row)
    if batch:
        yield batch


def pad(ids: Sequence[TokenIds], pad_id: int) -> tuple[Tensor, Tensor]:
    """Return token ids (B, T) padded at the end, and their mask (B, T), True on tokens."""
    lengths = np.fromiter(map(len, ids), np.int64, len(ids))
    width = lengths.max(initial=1)  # even if no sentence has a token
    mask = np.arange(width) < lengths[:, None]
    tokens = np.full(mask.shape, pad_id, dtype=np.int64)
    tokens[mask] = np.fromiter(chain.from_iterable(ids), np.int64, lengths.sum())
    return torch.from_numpy(tokens), torch.from_numpy(mask)
