"""LASER on padded batches, which ONNX can hold.

The network itself packs its sentences, which takes shapes that depend on the data. Here each direction of each layer is
an LSTM of its own on the padded batch: forwards, padding comes after all that is read, and backwards each sentence is
reversed in its place first.
"""

import torch
from torch import Tensor, nn

from emu_core.encoders.laser.network import LaserNetwork


def padded_vectors(network: LaserNetwork, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
    """(B, T) piece ids, (B, T) 1 on tokens and 0 on padding -> (B, dim), the vectors of `network.forward`."""
    lstm, real = network.lstm, attention_mask > 0
    place = torch.arange(input_ids.shape[1], device=input_ids.device).expand_as(input_ids)
    reverse = torch.where(real, real.sum(dim=1, keepdim=True) - 1 - place, place).unsqueeze(-1)
    states = network.embed_tokens(input_ids)  # (B, T, embedding)
    for layer in range(lstm.num_layers):
        outputs = [_lstm(lstm, f"_l{layer}", states)]
        if lstm.bidirectional:
            backwards = _lstm(lstm, f"_l{layer}_reverse", _reorder(states, reverse))
            outputs.append(_reorder(backwards, reverse))
        states = torch.cat(outputs, dim=-1)  # (B, T, dim)
    return states.masked_fill(~real.unsqueeze(-1), float("-inf")).amax(dim=1)


def _lstm(lstm: nn.LSTM, suffix: str, x: Tensor) -> Tensor:
    """Run one direction of one layer of an LSTM: (B, T, in) -> (B, T, hidden)."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    weights = [getattr(lstm, f"{name}{suffix}") for name in names]
    start = x.new_zeros(1, len(x), lstm.hidden_size)
    return torch.lstm(x, (start, start), weights, True, 1, 0.0, False, False, True)[0]


def _reorder(x: Tensor, order: Tensor) -> Tensor:
    """(B, T, C) -> the same rows in the order (B, T, 1)."""
    return x.gather(1, order.expand(-1, -1, x.shape[2]))
