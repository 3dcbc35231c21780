"""BiCVM's compositions: from the vectors of words to the vectors of sentences."""

import torch
import torch.nn.functional as F
from torch import Tensor

from emu_core.config.bicvm import Composition


def compose(table: Tensor, ids: Tensor, before: Tensor, offsets: Tensor, composition: Composition) -> Tensor:
    """Return vectors of sentences whose words stand one after another; a sentence without words gets the zero vector.

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


def compose_padded(
    table: Tensor, composition: Composition, input_ids: Tensor, attention_mask: Tensor
) -> Tensor:
    """Compose padded batches as `BicvmEncoder.forward` does, by operations that ONNX can hold.

    Args:
        table: (words, d); row 0 is zero.
        composition: how.
        input_ids: (B, T) word numbers.
        attention_mask: (B, T), 1 on words and 0 on padding.

    Returns:
        (B, d); a sentence without words gets the mean of all word vectors.
    """
    real = attention_mask.unsqueeze(-1).float()  # (B, T, 1)
    x = F.embedding(input_ids, table)  # (B, T, d)
    if composition is Composition.BIGRAM:
        x = torch.tanh(x + F.pad(x * real, (0, 0, 1, 0))[:, :-1])  # zero before the first word
    known = attention_mask.sum(dim=1, keepdim=True) > 0
    return torch.where(known, (x * real).sum(dim=1), table[1:].mean(dim=0))
