"""An encoder of ours as a module of sentence-transformers, for exported folders."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sentence_transformers.base.modules.input_module import InputModule
from torch import Tensor

from emu_core.encoders.base import Encoder
from emu_core.encoders.registry import open_encoder


class EmuModule(InputModule):
    """Tokenises and encodes sentences, and passes on `sentence_embedding` (B, dim)."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    @property
    def max_seq_length(self) -> int:
        """Tokens that sentences are truncated to."""
        return self.encoder.max_tokens

    def preprocess(
        self, inputs: Sequence[Any], prompt: str | None = None, **kwargs: Any
    ) -> dict[str, Tensor]:
        """Return the features of a batch of sentences."""
        return self.encoder.tokenize([f"{prompt or ''}{text}" for text in inputs])

    def forward(self, features: dict[str, Tensor], **kwargs: Any) -> dict[str, Tensor]:
        """Add the sentence vectors."""
        features["sentence_embedding"] = self.encoder(features)
        return features

    def get_embedding_dimension(self) -> int:
        """Return the length of a sentence vector."""
        return self.encoder.dim

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Write the encoder's own files."""
        self.encoder.save(Path(output_path))

    @classmethod
    def load(  # type: ignore[override]
        cls, model_name_or_path: str, subfolder: str = "", **kwargs: Any
    ) -> "EmuModule":
        """Open what `save` wrote to a local folder."""
        return cls(open_encoder(Path(model_name_or_path) / subfolder))
