"""The name of a transformer, as a person types it: a model of the Hugging Face hub, or a folder on this machine."""

import re
from pathlib import Path

from emu_core.data.wording import shown
from emu_core.encoders.transformer.hf import as_folder, in_cache
from emu_core.errors import EncoderError

HF = "hf:"
RUN = "run:"
EXAMPLE = "intfloat/multilingual-e5-small"
# As the hub names them: an owner and a name, or one of the oldest models by its name alone.
_PART = r"[A-Za-z0-9](?:[A-Za-z0-9_]|[.-](?![.-])){0,95}"
_HUB = re.compile(rf"{_PART}(?:/{_PART})?")
_PATH = re.compile(r"[/\\.~]|[A-Za-z]:[/\\]")
_HOLD = ("modules.json", "config.json")  # every folder that holds a model has one of them


def model_spec(typed: str, *, folders: bool = True) -> str:
    """Return what `load_encoder` takes for a model that a person typed; a folder's path becomes an absolute one.

    Nothing is opened and nothing fetched. Without `folders` only models of the hub are taken, and no path is looked at.

    Raises:
        EncoderError: it can't be a model, and why.
    """
    name = typed.strip().removeprefix(HF).strip()
    if not name:
        raise EncoderError(f"name a transformer: of the hub, such as {EXAMPLE}, or a folder on this machine")
    if "://" in name:
        raise EncoderError(f"'{shown(name, 80)}' is an address; type the model's name, such as {EXAMPLE}")
    folder = as_folder(name)
    if not folders and (folder is not None or not _HUB.fullmatch(name)):
        raise EncoderError(f"name a model as the hub does, such as {EXAMPLE}; this server opens no folders")
    if folder is not None:
        if not any((folder / file).is_file() for file in _HOLD):
            raise EncoderError(
                f"the folder {shown(name, 80)} holds no model: it has neither {' nor '.join(_HOLD)}; name another"
            )
        return f"{HF}{folder.resolve()}"
    if _PATH.match(name):
        raise EncoderError(
            f"there is no folder {shown(name, 80)} on the machine where this app runs; name another"
        )
    if not _HUB.fullmatch(name):
        raise EncoderError(
            f"'{shown(name, 80)}' is neither a folder here nor a name as the hub gives them, such as {EXAMPLE}"
        )
    return f"{HF}{name}"


def short_name(spec: str) -> str:
    """Return an encoder's spec short enough for a run's name: of a model its last part, of a run its name."""
    if spec.startswith(RUN):
        return Path(spec.removeprefix(RUN)).name
    return f"hf-{Path(spec.removeprefix(HF)).name}" if spec.startswith(HF) else spec


def must_be_fetched(spec: str) -> bool:
    """Whether opening an encoder begins with a download from the hub."""
    name = spec.removeprefix(HF)
    return spec.startswith(HF) and as_folder(name) is None and not any(map(in_cache, hub_names(name)))


def hub_names(name: str) -> tuple[str, ...]:
    """Return the names that a model of the hub may have in the cache."""
    if not _HUB.fullmatch(name):
        return ()
    return (name,) if "/" in name else (name, f"sentence-transformers/{name}")
