"""Names of encoders: runs, models of the Hugging Face hub, and folders on this machine."""

import re
from functools import cache
from pathlib import Path

from emu_core.data.wording import shown
from emu_core.encoders.registry import available_encoders
from emu_core.encoders.specs import RUN_SPEC, is_run, joined_spec, parts_of
from emu_core.encoders.transformer.hf import as_folder, in_cache
from emu_core.errors import EncoderError

HF = "hf:"
RUN_PREFIX = RUN_SPEC
EXAMPLE_MODEL = "intfloat/multilingual-e5-small"
# On the hub: an owner and a name, or only the name of one of the oldest models.
_PART = r"[A-Za-z0-9](?:[A-Za-z0-9_]|[.-](?![.-])){0,95}"
_HUB = re.compile(rf"{_PART}(?:/{_PART})?")
_PATH = re.compile(r"[/\\.~]|[A-Za-z]:[/\\]")
_HOLD = ("modules.json", "config.json")  # every folder of a model has one of them


def model_spec(typed: str, *, folders: bool = True) -> str:
    """Return the spec for `load_encoder` of a model's name or folder that a person typed; paths become absolute.

    Without `folders` only names of the hub are accepted. Nothing is fetched. Raises EncoderError if it is no model's.
    """
    name = typed.strip().removeprefix(HF).strip()
    if not name:
        raise EncoderError(
            f"name a transformer: a model of the hub, such as {EXAMPLE_MODEL}, or a folder on this machine"
        )
    named = shown(name, 80)
    if "://" in name:
        raise EncoderError(f"'{named}' is an address; type the model's name, such as {EXAMPLE_MODEL}")
    folder = as_folder(name)
    if not folders and (folder is not None or not _HUB.fullmatch(name)):
        raise EncoderError(f"name a model of the hub, such as {EXAMPLE_MODEL}; this server opens no folders")
    if folder is not None:
        if not any((folder / file).is_file() for file in _HOLD):
            raise EncoderError(
                f"the folder {named} contains no model: it has neither {' nor '.join(_HOLD)}; name another"
            )
        return f"{HF}{folder.resolve()}"
    if _PATH.match(name):
        raise EncoderError(f"there is no folder {named} on the machine where this app runs; name another")
    if not _HUB.fullmatch(name):
        raise EncoderError(
            f"'{named}' is neither a folder here nor a name of the hub, such as {EXAMPLE_MODEL}"
        )
    return f"{HF}{name}"


def short_name(spec: str) -> str:
    """Return a short name for an encoder's spec: the run's name, or the last part of the model's."""
    if len(parts := parts_of(spec)) > 1:
        return joined_spec(map(short_name, parts))
    if spec.startswith(RUN_PREFIX):
        return Path(spec.removeprefix(RUN_PREFIX)).name
    return f"hf-{Path(spec.removeprefix(HF)).name}" if spec.startswith(HF) else spec


def plain_name(spec: str) -> str:
    """Return a name for people: "USE multilingual" for `use`, and of runs and other models the short name."""
    published = _published()
    return " + ".join(published.get(part) or short_name(part) for part in parts_of(spec))


@cache
def _published() -> dict[str, str]:
    """Return the names of the encoders that are no runs or models of others, by spec."""
    return {info.spec: info.name for info in available_encoders() if not info.spec.endswith(":")}


def in_address(spec: str) -> str:
    """Return an encoder's spec as in the address of a page, where a run has no folder."""
    return joined_spec(f"{RUN_PREFIX}{short_name(part)}" if is_run(part) else part for part in parts_of(spec))


def must_be_fetched(spec: str) -> bool:
    """Return whether opening an encoder starts with a download from the hub."""
    if len(parts := parts_of(spec)) > 1:
        return any(map(must_be_fetched, parts))
    name = spec.removeprefix(HF)
    return spec.startswith(HF) and as_folder(name) is None and not any(map(in_cache, hub_names(name)))


def hub_names(name: str) -> tuple[str, ...]:
    """Return the names under which a hub model may be in the cache."""
    if not _HUB.fullmatch(name):
        return ()
    return (name,) if "/" in name else (name, f"sentence-transformers/{name}")
