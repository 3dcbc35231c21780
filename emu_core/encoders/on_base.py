"""Encoders that are layers on another encoder."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from torch import Tensor, nn

from emu_core.encoders.base import Encoder, Features, TokenIds
from emu_core.encoders.registry import BASE, open_encoder
from emu_core.encoders.saved import opening, read_config, read_weights, write_encoder

HEAD = "head.safetensors"


class EncoderOnBase(Encoder):
    """An encoder with the tokens, batches and embedding table of another.

    A subclass defines `forward` and `on`, and `facts` if restoring its layers takes more than their weights.
    """

    base: Encoder
    head: nn.Module  # the layers on the base

    def __init__(self, base: Encoder, head: nn.Module, dim: int) -> None:
        super().__init__()
        self.base, self.head = base, head.to(base.device)
        self.dim, self.max_tokens, self.pad_id = dim, base.max_tokens, base.pad_id
        self.languages = base.languages
        self.eval()

    @classmethod
    @abstractmethod
    def on(cls, base: Encoder, config: Mapping[str, Any], state: Mapping[str, Tensor]) -> Self:
        """Put saved layers on their base. Any error means that they are damaged.

        Args:
            base: the encoder under them.
            config: `dim`, and what `facts` returned.
            state: the weights of `head`.
        """

    def facts(self) -> dict[str, object]:
        """Return what `on` needs besides the weights, in JSON's types."""
        return {}

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open what `save` wrote. Raises EncoderError if it is incomplete."""
        base = open_encoder(folder / BASE)
        with opening(folder, cls.spec):
            return cls.on(base, read_config(folder), read_weights(folder, HEAD))

    def save(self, folder: Path) -> None:
        """Write config.json, the layers' safetensors, and `base/`."""
        self.base.save(folder / BASE)
        config = {"encoder": self.spec, "dim": self.dim, **self.facts()}
        write_encoder(folder, config, self.head.state_dict(), HEAD)

    @property
    def bare(self) -> Encoder:
        """The encoder under these layers, and under any below them."""
        return self.base.bare

    def token_ids(self, texts: Sequence[str]) -> list[TokenIds]:
        """Return the base's token ids."""
        return self.base.token_ids(texts)

    def limit_tokens(self, most: int) -> None:
        """Truncate texts to `most` of the base's tokens from now on."""
        self.base.limit_tokens(most)
        self.max_tokens = most

    def collate(self, ids: Sequence[TokenIds]) -> Features:
        """Return the base's batch."""
        return self.base.collate(ids)

    def batches(self, ids: Sequence[TokenIds], batch_tokens: int | None = None) -> Iterator[list[int]]:
        """Yield the base's batches."""
        return self.base.batches(ids, batch_tokens)

    @property
    def step_tokens(self) -> int | None:
        """The base's tokens in a training step."""
        return self.base.step_tokens

    def embeddings(self) -> list[nn.Parameter]:
        """Return the base's embedding table."""
        return self.base.embeddings()

    def layers(self) -> list[list[nn.Parameter]]:
        """Return the base's layers, to which a subclass adds its own if they are trained."""
        return self.base.layers()
