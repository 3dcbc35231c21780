"""Measure joined runs: the default method and Emu on two encoders, alone and joined, on sentences and intents held out.

Prints one JSON object for each division and combination. English labels; sentences in the other languages without. Each
method is trained once on each encoder, and `run:A+run:B` joins what it left.
"""

import argparse
import json
import time
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import emu_core  # noqa: F401  - first: it sets how OpenMP threads wait, before torch starts them

# isort: split
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.default_method import QUARTERS, Labelled, Vault, Vectors, unit
from emu_core import configure, load_encoder, train
from emu_core.data.sets import LabelledSet
from emu_core.methods.presets import presets

BASE = "base"
ENCODERS, METHODS = ("use", "e5-small"), (BASE, "head", "emu")


def divisions(data: Labelled) -> dict[str, tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Return the rows to train on and to measure, with a quarter of the sentences or half of the intents left out.

    New intents are measured on the test split, if there is one.
    """
    known, half, test = data.splits == "train", data.halves()[0], data.splits == "test"
    ids = np.random.default_rng(0).permutation(np.unique(data.ids[known]))
    quarter = np.isin(data.ids, np.array_split(ids, QUARTERS)[0])
    return {
        "quarter": (known & ~quarter, quarter),
        "new intents": (known & half, ~half & (test | ~test.any())),
    }


def main() -> None:
    """Train and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="a folder with sib200")
    parser.add_argument("--vectors", type=Path, required=True, help="folder to store vectors in")
    parser.add_argument("--set", choices=["sib", "demo"], default="sib")
    about = "also train `use` by the default on it joined with a method on the other, for so many epochs"
    parser.add_argument("--distil", type=int, nargs="+", default=[], help=about)
    about = "the method on the other encoder of that teacher (default: that of the preset fast)"
    parser.add_argument("--teacher", choices=METHODS[1:], default=presets()["best"].method, help=about)
    about = "also join the default of both encoders with Emu on e5-small, and Emu of two seeds"
    parser.add_argument("--three", action="store_true", help=about)
    options = parser.parse_args()
    frame = getattr(Vault(options.data, options.vectors, ENCODERS[0]), options.set)[0]
    for name, (learnt, asked) in divisions(Labelled(frame, np.empty((len(frame), 0)))).items():
        with TemporaryDirectory() as folder:
            measure(options, frame, name, learnt, asked, Path(folder))


def measure(
    options: argparse.Namespace,
    frame: pd.DataFrame,
    name: str,
    learnt: NDArray[np.bool_],
    asked: NDArray[np.bool_],
    folder: Path,
) -> None:
    """Train and measure on one division, with the runs in a folder."""
    part = LabelledSet(frame[learnt].assign(split="").reset_index(drop=True), options.set)
    vectors: dict[tuple[str, str], Vectors] = {}
    seconds: dict[tuple[str, str], float] = {}

    def trained(key: tuple[str, str], **how: Any) -> None:
        began = time.process_time()
        run = train(part, out=folder / "-".join(key), device="cpu", **how)
        seconds[key] = time.process_time() - began
        vectors[key] = load_encoder(f"run:{run.folder}").encode(frame["text"].tolist())

    for encoder, method in product(ENCODERS, METHODS):
        if method == BASE:
            vectors[encoder, method] = getattr(Vault(options.data, options.vectors, encoder), options.set)[1]
        else:
            trained((encoder, method), method=method, encoder=encoder)
    pairs = [pair for pair in product(vectors, repeat=2) if tuple(key[0] for key in pair) == ENCODERS]
    alone = [(key,) for key in vectors]
    three: list[tuple[tuple[str, str], ...]] = []
    if options.three:
        second = ("e5-small", "emu, seed 1")
        trained(second, method="emu", encoder="e5-small", seed=1)
        default, emu = ("use", "head"), ("e5-small", "emu")
        three = [(default, ("e5-small", "head"), emu), (default, emu, second), (emu, second), (second,)]
    students = []
    taught_by = (("use", "head"), ("e5-small", options.teacher))
    teacher = "+".join(f"run:{folder / '-'.join(key)}" for key in taught_by)
    for (start, spec), epochs in product(
        {"base": "use", "emu": f"run:{folder / 'use-emu'}"}.items(), options.distil
    ):
        key = ("use", f"student from {start}, {epochs} epochs")
        trained(
            key,
            method="distil",
            encoder=spec,
            config=configure("distil", "use", teacher=teacher, epochs=epochs),
        )
        students.append((key,))
        on_top = ("use", f"default on the {key[1]}")
        trained(on_top, method="head", encoder=f"run:{folder / '-'.join(key)}")
        seconds[on_top] += seconds[key]
        students.append((on_top,))
    for parts in (*alone, *pairs, *three, *students):
        joined = np.concatenate([unit(vectors[key]) for key in parts], axis=1)
        candidate = " + ".join(f"{method} on {encoder}" for encoder, method in parts)
        accuracy = Labelled(frame, joined).accuracy(asked, lambda unchanged: unchanged)
        took = sum(seconds.get(key, 0.0) for key in parts)
        row = {"set": options.set, "division": name, "candidate": candidate}
        print(json.dumps({**row, "accuracy": round(accuracy, 1), "cpu s": round(took, 1)}), flush=True)


if __name__ == "__main__":
    main()
