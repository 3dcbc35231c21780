"""Contrastive loss on sentence pairs (Chopra et al. 2005), a baseline of Emu with m = 2."""

import torch.nn.functional as F
from torch import Tensor


def contrastive_loss(first: Tensor, second: Tensor, same: Tensor, margin: float) -> Tensor:
    """Return half the mean of d^2 for pairs of one class and max(0, m - d)^2 for others.

    d is the Euclidean distance of the L2-normalised vectors, so that the paper's m = 2, the diameter of the sphere, has
    the same meaning for every encoder.

    Args:
        first: (B, dim).
        second: (B, dim).
        same: (B,) bool, whether a pair shares its class.
        margin: m.
    """
    squared = (F.normalize(first, dim=-1) - F.normalize(second, dim=-1)).square().sum(dim=-1)  # (B,)
    distance = squared.clamp_min(1e-12).sqrt()  # the root has no gradient at 0
    return 0.5 * same.to(squared).mul(squared).add((~same) * F.relu(margin - distance).square()).mean()
