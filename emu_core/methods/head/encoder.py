"""An encoder with the intent head on it: the result of the head method."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

from torch import Tensor

from emu_core.encoders.base import Encoder, Features, TokenIds
from emu_core.encoders.on_base import EncoderOnBase
from emu_core.encoders.onnx_parts import OnnxParts
from emu_core.methods.head.head import IntentHead


class HeadEncoder(EncoderOnBase):
    """A base encoder and a `IntentHead` over its vectors."""

    spec: ClassVar[str] = "head"

    head: IntentHead

    def __init__(self, base: Encoder, head: IntentHead) -> None:
        super().__init__(base, head, head.dim)

    @classmethod
    def on(cls, base: Encoder, config: Mapping[str, Any], state: Mapping[str, Tensor]) -> Self:
        """Put a saved head on its base."""
        head = IntentHead(state, **config["head"])
        if head.weight.shape[1] != base.dim:
            raise ValueError("a head for vectors of another length")
        return cls(base, head)

    @property
    def without_head(self) -> Encoder:
        """The base encoder, whose vectors know no labels."""
        return self.base.without_head

    def facts(self) -> dict[str, object]:
        """Return the head's numbers."""
        return {"head": self.head.numbers()}

    def forward(self, features: Features) -> Tensor:
        """Return unit vectors (B, dim) of a batch."""
        return self.head(self.base(features))

    def batch_vectors(self, ids: Sequence[TokenIds]) -> Tensor:
        """Return the vectors (B, dim) of one batch, without gradient."""
        return self.head.in_parts(self.base.batch_vectors(ids))

    def onnx_parts(self, folder: Path) -> OnnxParts:
        """Return the base's parts, with the head over the vectors of the graph."""
        parts = self.base.onnx_parts(folder)
        return replace(parts, graph=lambda ids, mask: self.head(parts.graph(ids, mask)))
