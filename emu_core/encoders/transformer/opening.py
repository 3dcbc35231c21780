"""Open models of sentence-transformers, running no code of their own and printing nothing."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from emu_core.errors import EncoderError

if TYPE_CHECKING:  # seconds to import
    from sentence_transformers import SentenceTransformer

_ONE_AT_A_TIME = threading.RLock()  # the hub's switch is the process's: a download must not meet it


def open_model(name: str | Path, *, local_only: bool = True, **model_kwargs: Any) -> "SentenceTransformer":
    """Open a sentence-transformers or transformers model, in float32 on the CPU, running no code of its own.

    Args:
        name: a folder, or a name on the Hugging Face hub.
        local_only: read the cache only, for a hub name.
        model_kwargs: what the transformer's class takes.

    Raises:
        EncoderError: the model needs code of its own, is damaged, or is not a model.
        OSError: it is not there.
    """
    from sentence_transformers import SentenceTransformer

    # A folder's own configuration may set these too, and ours wins: no pickled objects, no kernels from the hub.
    safe = {"dtype": torch.float32, "weights_only": True, "use_kernels": False, "allow_all_kernels": False}
    try:
        with _ONE_AT_A_TIME, _offline() if local_only else nullcontext():
            return SentenceTransformer(
                str(name),
                device="cpu",
                trust_remote_code=False,
                local_files_only=local_only,
                model_kwargs=safe | model_kwargs,
            )
    except OSError:
        raise
    except Exception as error:  # a stranger's files go through three libraries, which raise what they like
        if "trust_remote_code" in str(error):
            raise EncoderError(
                f"the model {name} needs Python code of its own, which is never run here; choose another model"
            ) from None
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise EncoderError(
            f"{name} is not a model that can be opened ({first_line}); choose another"
        ) from error


@contextmanager
def _offline() -> Iterator[None]:
    """Switch the hub off: told to read local files only, the libraries still ask it for adapters and cards."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@contextmanager
def quietly() -> Iterator[None]:
    """Hide the libraries' progress bars and warnings while a model that is known to be right opens."""
    from transformers.utils import logging as bars

    loggers = [logging.getLogger(name) for name in ("transformers", "sentence_transformers")]
    levels, had_bars = [logger.level for logger in loggers], bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if had_bars:
            bars.enable_progress_bar()
