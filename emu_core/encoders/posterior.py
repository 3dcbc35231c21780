"""An encoder with the posterior head on it: what the posterior method leaves."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from emu_core.encoders.base import Encoder, Features, TokenIds
from emu_core.encoders.on_base import BASE, HEAD, EncoderOnBase
from emu_core.errors import EncoderError
from emu_core.models.posterior_head import PosteriorHead


class PosteriorEncoder(EncoderOnBase):
    """A base encoder, whose tokens it takes, and a `PosteriorHead` over its vectors.

    Attributes:
        base: the encoder.
        head: over its vectors.
    """

    spec: ClassVar[str] = "posterior"

    def __init__(self, base: Encoder, head: PosteriorHead) -> None:
        """Put a head on an encoder; neither is copied."""
        super().__init__()
        self.base, self.head = base, head.to(base.device)
        self.dim, self.max_tokens, self.languages = head.dim, base.max_tokens, base.languages
        self.eval()

    @classmethod
    def from_folder(cls, folder: Path) -> Self:
        """Open what `save` wrote. Raises EncoderError when it is not whole."""
        from emu_core.encoders.registry import open_encoder

        base = open_encoder(folder / BASE)
        try:
            config = json.loads((folder / "config.json").read_text("utf-8"))
            head = PosteriorHead.from_state(load_file(folder / HEAD), config["head"])
            if head.weight.shape[1] != base.dim:
                raise ValueError("a head for vectors of another length")
            return cls(base, head)
        except (KeyError, TypeError, ValueError, OSError, SafetensorError):
            raise EncoderError(
                f"{folder} does not hold a whole encoder '{cls.spec}'; train the run again"
            ) from None

    def save(self, folder: Path) -> None:
        """Write config.json, the head's safetensors, and `base/`."""
        self.write(folder, self.head.state_dict(), {"head": self.head.numbers()})

    def forward(self, features: Features) -> Tensor:
        """A batch -> (B, dim) unit vectors."""
        out: Tensor = self.head(self.base(features))
        return out

    def batch_vectors(self, ids: Sequence[TokenIds]) -> Tensor:
        """Vectors (B, dim) of one batch."""
        return self.head.in_parts(self.base.batch_vectors(ids))


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
