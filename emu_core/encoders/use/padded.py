"""`use` by dense arithmetic on padded batches, which ONNX can hold.

The network itself skips padding and shares what depends on the piece alone, which takes shapes that depend on the data.
Here padding is computed and then set to zero.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from emu_core.encoders.use.network import CHANNELS, NgramBlock, UseNetwork


def padded_vectors(network: UseNetwork, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
    """(B, T) piece ids, (B, T) 1 on tokens and 0 on padding -> (B, 512) unit vectors, those of `network.forward`."""
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
    """(B, T, 256) -> (B, T, 256): a linear layer over windows is a convolution."""
    kernel = layer.weight.unflatten(1, (-1, CHANNELS)).transpose(1, 2)  # (out, channels, order)
    padded = F.pad(x.transpose(1, 2), (left, kernel.shape[-1] - 1 - left))
    return F.conv1d(padded, kernel, layer.bias).transpose(1, 2)
