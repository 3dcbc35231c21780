"""Losses that make language embeddings equal within a language and different between two (Tiyajamorn et al., 2021)."""

import torch.nn.functional as F
from torch import Tensor


def language_attraction(language: Tensor, other: Tensor) -> Tensor:
    """Return 1 - cos(l, l') of language embeddings (B, d) of sentence pairs in one language, mean over the batch."""
    return (1 - F.cosine_similarity(language, other)).mean()


def language_repulsion(first: Tensor, second: Tensor) -> Tensor:
    """Return max(0, cos(l_1, l_2)) of language embeddings (B, d) of sentences and translations, mean over the batch."""
    return F.cosine_similarity(first, second).clamp_min(0).mean()
