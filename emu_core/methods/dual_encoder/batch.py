"""Batches of hashed sentences, with each distinct word and n-gram once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from emu_core.encoders.base import Features, TokenIds

Ints = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


@dataclass(frozen=True, eq=False)
class SentenceBatch:
    """The concatenated token ids of sentences."""

    ids: np.ndarray[
        tuple[int, ...], np.dtype[np.int32]
    ]  # the ids of all sentences in a row, by `Hashing.token_ids`
    ends: Ints  # (N,), where each sentence ends in `ids`

    @classmethod
    def of(cls, ids: Sequence[TokenIds]) -> "SentenceBatch":
        """Concatenate sentences tokenised by `Encoder.token_ids`."""
        flat = np.fromiter((i for sentence in ids for i in sentence), np.int32, sum(map(len, ids)))
        return cls(flat, np.cumsum([len(sentence) for sentence in ids], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.ends)

    def take(self, rows: Ints) -> "SentenceBatch":
        """Return the sentences of some rows, in that order."""
        ends = self.ends[rows]
        counts = ends - np.where(rows > 0, self.ends[rows - 1], 0)
        return SentenceBatch(self.ids[_ranges(ends - counts, counts)], np.cumsum(counts))

    def batch(self, words: int, drop: np.ndarray | None = None) -> Features:
        """Return the features for the dual encoder's `forward`, on the CPU.

        Args:
            words: ids below this begin a word.
            drop: (all words,), True leaves a word out, except in a sentence that would lose all its words.

        Returns:
            `words` (U,), buckets of the distinct words; `ngram_rows` (V,), buckets of their distinct n-grams; `ngrams`
            (G,), the words' n-grams as rows of `ngram_rows`, and `ngram_begins` (U,), where each word's begin;
            `input_ids` (B, T), sentences as rows of `words`, and `attention_mask` (B, T).
        """
        starts = np.flatnonzero(self.ids < words)
        counts = np.diff(starts, append=len(self.ids)) - 1  # n-grams of each word
        # Words are compared by 64 well-mixed bits of all their ids: sorting lists would take longer than encoding.
        keys = np.add.reduceat(_mixed(self.ids), starts)
        sentence = np.searchsorted(self.ends, starts, side="right")
        if drop is not None:
            left = np.bincount(sentence[~drop], minlength=len(self))
            stays = ~drop | (left[sentence] == 0)
            starts, counts, keys, sentence = (values[stays] for values in (starts, counts, keys, sentence))
        _, first, word = np.unique(keys, return_index=True, return_inverse=True)
        grams = self.ids[_ranges(starts[first] + 1, counts[first])]
        rows, gram = np.unique(grams, return_inverse=True)
        lengths = np.bincount(sentence, minlength=len(self))
        position = np.arange(len(sentence)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        input_ids = np.zeros((len(self), lengths.max()), dtype=np.int64)
        input_ids[sentence, position] = word
        return {
            "words": torch.from_numpy(self.ids[starts[first]].astype(np.int64)),
            "ngram_rows": torch.from_numpy(rows.astype(np.int64) - words),
            "ngrams": torch.from_numpy(gram.astype(np.int64)),
            "ngram_begins": torch.from_numpy(np.cumsum(counts[first]) - counts[first]),
            "input_ids": torch.from_numpy(input_ids),
            "attention_mask": torch.from_numpy(np.arange(input_ids.shape[1]) < lengths[:, None]),
        }


def joined(parts: Sequence[SentenceBatch]) -> SentenceBatch:
    """Concatenate sentences."""
    shifts = np.cumsum([0, *(len(part.ids) for part in parts[:-1])])
    return SentenceBatch(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.ends + shift for part, shift in zip(parts, shifts, strict=True)]),
    )


def _ranges(begins: Ints, counts: Ints) -> Ints:
    """Return `counts[0]` numbers from `begins[0]` on, and so on, concatenated."""
    before = np.cumsum(counts) - counts
    return np.repeat(begins - before, counts) + np.arange(counts.sum())


def _mixed(ids: np.ndarray) -> np.ndarray:
    """Return 64 bits for each id by the finaliser of splitmix64 (Steele et al. 2014)."""
    bits = (ids.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
