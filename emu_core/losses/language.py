"""Losses of the language discriminator D_t; D_t minimises them, the encoder maximises them (Emu, eq. 3-4)."""

import torch.nn.functional as F
from torch import Tensor


def language_cross_entropy(own: Tensor, other: Tensor) -> Tensor:
    """L_D of Emu's eq. 3: cross-entropy with target 1 for language t and 0 for the other language.

    Args:
        own: logits D_t(u), (B,), of sentences in language t.
        other: logits D_t(v), (B,), of sentences in another language.

    Returns:
        Scalar: the sum of the two means.
    """
    return F.softplus(-own).mean() + F.softplus(other).mean()


def language_wasserstein(own: Tensor, other: Tensor) -> Tensor:
    """The Wasserstein critic's loss (Arjovsky et al. 2017, eq. 2): -(mean D_t(u) - mean D_t(v)).

    Arguments as in `language_cross_entropy`, scores instead of logits. Minus this is the critic's estimate of the
    distance between the two languages.
    """
    return other.mean() - own.mean()
