"""Measure the gain of the head method on a parallel labelled set, each part of it held out in turn.

Prints one JSON object for each setting, with the gain of LDA on the same parts, since divisions differ by more than
methods do. English labels; the sentences are encoded once, so that many settings take seconds.
"""

import argparse
import json
from collections.abc import Mapping
from dataclasses import fields

import emu_core  # noqa: F401  - first: it sets how OpenMP threads wait, before torch starts them

# isort: split
import numpy as np
import torch
from numpy.typing import NDArray

from emu_core.api.inputs import labelled_set
from emu_core.bench.peers import Peer, frozen_peer
from emu_core.data.demo import reference_texts
from emu_core.data.sets import LabelledSet
from emu_core.encoders.base import FloatArray
from emu_core.encoders.registry import load_encoder
from emu_core.evaluation.leave_one_out import leave_one_out
from emu_core.methods.head.fit import Examples, fit_head
from emu_core.methods.head.settings import HeadConfig
from emu_core.methods.registry import configure

LANGUAGE = "en"
Rows = NDArray[np.intp]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+", help="labelled files, a folder of them, or demo")
    parser.add_argument("--encoder", default="use")
    parser.add_argument("--folds", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0, help="of the folds")
    for field in fields(HeadConfig):
        kind = type(getattr(HeadConfig(), field.name))
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, nargs="+", help="one or several")
    options = parser.parse_args()

    labelled, _ = labelled_set(options.data)
    encoder = load_encoder(options.encoder)
    vectors = encoder.encode(labelled.frame["text"].tolist())
    reference = {language: encoder.encode(texts) for language, texts in reference_texts().items()}
    parts = divide(labelled, options.folds, options.seed)
    base = [accuracies(labelled, held, vectors[held]) for held, _ in parts]
    lda = [
        accuracies(labelled, held, lda_vectors(labelled, vectors, held, own)) - before
        for (held, own), before in zip(parts, base, strict=True)
    ]
    asked = {
        field.name: values
        for field in fields(HeadConfig)
        if (values := getattr(options, field.name)) is not None
    }
    settings = [{}] if not asked else [{name: value} for name, values in asked.items() for value in values]
    for changes in settings:
        config = configure("head", options.encoder, **changes)
        gains = [
            accuracies(labelled, held, head_vectors(labelled, vectors, reference, held, own, config)) - before
            for (held, own), before in zip(parts, base, strict=True)
        ]
        found = {
            "benchmark": "head_gain",
            "encoder": options.encoder,
            "changes": changes,
            "base": round(float(np.mean(base)), 2),
            "gain": round(float(np.mean(gains)), 2),
            "worst_direction_of_a_fold": round(float(np.min(gains)), 1),
            "gain_of_lda": round(float(np.mean(lda)), 2),
            "folds": options.folds,
        }
        print(json.dumps(found), flush=True)


def divide(labelled: LabelledSet, folds: int, seed: int) -> list[tuple[Rows, Rows]]:
    """Return for each part the held-out rows, in every language, and the other English rows."""
    frame = labelled.frame
    english = (frame["language"] == LANGUAGE).to_numpy()
    ids = np.random.default_rng(seed).permutation(np.unique(frame["id"][english].to_numpy(dtype=str)))
    is_held = [frame["id"].isin(part.tolist()).to_numpy() for part in np.array_split(ids, folds)]
    return [(np.flatnonzero(held), np.flatnonzero(~held & english)) for held in is_held]


def head_vectors(
    labelled: LabelledSet,
    vectors: FloatArray,
    reference: Mapping[str, FloatArray],
    held: Rows,
    own: Rows,
    config: HeadConfig,
) -> FloatArray:
    """Return the held-out rows' vectors under a head fitted on the labels of the rows `own`."""
    _, labels = np.unique(labelled.frame["intent"].iloc[own].to_numpy(dtype=str), return_inverse=True)
    head = fit_head(Examples(vectors[own], labels.tolist(), reference), config)
    with torch.no_grad():
        found: FloatArray = head(torch.from_numpy(vectors[held])).numpy()
    return found


def lda_vectors(labelled: LabelledSet, vectors: FloatArray, held: Rows, own: Rows) -> NDArray[np.floating]:
    """Return the held-out rows' discriminant scores, by the benchmark's own peer."""
    texts = labelled.frame["text"]
    of = dict(zip(texts, vectors, strict=True))
    sentences = LabelledSet(labelled.frame.iloc[own].reset_index(drop=True), labelled.name)
    peer = frozen_peer(Peer.LDA, lambda asked: np.stack([of[text] for text in asked]), sentences)
    return peer.encode(texts.iloc[held].tolist())


def accuracies(labelled: LabelledSet, held: Rows, vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return Acc@1 of each direction with English among the held-out rows."""
    frame = labelled.frame.iloc[held]
    found = leave_one_out(
        vectors, frame["intent"].tolist(), frame["language"].tolist(), frame["id"].tolist()
    ).accuracy
    return np.array([percent for pair, percent in found.items() if LANGUAGE in pair.split("-")])


if __name__ == "__main__":
    main()
