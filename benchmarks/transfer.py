"""Measure classifiers on frozen vectors, and inference across languages, for two tables of docs/evidence.md.

Writes benchmarks/results/transfer.csv, a row for each encoder, measure and set: English sentences that a logistic
regression has right in ten folds, as in SentEval (Conneau and Kiela 2018; the dual encoder's paper, Table 1),
Pearson's correlation on STS-B's English dev pairs, and right inference pairs in each language (Table 4). The encoders
are `use`, and dual encoders without layers trained on Multi30k's en-de captions with one thread.

In place of data of natural language inference, pairs of STS-B get labels from human scores from 0 to 5: 4 or more is
entailment, below 2 contradiction, and the rest neutral. Of every three English pairs two are for training, and the
third is measured in each language.
"""

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import emu_core  # noqa: F401  - first: it sets how OpenMP threads wait, before torch starts them

# isort: split
import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from benchmarks.from_scratch import COLUMNS, SEED, captions
from emu_core.api.inputs import labelled_set
from emu_core.bench.parallel.experiment import Recipe
from emu_core.data.texts.held_out import hold_out, usual_count
from emu_core.data.texts.nli import Nli
from emu_core.data.texts.tasks import Tasks
from emu_core.encoders.base import Encoder, encode_in
from emu_core.encoders.registry import load_encoder
from emu_core.evaluation.similarity import angular_similarity, correlation
from emu_core.formats.texts.scored_pairs import ScoredPairs, read_scored_pairs
from emu_core.methods.dual_encoder.encoder import DualEncoder
from emu_core.methods.dual_encoder.settings import SUM_OF_WORDS, TUNED_DUAL_ENCODER, DualEncoderConfig
from emu_core.runs.costs import Pace

OUT = Path(__file__).parent / "results" / "transfer.csv"
FOLDS, STRENGTHS = 10, (1.0, 10.0, 100.0)
EACH = 3  # every third pair of STS-B is measured
PAIR = ("en", "de")


def relations(pairs: ScoredPairs, language: str, *, measured: bool) -> Nli:
    """Return scored pairs as inference pairs: 0 entailment, 1 neutral, 2 contradiction."""
    rows = [row for row in range(len(pairs.scores)) if (row % EACH == EACH - 1) is measured]
    first, second, scores = (
        [side[row] for row in rows] for side in (pairs.first, pairs.second, pairs.scores)
    )
    labels = np.where(np.array(scores) >= 4, 0, np.where(np.array(scores) < 2, 2, 1))
    return Nli(tuple(map(str, first)), tuple(map(str, second)), labels, language, "STS-B's scores")


def encoders(data: Path) -> Iterator[tuple[str, Encoder]]:
    """Yield the name and the encoder of each row of the tables."""
    yield "use", load_encoder("use")
    text = captions(data, "train", *PAIR)
    train, dev = hold_out([text], usual_count([text]), SEED)
    nli = relations(read_scored_pairs(data / "stsb")["en"], "en", measured=False)
    plain = DualEncoderConfig(**{**TUNED_DUAL_ENCODER, "layers": 0})
    for name, recipe in (
        ("sum-of-words", Recipe(DualEncoderConfig(**SUM_OF_WORDS))),
        ("translation", Recipe(plain)),
        ("translation-nli", Recipe(plain, nli=True)),
        ("translation-nli-1", Recipe(replace(plain, task_weight=1.0), nli=True)),
    ):
        tasks = Tasks(nli=(nli,))
        yield name, recipe.fit(train, dev, tasks, seed=SEED, device="cpu", pace=Pace())[0]


def sets(data: Path) -> Iterator[tuple[str, list[str], NDArray[np.str_]]]:
    """Yield name, English sentences and intents of each set, without intents of fewer sentences than folds."""
    files = {"sib": [str(data / "sib200" / "en.csv")], "home": [str(data / "home_assistant" / "en.csv")]}
    for name in (*files, "demo"):
        frame = labelled_set(files.get(name, "demo"))[0].frame
        frame = frame[frame["language"] == "en"].drop_duplicates("text")
        frame = frame[frame.groupby("intent")["text"].transform("size") >= FOLDS]
        yield name, frame["text"].tolist(), frame["intent"].to_numpy(dtype=str)


def right_in_folds(vectors: NDArray[np.float32], labels: NDArray[np.str_]) -> int:
    """Return the number of sentences classified right by a regression fitted on the other folds.

    Its C is chosen on the next fold, which is then also used for fitting.
    """
    parts = [
        rows for _, rows in StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(vectors, labels)
    ]
    right = 0
    for number, test in enumerate(parts):
        dev = parts[(number + 1) % FOLDS]
        learnt = np.setdiff1d(np.arange(len(labels)), test)
        fitted = np.setdiff1d(learnt, dev)

        def share(strength: float, rows: NDArray[np.intp], asked: NDArray[np.intp]) -> int:
            model = LogisticRegression(C=strength, max_iter=300).fit(vectors[rows], labels[rows])
            return int((model.predict(vectors[asked]) == labels[asked]).sum())

        best = max(STRENGTHS, key=lambda strength: share(strength, fitted, dev))
        right += share(best, learnt, test)
    return right


def measured(encoder: Encoder, data: Path) -> Iterator[tuple[str, str, float, int]]:
    """Yield measure, set, value and number of queries of an encoder."""
    for name, texts, labels in sets(data):
        vectors = encode_in(encoder, texts, "en")
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-12)
        yield "right", name, right_in_folds(vectors, labels), len(labels)
        yield "majority", name, int(np.unique(labels, return_counts=True)[1].max()), len(labels)
    pairs = read_scored_pairs(data / "stsb")
    own, head = pairs["en"], encoder.relations if isinstance(encoder, DualEncoder) else None
    if head is None:  # the others were trained on these scores
        alike = angular_similarity(encode_in(encoder, own.first, "en"), encode_in(encoder, own.second, "en"))
        yield "pearson", "stsb", round(correlation(alike, own.scores).pearson, 4), len(own.scores)
    for code in PAIR if head is not None else ():
        nli = relations(pairs[code], code, measured=True)
        found = head.predict(encode_in(encoder, nli.premises, code), encode_in(encoder, nli.hypotheses, code))
        yield "nli", code, int((found == nli.labels).sum()), len(nli.labels)
        yield "nli_majority", code, int(np.bincount(nli.labels).max()), len(nli.labels)


def main() -> None:
    """Measure and write; each finished encoder is written at once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="a folder with sib200, home_assistant, stsb and multi30k")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows: list[tuple[object, ...]] = []
    for name, encoder in encoders(options.data):
        rows += [(name, "", *row) for row in measured(encoder, options.data)]
        pd.DataFrame(rows, columns=COLUMNS, dtype=object).to_csv(OUT, index=False)
        print(name, flush=True)


if __name__ == "__main__":
    main()
