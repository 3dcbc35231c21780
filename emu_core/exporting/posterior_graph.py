"""The posterior head on another encoder's graph."""

from torch import Tensor, nn

from emu_core.models.posterior_head import PosteriorHead


class PosteriorGraph(nn.Module):
    """The same vectors as `PosteriorEncoder.forward`, over the same weights."""

    def __init__(self, base: nn.Module, head: PosteriorHead) -> None:
        """Take the base encoder's graph and the head; nothing is copied."""
        super().__init__()
        self.base, self.head = base, head

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T) token ids, (B, T) 1 on tokens and 0 on padding -> (B, dim)."""
        out: Tensor = self.head(self.base(input_ids, attention_mask))
        return out
