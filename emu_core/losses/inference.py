"""Natural language inference as a classification of pairs (Conneau et al. 2017, section 3.1)."""

import torch
import torch.nn.functional as F
from torch import Tensor


def relation(first: Tensor, second: Tensor) -> Tensor:
    """Return (u, v, |u - v|, u * v) of premises and hypotheses (B, dim): (B, 4 dim)."""
    return torch.cat([first, second, (first - second).abs(), first * second], dim=-1)


def inference_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean cross-entropy of logits (B, 3); labels (B,): 0 entailment, 1 neutral, 2 contradiction."""
    return F.cross_entropy(logits, labels)
