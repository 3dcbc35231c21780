"""What every encoder of the library is: a trainable module from sentences to vectors."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

Features = dict[str, Tensor]
TokenIds = list[int]
FloatArray = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
BATCH_TOKENS = 4096


class Encoder(nn.Module, ABC):
    """A multilingual sentence encoder whose weights can be trained.

    Tokenising is split from padding, so that a trainer tokenises each sentence once and pads each batch to its
    own length.

    Attributes:
        spec: the name `load_encoder` knows it by.
        dim: length of a sentence vector.
        languages: codes of the languages it was trained on.
        max_tokens: longer sentences are cut to this many tokens.
    """

    spec: ClassVar[str]
    dim: int
    languages: tuple[str, ...]
    max_tokens: int

    @abstractmethod
    def token_ids(self, texts: Sequence[str]) -> list[TokenIds]:
        """Token ids of each text, cut to `max_tokens`."""

    @abstractmethod
    def collate(self, ids: Sequence[TokenIds]) -> Features:
        """Pad token ids to one batch on this encoder's device: what `forward` takes."""

    @abstractmethod
    def forward(self, features: Features) -> Tensor:
        """Sentence vectors (B, dim), float32, with gradients."""

    @abstractmethod
    def embeddings(self) -> list[nn.Parameter]:
        """The embedding table, unpacked to floats first where it is kept in fewer bytes."""

    @abstractmethod
    def layers(self) -> list[list[nn.Parameter]]:
        """All other weights that have a part in the vectors, in layers from the input to the output."""

    @classmethod
    @abstractmethod
    def from_folder(cls, folder: Path) -> Self:
        """Open what `save` wrote. Raises EncoderError when it is not whole."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write safetensors and JSON into `folder`, which `load_encoder("run:...")` opens."""

    @property
    def bare(self) -> "Encoder":
        """The encoder without any head that was put on it: whose tokens and weights these are."""
        return self

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    def tokenize(self, texts: Sequence[str]) -> Features:
        """`collate(token_ids(texts))`."""
        return self.collate(self.token_ids(texts))

    def encode(
        self,
        texts: Sequence[str],
        *,
        batch_tokens: int | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> FloatArray:
        """Encode texts without gradient, in evaluation mode.

        Args:
            texts: N sentences.
            batch_tokens: tokens a batch, padding among them; None takes what suits the encoder.
            on_progress: called with (sentences done, N) after each batch.

        Returns:
            Array (N, dim), float32, in the order of `texts`.
        """
        return self.encode_ids(self.token_ids(texts), batch_tokens=batch_tokens, on_progress=on_progress)

    def encode_ids(
        self,
        ids: Sequence[TokenIds],
        *,
        batch_tokens: int | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> FloatArray:
        """As `encode`, for sentences that are tokenised already."""
        with evaluation_mode(self):
            return self.vectors(ids, batch_tokens=batch_tokens, on_progress=on_progress).cpu().numpy()

    @torch.no_grad()
    def vectors(
        self,
        ids: Sequence[TokenIds],
        *,
        batch_tokens: int | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> Tensor:
        """As `encode_ids`, on this encoder's device and in the mode (training or not) it stands in: (N, dim)."""
        out = torch.empty((len(ids), self.dim), device=self.device)
        done = 0
        for rows in self.batches(ids, batch_tokens):
            out[rows] = self.batch_vectors([ids[r] for r in rows])
            done += len(rows)
            if on_progress is not None:
                on_progress(done, len(ids))
        return out

    def vectors_with_gradient(self, ids: Sequence[TokenIds]) -> Tensor:
        """Vectors (N, dim) of one training step's sentences, computed in parts where that saves work."""
        tokens = self.step_tokens
        if tokens is None:
            return self(self.collate(ids)).float()
        parts = list(batches_by_length([len(i) for i in ids], tokens))
        vectors = torch.cat([self(self.collate([ids[r] for r in rows])).float() for rows in parts])
        return vectors[np.argsort(np.concatenate(parts))]

    @property
    def step_tokens(self) -> int | None:
        """Tokens computed together in a training step, padding among them; None where all its sentences are."""
        return None

    def batches(self, ids: Sequence[TokenIds], batch_tokens: int | None = None) -> Iterator[list[int]]:
        """Row numbers of the sentences that `encode` computes together; a batch alone is one batch again."""
        return batches_by_length([len(i) for i in ids], batch_tokens or BATCH_TOKENS)

    def batch_vectors(self, ids: Sequence[TokenIds]) -> Tensor:
        """Vectors (B, dim) of one batch, for `vectors`, which takes no gradient."""
        return self(self.collate(ids)).float()


class EncoderByLanguage(Encoder):
    """An encoder that can be told its sentences' languages; without them it guesses each."""

    @abstractmethod
    def token_ids(self, texts: Sequence[str], languages: Sequence[str] | None = None) -> list[TokenIds]:
        """Token ids of each text, cut to `max_tokens`; the N texts' languages where they are known."""

    def encode(
        self,
        texts: Sequence[str],
        *,
        batch_tokens: int | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        languages: Sequence[str] | None = None,
    ) -> FloatArray:
        """As every encoder's, with the texts' languages where they are known."""
        ids = self.token_ids(texts, languages)
        return self.encode_ids(ids, batch_tokens=batch_tokens, on_progress=on_progress)


@contextmanager
def evaluation_mode(module: nn.Module) -> Iterator[None]:
    """Put a module into evaluation mode for a while."""
    was_training = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(was_training)


def batches_by_length(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Yield row numbers in batches of at most `batch_tokens` padded tokens, shortest sentences first."""
    batch: list[int] = []
    for row in np.argsort(np.asarray(lengths), kind="stable").tolist():
        # Sorted, so the newest row is the longest and sets the padded width.
        if batch and (len(batch) + 1) * lengths[row] > batch_tokens:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def batches_by_beginning(
    ids: Sequence[TokenIds], batch_tokens: int, distinct_tokens: int
) -> Iterator[list[int]]:
    """Yield row numbers, sorted by their token ids, in batches of at most so many tokens, all and distinct ones.

    A batch begins at the first sentence that does not fit the one before, however long that sentence is.
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
    """Token ids (B, T) padded at the end, and their mask (B, T), True on tokens."""
    width = max(1, *map(len, ids))  # one, where no sentence has a token
    tokens = np.full((len(ids), width), pad_id, dtype=np.int64)
    mask = np.zeros((len(ids), width), dtype=bool)
    for row, sentence in enumerate(ids):
        tokens[row, : len(sentence)] = sentence
        mask[row, : len(sentence)] = True
    return torch.from_numpy(tokens), torch.from_numpy(mask)
