"""What the language discriminator costs: a training step with it against the same step without it.

Prints one JSON object on one line. Both steps run in this process on the same batches of the demo set, in turn, so
that a busy machine slows both; the ratio is the median over the pairs.
"""

import argparse
import json
import time
from statistics import median

import emu_core  # noqa: F401  - first: it sets how OpenMP threads wait, before torch starts them

# isort: split
import numpy as np
import torch

from emu_core.config import Adversary, EmuConfig
from emu_core.data.demo import load_demo
from emu_core.data.labelled import unlabelled_from
from emu_core.devices import pick_device
from emu_core.encoders.registry import load_encoder
from emu_core.methods.registry import configure
from emu_core.trainers.emu import EmuTrainer
from emu_core.trainers.emu_data import Batch, epoch_batches, prepare

LIMIT = 2.5  # a step with the discriminator may cost this many times the step without it
WARM_UP = 5
LANGUAGE = "en"


def make_trainer(config: EmuConfig, device: str, seed: int) -> EmuTrainer:
    """A trainer on the demo set's train rows: English labels, the other languages unlabelled."""
    encoder = load_encoder("use", device=device)
    demo = load_demo().train_part()
    others = unlabelled_from(demo, [language for language in demo.languages if language != LANGUAGE])
    data = prepare(encoder, demo, others, [LANGUAGE], config)
    trainer = EmuTrainer(encoder, data, config, seed=seed)
    torch.manual_seed(seed)
    trainer.start_stage(0)
    encoder.train()
    return trainer


def step_seconds(trainer: EmuTrainer, batch: Batch) -> float:
    """Wall-clock time of one step; its values are numbers on return, so a GPU has finished too."""
    began = time.perf_counter()
    trainer.step(batch)
    return time.perf_counter() - began


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=60, help="pairs of steps measured (default 60)")
    parser.add_argument("--device", default="cpu", help="cpu (default), cuda:0, auto")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    config, device = configure("emu", "use", adversary_every=1), pick_device(options.device)
    with_critic = make_trainer(config, device, options.seed)
    without = make_trainer(configure("emu", "use", adversary=Adversary.NONE), device, options.seed)
    rng = np.random.default_rng(options.seed)
    pairs: list[tuple[float, float]] = []
    while len(pairs) < WARM_UP + options.repetitions:
        for batch in epoch_batches(without.data.labelled, config.batch_size, rng):
            if len(pairs) % 2:  # each goes first every other time
                pairs.append((step_seconds(with_critic, batch), step_seconds(without, batch)))
            else:
                alone = step_seconds(without, batch)
                pairs.append((step_seconds(with_critic, batch), alone))
    measured = pairs[WARM_UP : WARM_UP + options.repetitions]
    ratios = sorted(a / b for a, b in measured)
    print(
        json.dumps(
            {
                "benchmark": "critic_step",
                "ratio": round(median(ratios), 3),
                "limit": LIMIT,
                "ratio_quartiles": [round(q, 3) for q in np.quantile(ratios, [0.25, 0.75]).tolist()],
                "with_ms": round(1000 * median(a for a, _ in measured), 2),
                "without_ms": round(1000 * median(b for _, b in measured), 2),
                "repetitions": len(measured),
                "batch_size": config.batch_size,
                "critic_steps": config.critic_steps,
                "device": device,
                "threads": torch.get_num_threads(),
            }
        )
    )


if __name__ == "__main__":
    main()
