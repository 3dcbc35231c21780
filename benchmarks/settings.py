"""What the default settings of `use` were chosen from: the gain over the base of several settings, by seed.

Prints one JSON object a setting, on one line each. DATA needs splits train and test (or dev).
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from emu_core import train
from emu_core.config import Adversary
from emu_core.methods.registry import configure

PAPER = configure("emu")
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "gamma 1e-4, k = 5, as the paper's": {
        "adversary_weight": 1e-4,
        "adversary_every": 1,
        "critic_steps": 5,
    },
    "the discriminator in each step": {"adversary_every": 1},
    "gamma 1e-4": {"adversary_weight": 1e-4},
    "gamma 1": {"adversary_weight": 1.0},
    "cross-entropy": {"adversary": Adversary.CROSS_ENTROPY},
    "no discriminator": {"adversary": Adversary.NONE},
    "alpha 50, as the paper's": {"alpha": PAPER.alpha},
    "alpha 4": {"alpha": 4.0},
    "learning rate 1e-4": {"learning_rate": 1e-4},
    "learning rate 1e-3, as the paper's": {"learning_rate": PAPER.learning_rate},
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+", help="labelled files, a folder of them, or demo")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", help="measure settings whose name holds this word")
    options = parser.parse_args()
    for name, changes in SETTINGS.items():
        if options.only and options.only not in name:
            continue
        gains, worst = [], []
        for seed in range(options.seeds):
            with tempfile.TemporaryDirectory() as folder:
                config = configure("emu", "use", **changes)
                run = train(options.data, out=Path(folder) / "run", seed=seed, method="emu", config=config)
                metrics = run.metrics()
            gains.append(round(metrics["mean_specialised"] - metrics["mean_base"], 1))
            worst.append(
                round(min(metrics["specialised"][p] - metrics["base"][p] for p in metrics["base"]), 1)
            )
        print(json.dumps({"setting": name, "gains": gains, "worst_direction": worst}), flush=True)


if __name__ == "__main__":
    main()
