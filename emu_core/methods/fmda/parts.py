"""The embeddings of a disentangled encoder, and operations over tokens."""

from enum import StrEnum

import torch
from torch import Tensor, nn


class Part(StrEnum):
    """One of a sentence's embeddings."""

    CLS = "cls"  # the frozen encoder's first token
    MEAN = "mean"  # the frozen encoder's mean over tokens
    LANGUAGE = "language"
    TEMPLATE = "template"
    RESIDUAL = "residual"
    MEANING = "meaning"


def mean_over_tokens(states: Tensor, mask: Tensor) -> Tensor:
    """Return the mean (B, d) of states (B, L, d) over each sentence's tokens, by mask (B, L)."""
    kept = mask.unsqueeze(-1).to(states.dtype)
    return (states * kept).sum(dim=1) / kept.sum(dim=1)


def softmax_over_tokens(logits: Tensor, mask: Tensor) -> Tensor:
    """Return the softmax over the last dimension of logits (..., L) where the mask, which broadcasts, is True."""
    return torch.softmax(logits.masked_fill(~mask, -torch.inf), dim=-1)


class Standard(nn.Module):
    """Standardises each dimension of states; the identity until it is fitted or a state is loaded.

    A transformer's states have nearly one direction, and a few much larger dimensions that would dominate squared
    errors.
    """

    center: Tensor  # (d,)
    scale: Tensor  # (d,)

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.register_buffer("center", torch.zeros(dim))
        self.register_buffer("scale", torch.ones(dim))

    def fit(self, states: Tensor) -> None:
        """Take the mean and standard deviation of states (N, d)."""
        self.center.copy_(states.mean(dim=0))
        self.scale.copy_(states.std(dim=0).clamp_min(1e-6))

    def forward(self, states: Tensor) -> Tensor:
        """Return standardised states (..., d)."""
        return (states - self.center) / self.scale
