"""BiCVM's compositions: from the vectors of words to the vectors of sentences."""

import torch
import torch.nn.functional as F
from torch import Tensor

from emu_core.config.bicvm import Composition


def compose(table: Tensor, ids: Tensor, before: Tensor, offsets: Tensor, composition: Composition) -> Tensor:
    """Vectors of sentences whose words stand one after another; a sentence without words gets the zero vector.

    `ADD` is eq. 3, the sum of x_i. `BIGRAM` is the sum of tanh(x_{i-1} + x_i) (Hermann and Blunsom, ACL 2014), where
    the word before the first is the zero vector, so that one word alone has a vector too.

    Args:
        table: (words, d); row 0 is zero.
        ids: (T,) the words of all sentences.
        before: (T,) the word before each in its sentence, 0 before the first; read for `BIGRAM` only.
        offsets: (B,) where each sentence, or each document of several, begins in `ids`.
        composition: how.

    Returns:
        (B, d), with gradients.
    """
    if composition is Composition.ADD:
        out: Tensor = F.embedding_bag(ids, table, offsets, mode="sum")
        return out
    steps = torch.tanh(F.embedding(before, table, padding_idx=0) + F.embedding(ids, table))  # (T, d)
    return F.embedding_bag(torch.arange(len(ids), device=ids.device), steps, offsets, mode="sum")
