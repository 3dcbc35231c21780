"""Contrast of translations with negatives by cosines (FMDA, eq. 3 and 4)."""

import torch.nn.functional as F
from torch import Tensor


def cosine_contrast(first: Tensor, second: Tensor, first_negative: Tensor, second_negative: Tensor) -> Tensor:
    """Return -cos(a, b) + cos(a, a') + cos(b, b'), mean over the batch, from -3 to 3.

    Args:
        first: a, embeddings (B, d) in one language.
        second: b, (B, d), of the same meaning in another (eq. 3, 4), or of the same template (section 4.6).
        first_negative: a', (B, d), of another meaning in the language of a.
        second_negative: b', (B, d), the same for b.
    """
    return (
        F.cosine_similarity(first, first_negative)
        + F.cosine_similarity(second, second_negative)
        - F.cosine_similarity(first, second)
    ).mean()


def clipped_contrast(
    first: Tensor, second: Tensor, first_negative: Tensor, second_negative: Tensor
) -> Tensor:
    """Return 1 - cos(a, b) + max(0, cos(a, a')) + max(0, cos(b, b')), mean over the batch (Tiyajamorn et al., 2021).

    Unlike `cosine_contrast`, which has the same arguments, it ignores negatives at a right angle or more.
    """
    return (
        1
        - F.cosine_similarity(first, second)
        + F.cosine_similarity(first, first_negative).clamp_min(0)
        + F.cosine_similarity(second, second_negative).clamp_min(0)
    ).mean()
