"""The checksums of a saved encoder: each file is hashed once in a process, and again when it has changed."""

import hashlib
from pathlib import Path

import pytest

from emu_core.encoders import saved
from emu_core.encoders.saved import check_files, write_checksums
from emu_core.errors import EncoderError


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were hashed."""
    names: list[str] = []
    real = hashlib.file_digest

    def digest(file: object, algorithm: str) -> object:
        names.append(Path(file.name).name)  # type: ignore[attr-defined]
        return real(file, algorithm)  # type: ignore[arg-type, type-var]

    monkeypatch.setattr(hashlib, "file_digest", digest)
    return names


def encoder(folder: Path) -> Path:
    (folder / "weights").write_bytes(b"1")
    write_checksums(folder)
    return folder


def test_files_are_hashed_once_in_a_process_until_they_change(
    tmp_path: Path, hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved, "SETTLED_S", 0.0)
    folder = encoder(tmp_path)
    for _ in range(3):
        check_files(folder)
    assert hashed == ["weights"]
    (folder / "weights").write_bytes(b"other")
    with pytest.raises(EncoderError, match="weights differs from what was saved"):
        check_files(folder)
    assert hashed == ["weights"] * 2


def test_what_was_written_a_moment_ago_is_hashed_each_time(
    tmp_path: Path, hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved, "SETTLED_S", 1e6)
    folder = encoder(tmp_path)
    hashed.clear()
    check_files(folder)
    check_files(folder)
    assert hashed == ["weights"] * 2
