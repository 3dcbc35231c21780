"""Distillation of relations: a student's cosines between the sentences of a batch become those of its teacher.

Only relations are compared (Park et al. 2019), so that the vectors of student and teacher may differ in length.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def cosines_to_others(vectors: Tensor) -> Tensor:
    """Return the cosines of each of B vectors (B, dim) with the B - 1 others, in their order: (B, B - 1)."""
    units = F.normalize(vectors, dim=-1)
    count = len(units)
    others = ~torch.eye(count, dtype=torch.bool, device=units.device)
    return (units @ units.T)[others].view(count, count - 1)


def neighbour_divergence(student: Tensor, teacher: Tensor, temperature: float) -> Tensor:
    """Return the Kullback-Leibler divergence of the student's neighbours from the teacher's, mean over the batch.

    The neighbours of a sentence are a softmax of its cosines with the others of the batch, divided by the temperature;
    its gradient is that of the cross-entropy of Fang et al. 2021, whose others are a queue of earlier sentences.

    Args:
        student: cosines (B, B - 1), with gradient.
        teacher: cosines (B, B - 1).
        temperature: the smaller, the more the nearest sentences count.
    """
    log_student, log_teacher = (
        F.log_softmax(cosines / temperature, dim=-1) for cosines in (student, teacher)
    )
    return F.kl_div(log_student, log_teacher, reduction="batchmean", log_target=True)


def cosine_difference(student: Tensor, teacher: Tensor) -> Tensor:
    """Return the mean squared difference of cosines (B, B - 1): all pairs count alike, also distant ones.

    It is Park et al. 2019, eq. 2, with the cosine as the relation of two sentences.
    """
    return F.mse_loss(student, teacher)
