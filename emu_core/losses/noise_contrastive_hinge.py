"""BiCVM's noise-contrastive hinge (Hermann and Blunsom 2014, eqs. 1, 6 and 7)."""

import torch
import torch.nn.functional as F
from torch import Tensor


def squared_distance(first: Tensor, second: Tensor) -> Tensor:
    """E_dist of eq. 1, the squared Euclidean distance: (..., d) and (..., d) -> (...)."""
    return (first - second).square().sum(dim=-1)


def noise_contrastive_hinge(first: Tensor, second: Tensor, noise: Tensor, margin: float) -> Tensor:
    """Want each sentence nearer to its translation than to each of its noise sentences, by a margin.

    Sums [margin + E_dist(a, b) - E_dist(a, n)]_+ (eq. 6) over the k noise sentences and the B pairs, as eq. 7 does.

    Args:
        first: (B, d), the a.
        second: (B, d), the b, their translations.
        noise: (B, k, d), the n: sentences of b's language, drawn for each pair.
        margin: 1 in eq. 6, 50 in section 4.1.

    Returns:
        Scalar: the sum.
    """
    # |a - n|^2 without |a|^2, which the difference of the two distances is free of: no (B, k, d) is made.
    to_noise = noise.square().sum(dim=-1) - 2 * (noise @ first.unsqueeze(-1)).squeeze(-1)  # (B, k)
    to_own = second.square().sum(dim=-1) - 2 * (second * first).sum(dim=-1)  # (B,)
    return F.relu(margin + to_own.unsqueeze(-1) - to_noise).sum()


def batch_hinge(first: Tensor, second: Tensor, margin: float) -> Tensor:
    """The same with the batch's other translations as the noise of each pair: k = B - 1, and nothing more to encode.

    Args:
        first: (B, d).
        second: (B, d).
        margin: as above.

    Returns:
        Scalar: the sum over B (B - 1) terms.
    """
    to_all = second.square().sum(dim=-1) - 2 * first @ second.T  # (B, B), without |a|^2
    terms = F.relu(margin + to_all.diagonal().unsqueeze(-1) - to_all)
    return (terms * ~torch.eye(len(first), dtype=torch.bool, device=first.device)).sum()
