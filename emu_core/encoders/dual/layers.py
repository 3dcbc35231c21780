"""The dual encoder's layers: of a word's embedding, and of the transformer over words."""

import math
from collections.abc import Callable
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class TransformerLayer(nn.Module):
    """Self-attention and a feed-forward network, each with a residual (Vaswani et al. 2017, section 3.1).

    Only real words are computed, one after the other; they are set out in rows for the attention alone.
    """

    def __init__(self, dim: int, heads: int, filter_dim: int, dropout: float, pre_norm: bool) -> None:
        """`pre_norm` puts the layer norms before the sub-layers, whose output then begins at zero."""
        super().__init__()
        self.heads, self.pre_norm, self.dropout = heads, pre_norm, nn.Dropout(dropout)
        self.projection = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.wide, self.narrow = nn.Linear(dim, filter_dim), nn.Linear(filter_dim, dim)
        self.attention_norm, self.filter_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        if pre_norm:
            for last in (self.out, self.narrow):
                nn.init.zeros_(last.weight)
                nn.init.zeros_(last.bias)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Words (R, dim) of sentences, and the mask (B, T), True on words -> (R, dim)."""
        # Padding takes the row of some word: as a key it is masked, as a query it is not read. By row numbers, for
        # a mask's own gradient takes longer than the attention.
        row = (mask.flatten().cumsum(dim=0) - 1).clamp_min(0).view_as(mask)
        real = mask.flatten().nonzero().squeeze(1)

        def attend(x: Tensor) -> Tensor:
            found = self._attention(F.embedding(row, self.projection(x)), mask)
            return self.out(found.flatten(0, 1).index_select(0, real))

        return self._residuals(x, attend)

    def padded(self, x: Tensor, mask: Tensor) -> Tensor:
        """As `forward`, on padded batches (B, T, dim) -> (B, T, dim), by operations that ONNX can hold."""
        return self._residuals(x, lambda x: self.out(self._attention(self.projection(x), mask)))

    def _residuals(self, x: Tensor, attend: Callable[[Tensor], Tensor]) -> Tensor:
        if self.pre_norm:
            x = x + self.dropout(attend(self.attention_norm(x)))
            return x + self.dropout(self._filter(self.filter_norm(x)))
        x = self.attention_norm(x + self.dropout(attend(x)))
        return self.filter_norm(x + self.dropout(self._filter(x)))

    def _attention(self, projected: Tensor, mask: Tensor) -> Tensor:
        """Queries, keys and values (B, T, 3 dim), and the mask (B, T) -> (B, T, dim)."""
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in projected.chunk(3, dim=-1)
        )  # each (B, heads, T, dim / heads)
        found = F.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
        return found.transpose(1, 2).flatten(2)

    def _filter(self, x: Tensor) -> Tensor:
        return self.narrow(self.dropout(F.relu(self.wide(x))))


@lru_cache(maxsize=4)
def _sinusoids(length: int, dim: int) -> Tensor:
    angle = torch.arange(length).unsqueeze(1) * torch.exp(torch.arange(0, dim, 2) * (-math.log(10_000) / dim))
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


def positions(length: int, dim: int) -> Tensor:
    """Return position encodings (length, dim) by sine and cosine in turn (Vaswani et al. 2017, section 3.5)."""
    return _sinusoids(length, dim)
