"""What moves the dual encoder's weights: SGD, or Adam that touches only the table rows of a step."""

from collections.abc import Mapping
from itertools import chain

import torch
from torch import Tensor, nn

from emu_core.config.dual_encoder import DualEncoderConfig, Optimizer
from emu_core.encoders.dual.encoder import DualEncoder
from emu_core.runs.checkpoint import Tensors

_BETAS = (0.9, 0.98)


class DualOptimizer:
    """Updates of the tables are `config.embedding_multiplier` times as large as those of other weights.

    Under SGD that is the paper's factor on their gradients. Tables have sparse gradients, so that a step costs what it
    reads and not what there is.
    """

    def __init__(self, encoder: DualEncoder, heads: nn.Module, config: DualEncoderConfig) -> None:
        """Take over both modules' weights."""
        tables = encoder.embeddings()
        ids = {id(table) for table in tables}
        others = [
            weight for weight in chain(encoder.parameters(), heads.parameters()) if id(weight) not in ids
        ]
        rate = config.learning_rate
        table_rate = rate * config.embedding_multiplier
        self.parts: dict[str, torch.optim.Optimizer]
        if config.optimizer is Optimizer.SGD:
            self.parts = {"tables": torch.optim.SGD(tables, lr=table_rate)}
            if others:
                self.parts["others"] = torch.optim.SGD(others, lr=rate, weight_decay=config.weight_decay)
        else:
            self.parts = {"tables": torch.optim.SparseAdam(tables, lr=table_rate, betas=_BETAS)}
            if others:
                self.parts["others"] = torch.optim.AdamW(
                    others, lr=rate, betas=_BETAS, weight_decay=config.weight_decay
                )
        self._rates = {"tables": table_rate, "others": rate}

    def step(self, loss: Tensor, factor: float) -> None:
        """One update by the gradients of a loss, at `factor` times the learning rate."""
        for name, part in self.parts.items():
            part.zero_grad(set_to_none=True)
            for group in part.param_groups:
                group["lr"] = factor * self._rates[name]
        loss.backward()
        for part in self.parts.values():
            part.step()

    def state(self) -> Tensors:
        """What it remembers, by name."""
        return {
            f"{name}/{row}/{key}": torch.as_tensor(value)
            for name, part in self.parts.items()
            for row, values in part.state_dict()["state"].items()
            for key, value in values.items()
            if value is not None
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what `state` gave."""
        rows: dict[str, dict[int, dict[str, Tensor | int]]] = {name: {} for name in self.parts}
        for place, value in tensors.items():
            name, row, key = place.split("/")
            # Adam of the tables counts its steps by a number, that of the others by a tensor.
            plain = name == "tables" and key == "step"
            rows[name].setdefault(int(row), {})[key] = int(value) if plain else value
        for name, part in self.parts.items():
            part.load_state_dict(part.state_dict() | {"state": rows[name]})


def rate_factor(step: int, steps: int, config: DualEncoderConfig) -> float:
    """Part of the learning rate at a step (from 0) of so many: up during warm-up, down to the end."""
    rising = config.warmup * steps
    if step < rising:
        return (step + 1) / (rising + 1)
    return (steps - step) / (steps - rising) if config.decay else 1.0
