"""Opening models with sentence-transformers, without running their own code and without output."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from emu_core.data.wording import shown
from emu_core.errors import EncoderError

if TYPE_CHECKING:  # seconds to import
    from sentence_transformers import SentenceTransformer
    from transformers.utils.loading_report import LoadStateDictInfo

_ONE_AT_A_TIME = threading.RLock()  # the hub's offline switch is global and must not affect a download


def open_model(name: str | Path, *, local_only: bool = True, **model_kwargs: Any) -> "SentenceTransformer":
    """Open a sentence-transformers or transformers model in float32 on the CPU, without running code of its own.

    The name is a folder's, or one on the Hugging Face hub, which is looked up in the cache only if `local_only`;
    `model_kwargs` are for the transformer's class.

    Raises:
        EncoderError: the model needs code of its own, is damaged, is not a model, or its files lack weights.
        OSError: it is not there.
    """
    from sentence_transformers import SentenceTransformer

    # These override the folder's own configuration: no pickled objects, no kernels from the hub, no random weights.
    safe = {"dtype": torch.float32, "weights_only": True, "use_kernels": False, "allow_all_kernels": False}
    safe |= {"ignore_mismatched_sizes": False}
    try:
        with _ONE_AT_A_TIME, _offline() if local_only else nullcontext(), _loadings() as loadings:
            model = SentenceTransformer(
                str(name),
                device="cpu",
                trust_remote_code=False,
                local_files_only=local_only,
                model_kwargs=safe | model_kwargs,
            )
        _check_weights(name, model, loadings)
        return model
    except (OSError, EncoderError):
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


@contextmanager
def _loadings() -> Iterator[list["LoadStateDictInfo"]]:
    """Collect what transformers finds when this thread loads weights, which nothing that is public returns.

    `output_loading_info` of `from_pretrained` is out of reach behind sentence-transformers, and leaves out the model
    under an adapter.
    """
    from transformers import PreTrainedModel

    load, thread = PreTrainedModel._load_pretrained_model, threading.get_ident()
    loadings: list[LoadStateDictInfo] = []

    def noting(*args: Any, **kwargs: Any) -> Any:
        result = load(*args, **kwargs)
        if threading.get_ident() == thread:
            loadings.append(result[0])  # transformers changes it further: some weights needn't be in a file
        return result

    PreTrainedModel._load_pretrained_model = staticmethod(noting)
    try:
        yield loadings
    finally:
        PreTrainedModel._load_pretrained_model = staticmethod(load)


def _check_weights(
    name: str | Path, model: "SentenceTransformer", loadings: list["LoadStateDictInfo"]
) -> None:
    """Raise an EncoderError if weights that matter were not in the model's files: transformers draws them at random."""
    if model.transformers_model is None:
        return
    if not loadings:
        raise EncoderError(
            f"which weights {name} lacks can't be found out with this version of transformers; install the one of "
            "requirements.txt"
        )
    ignored = {f"pooler.{weight}" for weight, _ in ignored_head(model)}
    missing = sorted(set().union(*(info.missing_and_mismatched() for info in loadings)) - ignored)
    if not missing:
        return
    others = sorted(set().union(*(info.unexpected_keys for info in loadings)))
    instead = f" but has {len(others)} others, such as {shown(others[0], 80)}," if others else ""
    raise EncoderError(
        f"{name} lacks {len(missing)} of the weights that its config.json describes, such as {shown(missing[0], 80)},"
        f"{instead} so that its vectors would be random; save the whole model again with its save_pretrained, or "
        "choose another"
    )


def ignored_head(model: "SentenceTransformer") -> list[tuple[str, nn.Parameter]]:
    """Return the weights by name of a pooler that nothing reads, because the pooling takes the states of tokens."""
    first: Any = model[0]
    read = first.modality_config["text"]["method_output_name"]
    pooler = getattr(model.transformers_model, "pooler", None) if read == "last_hidden_state" else None
    return [] if pooler is None else list(pooler.named_parameters())


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
