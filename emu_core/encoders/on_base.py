"""What encoders share that are layers on another encoder: its tokens and batches, and how both are written."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor, nn

from emu_core.encoders.base import Encoder, Features, TokenIds

BASE, HEAD = "base", "head.safetensors"


class EncoderOnBase(Encoder):
    """An encoder whose tokens, batches and embedding table are another's.

    Attributes:
        base: the other.
    """

    base: Encoder

    @property
    def bare(self) -> Encoder:
        """What is under these layers, and under any below them."""
        return self.base.bare

    def token_ids(self, texts: Sequence[str]) -> list[TokenIds]:
        """The base's token ids."""
        return self.base.token_ids(texts)

    def collate(self, ids: Sequence[TokenIds]) -> Features:
        """The base's batch."""
        return self.base.collate(ids)

    def batches(self, ids: Sequence[TokenIds], batch_tokens: int | None = None) -> Iterator[list[int]]:
        """The base's batches."""
        return self.base.batches(ids, batch_tokens)

    @property
    def step_tokens(self) -> int | None:
        """The base's."""
        return self.base.step_tokens

    def embeddings(self) -> list[nn.Parameter]:
        """The base's."""
        return self.base.embeddings()

    def layers(self) -> list[list[nn.Parameter]]:
        """The base's; an encoder whose own layers train adds them."""
        return self.base.layers()

    def write(self, folder: Path, state: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Write config.json with the facts, the layers' safetensors, and `base/`."""
        folder.mkdir(parents=True, exist_ok=True)
        self.base.save(folder / BASE)
        save_file({name: tensor.cpu().contiguous() for name, tensor in state.items()}, folder / HEAD)
        config = {"encoder": self.spec, "dim": self.dim, **facts}
        (folder / "config.json").write_text(json.dumps(config) + "\n", "utf-8")
