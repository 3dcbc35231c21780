"""The benchmark's encoder as a model of sentence-transformers, for the peers that train one."""

import importlib.util
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu_core.encoders.registry import load_encoder
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.opening import open_model, quietly
from emu_core.errors import TrainingError
from emu_core.exporting.writers import write_sentence_transformers

SETFIT = "setfit==1.2.0"


class SentenceModel:
    """An encoder as sentence-transformers opens it, every weight as that library leaves it.

    Attributes:
        model: a SentenceTransformer without prompts.
        prompt: what stands before each text; given with the texts, since not every trainer knows prompts.
        dim: length of its vectors.
    """

    def __init__(self, spec: str, device: str) -> None:
        """Load an encoder; a transformer goes through the folder that `emu export` writes."""
        encoder = load_encoder(spec)
        self.dim = encoder.dim
        self.model: Any
        if isinstance(encoder, TransformerEncoder):
            with tempfile.TemporaryDirectory() as folder, quietly():
                write_sentence_transformers(encoder, Path(folder))
                self.model = open_model(folder, **encoder.model_kwargs).to(device)
        else:
            from sentence_transformers import SentenceTransformer

            from emu_core.encoders.sentence_transformers_module import EmuModule

            self.model = SentenceTransformer(modules=[EmuModule(encoder)], device=device)
        name = self.model.default_prompt_name
        self.prompt: str = self.model.prompts.get(name, "") if name else ""
        self.model.prompts, self.model.default_prompt_name = {}, None

    def texts(self, texts: Sequence[str]) -> list[str]:
        """Return the texts with the prompt."""
        return [self.prompt + text for text in texts]

    def encode(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return vectors (N, dim)."""
        vectors: NDArray[np.floating] = self.model.encode(self.texts(texts), show_progress_bar=False)
        return vectors


def check_packages(*names: str) -> None:
    """Raise a TrainingError where a package that a peer needs is missing."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        what = [SETFIT if name == "setfit" else name for name in missing]
        raise TrainingError(f"{' and '.join(missing)} is not installed; pip install {' '.join(what)}")
