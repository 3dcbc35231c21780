"""Where each sentence stands on a map; computed in the background and stored as long as there is room."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from app.background import Done
from app.encoders import computed
from app.vectors import weights_of
from emu_core.data.wording import counted
from emu_core.encoders.base import FloatArray
from emu_core.evaluation.projection import Projection, project

NAMES = {Projection.TSNE: "t-SNE", Projection.UMAP: "UMAP", Projection.PCA: "PCA"}
# As measured on two cores; UMAP's first map in a process waits for its compiler.
_WAITS = {
    Projection.TSNE: "some 8 seconds for 3,000 sentences, minutes for 30,000",
    Projection.UMAP: "some 3 seconds for 3,000 sentences, and 15 more the first time",
    Projection.PCA: "a moment",
}


def layouts(
    vectors: Mapping[str, FloatArray], specs: Mapping[str, str], data_sha: str, method: Projection
) -> dict[str, NDArray[np.float32]] | None:
    """Return each encoder's map (N, 2), or None, and draw why, while one is not there.

    Args:
        vectors: (N, dim) by the encoder's name.
        specs: what `load_encoder` takes, by the encoder's name.
        data_sha: stands for the N sentences.
        method: how to lay them out.
    """
    maps: dict[str, NDArray[np.float32]] = {}
    for name, of_encoder in vectors.items():
        outcome = computed(
            f"map:{method}:{data_sha}:{weights_of(specs[name])}",
            f"{name} encoder: {NAMES[method]} of {counted(len(of_encoder), 'sentence')} ({_WAITS[method]})",
            project,
            of_encoder,
            method,
        )
        if not isinstance(outcome, Done):
            return None
        maps[name] = outcome.value
    return maps
