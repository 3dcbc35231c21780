"""BiCVM as a plain graph: arithmetic on padded batches, which ONNX can hold."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from emu_core.config.bicvm import Composition
from emu_core.encoders.bicvm.encoder import BicvmEncoder


class BicvmGraph(nn.Module):
    """The same vectors as `BicvmEncoder.forward`, over the same weights."""

    def __init__(self, encoder: BicvmEncoder) -> None:
        """Take the word vectors of an encoder; they are not copied."""
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T) word numbers, (B, T) 1 on words and 0 on padding -> (B, dim)."""
        table = self.encoder.table
        real = attention_mask.unsqueeze(-1).float()  # (B, T, 1)
        x = F.embedding(input_ids, table)  # (B, T, dim)
        if self.encoder.composition is Composition.BIGRAM:
            x = torch.tanh(x + F.pad(x * real, (0, 0, 1, 0))[:, :-1])  # zero before the first word
        known = attention_mask.sum(dim=1, keepdim=True) > 0
        return torch.where(known, (x * real).sum(dim=1), table[1:].mean(dim=0))
