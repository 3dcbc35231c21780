"""A base encoder with a linear map on it."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from torch import Tensor, nn

from emu_core.encoders.base import Encoder, Features
from emu_core.encoders.on_base import EncoderOnBase


class LinearMapEncoder(EncoderOnBase):
    """The vectors of an encoder, mapped linearly."""

    spec: ClassVar[str] = "linear-map"

    @classmethod
    def identity(cls, base: Encoder) -> Self:
        """Begin with the map that changes nothing."""
        head = nn.Linear(base.dim, base.dim, bias=False)
        nn.init.eye_(head.weight)
        return cls(base, head, base.dim)

    @classmethod
    def on(cls, base: Encoder, config: Mapping[str, Any], state: Mapping[str, Tensor]) -> Self:
        """Put a saved map on its base."""
        encoder = cls.identity(base)
        encoder.head.load_state_dict(state)
        return encoder

    def forward(self, features: Features) -> Tensor:
        """A batch -> (B, dim)."""
        mapped: Tensor = self.head(self.base(features))
        return mapped

    def batch_vectors(self, ids: Sequence[list[int]]) -> Tensor:
        """Token ids of a batch -> (B, dim)."""
        mapped: Tensor = self.head(self.base.batch_vectors(ids))
        return mapped
