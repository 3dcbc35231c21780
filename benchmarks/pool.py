"""Measure how much wider an interval of leave-one-out is if the pool is drawn with the queries.

    python -m benchmarks.pool DATA --vectors FOLDER --draws 1000

In the published intervals, a drawn sentence keeps its answer, which it got among all held-out sentences. Here the
sentences that are not drawn also leave the pool, as another sample would not have them. Prints a JSON object for each
encoder and system: its lead over the encoder itself in points, both intervals, and the ratio of their widths, on the
quarters of SIB-200 and the demo set's test split, for systems that leave the encoder as it is.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.default_method import Labelled, Map, Vault, unit

# isort: split
import numpy as np
from numpy.typing import NDArray

from benchmarks.published import systems_of
from benchmarks.sets import LABELLED, frame_of, known_part, parts_of

SYSTEMS = ("head", "logistic-regression", "lda")
Bits = NDArray[np.bool_]


class Asked:
    """The held-out sentences of a part, and who is nearest to whom, for a system.

    The directions are those with English; a sentence and its translations are one.
    """

    def __init__(self, data: Labelled, rows: Bits, apply: Map) -> None:
        units, languages = unit(apply(data.vectors[rows])), data.languages[rows]
        self.ids, numbers = np.unique(data.ids[rows], return_inverse=True)
        intents = data.intents[rows]
        self.ways: list[tuple[NDArray[np.intp], NDArray[np.intp], Bits]] = []
        for other in np.unique(languages):
            for source, target in sorted({(LABELLED, other), (other, LABELLED)}):
                a, b = np.flatnonzero(languages == source), np.flatnonzero(languages == target)
                cosines = units[a] @ units[b].T
                cosines[numbers[a][:, None] == numbers[b]] = -2
                order = np.argsort(-cosines, axis=1, kind="stable")[:, :-1]  # the last is itself
                self.ways.append((numbers[a], numbers[b][order], intents[a][:, None] == intents[b][order]))

    def accuracy(self, drawn: NDArray[np.intp], draws_pool: bool) -> float:
        """Return Acc@1 in percent if so many of each sentence are drawn, among all of them or those drawn."""
        found = []
        for asked, pool, is_right in self.ways:
            nearest = (drawn[pool] > 0).argmax(axis=1) if draws_pool else np.zeros(len(asked), dtype=np.intp)
            found.append(np.average(is_right[np.arange(len(asked)), nearest], weights=drawn[asked]))
        return 100 * float(np.mean(found))


def parts(name: str, vault: Vault) -> Iterator[tuple[Labelled, Bits, Bits]]:
    """Yield the rows with labels and those that are asked."""
    frame = frame_of(name, vault.data)
    data = Labelled(frame, vault.vectors(name, frame["text"].tolist))
    for part in parts_of(name, frame):
        if part.name.startswith("quarter") if name == "sib" else part.name == known_part(name):
            yield data, part.train, part.asked


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--encoder", nargs="+", default=["use", "e5-small"])
    parser.add_argument("--draws", type=int, default=1000)
    options = parser.parse_args()
    for encoder in options.encoder:
        vault = Vault(options.data, options.vectors, encoder)
        systems = systems_of(encoder)
        for name in ("sib", "demo"):
            found = list(parts(name, vault))
            base = [
                Asked(data, asked, systems["base"](data.labels(train, vault.reference)))
                for data, train, asked in found
            ]
            for system in SYSTEMS:
                other = [
                    Asked(data, asked, systems[system](data.labels(train, vault.reference)))
                    for data, train, asked in found
                ]
                rng = np.random.default_rng(0)
                leads = np.zeros((options.draws, 2))
                for draw in range(options.draws):
                    for one, against in zip(other, base, strict=True):
                        n = len(one.ids)
                        drawn = rng.multinomial(n, np.full(n, 1 / n))
                        for kind in (0, 1):
                            lead = one.accuracy(drawn, bool(kind)) - against.accuracy(drawn, bool(kind))
                            leads[draw, kind] += lead / len(found)
                ends = np.quantile(leads, [0.025, 0.975], axis=0)
                widths = ends[1] - ends[0]
                every = [np.ones(len(one.ids), dtype=np.intp) for one in other]
                whole = np.mean(
                    [
                        one.accuracy(all_of, False) - against.accuracy(all_of, False)
                        for one, against, all_of in zip(other, base, every, strict=True)
                    ]
                )
                row = {"set": name, "encoder": encoder, "system": system, "lead": whole}
                row |= {"pool_kept": ends[:, 0].tolist(), "pool_drawn": ends[:, 1].tolist()}
                row |= {"ratio": widths[1] / widths[0]}
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
