"""Simulate labelling: the choices of `suggest_labels` against a random choice of as many sentences.

Prints one JSON object for each data set and choice. A few sentences begin with labels; each round reveals the labels of
more: random ones, the most uncertain ones, or those that `Suggester.suggest` chooses. After each round the default
method is fitted on the labelled sentences, and held-out sentences are measured.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import emu_core  # noqa: F401  - first: it sets how OpenMP threads wait, before torch starts them

# isort: split
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.default_method import Vault
from emu_core.api.suggest import Suggester
from emu_core.data.sets import LabelledSet, UnlabelledSet
from emu_core.evaluation.active_learning import Uncertainty

Choose = Callable[[Suggester, UnlabelledSet, int, np.random.Generator], NDArray[np.int64]]
HELD_OUT = 0.3  # of a set without a split


def at_random(
    _: Suggester, unlabelled: UnlabelledSet, count: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Choose sentences at random."""
    return rng.permutation(len(unlabelled))[:count]


def most_uncertain(
    suggester: Suggester, unlabelled: UnlabelledSet, count: int, _: np.random.Generator
) -> NDArray[np.int64]:
    """Choose the sentences with the smallest margin, regardless of similarity and language."""
    ranked = suggester.suggest(unlabelled, len(unlabelled))
    return ranked["row"].to_numpy()[:count]


def suggested(by: Uncertainty) -> Choose:
    """Return the choice of `Suggester.suggest` by a measure."""
    return lambda suggester, unlabelled, count, _: suggester.suggest(unlabelled, count, by=by)[
        "row"
    ].to_numpy()


CHOICES: dict[str, Choose] = {
    "random": at_random,
    "most uncertain": most_uncertain,
    **{f"suggested by {by}": suggested(by) for by in Uncertainty},
}


def divided(frame: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, LabelledSet]:
    """Return the sentences to label, each in one random language, and the held-out ones."""
    labelled = LabelledSet(frame, "all")
    if not labelled.splits:
        labelled = labelled.hold_out(HELD_OUT, seed)
    held_out = labelled.select(splits=["test" if "test" in labelled.splits else "dev"])
    pool = labelled.train_part().frame.sample(frac=1, random_state=seed)
    return pool[(pool["id"] == "") | ~pool["id"].duplicated()].reset_index(drop=True), held_out


def simulate(
    frame: pd.DataFrame, encode: Callable[[Sequence[str]], NDArray[np.float32]], choose: Choose,
    *, first: int, count: int, rounds: int, seed: int,
) -> list[tuple[int, float]]:  # fmt: skip
    """Return the number of labelled sentences and the held-out accuracy in percent, before and after each round."""
    rng = np.random.default_rng(seed)
    pool, held_out = divided(frame, seed)
    has_label = (pool.groupby("intent").cumcount() < first).to_numpy().copy()
    found = []
    for turn in range(rounds + 1):
        known = pool[has_label].assign(split="train").reset_index(drop=True)
        suggester = Suggester("use", encode=encode).fit(LabelledSet(known, "labelled"))
        found.append((len(known), suggester.score(held_out)["fitted"]))
        if turn < rounds:
            rest = np.flatnonzero(~has_label)
            unlabelled = pool.iloc[rest].reset_index(drop=True)[["text", "language", "id"]]
            has_label[rest[choose(suggester, UnlabelledSet(unlabelled, "rest"), count, rng)]] = True
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="a folder with sib200 and home_assistant")
    parser.add_argument("--vectors", type=Path, required=True, help="folder in which vectors are kept")
    parser.add_argument("--sets", nargs="+", default=["sib", "home", "demo"])
    parser.add_argument("--choices", nargs="+", default=list(CHOICES), choices=list(CHOICES))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument(
        "--first", type=int, default=2, help="labelled sentences of each intent to begin with"
    )
    parser.add_argument("--count", type=int, default=20, help="labels a round")
    parser.add_argument("--rounds", type=int, default=6)
    options = parser.parse_args()
    vault = Vault(options.data, options.vectors, "use")
    for name in options.sets:
        frame, vectors = getattr(vault, name)
        row = {text: place for place, text in enumerate(frame["text"])}
        encode = lambda texts, vectors=vectors, row=row: vectors[[row[text] for text in texts]]  # noqa: E731
        scores = {}
        for choice in options.choices:
            runs = [
                simulate(
                    frame, encode, CHOICES[choice],
                    first=options.first, count=options.count, rounds=options.rounds, seed=seed,
                )
                for seed in range(options.seeds)
            ]  # fmt: skip
            scores[choice] = np.array([[score for _, score in run] for run in runs])
            means = scores[choice].mean(axis=0)
            # For each seed, over the rounds after the first labels, which are the same for all choices.
            gain = (scores[choice] - scores[options.choices[0]])[:, 1:].mean(axis=1)
            report = {
                "data": name, "choice": choice, "seeds": options.seeds,
                "labels": np.mean([[count for count, _ in run] for run in runs], axis=0).round(1).tolist(),
                "accuracy": means.round(1).tolist(),
                f"gain over {options.choices[0]}": round(float(gain.mean()), 2),
                "standard error": round(float(gain.std(ddof=1) / np.sqrt(len(gain))), 2),
            }  # fmt: skip
            print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
