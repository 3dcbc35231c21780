"""The folder of a benchmark: its setting, its data, and one file for each finished cell."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import pandas as pd

from emu_core.errors import RunError

FORMAT = 1


class CellLike(Protocol):
    """A cell, as a frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def key(self) -> str:
        """The name of its file without the ending."""

    @property
    def label(self) -> str:
        """What to call it while it runs."""


class ResultLike(Protocol):
    """What a cell measured."""

    @property
    def not_measured(self) -> str:
        """Why it measured nothing; empty where it did."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""


C = TypeVar("C", bound=CellLike)
C_contra = TypeVar("C_contra", bound=CellLike, contravariant=True)
R = TypeVar("R", bound=ResultLike)


class SettingLike(Protocol[C_contra]):
    """What a folder's cells share, as a frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def compared(self) -> Mapping[str, str]:
        """The fields that may not differ within a folder, and what a person calls each."""

    def hyperparameters(self, cell: C_contra) -> dict[str, Any]:
        """What a cell is trained with."""

    def fingerprint(self, cell: C_contra) -> str:
        """A checksum of all that decides what a cell measures."""


class Store(Generic[C, R]):
    """A benchmark's folder.

    Attributes:
        folder: where it is.
        setting: what its cells share.
    """

    def __init__(
        self,
        folder: Path,
        setting: SettingLike[C],
        sentences: pd.DataFrame,
        from_json: Callable[[Mapping[str, Any]], R],
        translations: Mapping[int, str] | None = None,
    ) -> None:
        """Begin a folder, or go on with one that was begun with the same setting and data.

        Args:
            folder: where it is.
            setting: what its cells share.
            sentences: all that is trained on or measured.
            from_json: reads a finished cell's result.
            translations: machine translations by row of the test part.

        Raises:
            RunError: the folder holds something else.
        """
        self.folder, self.setting, self._from_json = folder, setting, from_json
        said = {"format": FORMAT, **json.loads(json.dumps(asdict(setting)))}  # as it is when it is read back
        if self._said.exists():
            _check_same(folder, _read(self._said), said, setting.compared)
            return
        if folder.exists() and not self._is_barely_begun():
            raise RunError(f"{folder} is in use and holds no benchmark; choose another folder with --out")
        self.cells.mkdir(parents=True, exist_ok=True)
        sentences.to_parquet(self.data_file)
        if translations:
            rows = pd.DataFrame({"row": list(translations), "text": list(translations.values())})
            rows.to_parquet(self.translations_file)
        write_json(self._said, said)  # last: it says that the rest is there

    def _is_barely_begun(self) -> bool:
        """Whether the folder is empty, or holds only what is written before bench.json: a kill came between."""
        if not self.folder.is_dir():
            return False
        ours = {self.cells, self.data_file, self.translations_file}
        partial = f".{self._said.name}."
        there = {path for path in self.folder.iterdir() if not path.name.startswith(partial)}
        return there <= ours and not (self.cells.is_dir() and any(self.cells.iterdir()))

    @property
    def _said(self) -> Path:
        return self.folder / "bench.json"

    @property
    def cells(self) -> Path:
        """The folder of the finished cells."""
        return self.folder / "cells"

    @property
    def data_file(self) -> Path:
        """The sentences, for the processes that run cells."""
        return self.folder / "data.parquet"

    @property
    def translations_file(self) -> Path:
        """The machine translations; absent where there are none."""
        return self.folder / "translations.parquet"

    def file_of(self, cell: C) -> Path:
        """Where a finished cell is."""
        return self.cells / f"{cell.key}.json"

    def read(self, cell: C) -> R | None:
        """Return a finished cell, or None where it is still to do.

        Raises:
            RunError: its file was made with other settings, or is damaged.
        """
        path = self.file_of(cell)
        if not path.exists():
            return None
        values = _read(path)
        if values.get("fingerprint") != self.setting.fingerprint(cell):
            raise RunError(
                f"{path} was made with other settings than these; choose another folder with --out, or delete the file"
            )
        try:
            return self._from_json(values["result"])
        except (KeyError, TypeError, ValueError, AttributeError):
            raise RunError(f"{path} is damaged; delete the file, and the cell is run again") from None

    def write(self, cell: C, result: R) -> None:
        """Keep a finished cell."""
        said = {
            "cell": {"key": cell.key, **asdict(cell)},
            "fingerprint": self.setting.fingerprint(cell),
            "hyperparameters": self.setting.hyperparameters(cell),
            "result": result.to_json(),
        }
        write_json(self.file_of(cell), said)


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """Write a JSON file so that a reader sees the old one or the new one, never half."""
    write_whole(path, (json.dumps(values, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "replace"))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one, never half."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_bytes(content)
    partial.replace(path)


def _read(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        values = None
    if not isinstance(values, dict):
        raise RunError(f"{path} is damaged; delete it, or choose another folder with --out")
    return values


def _check_same(
    folder: Path, there: Mapping[str, Any], asked: Mapping[str, Any], compared: Mapping[str, str]
) -> None:
    if there.get("format") != FORMAT:
        raise RunError(f"{folder} was made by another version; choose another folder with --out")
    for name, what in compared.items():
        if there.get(name) != asked[name]:
            shown = "" if name.endswith("sha256") else f" ({there.get(name)}, not {asked[name]})"
            raise RunError(
                f"{folder} holds cells that differ in {what}{shown}; choose another folder with --out"
            )
