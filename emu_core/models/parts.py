"""The embeddings that a disentangled encoder splits a sentence into."""

from enum import StrEnum

import torch
from torch import Tensor


class Part(StrEnum):
    """One of a sentence's embeddings."""

    CLS = "cls"  # the frozen encoder's first token
    MEAN = "mean"  # the frozen encoder's mean over tokens
    LANGUAGE = "language"
    TEMPLATE = "template"
    RESIDUAL = "residual"
    MEANING = "meaning"


def mean_over_tokens(states: Tensor, mask: Tensor) -> Tensor:
    """Mean of the states (B, L, d) of each sentence's own tokens, by mask (B, L): (B, d)."""
    kept = mask.unsqueeze(-1).to(states.dtype)
    return (states * kept).sum(dim=1) / kept.sum(dim=1)


def softmax_over_tokens(logits: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last dimension of (..., L), padding left out by mask, which broadcasts to it."""
    return torch.softmax(logits.masked_fill(~mask, -torch.inf), dim=-1)
