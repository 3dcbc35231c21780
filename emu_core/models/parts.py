"""The embeddings that a disentangled encoder splits a sentence into."""

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
    """Mean of the states (B, L, d) of each sentence's own tokens, by mask (B, L): (B, d)."""
    kept = mask.unsqueeze(-1).to(states.dtype)
    return (states * kept).sum(dim=1) / kept.sum(dim=1)


def softmax_over_tokens(logits: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last dimension of (..., L), padding left out by mask, which broadcasts to it."""
    return torch.softmax(logits.masked_fill(~mask, -torch.inf), dim=-1)


class Standard(nn.Module):
    """Takes a mean out of states and divides by a deviation, dimension by dimension: by default, nothing.

    A linear layer behind it could do the same. But the states of a transformer have nearly one direction, with a few
    dimensions much longer than the rest, and squared errors then see little else.

    Attributes:
        center: (d,).
        scale: (d,).
    """

    center: Tensor
    scale: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.register_buffer("center", torch.zeros(dim))
        self.register_buffer("scale", torch.ones(dim))

    def fit(self, states: Tensor) -> None:
        """Take mean and standard deviation of states (N, d)."""
        self.center.copy_(states.mean(dim=0))
        self.scale.copy_(states.std(dim=0).clamp_min(1e-6))

    def forward(self, states: Tensor) -> Tensor:
        """States (..., d), standardised."""
        return (states - self.center) / self.scale
