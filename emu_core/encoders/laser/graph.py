"""`laser` as a plain graph: a BiLSTM on padded batches, which ONNX can hold."""

import torch
from torch import Tensor, nn

from emu_core.encoders.laser.network import LaserNetwork


class LaserGraph(nn.Module):
    """The same vectors as `LaserNetwork.forward`, over the same weights.

    The network packs its sentences, which takes shapes that depend on the data. Here each direction of each layer is
    an LSTM of its own on the padded batch: forwards, padding comes after all that is read, and backwards each sentence
    is reversed in its place first.
    """

    def __init__(self, network: LaserNetwork) -> None:
        """Take the weights of a network; they are not copied."""
        super().__init__()
        lstm = network.lstm
        self.embed = network.embed_tokens
        suffixes = ("", "_reverse") if lstm.bidirectional else ("",)
        self.layers = nn.ModuleList(
            nn.ModuleList(_direction(lstm, f"_l{layer}{suffix}") for suffix in suffixes)
            for layer in range(lstm.num_layers)
        )

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T) piece ids, (B, T) 1 on tokens and 0 on padding -> (B, dim)."""
        real = attention_mask > 0
        place = torch.arange(input_ids.shape[1], device=input_ids.device).expand_as(input_ids)
        reverse = torch.where(real, real.sum(dim=1, keepdim=True) - 1 - place, place).unsqueeze(-1)
        states = self.embed(input_ids)  # (B, T, embedding)
        for layer in self.layers:
            forwards, *backwards = layer.children()
            outputs = [forwards(states)[0]]
            for direction in backwards:
                outputs.append(_reorder(direction(_reorder(states, reverse))[0], reverse))
            states = torch.cat(outputs, dim=-1)  # (B, T, dim)
        return states.masked_fill(~real.unsqueeze(-1), float("-inf")).amax(dim=1)


def _direction(lstm: nn.LSTM, suffix: str) -> nn.LSTM:
    """Return one direction of one layer of an LSTM, over its weights."""
    taken = {
        name: getattr(lstm, f"{name}{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    }
    with torch.device("meta"):
        one = nn.LSTM(taken["weight_ih"].shape[1], lstm.hidden_size, batch_first=True)
    for name, weight in taken.items():
        setattr(one, f"{name}_l0", weight)
    return one


def _reorder(x: Tensor, order: Tensor) -> Tensor:
    """(B, T, C) -> the same rows in the order (B, T, 1)."""
    return x.gather(1, order.expand(-1, -1, x.shape[2]))
