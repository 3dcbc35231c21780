"""The meaning embedding of FMDA, or of its baseline, as a graph."""

from torch import Tensor, nn

from emu_core.encoders.disentangled import DisentangledEncoder


class DisentangledGraph(nn.Module):
    """The same vectors as `DisentangledEncoder.forward`, over the same weights."""

    def __init__(self, encoder: DisentangledEncoder) -> None:
        """Take an encoder; its weights are not copied."""
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T) token ids, (B, T) 1 on tokens and 0 on padding -> (B, dim)."""
        out: Tensor = self.encoder({"input_ids": input_ids, "attention_mask": attention_mask})
        return out
