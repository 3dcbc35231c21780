"""An encoder so small that every claim on a training step can be checked by hand, and sentences for it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from emu_core.encoders.base import Encoder, Features, TokenIds, pad
from emu_core.methods.emu.batches import Labelled

CLASSES, DIM, COUNT = 3, 6, 30
FIRST_TOKEN = {
    "en": 0,
    "de": 100,
    "fr": 200,
    "ja": 300,
}  # sentence i of a language is the tokens [first + i] * 2


class TinyEncoder(Encoder):
    """Mean of token embeddings through one layer; remembers what it was asked to encode."""

    spec = "tiny"
    dim = DIM
    max_tokens = 4
    languages = tuple(FIRST_TOKEN)

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(400, DIM)
        self.layer = nn.Linear(DIM, DIM)
        self.collated: list[list[TokenIds]] = []
        self.encoded_at_once: list[list[TokenIds]] = []

    def token_ids(self, texts: Sequence[str]) -> list[TokenIds]:
        return [[int(word) for word in text.split()] for text in texts]

    def collate(self, ids: Sequence[TokenIds]) -> Features:
        self.collated.append(list(ids))
        tokens, mask = pad(ids, pad_id=0)
        return {"input_ids": tokens, "attention_mask": mask}

    def forward(self, features: Features) -> Tensor:
        mask = features["attention_mask"].unsqueeze(-1)  # (B, T, 1)
        mean = (self.embedding(features["input_ids"]) * mask).sum(dim=1) / mask.sum(dim=1)
        return torch.tanh(self.layer(mean))

    def vectors(self, ids: Sequence[TokenIds], **options: Any) -> Tensor:
        self.encoded_at_once.append(list(ids))
        return super().vectors(ids, **options)

    def embeddings(self) -> list[nn.Parameter]:
        return list(self.embedding.parameters())

    def layers(self) -> list[list[nn.Parameter]]:
        return [list(self.layer.parameters())]

    def save(self, folder: Path) -> None:
        raise NotImplementedError

    @classmethod
    def open(cls, folder: Path) -> "TinyEncoder":
        raise NotImplementedError


def sentences(language: str, count: int = COUNT) -> Labelled:
    ids = [[FIRST_TOKEN[language] + i] * 2 for i in range(count)]
    return Labelled(ids, [i % CLASSES for i in range(count)], [f"id-{i}" for i in range(count)])
