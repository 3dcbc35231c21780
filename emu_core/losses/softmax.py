"""Softmax loss and L2-constrained softmax loss over a linear layer (Emu, "Semantic Classifier")."""

import torch.nn.functional as F
from torch import Tensor


def softmax_loss(vectors: Tensor, labels: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return the mean cross-entropy of a linear layer's softmax.

    Args:
        vectors: sentence vectors (B, dim).
        labels: class numbers (B,).
        weight: (classes, dim), not normalised.
        bias: (classes,).
    """
    return F.cross_entropy(F.linear(vectors, weight, bias), labels)


def scale_to_sphere(vectors: Tensor, alpha: float) -> Tensor:
    """Return vectors (B, dim) with length alpha: the constraint of Ranjan et al. 2017, eq. 3."""
    return alpha * F.normalize(vectors, dim=-1)


def l2_constrained_softmax_loss(
    vectors: Tensor, labels: Tensor, weight: Tensor, bias: Tensor, alpha: float
) -> Tensor:
    """Return `softmax_loss` under ||u|| = alpha (Emu; Ranjan et al. 2017, eq. 3).

    The paper calls M "the number of classes"; the mean is over the batch.
    """
    return softmax_loss(scale_to_sphere(vectors, alpha), labels, weight, bias)
