"""Make the demo run in the package again: `python -m tools.demo_run`. Its test says when."""

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from emu_app.work.demo_run import ENCODER, MAP, PACKED_MAPS, PACKED_RUN, PACKED_VECTORS, vectors_of
from emu_app.work.mapping import lay_out
from emu_core import load_demo, load_encoder, train
from emu_core.data.demo import DEMO
from emu_core.encoders.specs import RUN_SPEC

_LEFT_OUT = (".emu-lock", "base", "checksums.json")  # of the encoder; what is placed has them


def make(run: Path = PACKED_RUN, vectors: Path = PACKED_VECTORS, maps: Path = PACKED_MAPS) -> None:
    """Train the default run on the demo set; store it, its base encoder's vectors in 16 bits, and both maps."""
    with TemporaryDirectory() as folder:
        trained = train(DEMO, out=Path(folder) / DEMO, encoder=ENCODER, device="cpu")
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(trained.folder, run, ignore=_left_out)
        texts = load_demo().frame["text"].tolist()
        np.save(vectors, load_encoder(ENCODER).encode(texts).astype(np.float16))
        make_maps(f"{RUN_SPEC}{trained.folder}", vectors, maps)


def make_maps(run: str, vectors: Path, maps: Path) -> None:
    """Lay out the demo set by the run of this spec and by its base, of which these are the vectors in 16 bits."""
    laid_out = [lay_out(of_encoder, MAP) for of_encoder in vectors_of(run, vectors)]
    np.savez(
        maps,
        places=np.stack([places for places, _ in laid_out]),
        trust=np.array([trust for _, trust in laid_out]),
    )


def _left_out(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name in _LEFT_OUT and Path(folder).name != "intents"}


if __name__ == "__main__":
    os.environ["EMU_PRECISION"] = "fp32"  # on every processor; the run states it
    make()
