"""The dual encoder's head for inference pairs, which reads the relation of two sentences off their vectors."""

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
from emu_core.errors import EncoderError
from emu_core.losses.inference import relation
from emu_core.models.dual_heads import nli_layers

FILE = "nli.safetensors"
_GAIN = "gain"


@dataclass(frozen=True, eq=False)
class Relations:
    """The head that tells entailment, neutral and contradiction apart: kept beside an encoder, of which it is no part.

    The encoder's languages share it, so that one learnt from English pairs judges those of any of them.

    Attributes:
        layers: from (u, v, |u - v|, u * v) to three logits.
        gain: what vectors are multiplied by before them.
    """

    layers: nn.Sequential
    gain: float

    @torch.no_grad()
    def predict(self, premises: NDArray[np.floating], hypotheses: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the likeliest relation of each pair: (N,), places in `emu_core.data.texts.nli.LABELS`.

        Args:
            premises: (N, dim), the encoder's vectors.
            hypotheses: (N, dim).
        """
        first, second = (
            self.gain * torch.from_numpy(np.asarray(side, np.float32)) for side in (premises, hypotheses)
        )
        found: NDArray[np.int64] = self.layers(relation(first, second)).argmax(dim=-1).numpy()
        return found

    def save(self, folder: Path) -> None:
        """Write `nli.safetensors` into the encoder's folder, whose checksums then cover it."""
        weights = {
            name: weight.detach().cpu().contiguous() for name, weight in self.layers.named_parameters()
        }
        save_file({**weights, _GAIN: torch.tensor([self.gain])}, folder / FILE)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open what `save` wrote into the folder of a run's encoder.

        Raises:
            EncoderError: no inference pairs were learnt from, or the file is not whole.
        """
        if not (folder / FILE).is_file():
            raise EncoderError(
                f"{folder} has no {FILE}: it learnt from no inference pairs; train it with --nli"
            )
        with opening(folder, "of inference pairs"):
            state = load_file(folder / FILE)
            gain = state.pop(_GAIN).item()
            layers = nli_layers(state["0.weight"].shape[1] // 4, len(state["0.weight"]))
            layers.load_state_dict(state)
            if not math.isfinite(gain) or any(tensor.dtype != torch.float32 for tensor in state.values()):
                raise ValueError("weights that are not those of a head")
            return cls(layers.eval(), gain)
