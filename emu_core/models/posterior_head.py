"""A posterior over intents beside a sentence vector, in one vector of length 1: what the posterior method adds."""

from collections.abc import Mapping
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

COSINES = 2**23
"""Held at once (32 MB, and as much again for each step of their arithmetic)."""
TINY = 1e-30  # a sentence may be too far from all of them for float32


class PosteriorHead(nn.Module):
    """Sentence vectors (B, d) -> (B, d + k) of length 1, for k intents. Nothing in it trains.

    With x the vector without language directions and part of the mean, of length 1, and A_j those of the N training
    sentences:

        p(c) ~ exp(w_c x + b_c) * sum over j of class c of exp((x A_j - 1) / temperature) / sqrt(n_c)
        gate = sigmoid((mean of the n largest x A_j - gate_at) / gate_slope)
        s    = share * gate * (max p - 1 / k) / (1 - 1 / k)
        out  = [sqrt(1 - s) x, sqrt(s) p / |p|]

    The first factor is a logistic regression's; the second a kernel density's, which knows where classes bend. A
    sentence unlike the training ones (gate near 0), or of no clear intent, keeps its vector as it was, so that what
    has nothing to do with the intents is compared as before.

    Attributes:
        share: the largest s.
        temperature: of the kernel.
        neighbours: n.
        gate_at: mean cosine at which the gate is half open.
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
        neighbours: int,
        gate_at: float,
        gate_slope: float,
    ) -> None:
        """Take what was fitted.

        Args:
            tensors: `directions` (n, d), orthonormal; `center` (d,); `anchors` (N, d), the training sentences' x;
                `members` (N, k), 1 / sqrt(n_c) in the column of a sentence's class; `weight` (k, d) and `bias` (k,)
                of the logistic regression.
            share: see the class, and so the next four.
            temperature: above 0.
            neighbours: at most N.
            gate_at: a cosine.
            gate_slope: above 0.

        Raises:
            ValueError: shapes that don't fit each other.
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
        if not (1 <= neighbours <= n and k >= 2):
            raise ValueError(f"{neighbours} neighbours of {n} sentences, {k} classes")
        self.share, self.temperature, self.neighbours = share, temperature, neighbours
        self.gate_at, self.gate_slope = gate_at, gate_slope

    @property
    def dim(self) -> int:
        """Length of what it gives: d + k."""
        return self.weight.shape[0] + self.weight.shape[1]

    def forward(self, vectors: Tensor) -> Tensor:
        """(B, d) -> (B, d + k)."""
        x = neutral(vectors, self.directions, self.center)  # (B, d)
        cosines = x @ self.anchors.T  # (B, N)
        posterior = self._posterior(x, cosines)
        k = posterior.shape[1]
        sure = (posterior.max(dim=1, keepdim=True).values - 1 / k) / (1 - 1 / k)
        share = self.share * self._gate(cosines) * sure.clamp(0, 1)  # (B, 1)
        return torch.cat([(1 - share).sqrt() * x, share.sqrt() * F.normalize(posterior, dim=1)], dim=1)

    def in_parts(self, vectors: Tensor) -> Tensor:
        """`forward`, on so many rows at a time that their cosines to many training sentences fit into memory."""
        rows = max(1, COSINES // len(self.anchors))
        return torch.cat([self(part) for part in vectors.split(rows)])

    def _posterior(self, x: Tensor, cosines: Tensor) -> Tensor:
        density = ((cosines - 1) / self.temperature).exp() @ self.members + TINY  # (B, k)
        return (F.linear(x, self.weight, self.bias) + density.log()).softmax(dim=1)

    def _gate(self, cosines: Tensor) -> Tensor:
        near = cosines.topk(self.neighbours, dim=1).values.mean(dim=1, keepdim=True)  # (B, 1)
        return ((near - self.gate_at) / self.gate_slope).sigmoid()

    def numbers(self) -> dict[str, float | int]:
        """The settings beside the tensors, as `from_state` takes them."""
        return {
            "share": self.share,
            "temperature": self.temperature,
            "neighbours": self.neighbours,
            "gate_at": self.gate_at,
            "gate_slope": self.gate_slope,
        }

    @classmethod
    def from_state(cls, tensors: Mapping[str, Tensor], numbers: Mapping[str, float | int]) -> Self:
        """Make a head of `state_dict()` and `numbers()`. Raises KeyError, TypeError or ValueError where damaged."""
        return cls(
            tensors,
            share=float(numbers["share"]),
            temperature=float(numbers["temperature"]),
            neighbours=int(numbers["neighbours"]),
            gate_at=float(numbers["gate_at"]),
            gate_slope=float(numbers["gate_slope"]),
        )


def neutral(vectors: Tensor, directions: Tensor, center: Tensor) -> Tensor:
    """Take directions (n, d) and a center (d,) out of the directions of vectors (B, d): unit vectors (B, d)."""
    x = F.normalize(vectors.float(), dim=1)
    if len(directions):
        x = x - (x @ directions.T) @ directions
    return F.normalize(x - center, dim=1)
