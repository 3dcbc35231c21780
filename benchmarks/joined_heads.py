"""Measure other ways to join two encoders with the default head on each, beside equal weights.

Prints one JSON object for each: what `benchmarks.default_method` measures of `use+e5-small`. Fixed weights of the parts
are `--weights` there.

- `by confidence P`: a sentence's weight of a part is the length of d in `IntentHead`, from 0 to 1, to the power P,
  relative to the sum over the parts.
- `by gate P`: the same with the gate, from 0 to 1, in place of the length.
- `shared probabilities`: each part is moved towards the intents by the product of both parts' probabilities, made to
  sum to 1.
"""

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import emu_core  # noqa: F401  - first: it sets how OpenMP threads wait, before torch starts them

# isort: split
import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.default_method import Fit, Map, Vault, Vectors, measure
from emu_core.methods.head.fit import Examples, fit_head
from emu_core.methods.head.head import IntentHead
from emu_core.methods.registry import configure

ENCODERS = ("use", "e5-small")
ROWS = 2048  # joined at once
LEAST = 1e-6
LEAST_GATE = 0.02  # added to a gate: where both are shut, the parts weigh alike


def joined(vault: Vault, power: float, *, shared: bool = False, by_gate: bool = False) -> Fit:
    """Return a function that fits a head on each part and joins them: see above."""

    def fit(examples: Examples) -> Map:
        of_parts = vault.split(examples.vectors)
        references = {language: vault.split(vectors) for language, vectors in examples.reference.items()}
        heads = [
            fit_head(
                replace(
                    examples,
                    vectors=of_parts[number],
                    reference={language: parts[number] for language, parts in references.items()},
                ),
                configure("head", name),
            )
            for number, name in enumerate(ENCODERS)
        ]

        @torch.no_grad()
        def apply(vectors: Vectors) -> Vectors:
            parts = [torch.from_numpy(part) for part in vault.split(vectors)]
            rows = zip(*(part.split(ROWS) for part in parts), strict=True)
            embedded = [_embed(heads, of_rows, power, shared=shared, by_gate=by_gate) for of_rows in rows]
            return torch.cat(embedded).numpy()

        return apply

    return fit


def _embed(
    heads: Sequence[IntentHead], parts: Sequence[Tensor], power: float, *, shared: bool, by_gate: bool
) -> Tensor:
    """Return the joined vectors of sentences, given their vectors by each encoder."""
    mapped = [head.mapped(part) for head, part in zip(heads, parts, strict=True)]
    probabilities = [head.in_parts(part, head.posterior) for head, part in zip(heads, parts, strict=True)]
    if shared:
        logs = torch.stack([(of_part + LEAST**5).log() for of_part in probabilities]).sum(dim=0)
        probabilities = [logs.softmax(dim=1)] * len(heads)
    embedded, confidences = [], []
    for head, x, p in zip(heads, mapped, probabilities, strict=True):
        k = p.shape[1]
        known = math.sqrt(k / (k - 1)) * (p - 1 / k)
        length = known.norm(dim=1, keepdim=True).clamp_min(LEAST)
        gate = head._gate(F.linear(x, head.weight, head.bias), x @ head.anchors.T)
        share = head.share * gate * length
        towards = F.normalize(known @ head.intent_vectors, dim=1)
        embedded.append(F.normalize((1 - share).sqrt() * x + share.sqrt() * towards, dim=1))
        confidences.append((gate + LEAST_GATE if by_gate else length) ** power)
    weights = torch.cat(confidences, dim=1)
    weights = weights / weights.sum(dim=1, keepdim=True)
    return torch.cat([weights[:, [n]].sqrt() * part for n, part in enumerate(embedded)], dim=1)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="a folder with sib200, home_assistant, stsb and tatoeba")
    parser.add_argument("--vectors", type=Path, required=True, help="folder to store vectors in")
    parser.add_argument("--seed", type=int, default=0, help="of quarters and halves")
    options = parser.parse_args()
    vault = Vault(options.data, options.vectors, "+".join(ENCODERS))
    candidates = {
        "equal weights": joined(vault, 0),
        "by confidence 0.5": joined(vault, 0.5),
        "by confidence 1": joined(vault, 1),
        "by gate 0.5": joined(vault, 0.5, by_gate=True),
        "shared probabilities": joined(vault, 0, shared=True),
    }
    for name, fit in candidates.items():
        figures = {part: round(value, 3) for part, value in measure(fit, vault, options.seed).items()}
        print(json.dumps({"candidate": name} | figures), flush=True)


if __name__ == "__main__":
    main()
