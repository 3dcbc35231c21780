"""A base encoder with a linear map on it."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from emu_core.encoders.base import Encoder, Features
from emu_core.encoders.on_base import BASE, HEAD, EncoderOnBase
from emu_core.encoders.registry import open_encoder


class LinearMapEncoder(EncoderOnBase):
    """The vectors of an encoder, mapped linearly."""

    spec: ClassVar[str] = "linear-map"

    def __init__(self, base: Encoder) -> None:
        """Begin with the identity."""
        super().__init__()
        self.base, self.map = base, nn.Linear(base.dim, base.dim, bias=False)
        nn.init.eye_(self.map.weight)
        self.dim, self.max_tokens, self.languages = base.dim, base.max_tokens, base.languages
        self.eval()

    def forward(self, features: Features) -> Tensor:
        """A batch -> (B, dim)."""
        mapped: Tensor = self.map(self.base(features))
        return mapped

    def batch_vectors(self, ids: Sequence[list[int]]) -> Tensor:
        """Token ids of a batch -> (B, dim)."""
        mapped: Tensor = self.map(self.base.batch_vectors(ids))
        return mapped

    def save(self, folder: Path) -> None:
        """Write the map, and the base beside it."""
        self.write(folder, self.map.state_dict(), {})

    @classmethod
    def from_folder(cls, folder: Path) -> Self:
        """Open what `save` wrote."""
        encoder = cls(open_encoder(folder / BASE))
        with torch.no_grad():
            encoder.map.weight.copy_(load_file(folder / HEAD)["weight"])
        return encoder
