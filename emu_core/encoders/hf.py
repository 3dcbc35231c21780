"""`hf:NAME_OR_PATH`: a transformer from the Hugging Face hub or a local folder, through sentence-transformers."""

import os
from pathlib import Path
from typing import ClassVar

from emu_core.encoders.transformer import TransformerEncoder, open_model
from emu_core.errors import EncoderError


class HfEncoder(TransformerEncoder):
    """Any text transformer that sentence-transformers opens, with that model's pooling, prompt and normalisation.

    A plain transformers model gets sentence-transformers' default, the mean over tokens. `languages` is empty: models
    don't say in one way what they were trained on.
    """

    spec: ClassVar[str] = "hf"
    languages = ()

    @classmethod
    def from_name(cls, name: str) -> "HfEncoder":
        """Open a folder, a model in the cache, or else one from the hub, which is then cached.

        Args:
            name: a folder's path, or a name on the hub such as `intfloat/multilingual-e5-small`.

        Raises:
            EncoderError: there is no such model within reach, or it needs code of its own.
        """
        if not name.strip():
            raise EncoderError("name a model after hf: such as hf:intfloat/multilingual-e5-small, or a folder")
        folder = Path(name).expanduser()
        try:
            if folder.is_dir():
                return cls(open_model(folder))
            try:
                return cls(open_model(name, local_only=in_cache(name)))
            except OSError:
                if not in_cache(name):
                    raise
                return cls(open_model(name, local_only=False))  # a download that was cut short is finished
        except OSError as error:
            where = "holds no whole model" if folder.is_dir() else "is no folder here and can't be fetched"
            raise EncoderError(
                f"the model '{name}' {where}; check the name, go online once so that it is cached, "
                "or name a sentence-transformers folder"
            ) from error


def in_cache(name: str) -> bool:
    """Whether the hub's cache knows how this model pools.

    A model that only transformers has cached has no word on its pooling there, and would get the wrong one offline.
    """
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    names = [name] if "/" in name else [name, f"sentence-transformers/{name}"]  # as sentence-transformers does
    folder = os.environ.get("SENTENCE_TRANSFORMERS_HOME")
    try:
        return any(
            try_to_load_from_cache(full, "modules.json", cache_dir=folder) is not None for full in names
        )
    except HFValidationError:
        return False
