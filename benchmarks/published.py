"""Measure everything on frozen encoders that README.md and docs/evidence.md quote.

Writes benchmarks/results/frozen.csv, a row for each encoder, set, system and direction: the number of right queries.
The systems are the encoder itself, the default method, and two peers on the same vectors and English labels: logistic
regression and LDA, each as an embedding and as a classifier. Tests recompute the pages' tables from this file.
"""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.default_method import LABELLED, Fit, Labelled, Map, Vault, Vectors, base, posterior

# isort: split
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.bench.peers import Peer, frozen_peer
from emu_core.data.labelled import LabelledSet
from emu_core.data.labelled.columns import LABELLED_COLUMNS
from emu_core.evaluation.leave_one_out import NeighbourAccuracy, leave_one_out, pool_accuracy
from emu_core.methods.posterior.fit import Examples
from emu_core.methods.registry import configure

ENCODERS = ("use", "e5-small")
OUT = Path(__file__).parent / "results" / "frozen.csv"
Mask = NDArray[np.bool_]


class Part(NamedTuple):
    """The training rows and the measured rows of a set."""

    name: str  # such as "demo test"
    data: Labelled
    train: Mask
    asked: Mask
    pooled: bool = False  # whether the pool is the English training sentences


def parts(vault: Vault) -> Iterator[Part]:
    """Yield each set of the pages, and parts in which a random half of the intents has no labels."""
    for name, of, measured in (("demo", vault.demo, "test"), ("sib", vault.sib, "dev")):
        data = Labelled(*of)
        train, test = data.splits == "train", data.splits == measured
        yield Part(f"{name} {measured}", data, train, test)
        for number, half in enumerate(data.halves()):
            asked = (test if name == "demo" else np.ones_like(test)) & ~half
            yield Part(f"{name} new {number}", data, train & half, asked)
    home = Labelled(*vault.home)
    english = home.languages == LABELLED
    yield Part("home", home, english, ~english, pooled=True)


def peer(kind: Peer) -> Fit:
    """Return a function that fits a peer on vectors; a text is the number of its vector."""

    def fit(labels: Examples) -> Map:
        known: dict[str, Vectors] = {}

        def named(vectors: Vectors) -> list[str]:
            texts = [str(len(known) + row) for row in range(len(vectors))]
            known.update(zip(texts, vectors, strict=True))
            return texts

        frame = pd.DataFrame(
            dict.fromkeys(LABELLED_COLUMNS, ""), index=range(len(labels.vectors)), dtype="str"
        )
        frame = frame.assign(
            text=named(labels.vectors), intent=labels.classes.astype(str), language=LABELLED, id=labels.ids
        ).astype("str")
        found = frozen_peer(
            kind, lambda texts: np.stack([known[text] for text in texts]), LabelledSet(frame, "x")
        )

        def apply(vectors: Vectors) -> Vectors:
            return np.asarray(found.encode(named(vectors)), dtype=np.float32)

        apply.classify = lambda vectors: found.classify(named(vectors))  # type: ignore[attr-defined]
        return apply

    return fit


def nearest(part: Part, apply: Map) -> NeighbourAccuracy:
    """Return nearest-neighbour accuracy: leave-one-out, or against the pool."""

    def of(rows: Mask) -> tuple[Vectors, list[str], list[str]]:
        data = part.data
        return apply(data.vectors[rows]), data.intents[rows].tolist(), data.languages[rows].tolist()

    if part.pooled:
        return pool_accuracy(*of(part.asked), *of(part.train))
    return leave_one_out(*of(part.asked), part.data.ids[part.asked].tolist())


def rows(vault: Vault) -> Iterator[tuple[object, ...]]:
    """Yield encoder, set, system, measure, direction or language, right queries, and queries."""
    systems: Mapping[str, Fit] = {
        "base": base,
        "posterior": posterior(configure("posterior", vault.encoder)),
        "logistic-regression": peer(Peer.LOGISTIC),
        "lda": peer(Peer.LDA),
    }
    for part in parts(vault):
        for system, fit in systems.items():
            labels = part.data.labels(part.train, vault.reference)
            apply = fit(labels)
            for where, right in nearest(part, apply).correct.items():
                if LABELLED not in where.split("-"):
                    continue  # the pages quote only directions with English
                yield vault.encoder, part.name, system, "retrieval", where, int(right.sum()), len(right)
            if hasattr(apply, "classify") and " new " not in part.name:
                names = np.unique(part.data.intents[part.train & (part.data.languages == LABELLED)])
                for code in np.unique(part.data.languages[part.asked]):
                    asked = part.asked & (part.data.languages == code)
                    told = names[np.asarray(apply.classify(part.data.vectors[asked]), dtype=np.int64)]
                    right = told == part.data.intents[asked]
                    yield vault.encoder, part.name, system, "classifier", code, int(right.sum()), len(right)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="a folder with sib200 and home_assistant")
    parser.add_argument("--vectors", type=Path, required=True, help="folder in which vectors are kept")
    options = parser.parse_args()
    found = [row for encoder in ENCODERS for row in rows(Vault(options.data, options.vectors, encoder))]
    columns = ["encoder", "data", "system", "measure", "where", "right", "queries"]
    pd.DataFrame(found, columns=columns).to_csv(OUT, index=False)
    print(f"{OUT}: {len(found):,} rows")


if __name__ == "__main__":
    main()
