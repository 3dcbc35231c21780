"""The demo run in the package, on which the app opens where nothing was trained yet.

In the package are the run without its base encoder's weights, which another package has, the base encoder's vectors of
the demo set in 16 bits, and the maps of both encoders. `python -m tools.demo_run` makes them.
"""

import shutil
import sys
from pathlib import Path

import numpy as np
import torch

from emu_app.work.vectors import map_key, map_path, vectors_path, weights_of
from emu_core.data.demo import DEMO, load_demo
from emu_core.encoders.base import FloatArray
from emu_core.encoders.on_base import EncoderOnBase
from emu_core.encoders.registry import BASE, load_encoder
from emu_core.encoders.saved import write_checksums
from emu_core.encoders.specs import RUN_SPEC
from emu_core.errors import EmuError
from emu_core.evaluation.projection import Projection
from emu_core.files import whole_file, whole_folder

PACKED_RUN = Path(__file__).with_name("demo_run")
PACKED_VECTORS = PACKED_RUN.with_suffix(".npy")  # (N, 512), float16, in the order of the demo set
PACKED_MAPS = PACKED_RUN.with_suffix(
    ".npz"
)  # `places` (2, N, 2) of the base encoder and of the run, and `trust` (2,)
MAP = Projection.TSNE
ENCODER = "use"


def main(runs: str, root: str) -> None:
    """Place the demo run in a folder of runs, as `place` does; without its base encoder there is none."""
    try:
        place(Path(runs), Path(root))
    except (EmuError, OSError) as error:
        print(f"emu: the app starts without the demo run: {error}", file=sys.stderr)  # noqa: T201 - no page yet


def place(runs: Path, root: Path) -> None:
    """Place the demo run in a folder of runs; its vectors and maps, and those of its base, in that of all users."""
    base = load_encoder(ENCODER)
    with whole_folder(runs / DEMO) as new:
        shutil.copytree(PACKED_RUN, new, dirs_exist_ok=True)
        base.save(new / "encoder" / BASE)
        write_checksums(new / "encoder")
    run = f"{RUN_SPEC}{runs / DEMO}"
    labelled, (plain, moved) = load_demo(), vectors_of(run)
    texts, sha = labelled.frame["text"].tolist(), labelled.sha256()
    with np.load(PACKED_MAPS) as maps:
        of_each = zip((ENCODER, run), (plain, moved), maps["places"], maps["trust"], strict=True)
        for spec, vectors, places, trust in of_each:
            weights = weights_of(spec)
            path = vectors_path(root, weights, sha, texts)
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as partial, partial.open("wb") as file:
                np.save(file, vectors)
            path = map_path(root, map_key(MAP, sha, len(texts), weights))
            with whole_file(path) as partial, partial.open("wb") as file:
                np.savez(file, places=places, trust=trust)


def vectors_of(run: str, packed: Path = PACKED_VECTORS) -> tuple[FloatArray, FloatArray]:
    """Return the vectors (N, 512) of the demo set by the base encoder, and by the run of this spec."""
    encoder = load_encoder(run)
    if not isinstance(encoder, EncoderOnBase):
        raise EmuError("the demo run in the package is no head; make it again: python -m tools.demo_run")
    plain = np.load(packed).astype(np.float32)
    plain /= np.linalg.norm(plain, axis=1, keepdims=True)
    with torch.inference_mode():
        return plain, encoder.head(torch.from_numpy(plain)).numpy()


if __name__ == "__main__":
    main(*sys.argv[1:])
