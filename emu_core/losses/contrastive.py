"""Contrastive loss on sentence pairs (Chopra et al. 2005), a baseline of Emu with m = 2."""

import torch.nn.functional as F
from torch import Tensor


def contrastive_loss(first: Tensor, second: Tensor, same: Tensor, margin: float) -> Tensor:
    """Pull pairs of one class together, push others to the margin.

    Vectors are L2-normalised here, so that the paper's m = 2, the sphere's diameter, means the same for every
    encoder. Distance d is Euclidean; the loss is d^2 for a same-class pair, max(0, m - d)^2 otherwise.

    Args:
        first: (B, dim).
        second: (B, dim).
        same: (B,) bool, whether a pair shares its class.
        margin: m.

    Returns:
        Scalar: half the mean over the pairs.
    """
    squared = (F.normalize(first, dim=-1) - F.normalize(second, dim=-1)).square().sum(dim=-1)  # (B,)
    distance = squared.clamp_min(1e-12).sqrt()  # the root has no gradient at 0
    return 0.5 * same.to(squared).mul(squared).add((~same) * F.relu(margin - distance).square()).mean()
