"""Make the demo run in the package again: `python -m tools.demo_run`. Its test says when."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from emu_app.work.demo_run import ENCODER, PACKED_RUN, PACKED_VECTORS
from emu_core import load_demo, load_encoder, train
from emu_core.data.demo import DEMO

_LEFT_OUT = (".emu-lock", "base", "checksums.json")  # of the encoder; what is placed has them


def make(run: Path = PACKED_RUN, vectors: Path = PACKED_VECTORS) -> None:
    """Train the default run on the demo set, and store it with its base encoder's vectors, in 16 bits."""
    with TemporaryDirectory() as folder:
        trained = train(DEMO, out=Path(folder) / DEMO, encoder=ENCODER, device="cpu")
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(trained.folder, run, ignore=_left_out)
    texts = load_demo().frame["text"].tolist()
    np.save(vectors, load_encoder(ENCODER).encode(texts).astype(np.float16))


def _left_out(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name in _LEFT_OUT and Path(folder).name != "intents"}


if __name__ == "__main__":
    make()
