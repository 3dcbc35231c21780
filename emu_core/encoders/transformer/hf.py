"""`hf:NAME_OR_PATH`: a transformer from the Hugging Face hub or a local folder, through sentence-transformers."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from emu_core.encoders.base import EncoderInfo, Tokens
from emu_core.encoders.saved import opening
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.opening import open_model
from emu_core.encoders.transformer.tokens import folder_tokens
from emu_core.errors import EncoderError

if TYPE_CHECKING:  # seconds to import
    from sentence_transformers import SentenceTransformer


class HfEncoder(TransformerEncoder):
    """Any text transformer that sentence-transformers opens, with that model's pooling, prompt and normalisation.

    A plain transformers model gets sentence-transformers' default, the mean over tokens. `languages` is empty, because
    models have no standard way of stating theirs.
    """

    spec: ClassVar[str] = "hf"
    languages = ()

    @classmethod
    def info(cls) -> EncoderInfo:
        """Describe the models that can be opened."""
        name = "A transformer from the Hugging Face hub or a folder"
        return EncoderInfo("hf:", name, dim=0, languages=(), size_mb=0, licence="", available=True, reason="")

    @classmethod
    def load(cls, name: str = "") -> Self:
        """Open a model: a folder's path, or a name on the hub such as `intfloat/multilingual-e5-small`.

        A model from the hub is cached.

        Raises:
            EncoderError: the model is not found, or needs code of its own.
        """
        if not name.strip():
            raise EncoderError(
                "name a model after hf: such as hf:intfloat/multilingual-e5-small, or a folder"
            )
        folder = as_folder(name)
        if folder is None:
            return cls(from_hub(name))
        try:
            return cls(open_model(folder))
        except OSError as error:
            raise EncoderError(
                f"the folder {name} does not hold a complete model; name one that does"
            ) from error

    @classmethod
    def open_tokens(cls, source: str | Path) -> Tokens:
        """Open the tokenizer of a folder or of a cached model. Raises EncoderError if there is none here."""
        if isinstance(source, Path):
            return super().open_tokens(source)
        folder = as_folder(source) or cached_folder(source)
        if folder is None:
            raise EncoderError(f"the model '{source}' is not on this machine yet")
        with opening(folder, cls.spec):
            return folder_tokens(folder)


def cached_folder(name: str) -> Path | None:
    """Return the folder of a hub's model in the cache, if there is one."""
    from huggingface_hub import snapshot_download

    with suppress(Exception):  # none is cached, or the name is none
        folder = os.environ.get("SENTENCE_TRANSFORMERS_HOME")
        return Path(snapshot_download(full_name(name), cache_dir=folder, local_files_only=True))
    return None


def full_name(name: str) -> str:
    """Return a model's name on the hub as sentence-transformers reads it: "all-MiniLM-L6-v2" is one of its own."""
    from sentence_transformers.util import ORIGINAL_TRANSFORMER_MODELS

    short = "/" not in name and name.lower() not in ORIGINAL_TRANSFORMER_MODELS
    return f"sentence-transformers/{name}" if short else name


def as_folder(name: str) -> Path | None:
    """Return the folder of a name, if there is one."""
    try:
        folder = Path(name).expanduser()
        return folder if folder.is_dir() else None
    except (OSError, RuntimeError, ValueError):  # too long for a path, ~ of nobody, a null byte
        return None


def from_hub(name: str) -> "SentenceTransformer":
    """Open a model from the cache, or fetch it. Raises EncoderError if neither succeeds."""
    from huggingface_hub import model_info
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

    full, refusal = full_name(name), None
    try:
        if in_cache(full):
            try:
                return open_model(full)
            except EncoderError as error:  # an interrupted download is completed below
                refusal = error
            except OSError:
                pass
        # Without model or network this fails at once, and `open_model` after minutes.
        model_info(full, timeout=10)
        model = open_model(full, local_only=False)
        if not in_cache(full):
            raise OSError("only a part of the model is cached")
        return model
    except EncoderError:
        raise
    except (HFValidationError, RepositoryNotFoundError):
        raise EncoderError(
            f"'{name}' is neither a folder here nor a public model of the hub; see https://huggingface.co/models"
        ) from None
    except Exception as error:  # the network's libraries raise many kinds of error
        raise refusal or EncoderError(
            f"the model '{name}' is not in the cache and can't be fetched from the hub; go online once, or name a "
            "model's local folder"
        ) from error


def in_cache(name: str) -> bool:
    """Return whether the cache knows which modules a hub's model has besides the transformer.

    If it does not, as for a model used with transformers only, sentence-transformers would guess the pooling.
    """
    from huggingface_hub import try_to_load_from_cache

    # A path, or a sentinel if the hub has no such file; None if nothing is known.
    folder = os.environ.get("SENTENCE_TRANSFORMERS_HOME")
    return try_to_load_from_cache(name, "modules.json", cache_dir=folder) is not None
