"""Emu's language discriminator D_t: does a sentence vector come from language t?"""

import torch
from torch import nn


class LanguageDiscriminator(nn.Sequential):
    """Two fully connected layers with dropout and one output (Emu, "Hyper-parameters": 900 wide, dropout 0.2).

    Maps (B, dim) to scores (B,): logits under cross-entropy, unbounded scores under Wasserstein.
    """

    def __init__(self, dim: int, hidden: int = 900, dropout: float = 0.2) -> None:
        """`dim` is the encoder's output length."""
        super().__init__(
            nn.Linear(dim, hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, 1),
            nn.Flatten(0),
        )

    @torch.no_grad()
    def clip_weights(self, limit: float) -> None:
        """Clip every parameter to [-limit, limit] (Emu, algorithm 1, line 8)."""
        for parameter in self.parameters():
            parameter.clamp_(-limit, limit)
