"""What the defaults of a transformer were chosen from: gain over the base and seconds, by what is trained and how fast.

Prints one JSON object a setting, on one line each. DATA needs splits train and test (or dev).
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from emu_core import train
from emu_core.api.inputs import labelled_set
from emu_core.config import Trained
from emu_core.data.labelled.sets import LabelledSet
from emu_core.methods.registry import configure

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "all but embeddings, 3e-5": {"trained": Trained.ALL_BUT_EMBEDDINGS, "learning_rate": 3e-5},
    "all but embeddings, 1e-4": {"trained": Trained.ALL_BUT_EMBEDDINGS, "learning_rate": 1e-4},
    "all, 1e-4": {"trained": Trained.ALL, "learning_rate": 1e-4},
    "last 2 layers, 3e-4": {"trained": Trained.LAST_LAYERS, "last_layers": 2, "learning_rate": 3e-4},
    "last 4 layers, 1e-4": {"trained": Trained.LAST_LAYERS, "last_layers": 4, "learning_rate": 1e-4},
    "rate stays": {"decay": False, "interpolation": 1.0},
    "rate staying, 85 % of the way": {"decay": False, "interpolation": 0.85},
    "rate staying, 70 % of the way": {"decay": False, "interpolation": 0.7},
    "rate falls": {"decay": True, "interpolation": 1.0},
    "rate falling, 85 % of the way": {"decay": True, "interpolation": 0.85},
    "LoRA r 16, 3e-4": {"trained": Trained.LORA, "learning_rate": 3e-4},
    "LoRA r 16, 1e-3": {"trained": Trained.LORA, "learning_rate": 1e-3},
}


def quarter_held_out(labelled: LabelledSet, quarter: int) -> LabelledSet:
    """Return the training rows, a quarter of each intent's ids in split test, in every language alike."""
    frame = labelled.select(splits=["train"]).frame
    intents = frame.drop_duplicates("id").sort_values("id").groupby("intent")["id"]
    rng, held = np.random.default_rng(7), set[str]()
    for _, ids in intents:
        held |= set(ids.to_numpy()[np.array_split(rng.permutation(len(ids)), 4)[quarter]])
    return LabelledSet(
        frame.assign(split=np.where(frame["id"].isin(held), "test", "train")).reset_index(drop=True),
        "quarter",
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+", help="labelled files, a folder of them, or demo")
    parser.add_argument("--encoder", default="e5-small")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--method", default="emu")
    parser.add_argument("--precision", help="fp32 or bf16")
    parser.add_argument(
        "--quarter", type=int, choices=range(4), help="hold out this quarter of the rows of split train"
    )
    parser.add_argument("--only", help="measure settings whose name holds this word")
    options = parser.parse_args()
    data: Any = options.data
    if options.quarter is not None:
        data = quarter_held_out(labelled_set(data)[0], options.quarter)
    for name, changes in SETTINGS.items():
        if options.only and options.only not in name:
            continue
        gains, worst, seconds = [], [], []
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            with tempfile.TemporaryDirectory() as folder:
                config = configure(options.method, options.encoder, **changes)
                run = train(
                    data,
                    out=Path(folder) / "run",
                    method=options.method,
                    encoder=options.encoder,
                    seed=seed,
                    precision=options.precision,
                    config=config,
                )
                metrics, history = run.metrics(), run.history()
            gains.append(round(metrics["mean_specialised"] - metrics["mean_base"], 1))
            worst.append(
                round(min(metrics["specialised"][p] - metrics["base"][p] for p in metrics["base"]), 1)
            )
            seconds.append(history[-1]["seconds"])
        print(
            json.dumps({"setting": name, "gains": gains, "worst_direction": worst, "training_s": seconds}),
            flush=True,
        )


if __name__ == "__main__":
    main()
