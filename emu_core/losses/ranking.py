"""Ranking of the right response above the others of its batch (Chidambaram et al. 2019, eq. 1 and 2)."""

import torch
import torch.nn.functional as F
from torch import Tensor


def ranking_loss(
    inputs: Tensor, responses: Tensor, hard: Tensor | None = None, *, scale: float = 1.0
) -> Tensor:
    """Negative log-likelihood of each input's response, among the batch's responses and its own hard negatives.

    phi is the dot product times `scale`. In the denominator stand phi(s_i^I, s_j^R), as in eq. 1's text; the paper
    prints R for both.

    Args:
        inputs: (K, dim).
        responses: (K, dim), row by row the right ones.
        hard: (K, H, dim), wrong responses of each input, which no other input is ranked against.
        scale: inverse temperature.

    Returns:
        Scalar: the mean over the K inputs.
    """
    phi = inputs @ responses.T  # (K, K)
    if hard is not None:
        phi = torch.cat([phi, (hard @ inputs.unsqueeze(-1)).squeeze(-1)], dim=1)  # (K, K + H)
    return F.cross_entropy(scale * phi, torch.arange(len(inputs), device=inputs.device))
