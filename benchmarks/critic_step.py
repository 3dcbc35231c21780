"""Measure the cost of the language discriminator: a training step with it against the same step without it.

Prints one JSON object on one line. Both steps run in turn in this process on the same batches of the demo set, so
that a busy machine slows both; the ratio is the median over the pairs.
"""

import argparse
import json
import time

import emu_core  # noqa: F401  - first: it sets how OpenMP threads wait, before torch starts them

# isort: split
import numpy as np
import torch

from emu_core.data.demo import load_demo
from emu_core.data.sets import unlabelled_from
from emu_core.devices import pick_device
from emu_core.encoders.registry import load_encoder
from emu_core.methods.emu.batches import epoch_batches, prepare_batches
from emu_core.methods.emu.settings import Adversary, EmuConfig
from emu_core.methods.emu.trainer import EmuTrainer
from emu_core.methods.registry import configure

LIMIT = 2.5  # a step with the discriminator may cost this many times the step without it
WARM_UP = 5
LANGUAGE = "en"


def make_trainer(config: EmuConfig, device: str, seed: int) -> EmuTrainer:
    """Return a trainer on the demo set's training rows: English with labels, the other languages without."""
    encoder = load_encoder("use", device=device)
    demo = load_demo().train_part()
    others = unlabelled_from(demo, [language for language in demo.languages if language != LANGUAGE])
    data = prepare_batches(encoder.token_ids, demo, others, [LANGUAGE], config)
    trainer = EmuTrainer(encoder, data, config, seed=seed)
    torch.manual_seed(seed)
    trainer.start_stage(0)
    encoder.train()
    return trainer


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
    trainers = with_critic, without
    pairs: list[list[float]] = []
    while len(pairs) < WARM_UP + options.repetitions:
        for batch in epoch_batches(without.data.labelled, config.batch_size, rng):
            pairs.append([0.0, 0.0])
            for side in ((1, 0), (0, 1))[len(pairs) % 2]:  # each first every other time
                began = time.perf_counter()
                trainers[side].step(batch)  # returns numbers, so a GPU has finished
                pairs[-1][side] = time.perf_counter() - began
    measured = np.array(pairs[WARM_UP : WARM_UP + options.repetitions])
    low, ratio, high = np.quantile(measured[:, 0] / measured[:, 1], [0.25, 0.5, 0.75]).round(3).tolist()
    with_ms, without_ms = (1000 * np.median(measured, axis=0)).round(2).tolist()
    found = {
        "benchmark": "critic_step",
        "ratio": ratio,
        "limit": LIMIT,
        "ratio_quartiles": [low, high],
        "with_ms": with_ms,
        "without_ms": without_ms,
        "repetitions": len(measured),
        "batch_size": config.batch_size,
        "critic_steps": config.critic_steps,
        "device": device,
        "threads": torch.get_num_threads(),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
