"""Ranking of the right response above the others in its batch (Chidambaram et al. 2019, eq. 1 and 2)."""

import torch
import torch.nn.functional as F
from torch import Tensor


def ranking_loss(
    inputs: Tensor, responses: Tensor, hard: Tensor | None = None, *, scale: float = 1.0
) -> Tensor:
    """Return the mean negative log-likelihood of each response among the batch's and the input's hard negatives.

    phi is the dot product times `scale`. The denominator sums phi(s_i^I, s_j^R), as in the text of eq. 1, which itself
    prints R for both.

    Args:
        inputs: (K, dim).
        responses: (K, dim), the right one for each input.
        hard: (K, H, dim), wrong responses for each input alone.
        scale: inverse temperature.
    """
    phi = inputs @ responses.T  # (K, K)
    if hard is not None:
        phi = torch.cat([phi, (hard @ inputs.unsqueeze(-1)).squeeze(-1)], dim=1)  # (K, K + H)
    return F.cross_entropy(scale * phi, torch.arange(len(inputs), device=inputs.device))
