"""Measure settings of fine-tuning from which the defaults were chosen: gain over the base and seconds of training.

    python -m benchmarks.settings demo [--encoder e5-small]

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
from emu_core.data.sets import LabelledSet
from emu_core.methods.emu.settings import Adversary
from emu_core.methods.registry import configure
from emu_core.training.weight_settings import Trained

PAPER = configure("emu")
ALL_LAYERS = {"trained": Trained.ALL_BUT_EMBEDDINGS}
USE: dict[str, dict[str, Any]] = {
    "default": {},
    "all layers": ALL_LAYERS,
    "last 4 layers": {"last_layers": 4},
    "last 3 layers": {"last_layers": 3},
    "last 2 layers": {"last_layers": 2},
    "gamma 1e-4, k = 5, as the paper's": {"adversary_weight": 1e-4, "adversary_every": 1, "critic_steps": 5},
    "the discriminator in each step": {"adversary_every": 1},
    "the discriminator in each eighth step": {"adversary_every": 8},
    "the discriminator in each 32nd step": {"adversary_every": 32},
    "gamma 1e-4": {"adversary_weight": 1e-4},
    "gamma 1": {"adversary_weight": 1.0},
    "cross-entropy": {"adversary": Adversary.CROSS_ENTROPY},
    "no discriminator": {"adversary": Adversary.NONE},
    "alpha 50, as the paper's": {"alpha": PAPER.alpha},
    "alpha 4": {"alpha": 4.0},
    "learning rate 1e-4": {"learning_rate": 1e-4},
    "learning rate 4e-4": {"learning_rate": 4e-4},
    "learning rate 5e-4": {"learning_rate": 5e-4},
    "learning rate 1e-3, as the paper's": {"learning_rate": PAPER.learning_rate},
}
PROBES: dict[str, dict[str, Any]] = {
    f"linear probe, C = {c}, {share:.0%} of the way": {"linear_probe": c, "interpolation": share}
    for c, share in ((0.2, 1), (0.5, 1), (1.0, 1), (10.0, 1), (100.0, 1), (0.5, 0.6), (1.0, 0.7), (1.0, 0.5))
}
TRANSFORMER: dict[str, dict[str, Any]] = {
    "default": {},
    "all layers, 3e-5": {**ALL_LAYERS, "learning_rate": 3e-5},
    "all layers, 1e-4": {**ALL_LAYERS, "learning_rate": 1e-4},
    "all layers and embeddings, 1e-4": {"trained": Trained.ALL, "learning_rate": 1e-4},
    "last 2 layers, 3e-4": {"trained": Trained.LAST_LAYERS, "last_layers": 2, "learning_rate": 3e-4},
    "last 3 layers": {"trained": Trained.LAST_LAYERS, "last_layers": 3},
    "last 6 layers": {"trained": Trained.LAST_LAYERS, "last_layers": 6},
    "default, rate falling": {"decay": True},
    "default, rate falling, 85 % of the way": {"decay": True, "interpolation": 0.85},
    "default, 2e-4": {"learning_rate": 2e-4},
    "default, eight epochs": {"epochs": 8},
    "default, alpha 20": {"alpha": 20.0},
    "all layers, rate staying, 85 % of the way": {**ALL_LAYERS, "interpolation": 0.85},
    "all layers, rate staying, 70 % of the way": {**ALL_LAYERS, "interpolation": 0.7},
    "all layers, rate falling": {**ALL_LAYERS, "decay": True},
    "all layers, rate falling, 85 % of the way": {**ALL_LAYERS, "decay": True, "interpolation": 0.85},
    "LoRA r 16, 3e-4": {"trained": Trained.LORA, "learning_rate": 3e-4},
    "LoRA r 16, 1e-3": {"trained": Trained.LORA, "learning_rate": 1e-3},
}


def quarter_held_out(labelled: LabelledSet, quarter: int) -> LabelledSet:
    """Return the training rows with a quarter of each intent's ids as split test, the same in every language."""
    frame = labelled.select(splits=["train"]).frame
    intents = frame.drop_duplicates("id").sort_values("id").groupby("intent")["id"]
    rng, held = np.random.default_rng(7), set[str]()
    for _, ids in intents:
        held |= set(ids.to_numpy()[np.array_split(rng.permutation(len(ids)), 4)[quarter]])
    split = np.where(frame["id"].isin(held), "test", "train")
    return LabelledSet(frame.assign(split=split).reset_index(drop=True), "quarter")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Gain over the base of several settings, by seed.")
    parser.add_argument("data", nargs="+", help="labelled files, a folder of them, or demo")
    parser.add_argument("--encoder", default="use", help="use (default), or a transformer such as e5-small")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--method", default="emu")
    parser.add_argument("--precision", help="fp32 or bf16")
    parser.add_argument(
        "--quarter", type=int, choices=range(4), help="hold out this quarter of the rows of split train"
    )
    parser.add_argument("--only", default="", help="measure settings whose name contains this text")
    options = parser.parse_args()
    data: Any = options.data
    if options.quarter is not None:
        data = quarter_held_out(labelled_set(data)[0], options.quarter)
    for name, changes in ((USE if options.encoder == "use" else TRANSFORMER) | PROBES).items():
        if options.only not in name:
            continue
        found: dict[str, list[float]] = {"gains": [], "worst_direction": [], "training_s": []}
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            with tempfile.TemporaryDirectory() as folder:
                run = train(
                    data,
                    out=Path(folder) / "run",
                    method=options.method,
                    encoder=options.encoder,
                    seed=seed,
                    precision=options.precision,
                    config=configure(options.method, options.encoder, **changes),
                )
                metrics, history = run.metrics(), run.history()
            worst = min(metrics.specialised[pair] - metrics.base[pair] for pair in metrics.base)
            found["gains"].append(round(metrics.mean_specialised - metrics.mean_base, 1))
            found["worst_direction"].append(round(worst, 1))
            found["training_s"].append(history[-1].seconds)
        print(json.dumps({"setting": name, **found}), flush=True)


if __name__ == "__main__":
    main()
