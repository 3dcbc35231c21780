"""Measure what each part of the intent model is worth: right intents without it, on the sets that may choose.

Prints a row of a Markdown table for each part and encoder: right intents (percent, mean of the languages and of the
draws) with one English label an intent and with all, of SIB-200's train split (quarters, in a division of its own), of
the demo set's test split, and of Home Assistant's commands. Nothing is calibrated, and what decides is not chosen.

    python -m benchmarks.parts DATA --vectors vectors/
"""

import argparse
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from unittest.mock import patch

import emu_core

# isort: split
import numpy as np
import pandas as pd

from benchmarks.default_method import Vault
from benchmarks.intents import Rows, by_language, drawn
from benchmarks.sets import LABELLED, QUARTERS, frame_of, known_part, parts_of
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.remembered import remembered_vectors
from emu_core.evaluation.arrays import Vectors, unit_vectors
from emu_core.intents.labelled import fit_intents
from emu_core.intents.model import IntentModel

DIVISION = 31  # the seed of SIB-200's quarters here
SETS, LABELS = ("sib", "demo", "home"), (1, None)
_NOTHING = 1e-9
# By part that is left out: the constants that do so. The kernel and the regression are left out of the sum.
PARTS: Mapping[str, Mapping[str, float | str]] = {
    "nothing": {},
    "the removal of language directions and mean": {},
    "the map that evens out": {"emu_core.intents.space.WHITENING": 0.0},
    "the choice of its strength": {"emu_core.intents.whitening.RELIABLE": _NOTHING},
    "the kernel": {},
    "the regression": {},
    "the prior; names are examples alone": {"emu_core.intents.model.NAME_STRENGTH": _NOTHING},
    "the sentences with names; their words are alone": {"emu_core.intents.names.SENTENCE": "{}"},
    "the names": {"emu_core.intents.model.NAME_STRENGTH": 0.0},
}


def divisions(name: str, frame: pd.DataFrame) -> Iterator[tuple[Rows, Rows]]:
    """Yield the English rows with labels, and the rows that are asked."""
    english = (frame["language"] == LABELLED).to_numpy()
    if name != "sib":
        for part in parts_of(name, frame):
            if part.name == known_part(name):
                yield np.flatnonzero(part.train & english), np.flatnonzero(part.asked)
        return
    train = (frame["split"] == "train").to_numpy()
    order = np.random.default_rng(DIVISION).permutation(frame["id"][train].unique())
    for quarter in np.array_split(order, QUARTERS)[:2]:
        held = frame["id"].isin(quarter).to_numpy() & train
        yield np.flatnonzero(train & ~held & english), np.flatnonzero(held)


def right(model: IntentModel, part: str, vectors: Vectors) -> np.ndarray:
    """Return the intents that are named without a part of the fitted model."""
    by_regression, by_kernel = model._fit.factors(model._search.space.neutral(unit_vectors(vectors)))
    scores = {"the kernel": by_regression, "the regression": by_kernel}.get(part, by_regression + by_kernel)
    return np.array(model.intents_, dtype=object)[scores.argmax(axis=1)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--encoder", nargs="+", default=["use", "use+e5-small"])
    parser.add_argument("--draws", type=int, default=3, help="of the labels")
    options = parser.parse_args()
    for spec in options.encoder:
        encoder, vault = load_encoder(spec), Vault(options.data, options.vectors, spec)
        encode = partial(remembered_vectors, encoder)
        frames = {name: frame_of(name, options.data) for name in SETS}
        for part, constants in PARTS.items():
            cells = []
            for name in SETS:
                frame = frames[name]
                vectors = vault.vectors(name, frame["text"].tolist)
                intents, languages = (frame[column].to_numpy(object) for column in ("intent", "language"))
                for count in LABELS:
                    found = []
                    for rows, asked in divisions(name, frame):
                        for seed in range(options.draws if count else 1):
                            few = drawn(rows, intents, count, seed)
                            labelled = emu_core.labelled_from_frame(frame.iloc[few].assign(split=""), name)[0]
                            of_text = dict(zip(frame["text"].iloc[few], vectors[few], strict=True))
                            with ExitStack() as stack:
                                for constant, value in constants.items():
                                    stack.enter_context(patch(constant, value))
                                model = fit_intents(
                                    labelled,
                                    encode,
                                    vectors=np.stack([of_text[text] for text in labelled.frame["text"]]),
                                    asked=np.arange(0),
                                    dims=encoder.part_dims,
                                    languages=["xx"] if "language" in part else (),
                                )
                            known = asked[np.isin(intents[asked], labelled.intents)]
                            answers = right(model, part, vectors[known])
                            found.append(by_language(answers == intents[known], languages[known]).mean())
                    cells.append(f"{np.mean(found):.1f}")
            print(f"| `{spec}` | {part} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
