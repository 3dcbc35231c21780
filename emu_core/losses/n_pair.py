"""N-pair sampling cosine loss (Yang et al. 2019, the ranking loss without margin), a baseline of Emu."""

import torch
import torch.nn.functional as F
from torch import Tensor


def n_pair_loss(anchors: Tensor, positives: Tensor, scale: float) -> Tensor:
    """Rank each anchor's positive above the other N - 1 classes' positives.

    Row i of both arguments is of class i and the N classes differ, so an anchor has one positive and N - 1
    negatives. Similarity is the cosine times `scale`; the loss is the softmax's negative log-likelihood.

    Args:
        anchors: (N, dim).
        positives: (N, dim).
        scale: inverse temperature.

    Returns:
        Scalar: the mean over the N anchors.
    """
    similarity = scale * F.normalize(anchors, dim=-1) @ F.normalize(positives, dim=-1).T  # (N, N)
    return F.cross_entropy(similarity, torch.arange(len(anchors), device=anchors.device))
