"""Estimators in folders of JSON and safetensors, which run no code when they are opened.

estimator.json       format, version, class, parameters, and what `fit` has learnt
arrays.safetensors   vectors, weights and sentences
encoder/             the specialised encoder, or
encoders/NAME/       the encoders of the runs that a parameter names, or
transformer/         the estimator that a classifier takes its vectors from
checksums.json       the SHA-256 of all of these
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from emu_core.data.wording import kind_of, shown
from emu_core.devices import Precision, encoding_precision, pick_device, with_precision
from emu_core.encoders.estimators import (
    ABOUT,
    ARRAYS,
    ESTIMATOR_FORMAT,
    about_estimator,
    check_files,
    is_estimator,
    reading,
)
from emu_core.encoders.saved import CHECKSUMS, write_checksums
from emu_core.errors import EmuError, InputError, RunError
from emu_core.files import disk_fault, read_json, whole_folder, write_json
from emu_core.version import __version__

_MAX_LABEL_CHARACTERS = 2**28
_PLAIN = re.compile(r"[<>|][biuf][1248]|[<>]U(\d{1,5})")  # NumPy's types of numbers and texts


@dataclass(frozen=True)
class Stored:
    """The contents of an estimator's folder.

    Attributes:
        folder: where it is.
        parameters: the estimator's, with `device` if another is wanted.
        facts: what `fit` has learnt, as values for JSON.
        arrays: what `fit` has learnt, as arrays.
        device: the device that is wanted instead of the estimator's; None for that.
    """

    folder: Path
    parameters: dict[str, Any]
    facts: Mapping[str, Any]
    arrays: dict[str, NDArray[Any]]
    device: str | None


class StoredEstimator(BaseEstimator, ABC):
    """An estimator of `emu_core.sklearn`, which is saved in a folder and opened from it."""

    def save(self, folder: str | Path) -> Path:
        """Write the fitted estimator to a folder, without pickle; `load` opens it on any machine.

        A published encoder is named, and the encoder of a run is copied, so that the run is no longer needed.

        Args:
            folder: new, empty, or one that `save` wrote, which is replaced. It appears when it is complete.

        Returns:
            The folder.

        Raises:
            NotFittedError: the estimator is not fitted.
            InputError: a parameter is nothing that can be written, such as a `RandomState`.
            RunError: the folder has other files, or can't be written.
        """
        check_is_fitted(self)
        target = Path(folder).resolve()
        if target.exists() and not _may_be_replaced(target):
            raise RunError(f"{folder} is in use; choose another folder, or delete it")
        try:
            with whole_folder(target, replaces=True) as partial:
                self.write_to(partial)
                write_checksums(partial)
        except Exception as error:
            if isinstance(error, EmuError) or not (why := disk_fault(error)):
                raise
            raise RunError(
                f"can't write {folder}: {why}; make room there, or choose another folder"
            ) from error
        return Path(folder)

    @classmethod
    def load(cls, folder: str | Path, *, device: str | None = None) -> Self:
        """Open an estimator that `save` wrote. Its predictions and vectors are the same to the bit.

        The folder need not be trusted: nothing in it is run, and no file outside of it is opened.

        Args:
            folder: what `save` returned; where the encoder of a run was copied, it has to stay there.
            device: where to compute, such as "cpu"; None takes that of the estimator.

        Raises:
            InputError: the folder is damaged, of another class or version, or not there.
            EncoderError: a published encoder can't be opened.
        """
        path = Path(folder).resolve()
        if not is_estimator(path):
            raise InputError(f"no estimator in {folder}; name a folder that save wrote")
        with reading(path):
            check_files(path)
        return cls.read_from(path, device)

    def write_to(self, folder: Path) -> None:
        """Write the files of the estimator, without checksums, into a folder that is there."""
        about = {
            "format": ESTIMATOR_FORMAT,
            "emu_core": __version__,
            "estimator": type(self).__name__,
            "precision": encoding_precision(pick_device(self.get_params(deep=False)["device"])),
            "parameters": {
                name: _json_of(name, value) for name, value in self._stored_parameters(folder).items()
            },
        }
        facts, arrays = self._state(folder)
        write_json(folder / ABOUT, {**about, "fitted": facts})
        if arrays:
            save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, folder / ARRAYS)

    @classmethod
    def read_from(cls, folder: Path, device: str | None) -> Self:
        """Open what `write_to` wrote, with checksums that are checked already."""
        with reading(folder):
            about = about_estimator(folder)
            if about["estimator"] != cls.__name__:
                name = shown(about["estimator"], 40)
                raise InputError(f"{folder} holds the estimator {name}; open it with {name}.load")
            values = about["parameters"].items()
            parameters = {name: _value_of(value) for name, value in values}
            if device is not None:
                parameters["device"] = device
            # What was learnt of vectors in one precision is not asked of those in another.
            precision = Precision(about.get("precision", Precision.FP32))
            if encoding_precision(pick_device(parameters["device"])) is not precision:
                parameters["device"] = with_precision(parameters["device"], precision)
            arrays = load_file(folder / ARRAYS) if (folder / ARRAYS).is_file() else {}
            return cls._restored(Stored(folder, parameters, about["fitted"], arrays, device))

    def _stored_parameters(self, folder: Path) -> dict[str, Any]:
        """Return the parameters; the encoders of runs that the state lacks are copied into the folder."""
        parameters: dict[str, Any] = self.get_params(deep=False)
        return parameters

    def _state(self, folder: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what `fit` has learnt, as values for JSON and as arrays; other files are written to the folder."""
        return {}, {}

    @classmethod
    @abstractmethod
    def _restored(cls, stored: Stored) -> Self:
        """Return the estimator of the parameters, and of what `_state` returned and wrote."""


def _may_be_replaced(folder: Path) -> bool:
    """Return whether a folder is empty, or has an estimator and nothing else."""
    if not folder.is_dir():
        return False
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if not files:
        return not any(folder.iterdir())
    with suppress(OSError, ValueError, AttributeError):
        return ABOUT in files and files <= {CHECKSUMS, *read_json(folder / CHECKSUMS).keys()}
    return False


def labels_to_json(labels: NDArray[Any]) -> dict[str, Any]:
    """Return class labels, texts or numbers, as values for JSON."""
    return {"dtype": labels.dtype.str, "values": [_json_of("classes_", label) for label in labels.tolist()]}


def labels_from_json(values: Mapping[str, Any]) -> NDArray[Any]:
    """Return the class labels that `labels_to_json` returned. Raises ValueError if these are none."""
    labels, dtype = list(map(_value_of, values["values"])), values["dtype"]
    kind = _PLAIN.fullmatch(dtype)
    if dtype != "|O" and (kind is None or int(kind[1] or 0) * len(labels) > _MAX_LABEL_CHARACTERS):
        raise ValueError("labels of another type")
    if not labels or not all(isinstance(label, str | int | float | np.generic) for label in labels):
        raise ValueError("no labels")
    return np.array(labels, dtype=dtype)


def texts_to_array(texts: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes of all texts, and where each ends, (N,)."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return np.frombuffer(b"".join(encoded), np.uint8), np.cumsum(
        [len(text) for text in encoded], dtype=np.int64
    )


def texts_from_array(content: NDArray[np.uint8], ends: NDArray[np.int64]) -> list[str]:
    """Return the texts that `texts_to_array` returned. Raises ValueError if these are none."""
    if content.dtype != np.uint8 or ends.dtype != np.int64 or content.ndim != 1 or ends.ndim != 1:
        raise ValueError("no texts")
    if (np.diff(ends, prepend=0, append=len(content)) < 0).any():
        raise ValueError("texts of another length")
    whole, starts = content.tobytes(), np.roll(ends, 1)
    starts[:1] = 0
    return [
        whole[start:end].decode("utf-8", "surrogatepass")
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def _json_of(name: str, value: Any) -> Any:
    """Return the value of a parameter for JSON, which has neither tuples nor NumPy's numbers."""
    if isinstance(value, np.generic) and _PLAIN.fullmatch(value.dtype.str):
        return {"dtype": value.dtype.str, "value": value.item()}
    if isinstance(value, tuple):
        return {"tuple": [_json_of(name, item) for item in value]}
    if isinstance(value, list):
        return [_json_of(name, item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InputError(
        f"the parameter {name} is {kind_of(value)}, which can't be saved; set a number or a text with "
        f"set_params({name}=...)"
    )


def _value_of(value: Any) -> Any:
    """Return the value that `_json_of` wrote. Raises ValueError if it is none."""
    match value:
        case {"tuple": list(items)} if len(value) == 1:
            return tuple(map(_value_of, items))
        case {"dtype": str(dtype), "value": item} if _PLAIN.fullmatch(dtype) and len(value) == 2:
            return np.dtype(dtype).type(item)
        case list(items):
            return list(map(_value_of, items))
        case None | bool() | int() | float() | str():
            return value
    raise ValueError("not the value of a parameter")
