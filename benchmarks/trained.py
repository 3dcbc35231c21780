"""What the defaults of a transformer were chosen from: gain over the base and seconds, by what is trained and how fast.

Prints one JSON object a setting, on one line each. DATA needs splits train and test (or dev).
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from emu_core import train
from emu_core.config import Trained
from emu_core.methods.registry import configure

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "all but embeddings, 3e-5": {"trained": Trained.ALL_BUT_EMBEDDINGS, "learning_rate": 3e-5},
    "all but embeddings, 1e-4": {"trained": Trained.ALL_BUT_EMBEDDINGS, "learning_rate": 1e-4},
    "all, 1e-4": {"trained": Trained.ALL, "learning_rate": 1e-4},
    "last 2 layers, 3e-4": {"trained": Trained.LAST_LAYERS, "last_layers": 2, "learning_rate": 3e-4},
    "last 4 layers, 1e-4": {"trained": Trained.LAST_LAYERS, "last_layers": 4, "learning_rate": 1e-4},
    "LoRA r 16, 3e-4": {"trained": Trained.LORA, "learning_rate": 3e-4},
    "LoRA r 16, 1e-3": {"trained": Trained.LORA, "learning_rate": 1e-3},
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+", help="labelled files, a folder of them, or demo")
    parser.add_argument("--encoder", default="e5-small")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", help="measure settings whose name holds this word")
    options = parser.parse_args()
    for name, changes in SETTINGS.items():
        if options.only and options.only not in name:
            continue
        gains, worst, seconds = [], [], []
        for seed in range(options.seeds):
            with tempfile.TemporaryDirectory() as folder:
                config = configure("emu", options.encoder, **changes)
                run = train(
                    options.data,
                    out=Path(folder) / "run",
                    method="emu",
                    encoder=options.encoder,
                    seed=seed,
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
