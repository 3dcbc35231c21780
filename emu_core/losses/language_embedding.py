"""Language embeddings alike within a language and apart between two (Tiyajamorn et al., 2021)."""

import torch.nn.functional as F
from torch import Tensor


def language_attraction(language: Tensor, other: Tensor) -> Tensor:
    """1 - cos(l, l'), mean over the batch: two sentences of one language have one language embedding.

    Args:
        language: (B, d).
        other: (B, d), of other sentences in the same language.
    """
    return (1 - F.cosine_similarity(language, other)).mean()


def language_repulsion(first: Tensor, second: Tensor) -> Tensor:
    """max(0, cos(l_1, l_2)), mean over the batch: a sentence and its translation share no language embedding.

    Args:
        first: (B, d), language embeddings in one language.
        second: (B, d), in another.
    """
    return F.cosine_similarity(first, second).clamp_min(0).mean()
