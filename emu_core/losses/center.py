"""Center loss (Wen et al. 2016, eq. 2; Emu, eq. 1) and the rule that moves its centres."""

import torch
from torch import Tensor


def center_loss(vectors: Tensor, labels: Tensor, centers: Tensor) -> Tensor:
    """Return half the sum of squared distances to the class centres: a sum over the batch, as in both papers.

    Args:
        vectors: (B, dim), in Emu on the sphere of radius alpha.
        labels: class numbers (B,).
        centers: (classes, dim); they get no gradient, and the gradient of a vector u is u - c.
    """
    return 0.5 * (vectors - centers.detach()[labels]).square().sum()


@torch.no_grad()
def move_centers(centers: Tensor, vectors: Tensor, labels: Tensor, rate: float) -> None:
    """Move the centres of the batch's classes in place (Wen et al. 2016, eq. 4 and algorithm 1).

    c_j -= rate * sum over i with y_i = j of (c_j - u_i) / (1 + n_j), with n_j sentences of class j in the batch.
    """
    count = torch.bincount(labels, minlength=len(centers)).to(centers.dtype)  # (classes,)
    total = torch.zeros_like(centers).index_add_(0, labels, vectors.detach().to(centers.dtype))
    centers -= rate * (count.unsqueeze(1) * centers - total) / (1 + count.unsqueeze(1))
