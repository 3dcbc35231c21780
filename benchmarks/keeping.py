"""Measure two changes of Emu for joined runs: the default's map before it, and keeping the base's cosines.

Trains on one division of a set (`benchmarks.joined`), and prints one JSON object for each run and each pair of runs of
two encoders: Acc@1 in percent and CPU seconds of training. English labels; sentences in other languages without. A
run's vectors of all sentences are stored, so that it is not trained again.

- `emu`: as it is.
- `map`: the default's map (`--share 0`) on the encoder, whose layers Emu trains under it.
- `keep:W`: a further term, W times the loss of `emu train --method distil` on labelled and unlabelled sentences in all
  languages, with the base encoder as the teacher.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import emu_core  # noqa: F401  - first: it sets how OpenMP threads wait, before torch starts them

# isort: split
import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.default_method import LABELLED, Labelled, Vault, Vectors, base, one_head, unit
from benchmarks.joined import BASE, ENCODERS, divisions
from emu_core.data.sets import LabelledSet, unlabelled_from
from emu_core.encoders.base import Encoder, TokenIds
from emu_core.encoders.registry import load_encoder
from emu_core.losses.relations import cosine_difference, cosines_to_others, neighbour_divergence
from emu_core.methods.distil.settings import DistilConfig
from emu_core.methods.emu.batches import EmuBatch, prepare_batches
from emu_core.methods.emu.trainer import EmuTrainer, LanguageDiscriminator
from emu_core.methods.head.encoder import HeadEncoder
from emu_core.methods.head.fit import fit_head
from emu_core.methods.registry import configure
from emu_core.training.fit import fit

KEPT = 24  # sentences in a step whose cosines are kept
MAP, EMU, DEFAULT = "map", "emu", "head"


class KeepingTrainer(EmuTrainer):
    """Emu with a further term: the cosines among some sentences in any language stay those of the base."""

    sentences: Sequence[TokenIds]
    base_vectors: Vectors  # of these sentences
    weight: float

    def _loss_parts(self, batch: EmuBatch, critic: LanguageDiscriminator | None) -> dict[str, Tensor]:
        parts = super()._loss_parts(batch, critic)
        if self.weight:
            rows = self.rng.choice(len(self.sentences), KEPT, replace=False)
            now = cosines_to_others(self._vectors([self.sentences[row] for row in rows]))
            before = cosines_to_others(torch.from_numpy(self.base_vectors[rows]).to(now.device))
            distil = DistilConfig()
            parts["kept"] = self.weight * (
                neighbour_divergence(now, before, distil.temperature)
                + distil.difference_weight * cosine_difference(now, before)
            )
        return parts


def trained(
    name: str, variant: str, frame: pd.DataFrame, learnt: NDArray[np.bool_], vault: Vault, vectors: Vectors
) -> Encoder:
    """Train a variant of Emu on the rows learnt from."""
    encoder = load_encoder(name)
    if variant == MAP:
        examples = Labelled(frame, vectors).labels(learnt, vault.reference)
        encoder = HeadEncoder(encoder, fit_head(examples, configure("head", name, share=0.0)))
    rows = LabelledSet(frame[learnt].assign(split="").reset_index(drop=True), "rows")
    others = unlabelled_from(rows, [language for language in rows.languages if language != LABELLED])
    config = configure("emu", name)
    data = prepare_batches(encoder.ids_of, rows, others, [LABELLED], config)
    trainer = KeepingTrainer(encoder, data, config, seed=0)
    trainer.weight = float(variant.partition(":")[2] or 0)
    trainer.sentences = encoder.ids_of(frame["text"][learnt].tolist())
    trainer.base_vectors = vectors[learnt]
    fit(trainer, on_record=lambda _: None, should_stop=lambda: False)
    return encoder


def stored(path: Path, compute: Callable[[], Vectors]) -> tuple[Vectors, float]:
    """Return vectors and the CPU seconds that they took, computing them if they are not stored."""
    if not path.exists():
        began = time.process_time()
        vectors = compute()
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, vectors=vectors, seconds=time.process_time() - began)
    with np.load(path) as file:
        return file["vectors"], float(file["seconds"])


def main() -> None:
    """Train and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="a folder with sib200")
    parser.add_argument("--vectors", type=Path, required=True, help="folder with stored vectors")
    parser.add_argument("--out", type=Path, required=True, help="folder to store the runs' vectors in")
    parser.add_argument("--set", choices=["sib", "demo"], default="sib")
    for name in ENCODERS:
        parser.add_argument(f"--{name}", nargs="*", default=[BASE, DEFAULT], help="variants on this encoder")
    options = parser.parse_args()
    vaults = {name: Vault(options.data, options.vectors, name) for name in ENCODERS}
    frame = getattr(vaults[ENCODERS[0]], options.set)[0]
    for division, (learnt, asked) in divisions(Labelled(frame, np.empty((len(frame), 0)))).items():
        runs: dict[tuple[str, str], tuple[Vectors, float]] = {}
        for name in ENCODERS:
            vault = vaults[name]
            vectors = getattr(vault, options.set)[1]
            for variant in getattr(options, name.replace("-", "_")):

                def compute(
                    name: str = name,
                    variant: str = variant,
                    vault: Vault = vault,
                    vectors: Vectors = vectors,
                    learnt: NDArray[np.bool_] = learnt,
                ) -> Vectors:
                    if variant in (BASE, DEFAULT):
                        how = base if variant == BASE else one_head(configure("head", name))
                        return how(Labelled(frame, vectors).labels(learnt, vault.reference))(vectors)
                    encoder = trained(name, variant, frame, learnt, vault, vectors)
                    return encoder.encode(frame["text"].tolist())

                path = options.out / f"{options.set}-{division}-{name}-{variant}.npz".replace(" ", "-")
                runs[name, variant] = stored(path, compute)
        alone = [(key,) for key in runs]
        pairs = [(a, b) for a, b in product(runs, repeat=2) if (a[0], b[0]) == ENCODERS]
        for parts in (*alone, *pairs):
            joined = np.concatenate([unit(runs[key][0]) for key in parts], axis=1)
            accuracy = Labelled(frame, joined).accuracy(asked, lambda unchanged: unchanged)
            row = {"set": options.set, "division": division} | dict(parts)
            seconds = sum(runs[key][1] for key in parts)
            print(json.dumps({**row, "accuracy": round(accuracy, 1), "cpu s": round(seconds, 1)}), flush=True)


if __name__ == "__main__":
    main()
