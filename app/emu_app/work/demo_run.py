"""The demo run in the package, on which the app opens where nothing was trained yet.

In the package are the run without its base encoder's weights, which another package has, and the base encoder's vectors
of the demo set in 16 bits. `python -m tools.demo_run` makes them.
"""

import shutil
import sys
from pathlib import Path

import numpy as np
import torch

from emu_app.work.vectors import vectors_path, weights_of
from emu_core.data.demo import DEMO, load_demo
from emu_core.encoders.on_base import EncoderOnBase
from emu_core.encoders.registry import BASE, load_encoder
from emu_core.encoders.saved import write_checksums
from emu_core.encoders.specs import RUN_SPEC
from emu_core.errors import EmuError
from emu_core.files import whole_file, whole_folder

PACKED_RUN = Path(__file__).with_name("demo_run")
PACKED_VECTORS = PACKED_RUN.with_suffix(".npy")  # (N, 512), float16, in the order of the demo set
ENCODER = "use"


def main(runs: str) -> None:
    """Place the demo run and its vectors in this folder of runs; without its base encoder there is none."""
    try:
        place(Path(runs))
    except (EmuError, OSError) as error:
        print(f"emu: the app starts without the demo run: {error}", file=sys.stderr)  # noqa: T201 - no page yet


def place(runs: Path) -> None:
    """Place the demo run, and the vectors of the demo set by its encoder and its base, in this folder of runs."""
    base = load_encoder(ENCODER)
    with whole_folder(runs / DEMO) as new:
        shutil.copytree(PACKED_RUN, new, dirs_exist_ok=True)
        base.save(new / "encoder" / BASE)
        write_checksums(new / "encoder")
    run = f"{RUN_SPEC}{runs / DEMO}"
    encoder = load_encoder(run)
    if not isinstance(encoder, EncoderOnBase):
        raise EmuError("the demo run in the package is no head; make it again: python -m tools.demo_run")
    plain = np.load(PACKED_VECTORS).astype(np.float32)
    plain /= np.linalg.norm(plain, axis=1, keepdims=True)
    labelled = load_demo()
    with torch.inference_mode():
        moved = encoder.head(torch.from_numpy(plain)).numpy()
    for spec, vectors in ((ENCODER, plain), (run, moved)):
        path = vectors_path(runs, weights_of(spec), labelled.sha256(), labelled.frame["text"].tolist())
        path.parent.mkdir(exist_ok=True)
        with whole_file(path) as partial, partial.open("wb") as file:
            np.save(file, vectors)


if __name__ == "__main__":
    main(*sys.argv[1:])
