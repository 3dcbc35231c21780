"""The forward pass of `use` on a CPU without gradients: what sentences have in common is computed once.

A convolution over n-grams is a sum of products, one for each place in the window. The first layer's products depend
on a piece and its place alone, the second layer's on a first layer's window and its place. So each is computed once
for every distinct piece or window, and tokens gather and add them. Exact but for the order of the sums.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from emu_core.encoders.base import TokenIds
from emu_core.encoders.use.network import CHANNELS, EMBEDDING, GAP, ORDERS, UseNetwork

CHUNK = 6144  # tokens whose n-grams are held at once; more make arrays that the system maps anew each time
TILES = 16
Numbers = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


class Kernel(NamedTuple):
    """A layer over windows, its places one below the other: weight (order * 256, 256), bias (order * 256)."""

    weight: Tensor
    bias: Tensor


class Items(NamedTuple):
    """The items of windows: vectors (N, 256), and each one's product in each place (N * order, 256).

    Zeros follow the items, for the places of a window that lie outside its sentence.
    """

    vectors: Tensor
    products: Tensor


class Pieces(NamedTuple):
    """All that depends on a piece alone: its vector (U, 512), the sum and the squares of that, its layer's items."""

    vectors: Tensor
    total: Tensor
    squares: Tensor
    items: list[Items]


def sentence_vectors(network: UseNetwork, ids: Sequence[TokenIds]) -> Tensor:
    """Return the vectors (B, 512) that `network.forward` gives, in float32."""
    lengths = np.fromiter(map(len, ids), np.int64, len(ids))
    flat = np.fromiter(chain.from_iterable(ids), np.int64, lengths.sum())
    distinct, piece_of = np.unique(flat, return_inverse=True)  # (U,), (tokens,)
    pieces = _pieces(network, distinct, [_kernel(block.first, block.left) for block in network.blocks])
    second = [_kernel(block.second, block.left) for block in network.blocks]
    sums = []
    for sentences, tokens in _chunks(lengths):
        sums.append(_normalised_sums(network, pieces, second, piece_of[tokens], lengths[sentences]))
    more = -len(ids) % TILES
    length = F.pad(torch.from_numpy(lengths).float().unsqueeze(1), (0, 0, 0, more), value=1)
    return network.sentence_vectors(F.pad(torch.cat(sums), (0, 0, 0, more)), length, _product)[: len(ids)]


def _chunks(lengths: Numbers) -> Iterator[tuple[slice, slice]]:
    """Yield neighbouring sentences of at most CHUNK tokens together, or one longer sentence; and their tokens."""
    first, start, end = 0, 0, 0
    for row, length in enumerate(lengths.tolist()):
        if row > first and end + length - start > CHUNK:
            yield slice(first, row), slice(start, end)
            first, start = row, end
        end += length
    yield slice(first, len(lengths)), slice(start, end)


def _pieces(network: UseNetwork, distinct: Numbers, first: Sequence[Kernel]) -> Pieces:
    vectors = network.embed(torch.from_numpy(_filled(distinct, 0)))
    projected = network.projection_norm(_product(vectors, network.projection.weight, network.projection.bias))
    projected[len(distinct) :] = 0
    parts = [part.contiguous() for part in projected.split(CHANNELS, dim=-1)]
    return Pieces(
        vectors,
        vectors.sum(dim=1),
        vectors.square().sum(dim=1),
        [_items(part, kernel) for part, kernel in zip(parts, first, strict=True)],
    )


def _normalised_sums(
    network: UseNetwork, pieces: Pieces, second: Sequence[Kernel], piece_of: Numbers, lengths: Numbers
) -> Tensor:
    """Return the sum of each sentence's normalised tokens (B, 1280); `piece_of` numbers each token's piece."""
    ends = lengths.cumsum()
    starts = ends - lengths
    rows, outside = len(piece_of), len(pieces.vectors) - 1
    # The tokens that stand from GAP before to GAP after each; one past the last where that is another sentence.
    near = np.arange(rows)[:, None] + np.arange(-GAP, GAP + 1)  # (rows, 5)
    inside = (near >= starts.repeat(lengths)[:, None]) & (near < ends.repeat(lengths)[:, None])
    near = np.where(inside, near, rows)
    near_pieces = np.append(piece_of, outside)[near]

    own = torch.from_numpy(piece_of)
    total, squares = pieces.total[own], pieces.squares[own]
    grams = []
    for (order, left), items, kernel in zip(ORDERS, pieces.items, second, strict=True):
        seen = slice(GAP - left, GAP - left + order)
        windows, window_of = _distinct(near_pieces[:, seen], outside + 1)  # each window's first row, (rows,)
        hidden = _convolve(
            items, _filled(near_pieces[windows][:, seen], outside), _filled(piece_of[windows], outside)
        )
        hidden[len(windows) :] = 0
        near_windows = np.append(window_of, len(windows))[near[:, seen]]
        gram = _convolve(_items(hidden, kernel), near_windows, window_of)  # (rows, 256)
        total += gram.sum(dim=1)
        squares += torch.linalg.vector_norm(gram, dim=1).square_()
        grams.append(gram)

    width = EMBEDDING + len(ORDERS) * CHANNELS
    mean = total / width
    scale = (squares / width - mean.square() + network.norm.eps).rsqrt()

    def summed(table: Tensor, row_of: Tensor) -> Tensor:
        begins = torch.from_numpy(starts)
        return F.embedding_bag(row_of, table, begins, mode="sum", per_sample_weights=scale)

    every = torch.arange(rows)
    sums = torch.cat([summed(pieces.vectors, own), *(summed(gram, every) for gram in grams)], dim=1)
    sums -= summed(mean.unsqueeze(1), every)
    length = torch.from_numpy(lengths).float().unsqueeze(1)
    return sums.mul_(network.norm.weight).add_(length * network.norm.bias)


def _kernel(layer: nn.Linear, left: int) -> Kernel:
    order = layer.in_features // CHANNELS
    weight = layer.weight.view(CHANNELS, order, CHANNELS).transpose(0, 1).reshape(-1, CHANNELS)
    bias = weight.new_zeros(order, CHANNELS)
    bias[left] = layer.bias  # a window holds its own token always, so the bias goes with that
    return Kernel(weight, bias.flatten())


def _items(vectors: Tensor, kernel: Kernel) -> Items:
    return Items(vectors, _product(vectors, kernel.weight, kernel.bias).view(-1, CHANNELS))


def _convolve(items: Items, windows: Numbers, own: Numbers) -> Tensor:
    """Windows (rows, order) and the item in each one's own place (rows,), by number -> (rows, 256)."""
    order = windows.shape[1]
    places = torch.from_numpy(windows * order + np.arange(order))
    out = F.embedding_bag(places, items.products, mode="sum").relu_()
    return out.add_(items.vectors.index_select(0, torch.from_numpy(own)))


def _distinct(windows: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Return the first row of each distinct window, and which of them each row is; items are below `count`."""
    key = windows[:, 0]
    for place in range(1, windows.shape[1]):
        key = key * count + windows[:, place]
        if place % 2 == 0 or place == windows.shape[1] - 1:  # numbered anew before 64 bits overflow
            _, first, key = np.unique(key, return_index=True, return_inverse=True)
    return first, key


def _filled(numbers: Numbers, value: int) -> Numbers:
    """Append one row or more of `value` after the last, to a whole number of tiles."""
    more = TILES - len(numbers) % TILES
    return np.concatenate([numbers, np.full((more, *numbers.shape[1:]), value, dtype=numbers.dtype)])


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Apply a linear layer to rows in whole tiles.

    As a convolution it runs in oneDNN, which on some processors is twice as fast as the BLAS that linear layers run
    in. PyTorch takes oneDNN for kernels of size 1 from 16 images on.
    """
    tiles = x.view(TILES, len(x) // TILES, x.shape[1]).permute(0, 2, 1).unsqueeze(2)  # (16, in, 1, rows / 16)
    out = F.conv2d(tiles, weight.reshape(*weight.shape, 1, 1), bias)
    return out.permute(0, 3, 2, 1).reshape(len(x), len(weight))
