"""LASER's network (Artetxe and Schwenk 2019): a BiLSTM over piece embeddings, max-pooled; and its published file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from emu_core.errors import EncoderError

MOST_LAYERS = 64  # the published one has 5


@dataclass(frozen=True)
class LaserShape:
    """The sizes that the published file calls `params`; its other entries, on how batches are padded, are not read.

    Attributes:
        num_embeddings: pieces in the table.
        padding_idx: the table's row for padding.
        embed_dim: length of a piece's vector.
        hidden_size: of each direction of each layer.
        num_layers: LSTM layers.
        bidirectional: whether each layer reads both ways, which doubles the length of a sentence's vector.
    """

    num_embeddings: int
    padding_idx: int
    embed_dim: int
    hidden_size: int
    num_layers: int
    bidirectional: bool

    def __post_init__(self) -> None:
        """Check the sizes. Raises ValueError."""
        sizes = (self.num_embeddings, self.embed_dim, self.hidden_size, self.num_layers)
        whole = all(type(size) is int and size > 0 for size in sizes)
        if not whole or self.num_layers > MOST_LAYERS or type(self.bidirectional) is not bool:
            raise ValueError("not the shape of a LASER encoder")
        if type(self.padding_idx) is not int or not 0 <= self.padding_idx < self.num_embeddings:
            raise ValueError("the padding has no row in the table")

    @classmethod
    def of(cls, params: Mapping[str, object]) -> Self:
        """Read `params`. Raises KeyError or ValueError."""
        return cls(**{name: params[name] for name in cls.__dataclass_fields__})  # type: ignore[arg-type]


class LaserNetwork(nn.Module):
    """Piece ids to sentence vectors; its weights have the published file's names.

    Attributes:
        shape: sizes of its parts.
        dim: length of a sentence vector.
    """

    def __init__(self, shape: LaserShape) -> None:
        """Make a network with random weights."""
        super().__init__()
        self.shape = shape
        self.dim = shape.hidden_size * (2 if shape.bidirectional else 1)
        self.embed_tokens = nn.Embedding(shape.num_embeddings, shape.embed_dim, shape.padding_idx)
        self.lstm = nn.LSTM(
            shape.embed_dim, shape.hidden_size, shape.num_layers, bidirectional=shape.bidirectional
        )

    @classmethod
    def of(cls, shape: LaserShape, state: Mapping[str, Tensor]) -> Self:
        """Make a network with these weights. Raises ValueError or RuntimeError where they are not such a network's."""
        if not all(isinstance(weight, Tensor) and weight.is_floating_point() for weight in state.values()):
            raise ValueError("weights that are not numbers")
        with torch.device("meta"):  # no memory, and no time for weights that are replaced at once
            model = cls(shape)
        model.load_state_dict({name: _whole(weight) for name, weight in state.items()}, assign=True)
        return model.requires_grad_()

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Piece ids (B, T), padded at the end, and their numbers (B) on the CPU, at least 1 each -> (B, dim)."""
        pieces = pack_padded_sequence(self.embed_tokens(ids), lengths, batch_first=True, enforce_sorted=False)
        states, _ = self.lstm(pieces)  # packed: padding is never computed, so a batch changes nothing
        padded, _ = pad_packed_sequence(states, batch_first=True, padding_value=float("-inf"))  # (B, T, dim)
        return padded.max(dim=1).values


def read_checkpoint(path: Path) -> tuple[LaserNetwork, dict[str, int]]:
    """Open the published file: `params`, `model` and `dictionary`, without running any code in it.

    Returns:
        The network, and the row of each piece in its table.

    Raises:
        EncoderError: it is damaged or something else.
    """
    try:
        file = torch.load(path, map_location="cpu", weights_only=True)
        model = LaserNetwork.of(LaserShape.of(file["params"]), file["model"])
        return model, checked_dictionary(file["dictionary"], model.shape)
    except Exception as error:  # a stranger's file goes through torch's readers, which raise what they like
        raise EncoderError(
            f"{path} is damaged or not LASER's published encoder; delete it and run: emu encoders download laser"
        ) from error


def checked_dictionary(dictionary: object, shape: LaserShape) -> dict[str, int]:
    """Return the dictionary if it fits a table of this shape. Raises ValueError if it does not."""
    if not isinstance(dictionary, dict) or not all(
        isinstance(piece, str) and type(row) is int and 0 <= row < shape.num_embeddings
        for piece, row in dictionary.items()
    ):
        raise ValueError("not a dictionary of pieces")
    if dictionary.get("<pad>") != shape.padding_idx or not {"</s>", "<unk>"} <= dictionary.keys():
        raise ValueError("a dictionary without its special pieces")
    return dictionary


def _whole(weight: Tensor) -> Tensor:
    """Return a copy of the weight as float32.

    A GPU keeps all of an LSTM's weights in one piece of memory, and a file's may start at any byte, on which the last
    bit of what is computed with them depends; copies don't, and are each on their own.
    """
    if not weight.is_contiguous():
        raise ValueError("weights that are a view of others")  # which could stand for more than memory holds
    return weight.to(torch.float32, copy=True)
