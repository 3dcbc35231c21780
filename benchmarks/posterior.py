"""What the posterior method gains on a parallel labelled set, each part of it held out in turn.

Prints one JSON object a setting, with what LDA gains on the same parts beside it: divisions differ by more than methods
do. English labels; the sentences are encoded once, so that many settings take seconds.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields

import emu_core  # noqa: F401  - first: it sets how OpenMP threads wait, before torch starts them

# isort: split
import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from emu_core.bench.setting import LDA_SHRINKAGE
from emu_core.config import Method, PosteriorConfig, configure
from emu_core.data.demo import reference_texts
from emu_core.data.labelled import LabelledSet
from emu_core.encoders.base import FloatArray
from emu_core.encoders.registry import load_encoder
from emu_core.evaluation.leave_one_out import leave_one_out
from emu_core.trainers.posterior import fit_head
from emu_core.verbs.inputs import labelled_set

LANGUAGE = "en"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+", help="labelled files, a folder of them, or demo")
    parser.add_argument("--encoder", default="use")
    parser.add_argument("--folds", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0, help="of the folds")
    for field in fields(PosteriorConfig):
        kind = type(getattr(PosteriorConfig(), field.name))
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, nargs="+", help="one or several")
    options = parser.parse_args()

    labelled, _ = labelled_set(options.data)
    encoder = load_encoder(options.encoder)
    vectors = encoder.encode(labelled.frame["text"].tolist())
    reference = {language: encoder.encode(texts) for language, texts in reference_texts().items()}
    ids = np.array(sorted(set(labelled.select(languages=[LANGUAGE]).frame["id"])))
    drawn = np.random.default_rng(options.seed).permutation(ids)
    parts = [part.tolist() for part in np.array_split(drawn, options.folds)]

    lda = [gains(labelled, vectors, part, lda_of(labelled, vectors, part)) for part in parts]
    asked = {
        field.name: values
        for field in fields(PosteriorConfig)
        if (values := getattr(options, field.name)) is not None
    }
    settings = [{}] if not asked else [{name: value} for name, values in asked.items() for value in values]
    for changes in settings:
        config = configure(Method.POSTERIOR, options.encoder, **changes)
        folds = [
            gains(labelled, vectors, part, posterior_of(labelled, vectors, reference, part, config))
            for part in parts
        ]
        print(
            json.dumps(
                {
                    "benchmark": "posterior",
                    "encoder": options.encoder,
                    "changes": changes,
                    "gain": round(float(np.mean(folds)), 2),
                    "worst_direction_of_a_fold": round(float(np.min(folds)), 1),
                    "gain_of_lda": round(float(np.mean(lda)), 2),
                    "folds": options.folds,
                }
            ),
            flush=True,
        )


def posterior_of(
    labelled: LabelledSet,
    vectors: FloatArray,
    reference: Mapping[str, FloatArray],
    part: Sequence[str],
    config: PosteriorConfig,
) -> FloatArray:
    """All sentences' vectors under a head fitted on the labels outside `part`."""
    rows, intents = labels_outside(labelled, part)
    names = sorted(set(intents))
    head = fit_head(vectors[rows], [names.index(intent) for intent in intents], reference, config)
    with torch.no_grad():
        found: FloatArray = head(torch.from_numpy(vectors)).numpy()
    return found


def lda_of(labelled: LabelledSet, vectors: FloatArray, part: Sequence[str]) -> FloatArray:
    """All sentences' discriminant scores, the peer that another division is best compared by."""
    rows, intents = labels_outside(labelled, part)
    lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage=LDA_SHRINKAGE)
    found: FloatArray = lda.fit(vectors[rows].astype(np.float64), intents).transform(vectors)
    return found


def labels_outside(labelled: LabelledSet, part: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
    """Rows and intents of the English sentences whose ids are not in `part`."""
    frame = labelled.frame
    rows = np.flatnonzero((~frame["id"].isin(part) & (frame["language"] == LANGUAGE)).to_numpy())
    return rows, frame["intent"].iloc[rows].tolist()


def gains(labelled: LabelledSet, vectors: FloatArray, part: Sequence[str], after: FloatArray) -> list[float]:
    """Points gained in each direction with English on the sentences of `part`."""
    held = labelled.frame["id"].isin(part).to_numpy()
    frame = labelled.frame[held]
    before, specialised = (
        leave_one_out(
            found, frame["intent"].tolist(), frame["language"].tolist(), frame["id"].tolist()
        ).accuracy
        for found in (vectors[held], after[held])
    )
    return [specialised[pair] - before[pair] for pair in before if LANGUAGE in pair.split("-")]


if __name__ == "__main__":
    main()
