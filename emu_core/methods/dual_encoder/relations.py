"""The dual encoder's head for inference pairs, which predicts the relation of two sentences from their vectors."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import nn

from emu_core.encoders.saved import opening
from emu_core.errors import EncoderError, Fix
from emu_core.losses.inference import relation
from emu_core.methods.dual_encoder.heads import nli_layers

RELATIONS_FILE = "nli.safetensors"
_GAIN = "gain"


@dataclass(frozen=True, eq=False)
class Relations:
    """A classifier of entailment, neutral and contradiction, stored with an encoder without being part of it.

    All the encoder's languages share it: trained on English pairs, it classifies those of any of them.

    Attributes:
        layers: from (u, v, |u - v|, u * v) to three logits.
        gain: the factor of vectors before these layers.
    """

    layers: nn.Sequential
    gain: float

    @torch.no_grad()
    def predict(self, premises: NDArray[np.floating], hypotheses: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the most likely relation of N pairs of vectors (N, dim): (N,), places in `nli.LABELS`."""
        first, second = (
            self.gain * torch.from_numpy(np.asarray(side, np.float32)) for side in (premises, hypotheses)
        )
        return self.layers(relation(first, second)).argmax(dim=-1).numpy()

    def save(self, folder: Path) -> None:
        """Write `nli.safetensors` into the encoder's folder."""
        weights = {
            name: weight.detach().cpu().contiguous() for name, weight in self.layers.named_parameters()
        }
        save_file({**weights, _GAIN: torch.tensor([self.gain])}, folder / RELATIONS_FILE)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open what `save` wrote into an encoder's folder.

        Raises:
            EncoderError: the encoder was not trained on inference pairs, or the file is incomplete.
        """
        if not (folder / RELATIONS_FILE).is_file():
            raise EncoderError(
                f"{folder} has no {RELATIONS_FILE}: it was not trained on inference pairs; train it with ",
                Fix("nli"),
            )
        with opening(folder, "of inference pairs"):
            state = load_file(folder / RELATIONS_FILE)
            gain = state.pop(_GAIN).item()
            layers = nli_layers(state["0.weight"].shape[1] // 4, len(state["0.weight"]))
            layers.load_state_dict(state)
            if not math.isfinite(gain) or any(tensor.dtype != torch.float32 for tensor in state.values()):
                raise ValueError("weights that are not those of a head")
            return cls(layers.eval(), gain)
