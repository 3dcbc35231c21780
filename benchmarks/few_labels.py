"""Measure the default method with few labels, beside the encoder and a simple baseline.

Prints one JSON object for each set and number of labels an intent: the means over several draws of the labelled
sentences. `baseline` is the encoder's vector with a logistic regression's probabilities beside it, less 1 / k, at three
tenths of the squared length. Labels are English; accuracies are the mean Acc@1 of the directions with English, of held
out sentences whose intents have labels (`known`) and, with labels of a random half of the intents, of the others
(`new`). For Home Assistant, it is the change against the English pool, the mean over the other languages and the worst.
Of the real sets, the drawn sentences are the pool, too: `known` is the mean over the languages that are asked, and
`regression` has a logistic regression's probabilities as vectors, and the answers of its classifier.

Settings of the method that are named add figures of their own. `--reliable` replaces the share of the covariance within
intents from which on the whitening is as strong as its setting says (`emu_core.methods.head.whitening`).
"""

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import emu_core  # noqa: F401  - first: it sets how OpenMP threads wait, before torch starts them

# isort: split
import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from benchmarks.default_method import (
    LABELLED,
    Fit,
    Labelled,
    Map,
    Vault,
    Vectors,
    add_settings,
    base,
    changed_settings,
    commands,
    one_head,
    unit,
)
from benchmarks.published import classified, nearest, peer
from benchmarks.sets import Part, frame_of, parts_of
from emu_core.bench.peers import Peer
from emu_core.evaluation.classifier import regression
from emu_core.evaluation.intent_regression import weights
from emu_core.methods.head import whitening
from emu_core.methods.head.fit import Examples
from emu_core.methods.registry import configure

REAL = ("xsid", "faq", "lu", "banking77", "clinc150")
LABELS = {"sib": (2, 4, 8, 16, 32), "demo": (2, 4, 8, 14), "home": (2, 4, 8)} | dict.fromkeys(
    REAL, (2, 4, 8, 16)
)
HELD_OUT = 175  # ids of SIB-200's training split, a quarter
SHARE, INVERSE_PENALTY = 0.3, 10.0  # of the baseline


def baseline(examples: Examples) -> Map:
    """Put a logistic regression's probabilities beside the vectors."""
    weight, bias = weights(
        regression(INVERSE_PENALTY).fit(unit(examples.vectors).astype(np.float64), examples.classes)
    )
    k = len(bias)

    def apply(vectors: Vectors) -> Vectors:
        units = unit(vectors)
        known = np.sqrt(k / (k - 1)) * (softmax(units @ weight.T + bias, axis=1) - 1 / k)
        return np.hstack([np.sqrt(1 - SHARE) * units, np.sqrt(SHARE) * known]).astype(np.float32)

    return apply


def drawn(
    data: Labelled, rows: NDArray[np.bool_], labels: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return English rows, at most so many of each intent."""
    taken = np.zeros(len(rows), dtype=bool)
    english = np.flatnonzero(rows & (data.languages == LABELLED))
    for intent in np.unique(data.intents[english]):
        taken[rng.permutation(english[data.intents[english] == intent])[:labels]] = True
    return taken


def measure(name: str, data: Labelled, labels: int, seed: int, fit: Fit, vault: Vault) -> dict[str, float]:
    """Return the figures of a draw."""
    rng = np.random.default_rng(seed)
    if name == "home":
        rows = drawn(data, np.ones(len(data.ids), dtype=bool), labels, rng)
        changes = commands(data, fit(data.labels(rows, vault.reference)))
        return {"change": changes["home change"], "worst": changes["home worst"]}
    train, asked = data.splits == "train", data.splits == "test"
    if name == "sib":
        held_out = rng.permutation(np.unique(data.ids[train]))[:HELD_OUT]
        asked = np.isin(data.ids, held_out) & train
        train = train & ~asked
    rows = drawn(data, train, labels, rng)
    known = data.accuracy(asked, fit(data.labels(rows, vault.reference)))
    names = np.unique(data.intents)
    half = np.isin(data.intents, rng.permutation(names)[: len(names) // 2])
    new = data.accuracy(asked & ~half, fit(data.labels(rows & half, vault.reference)))
    return {"known": known, "new": new}


def measure_real(
    part: Part, data: Labelled, labels: int, seed: int, fit: Fit, vault: Vault
) -> dict[str, float]:
    """Return the figures of a draw from a set's pool; the drawn sentences are the pool that is asked."""
    rows = drawn(data, part.train, labels, np.random.default_rng(seed))
    part, apply = part._replace(train=rows), fit(data.labels(rows, vault.reference))
    right = {"known": nearest(part, data, apply).correct}
    if hasattr(apply, "classify"):
        right["classifier"] = classified(part, data, apply)
    return {
        name: 100 * float(np.mean([of.mean() for of in by_language.values()]))
        for name, by_language in right.items()
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="a folder with sib200, home_assistant and native")
    parser.add_argument("--vectors", type=Path, required=True, help="folder to store vectors in")
    parser.add_argument("--encoder", default="use")
    parser.add_argument("--seeds", type=int, nargs="+", default=[*range(1010, 1016)], help="of the draws")
    parser.add_argument("--reliable", type=float, default=whitening.RELIABLE)
    parser.add_argument("--sets", nargs="+", choices=list(LABELS), default=list(LABELS))
    add_settings(parser)
    options = parser.parse_args()
    whitening.RELIABLE = options.reliable
    vault = Vault(options.data, options.vectors, options.encoder)
    systems: dict[str, Callable[[Examples], Map]] = {
        "base": base,
        "baseline": baseline,
        "default": one_head(configure("head", options.encoder)),
    }
    for changes in changed_settings(options):
        systems[json.dumps(changes)] = one_head(configure("head", options.encoder, **changes))
    for name, counts in ((name, LABELS[name]) for name in options.sets):
        if name in REAL:
            frame = frame_of(name, options.data)
            data = Labelled(frame, vault.vectors(name, frame["text"].tolist))
            draw = partial(measure_real, next(parts_of(name, frame)), data)
            asked = systems | {"regression": peer(Peer.LOGISTIC)}
        else:
            data = Labelled(*getattr(vault, name))
            draw, asked = partial(measure, name, data), systems
        for labels in counts:
            figures = {
                system: [draw(labels, seed, fit, vault) for seed in options.seeds]
                for system, fit in asked.items()
            }
            means = {
                system: {key: round(float(np.mean([draw[key] for draw in draws])), 1) for key in draws[0]}
                for system, draws in figures.items()
            }
            print(json.dumps({"encoder": options.encoder, "set": name, "labels": labels} | means), flush=True)


if __name__ == "__main__":
    main()
