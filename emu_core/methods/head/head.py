"""The head: embeddings moved towards the intents that they probably have."""

import math
from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

COSINES = 2**23  # held at once (32 MB, and as much again for each step of their arithmetic)
KNOWN = 3  # weights of the gate
_LEAST = 1e-6  # least length: at 0 its root has no gradient
NUMBERS = ("share", "temperature", "softening", "gate_temperature", "gate_at", "gate_slope")
TINY = 1e-30  # a sentence may be too far from all of them for float32


class IntentHead(nn.Module):
    """A map from sentence vectors (B, d) to vectors (B, d) of length 1, for k intents, without trained weights.

    With x the vector without language directions and part of the mean, times a map M that is learnt from the labels, of
    length 1, and A_j those of the N training sentences:

        f(c) = exp(w_c x + b_c) * sum over j of class c of exp((x A_j - 1) / temperature) / sqrt(n_c)
        p(c) ~ f(c) ^ (1 / softening)
        near = log sum over j of exp((x A_j - 1) / gate_temperature)
        own  = log max over c of sum over j of class c of exp((x A_j - 1) / gate_temperature) / n_c
        lead = max over c of (w_c x + b_c) - their mean
        gate = sigmoid((near - gate_at) / gate_slope) * sigmoid(u_1 own + u_2 lead + u_0)
        d    = sqrt(k / (k - 1)) (p - 1 / k), whose length is from 0 (nothing known) to 1 (sure)
        s    = share * gate * |d|
        out  ~ sqrt(1 - s) x + sqrt(s) d T / |d T|

    The rows of T are orthonormal and as near as possible to the intents' means, relative to their mean
    (`emu_core.methods.head.fit.intent_vectors`). The first factor of f is a logistic regression's; the second a
    kernel density's, which knows where classes bend. The gate's first factor says whether a sentence is of the training
    sentences' kind, its second whether it has one of their intents; a head without u has the first alone. A sentence
    that has none (gate near 0), or no clear one (d near 0), stays at x. M moves all sentences alike, so that what tells
    intents apart counts more for intents without labels too.

    Args:
        tensors: `directions` (n, d), orthonormal; `center` (d,); `spread` (d, d), M; `anchors` (N, d), the training
            sentences' x; `members` (N, k), 1 / sqrt(n_c) in the column of a sentence's class, or (N,) the classes'
            numbers, where that matrix would be large; `weight` (k, d) and `bias` (k,) of the logistic regression;
            `known` (3,), u_0, u_1 and u_2; `intent_vectors` (k, d), T. `spread` (0, d) leaves vectors as they are, and
            `known` (0,) is no u.
        numbers: those of NUMBERS.

    Raises:
        KeyError: a tensor or a number is missing.
        ValueError: shapes that don't fit each other, or a number outside its range.
    """

    share: float  # the largest s, from 0 to 1
    temperature: float  # temperature of the class kernels, above 0
    softening: (
        float  # divides the posterior's logits, above 0; above 1, different intents are not quite opposed
    )
    gate_temperature: (
        float  # temperature of the kernel that says how near a sentence is to the training ones, above 0
    )
    gate_at: float  # nearness at which the gate is half open, at most log N
    gate_slope: float  # how far from there it is open or shut, above 0
    directions: Tensor
    center: Tensor
    anchors: Tensor
    members: Tensor
    weight: Tensor
    bias: Tensor
    spread: Tensor
    known: Tensor
    intent_vectors: Tensor

    def __init__(self, tensors: Mapping[str, Tensor], **numbers: float) -> None:
        super().__init__()
        n, d = tensors["anchors"].shape
        k = len(tensors["bias"])
        expected = {
            "directions": (len(tensors["directions"]), d),
            "center": (d,),
            "anchors": (n, d),
            "members": (n, k)[: tensors["members"].dim()],
            "weight": (k, d),
            "bias": (k,),
            "spread": (d if len(tensors["spread"]) else 0, d),
            "known": (KNOWN if len(tensors["known"]) else 0,),
            "intent_vectors": (k, d),
        }
        for name, shape in expected.items():
            if tuple(tensors[name].shape) != shape:
                raise ValueError(f"{name} has the shape {tuple(tensors[name].shape)}, not {shape}")
            self.register_buffer(name, tensors[name])
        if tensors["members"].dim() == 1 and set(tensors["members"].unique().tolist()) != set(range(k)):
            raise ValueError(f"the sentences' classes are not those from 0 to {k - 1}")
        if not (n >= 1 and k >= 2):
            raise ValueError(f"{n} sentences, {k} classes")
        for name in NUMBERS:
            setattr(self, name, float(numbers[name]))
        positive = (self.temperature, self.softening, self.gate_temperature, self.gate_slope)
        if not (
            0 <= self.share <= 1
            and all(math.isfinite(x) and x > 0 for x in positive)
            and math.isfinite(self.gate_at)
        ):
            raise ValueError(f"a share of {self.share}, {self.gate_at} and the scales {positive}")

    @property
    def dim(self) -> int:
        """Length of the vectors."""
        return self.weight.shape[1]

    def forward(self, vectors: Tensor) -> Tensor:
        """Return vectors (B, d) of sentence vectors (B, d)."""
        x = self.mapped(vectors)  # (B, d)
        cosines = x @ self.anchors.T  # (B, N)
        logits = F.linear(x, self.weight, self.bias)  # (B, k)
        posterior = self._posterior(logits, cosines)  # (B, k)
        k = posterior.shape[1]
        known = math.sqrt(k / (k - 1)) * (posterior - 1 / k)
        length = known.norm(dim=1, keepdim=True).clamp_min(_LEAST)
        share = self.share * self._gate(logits, cosines) * length  # (B, 1)
        kept = (1 - share).clamp_min(_LEAST).sqrt() * x
        towards = F.normalize(known @ self.intent_vectors, dim=1, eps=_LEAST)
        return F.normalize(kept + (share + TINY).sqrt() * towards, dim=1)

    def mapped(self, vectors: Tensor) -> Tensor:
        """Return x (B, d) of sentence vectors (B, d), before they are moved towards intents."""
        return spread_out(neutral(vectors, self.directions, self.center), self.spread)

    def posterior(self, vectors: Tensor) -> Tensor:
        """Return p (B, k) of sentence vectors (B, d), the probability of each intent if a sentence has one of them."""
        x = self.mapped(vectors)
        return self._posterior(F.linear(x, self.weight, self.bias), x @ self.anchors.T)

    def in_parts(self, vectors: Tensor, function: Callable[[Tensor], Tensor] | None = None) -> Tensor:
        """Run `forward`, or another, on so many rows at a time that the cosines to the anchors fit into memory."""
        rows = max(1, COSINES // len(self.anchors))
        return torch.cat([(function or self)(part) for part in vectors.split(rows)])

    def _posterior(self, logits: Tensor, cosines: Tensor) -> Tensor:
        kernel = ((cosines - 1) / self.temperature).exp()
        density = _sums(kernel, self.members, len(self.bias), 0.5) + TINY  # (B, k)
        return ((logits + density.log()) / self.softening).softmax(dim=1)

    def _gate(self, logits: Tensor, cosines: Tensor) -> Tensor:
        near = nearness(cosines, self.gate_temperature)  # (B, 1)
        gate = ((near - self.gate_at) / self.gate_slope).sigmoid()
        if not len(self.known):
            return gate
        signs = signs_of_intent(logits, cosines, self.members, self.gate_temperature)  # (B, 2)
        return gate * F.linear(signs, self.known[None, 1:], self.known[:1]).sigmoid()

    def numbers(self) -> dict[str, float]:
        """Return the settings of the head apart from its tensors."""
        return {name: getattr(self, name) for name in NUMBERS}


def nearness(cosines: Tensor, temperature: float) -> Tensor:
    """Return how near sentences are to others, by the cosines to them (B, N): the log of a kernel's sum, (B, 1)."""
    return ((cosines - 1) / temperature).logsumexp(dim=1, keepdim=True)


def signs_of_intent(logits: Tensor, cosines: Tensor, members: Tensor, temperature: float) -> Tensor:
    """Compute what tells sentences of one of the intents from others: (B, 2).

    Args:
        logits: (B, k), of the logistic regression.
        cosines: (B, N), to the training sentences.
        members: (N, k) or (N,), see `IntentHead`.
        temperature: of the cosines.

    Returns:
        How near a sentence is to the intent that it is nearest to, and how far its largest logit is above the mean.
    """
    kernel = ((cosines - 1) / temperature).exp()
    near = _sums(kernel, members, logits.shape[1], 1.0) + TINY  # (B, k)
    return torch.stack([near.amax(dim=1).log(), logits.amax(dim=1) - logits.mean(dim=1)], dim=1)


def _sums(kernel: Tensor, members: Tensor, k: int, power: float) -> Tensor:
    """Sum the kernel (B, N) over the sentences of each class, divided by the power 0.5 or 1 of their count: (B, k)."""
    if members.dim() == 2:
        return kernel @ (members if power == 0.5 else members.square())
    weight = members.bincount(minlength=k).to(kernel.dtype).pow(-power)[members]  # (N,)
    sums = kernel.new_zeros(k, len(kernel)).index_add(0, members, (kernel * weight).T)
    return sums.T


def spread_out(x: Tensor, spread: Tensor) -> Tensor:
    """Multiply vectors (B, d) by a map (d, d), or none at all of (0, d): unit vectors (B, d)."""
    return F.normalize(x @ spread, dim=1) if len(spread) else x


def neutral(vectors: Tensor, directions: Tensor, center: Tensor) -> Tensor:
    """Take directions (n, d) and a center (d,) out of the directions of vectors (B, d): unit vectors (B, d)."""
    x = F.normalize(vectors.float(), dim=1)
    if len(directions):
        x = x - (x @ directions.T) @ directions
    return F.normalize(x - center, dim=1)
