"""The settings of a run: what config.json holds, and the only code that writes or reads it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any, Self

from emu_core.errors import RunError

Scalar = float | int | str | bool | None
_LATER = ("snapshots",)  # runs that were made before them name none
Hyperparameters = Mapping[str, Scalar | list[Scalar]]


class Task(StrEnum):
    """The work of a run."""

    TRAIN = "train"
    BENCH = "bench"


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides a run's result, beside the data stored in its folder.

    Attributes:
        method: the name of the training method, or of the paper whose benchmark it is.
        data: the name of the data, for people.
        hyperparameters: the fields of the method's settings, or of the benchmark's.
        task: training or a benchmark.
        encoder: what `load_encoder` takes; "" where an encoder is trained from scratch.
        train_languages: codes of the languages whose labels are used.
        unlabelled_languages: codes of the languages whose sentences are used without labels.
        languages: codes of the languages of an encoder that is trained from scratch.
        pairs: codes of the languages, two by two, whose translations are used.
        seed: of every draw.
        device: such as "cpu" or "cuda:0".
        precision: "fp32" or "bf16", of the encoder's forward pass.
        processes: how many share the work.
        snapshots: whether the vectors of some sentences are stored after each epoch.
        versions: of the libraries, by name.
    """

    method: str
    data: str
    hyperparameters: Hyperparameters
    task: Task = Task.TRAIN
    encoder: str = ""
    train_languages: tuple[str, ...] = ()
    unlabelled_languages: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    seed: int = 0
    device: str = "cpu"
    precision: str = "fp32"
    processes: int = 1
    snapshots: bool = False
    versions: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the contents of config.json."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any], where: str) -> Self:
        """Check and take over the contents of config.json.

        Fields that version 0.1.0 did not write get defaults in its files, which name no `task`; so do `_LATER` fields.

        Args:
            values: as the JSON was parsed.
            where: the file, for the error.

        Raises:
            RunError: a field is missing, unknown, or not of its type.
        """
        needed = (
            [one.name for one in fields(cls) if one.name not in _LATER]
            if "task" in values
            else ["method", "data", "hyperparameters"]
        )
        found = dict(values)
        wrong = [name for name, value in found.items() if name not in _CHECKS or not _CHECKS[name](value)]
        missing = [name for name in needed if name not in found]
        if wrong or missing:
            raise RunError(
                f"{where} is damaged: {', '.join(wrong + missing)[:200]} can't be read; delete the run's folder"
            )
        for name in ("train_languages", "unlabelled_languages", "languages"):
            found[name] = tuple(found.get(name, ()))
        found["pairs"] = tuple((first, second) for first, second in found.get("pairs", ()))
        found["task"] = Task(found.get("task", Task.TRAIN))
        return cls(**found)


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _scalar(value: object) -> bool:
    return value is None or isinstance(value, float | int | str | bool)


def _text(value: object) -> bool:
    return isinstance(value, str)


_CHECKS = {
    "method": _text,
    "data": _text,
    "hyperparameters": lambda value: (
        isinstance(value, dict)
        and all(_scalar(one) or (isinstance(one, list) and all(map(_scalar, one))) for one in value.values())
    ),
    "task": lambda value: _text(value) and value in tuple(Task),
    "encoder": _text,
    "train_languages": _texts,
    "unlabelled_languages": _texts,
    "languages": _texts,
    "pairs": lambda value: isinstance(value, list) and all(_texts(one) and len(one) == 2 for one in value),
    "seed": _whole,
    "device": _text,
    "precision": _text,
    "processes": _whole,
    "snapshots": lambda value: isinstance(value, bool),
    "versions": lambda value: isinstance(value, dict) and all(map(_text, value.values())),
}
