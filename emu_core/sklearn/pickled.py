"""Encoders as bytes, for pickle and joblib, which copy an estimator to another process."""

from pathlib import Path
from tempfile import TemporaryDirectory

from emu_core.encoders.base import Encoder
from emu_core.encoders.registry import open_encoder


def bytes_of_encoder(encoder: Encoder) -> dict[str, bytes]:
    """Return the files of a saved encoder by their paths in its folder."""
    with TemporaryDirectory(prefix="emu-") as name:
        folder = Path(name)
        encoder.save(folder)
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def encoder_from_bytes(files: dict[str, bytes], device: str) -> Encoder:
    """Open the encoder whose files `bytes_of_encoder` returned."""
    with TemporaryDirectory(prefix="emu-") as name:
        folder = Path(name)
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        return open_encoder(folder).placed(device)
