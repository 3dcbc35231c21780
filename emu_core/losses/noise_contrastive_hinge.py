"""BiCVM's noise-contrastive hinge (Hermann and Blunsom 2014, eqs. 1, 6 and 7)."""

import torch
import torch.nn.functional as F
from torch import Tensor


def squared_distance(first: Tensor, second: Tensor) -> Tensor:
    """Return E_dist of eq. 1, the squared Euclidean distance (...) of vectors (..., d)."""
    return (first - second).square().sum(dim=-1)


def noise_contrastive_hinge(first: Tensor, second: Tensor, noise: Tensor, margin: float) -> Tensor:
    """Return the sum of [margin + E_dist(a, b) - E_dist(a, n)]_+ (eq. 6) over B pairs and k noise sentences (eq. 7).

    Args:
        first: a, (B, d).
        second: b, (B, d), the translations.
        noise: n, (B, k, d), sentences in the language of b, drawn for each pair.
        margin: 1 in eq. 6, 50 in section 4.1.
    """
    # Without |a|^2, which cancels in the difference of the distances, so that no (B, k, d) is made.
    to_noise = noise.square().sum(dim=-1) - 2 * (noise @ first.unsqueeze(-1)).squeeze(-1)  # (B, k)
    to_own = second.square().sum(dim=-1) - 2 * (second * first).sum(dim=-1)  # (B,)
    return F.relu(margin + to_own.unsqueeze(-1) - to_noise).sum()


def batch_hinge(first: Tensor, second: Tensor, margin: float) -> Tensor:
    """Return `noise_contrastive_hinge` with the batch's other translations as noise: k = B - 1."""
    to_all = second.square().sum(dim=-1) - 2 * first @ second.T  # (B, B), without |a|^2
    terms = F.relu(margin + to_all.diagonal().unsqueeze(-1) - to_all)
    return (terms * ~torch.eye(len(first), dtype=torch.bool, device=first.device)).sum()
