"""Opening models with sentence-transformers, without running their own code and without output."""

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

_ONE_AT_A_TIME = threading.RLock()  # the hub's offline switch is global and must not affect a download


def open_model(name: str | Path, *, local_only: bool = True, **model_kwargs: Any) -> "SentenceTransformer":
    """Open a sentence-transformers or transformers model in float32 on the CPU, without running code of its own.

    The name is a folder's, or one on the Hugging Face hub, which is looked up in the cache only if `local_only`;
    `model_kwargs` are for the transformer's class.

    Raises:
        EncoderError: the model needs code of its own, is damaged, or is not a model.
        OSError: it is not there.
    """
    from sentence_transformers import SentenceTransformer

    # These override the folder's own configuration: no pickled objects, no kernels from the hub.
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
    except Exception as error:  # three libraries raise many kinds of error for untrusted files
        if "trust_remote_code" in str(error):
            raise EncoderError(
                f"the model {name} needs Python code of its own, which is never run here; choose another model"
            ) from None
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise EncoderError(
            f"{name} is not a model that can be opened ({first_line}); choose another"
        ) from error


def open_tokenizer(folder: Path) -> Any:
    """Open the tokenizer in a folder. Any error means that there is none."""
    from transformers import AutoTokenizer

    with _ONE_AT_A_TIME, _offline():
        return AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)


@contextmanager
def _offline() -> Iterator[None]:
    """Switch the hub off: even with local files only, the libraries ask it for adapters and cards."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@contextmanager
def quiet_loggers(*names: str) -> Iterator[None]:
    """Hide the warnings of some loggers."""
    levels = {logging.getLogger(name): logging.getLogger(name).level for name in names}
    for logger in levels:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


@contextmanager
def quietly() -> Iterator[None]:
    """Hide the libraries' progress bars and warnings while a known model is opened."""
    from transformers.utils import logging as bars

    had_bars = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        with quiet_loggers("transformers", "sentence_transformers"):
            yield
    finally:
        if had_bars:
            bars.enable_progress_bar()
