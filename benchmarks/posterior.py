"""What the posterior method gains on a parallel labelled set, each part of it held out in turn.

Prints one JSON object a setting. English labels; the sentences are encoded once, so that many settings take seconds.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields

import emu_core  # noqa: F401  - first: it sets how OpenMP threads wait, before torch starts them

# isort: split
import numpy as np
import torch

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
    parts = np.array_split(np.random.default_rng(options.seed).permutation(ids), options.folds)

    asked = {
        field.name: values
        for field in fields(PosteriorConfig)
        if (values := getattr(options, field.name)) is not None
    }
    settings = [{}] if not asked else [{name: value} for name, values in asked.items() for value in values]
    for changes in settings:
        config = configure(Method.POSTERIOR, options.encoder, **changes)
        folds = [fold(labelled, vectors, reference, part.tolist(), config) for part in parts]
        print(
            json.dumps(
                {
                    "benchmark": "posterior",
                    "encoder": options.encoder,
                    "changes": changes,
                    "gain": round(float(np.mean([np.mean(gains) for gains in folds])), 2),
                    "worst_direction_of_a_fold": round(min(min(gains) for gains in folds), 1),
                    "folds": options.folds,
                }
            ),
            flush=True,
        )


def fold(
    labelled: LabelledSet,
    vectors: FloatArray,
    reference: Mapping[str, FloatArray],
    part: Sequence[str],
    config: PosteriorConfig,
) -> list[float]:
    """Points gained in each direction with English, on the sentences of `part`, by a head fitted on the others."""
    frame = labelled.frame
    held = frame["id"].isin(part).to_numpy()
    rows = np.flatnonzero(~held & (frame["language"] == LANGUAGE).to_numpy())
    intents = sorted(set(frame["intent"].iloc[rows]))
    labels = [intents.index(name) for name in frame["intent"].iloc[rows]]
    head = fit_head(vectors[rows], labels, reference, config)
    with torch.no_grad():
        after = head(torch.from_numpy(vectors[held])).numpy()
    before, specialised = (
        leave_one_out(
            found,
            frame["intent"][held].tolist(),
            frame["language"][held].tolist(),
            frame["id"][held].tolist(),
        ).accuracy
        for found in (vectors[held], after)
    )
    return [specialised[pair] - before[pair] for pair in before if LANGUAGE in pair.split("-")]


if __name__ == "__main__":
    main()
