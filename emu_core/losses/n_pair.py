"""N-pair sampling cosine loss (Yang et al. 2019, ranking without a margin), a baseline of Emu."""

import torch
import torch.nn.functional as F
from torch import Tensor


def n_pair_loss(anchors: Tensor, positives: Tensor, scale: float) -> Tensor:
    """Return the mean negative log-likelihood of each anchor's positive among all positives.

    Row i of both arguments is of class i, and the N classes differ. Similarity is the cosine times `scale`.

    Args:
        anchors: (N, dim).
        positives: (N, dim).
        scale: inverse temperature.
    """
    similarity = scale * F.normalize(anchors, dim=-1) @ F.normalize(positives, dim=-1).T  # (N, N)
    return F.cross_entropy(similarity, torch.arange(len(anchors), device=anchors.device))
