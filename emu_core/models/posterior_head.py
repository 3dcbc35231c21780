"""The posterior method's head: intent probabilities appended to the embedding, in one vector of length 1."""

import math
from collections.abc import Mapping
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

COSINES = 2**23
"""Held at once (32 MB, and as much again for each step of their arithmetic)."""
LEAST = 1e-6  # of a length: at 0 its root has no gradient
NUMBERS = ("share", "temperature", "softening", "gate_temperature", "gate_at", "gate_slope")
TINY = 1e-30  # a sentence may be too far from all of them for float32


class PosteriorHead(nn.Module):
    """Sentence vectors (B, d) -> (B, d + k) of length 1, for k intents. Nothing in it trains.

    With x the vector without language directions and part of the mean, of length 1, and A_j those of the N training
    sentences:

        f(c) = exp(w_c x + b_c) * sum over j of class c of exp((x A_j - 1) / temperature) / sqrt(n_c)
        p(c) ~ f(c) ^ (1 / softening)
        near = log sum over j of exp((x A_j - 1) / gate_temperature)
        gate = sigmoid((near - gate_at) / gate_slope)
        d    = sqrt(k / (k - 1)) (p - 1 / k), whose length is from 0 (nothing known) to 1 (sure)
        s    = share * gate * |d|
        out  = [sqrt(1 - s) x, sqrt(s) d / |d|]

    The first factor of f is a logistic regression's; the second a kernel density's, which knows where classes bend. A
    sentence unlike the training ones (gate near 0), or of no clear intent (d near 0), keeps its vector as it was,
    so that what has nothing to do with the intents is compared as before.

    Attributes:
        share: the largest s.
        temperature: of the class kernels.
        softening: of the posterior; above 1, two sentences of different intents are not quite opposed.
        gate_temperature: of the kernel that says how near a sentence is to the training ones.
        gate_at: nearness at which the gate is half open.
        gate_slope: how far from there it is open or shut.
    """

    directions: Tensor
    center: Tensor
    anchors: Tensor
    members: Tensor
    weight: Tensor
    bias: Tensor

    def __init__(
        self,
        tensors: Mapping[str, Tensor],
        *,
        share: float,
        temperature: float,
        softening: float,
        gate_temperature: float,
        gate_at: float,
        gate_slope: float,
    ) -> None:
        """Take what was fitted.

        Args:
            tensors: `directions` (n, d), orthonormal; `center` (d,); `anchors` (N, d), the training sentences' x;
                `members` (N, k), 1 / sqrt(n_c) in the column of a sentence's class; `weight` (k, d) and `bias` (k,)
                of the logistic regression.
            share: 0 to 1; see the class, and so the next five.
            temperature: above 0.
            softening: above 0.
            gate_temperature: above 0.
            gate_at: at most log N.
            gate_slope: above 0.

        Raises:
            ValueError: shapes that don't fit each other, or a number outside its range.
        """
        super().__init__()
        n, d = tensors["anchors"].shape
        k = len(tensors["bias"])
        expected = {
            "directions": (len(tensors["directions"]), d),
            "center": (d,),
            "anchors": (n, d),
            "members": (n, k),
            "weight": (k, d),
            "bias": (k,),
        }
        for name, shape in expected.items():
            if tuple(tensors[name].shape) != shape:
                raise ValueError(f"{name} has the shape {tuple(tensors[name].shape)}, not {shape}")
            self.register_buffer(name, tensors[name])
        if not (n >= 1 and k >= 2):
            raise ValueError(f"{n} sentences, {k} classes")
        positive = (temperature, softening, gate_temperature, gate_slope)
        if not (
            0 <= share <= 1 and all(math.isfinite(x) and x > 0 for x in positive) and math.isfinite(gate_at)
        ):
            raise ValueError(f"a share of {share}, {gate_at} and the scales {positive}")
        self.share, self.temperature, self.softening = share, temperature, softening
        self.gate_temperature, self.gate_at, self.gate_slope = gate_temperature, gate_at, gate_slope

    @property
    def dim(self) -> int:
        """Length of the vectors: d + k."""
        return self.weight.shape[0] + self.weight.shape[1]

    def forward(self, vectors: Tensor) -> Tensor:
        """(B, d) -> (B, d + k)."""
        x = neutral(vectors, self.directions, self.center)  # (B, d)
        cosines = x @ self.anchors.T  # (B, N)
        posterior = self._posterior(x, cosines)  # (B, k)
        k = posterior.shape[1]
        known = math.sqrt(k / (k - 1)) * (posterior - 1 / k)
        length = known.norm(dim=1, keepdim=True).clamp_min(LEAST)
        share = self.share * self._gate(cosines) * length  # (B, 1)
        beside = (share / length.square() + TINY).sqrt() * known
        return torch.cat([(1 - share).clamp_min(LEAST).sqrt() * x, beside], dim=1)

    def in_parts(self, vectors: Tensor) -> Tensor:
        """Run `forward` on so many rows at a time that their cosines to many training sentences fit into memory."""
        rows = max(1, COSINES // len(self.anchors))
        return torch.cat([self(part) for part in vectors.split(rows)])

    def _posterior(self, x: Tensor, cosines: Tensor) -> Tensor:
        density = ((cosines - 1) / self.temperature).exp() @ self.members + TINY  # (B, k)
        scores = F.linear(x, self.weight, self.bias) + density.log()
        return (scores / self.softening).softmax(dim=1)

    def _gate(self, cosines: Tensor) -> Tensor:
        near = nearness(cosines, self.gate_temperature)  # (B, 1)
        return ((near - self.gate_at) / self.gate_slope).sigmoid()

    def numbers(self) -> dict[str, float]:
        """Return the settings beside the tensors, as `from_state` takes them."""
        return {name: getattr(self, name) for name in NUMBERS}

    @classmethod
    def from_state(cls, tensors: Mapping[str, Tensor], numbers: Mapping[str, float]) -> Self:
        """Make a head of `state_dict()` and `numbers()`. Raises KeyError, TypeError or ValueError where damaged."""
        return cls(tensors, **{name: float(numbers[name]) for name in NUMBERS})


def nearness(cosines: Tensor, temperature: float) -> Tensor:
    """Compute how near sentences are to others, by the cosines to them (B, N): the log of a kernel's sum, (B, 1)."""
    return ((cosines - 1) / temperature).logsumexp(dim=1, keepdim=True)


def neutral(vectors: Tensor, directions: Tensor, center: Tensor) -> Tensor:
    """Take directions (n, d) and a center (d,) out of the directions of vectors (B, d): unit vectors (B, d)."""
    x = F.normalize(vectors.float(), dim=1)
    if len(directions):
        x = x - (x @ directions.T) @ directions
    return F.normalize(x - center, dim=1)
