"""Measure everything on frozen encoders that README.md and docs/evidence.md quote.

Adds to benchmarks/results/outcomes which queries each system has right: the encoder itself; the same with languages
evened out, which the default method does first where the encoder needs it; the default method; and, on the same
vectors and English labels, logistic regression, LDA and the intents' means, as an embedding and as a classifier. A
system that was measured is not measured again; delete its file to do so. `benchmarks.sets` lists the sets and their
parts; class scores have no place for a new intent and are not measured there. Tests recompute the pages' tables.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path

from benchmarks.default_method import Fit, Labelled, Map, Vault, Vectors, base, one_head

# isort: split
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.outcomes import Measured, Outcomes, Right
from benchmarks.sets import FOLDERS, LABELLED, Part, frame_of, parts_of
from emu_core.bench.peers import Peer, frozen_peer
from emu_core.data.repeats import group_numbers
from emu_core.data.sets import LABELLED_COLUMNS, LabelledSet
from emu_core.evaluation.leave_one_out import NeighbourAccuracy, leave_one_out, pool_accuracy
from emu_core.methods.head.fit import Examples, evened_languages
from emu_core.methods.head.settings import HeadConfig
from emu_core.methods.registry import configure

ENCODERS = ("use", "e5-small")
EVENED = "base-evened"


def evened(config: HeadConfig) -> Fit:
    """Return a function that removes the languages' differences and the common mean, as the default method does."""
    return lambda examples: lambda vectors: evened_languages(vectors, examples.reference, config)


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
        # In the order of the intents: at a large C, a regression ends elsewhere when its classes change places.
        intents = [f"{number:05d}" for number in labels.classes]
        frame = frame.assign(
            text=named(labels.vectors), intent=intents, language=LABELLED, id=labels.ids
        ).astype("str")
        system = frozen_peer(
            kind, lambda texts: np.stack([known[text] for text in texts]), LabelledSet(frame, "x")
        )

        def apply(vectors: Vectors) -> Vectors:
            return np.asarray(system.encode(named(vectors)), dtype=np.float32)

        apply.classify = lambda vectors: system.classify(named(vectors))  # type: ignore[attr-defined]
        return apply

    return fit


def systems_of(encoder: str) -> Mapping[str, Fit]:
    """Return the systems by name."""
    config = configure("head", encoder)
    if not isinstance(config, HeadConfig):
        raise TypeError(encoder)
    return {
        "base": base,
        **({EVENED: evened(config)} if config.evens_languages else {}),
        "head": one_head(config),
        **{kind.value: peer(kind) for kind in Peer if kind.is_frozen},
    }


def nearest(part: Part, data: Labelled, apply: Map) -> NeighbourAccuracy:
    """Return nearest-neighbour accuracy: leave-one-out, or against the pool."""

    def of(rows: NDArray[np.bool_]) -> tuple[Vectors, list[str], list[str]]:
        return apply(data.vectors[rows]), data.intents[rows].tolist(), data.languages[rows].tolist()

    if part.is_pooled:
        return pool_accuracy(*of(part.asked), *of(part.train & (data.languages == LABELLED)))
    return leave_one_out(*of(part.asked), data.ids[part.asked].tolist())


def classified(part: Part, data: Labelled, apply: Map) -> Right:
    """Return by language whether a peer's classifier names the right intent."""
    names = np.unique(data.intents[part.train & (data.languages == LABELLED)])
    right = {}
    for code in np.unique(data.languages[part.asked]).tolist():
        asked = part.asked & (data.languages == code)
        classes = np.asarray(apply.classify(data.vectors[asked]), dtype=np.int64)  # type: ignore[attr-defined]
        right[code] = names[classes] == data.intents[asked]
    return right


def measure(name: str, vault: Vault) -> None:
    """Measure what is missing on a set, and write it."""
    frame = frame_of(name, vault.data)
    vectors = vault.vectors(name, frame["text"].tolist)
    data, outcomes, numbers = Labelled(frame, vectors), Outcomes.read(name), group_numbers(frame)
    for part in parts_of(name, frame):
        outcomes.ask(part.name, data.languages[part.asked], numbers[part.asked])
        for system, fit in systems_of(vault.encoder).items():
            is_peer = system in set(Peer)
            measured = Measured(part.name, vault.encoder, system)
            if measured in outcomes.bits or (is_peer and part.has_new_intents):
                continue
            apply = fit(data.labels(part.train, vault.reference))
            right = nearest(part, data, apply).correct
            # The pages quote only directions with English.
            outcomes.add(measured, {way: of for way, of in right.items() if LABELLED in way.split("-")})
            if is_peer:
                outcomes.add(measured._replace(measure="classifier"), classified(part, data, apply))
        outcomes.write()


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="a folder with sib200, home_assistant and native")
    parser.add_argument("--vectors", type=Path, required=True, help="folder in which vectors are kept")
    parser.add_argument("--sets", nargs="+", default=tuple(FOLDERS), choices=tuple(FOLDERS), metavar="SET")
    parser.add_argument("--encoders", nargs="+", default=ENCODERS, metavar="ENCODER")
    options = parser.parse_args()
    for encoder in options.encoders:
        for name in options.sets:
            measure(name, Vault(options.data, options.vectors, encoder))


if __name__ == "__main__":
    main()
