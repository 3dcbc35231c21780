"""The folder of a saved encoder: config.json, with its kind as `encoder`, and weights as safetensors."""

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from emu_core.errors import EncoderError
from emu_core.files import other_format, read_json, write_json
from emu_core.version import __version__

ENCODER_FORMAT = 1  # raised by a version that can't read the folders before it
CONFIG, WEIGHTS, CHECKSUMS = "config.json", "model.safetensors", "checksums.json"
_TENSORS = "tensors"  # the names of all weights, in config.json
REDUCED = (torch.float16, torch.bfloat16)
DAMAGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    OSError,
    RecursionError,
    SafetensorError,
    TypeError,
    ValueError,
)
"""The errors that untrusted files may raise where they are read."""
SETTLED_S = 2.0  # a file changed after this time has other times


def write_encoder(
    folder: Path, config: Mapping[str, Any], weights: Mapping[str, Tensor] | None = None, name: str = WEIGHTS
) -> None:
    """Write config.json, with format and version, and the weights, in a new folder if need be.

    Args:
        folder: where to write.
        config: `encoder`, the kind by which `open_encoder` finds the class, and what else is needed to open it.
        weights: by name, on any device, written as float32 if they are in reduced precision; None if they are in files
            of another format.
        name: the file of the weights.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if weights is not None:
        whole = {key: full_precision(weight.detach()).cpu().contiguous() for key, weight in weights.items()}
        save_file(whole, folder / name)
        config = {**config, _TENSORS: sorted(whole)}
    about = {"format": ENCODER_FORMAT, "emu_core": __version__, **config}
    (folder / CONFIG).write_text(json.dumps(about) + "\n", "utf-8")


def read_weights(folder: Path, name: str = WEIGHTS) -> dict[str, Tensor]:
    """Return the weights that `write_encoder` wrote. Raises ValueError if the file has more or fewer than then."""
    weights = load_file(folder / name)
    # Those of older folders are not listed.
    if sorted(weights) != read_config(folder).get(_TENSORS, sorted(weights)):
        raise ValueError("other weights than those that were saved")
    return weights


def full_precision(weight: Tensor) -> Tensor:
    """Return weights in reduced precision as float32, and others as they are."""
    return weight.float() if weight.dtype in REDUCED else weight


def write_checksums(folder: Path) -> None:
    """Write the SHA-256 of every file of a saved encoder."""
    write_json(folder / CHECKSUMS, {name: _sha256(folder / name) for name in sorted(_files(folder))})


def check_files(folder: Path) -> None:
    """Compare the files of a saved encoder with their checksums, which a folder that `Encoder.save` alone made lacks.

    Raises:
        EncoderError: a file is not the one that was saved.
    """
    if (folder / CHECKSUMS).exists() and (name := changed_file(folder)):
        raise EncoderError(
            f"{folder / name} differs from what was saved; copy the run again from where it was trained, or "
            "train it again"
        )


def changed_file(folder: Path) -> str:
    """Return the first file that is not the one whose checksum `write_checksums` wrote; "" if all are."""
    try:
        saved, files = read_json(folder / CHECKSUMS), _files(folder)
        wrong = list(saved.keys() ^ files)
        wrong += [name for name in files & saved.keys() if _sha256(folder / name) != saved[name]]
    except (AttributeError, OSError, ValueError):
        wrong = [CHECKSUMS]
    return min(wrong, default="")


def _files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {CHECKSUMS}


def _sha256(file: Path) -> str:
    facts = file.stat()
    # Another write so soon may leave the same times.
    if time.time() - max(facts.st_mtime, facts.st_ctime) < SETTLED_S:
        return _digest.__wrapped__(file)
    return _digest(file, facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)


@lru_cache(maxsize=256)
def _digest(file: Path, *_facts: int) -> str:
    """Return a file's hash, computed once as long as the facts of the file are the same."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def read_config(folder: Path) -> dict[str, Any]:
    """Return the content of config.json. Raises EncoderError if it is missing, damaged or of another format."""
    try:
        config = json.loads((folder / CONFIG).read_text("utf-8"))
        if isinstance(config["encoder"], str):
            if config.get("format") != ENCODER_FORMAT:
                raise EncoderError(
                    other_format(folder, config.get("format"), config.get("emu_core"), ENCODER_FORMAT)
                )
            return dict(config)
    except FileNotFoundError:
        raise EncoderError(
            f"no encoder in {folder}; name the folder of a finished run, which holds encoder/config.json, or train the "
            "run again"
        ) from None
    except (KeyError, TypeError, ValueError, OSError):
        pass
    raise EncoderError(f"{folder / CONFIG} is damaged; train the run again")


def package_folder(name: str) -> Path | None:
    """Return the folder of a package with weights, found without running its code; None if it is not installed."""
    package = find_spec(name)
    return None if package is None or package.origin is None else Path(package.origin).parent


@contextmanager
def opening(folder: Path, kind: str) -> Iterator[None]:
    """Turn any error in opening a saved encoder, whose files are not trusted, into an EncoderError with the fix."""
    try:
        yield
    except EncoderError:
        raise
    except FileNotFoundError as missing:
        name = Path(missing.filename or WEIGHTS).name
        raise EncoderError(f"{folder} has no {name}: the run did not finish; train it again") from None
    except Exception:
        raise EncoderError(f"{folder} does not hold a whole encoder '{kind}'; train the run again") from None
