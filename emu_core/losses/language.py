"""Losses of the language discriminator D_t, which D_t minimises and the encoder maximises (Emu, eq. 3-4)."""

import torch.nn.functional as F
from torch import Tensor


def language_cross_entropy(in_language: Tensor, in_other: Tensor) -> Tensor:
    """Return L_D of Emu's eq. 3: the sum of the mean cross-entropies of both languages, with target 1 for t.

    Args:
        in_language: logits D_t(u), (B,), of sentences in language t.
        in_other: logits D_t(v), (B,), of sentences in another language.
    """
    return F.softplus(-in_language).mean() + F.softplus(in_other).mean()


def language_wasserstein(in_language: Tensor, in_other: Tensor) -> Tensor:
    """Return the Wasserstein critic's loss (Arjovsky et al. 2017, eq. 2): -(mean D_t(u) - mean D_t(v)).

    Arguments as in `language_cross_entropy`, with scores for logits. The negative loss estimates the distance between
    the two languages.
    """
    return in_other.mean() - in_language.mean()
