"""Tasks of the processes that lay out maps. Without torch, each process takes half of the memory."""

import numpy as np
from numpy.typing import NDArray

from emu_app.work.background import report
from emu_core.evaluation.projection import Projection, project, trustworthiness


def lay_out(vectors: NDArray[np.float32], method: Projection) -> tuple[NDArray[np.float32], float]:
    """Return the map (N, 2) of vectors (N, dim) and its trustworthiness, and report the map so far."""
    places = project(vectors, method, on_map=lambda share, places: report(share, 1, places))
    return places, trustworthiness(vectors, places)


def warm_up() -> None:
    """Import t-SNE and UMAP and compile UMAP in advance, which takes seconds."""
    few = np.random.default_rng(0).random((64, 8), dtype=np.float32)
    for method in (Projection.TSNE, Projection.UMAP):
        project(few, method)
