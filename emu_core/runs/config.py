"""The settings of a run: the contents of config.json, and the only code that writes or reads them."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self, get_type_hints

import msgspec

from emu_core.devices import Precision, RunPrecision, pick_device, split_device, with_precision
from emu_core.errors import RunError
from emu_core.files import other_format
from emu_core.runs.checked import fits
from emu_core.version import __version__

FORMAT = 3  # the format of run folders; raised by a version that can't read those before it
Scalar = float | int | str | bool | None
Hyperparameters = Mapping[str, Scalar | list[Scalar]]


class RunTask(StrEnum):
    """The kind of work of a run."""

    TRAIN = "train"
    BENCH = "bench"


@dataclass(frozen=True)
class RunConfig:
    """Everything that determines a run's result, apart from the data stored in its folder.

    Attributes:
        method: the name of the training method, several joined by "+", or the name of the paper whose benchmark it is.
        data: the name of the data, for people.
        hyperparameters: the fields of the method's settings, or of the benchmark's.
        task: training or a benchmark.
        encoder: what `load_encoder` takes; "" where an encoder is trained from scratch.
        train_languages: codes of the languages whose labels are used.
        unlabelled_languages: codes of the languages whose sentences are used without labels.
        languages: codes of the languages of an encoder that is trained from scratch.
        pairs: codes of the languages, two by two, whose translations are used.
        seed: of every random draw.
        device: such as "cpu" or "cuda:0".
        precision: "fp32", or "bf16" of the encoder's forward pass, or "bf16-vectors" where training is in float32 and
            the vectors that the run measures and fits on are computed in bfloat16.
        processes: how many train together.
        snapshots: whether the vectors of some sentences are stored after each epoch.
        keep_examples: whether the labelled sentences stay in the folder, as the reasons for the intents that it names.
        versions: of the libraries used, by name.
    """

    method: str
    data: str
    hyperparameters: Hyperparameters
    task: RunTask = RunTask.TRAIN
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
    keep_examples: bool = True
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def encoder_device(self) -> str:
        """The device for `load_encoder`, with the precision of the run's vectors: "cpu:fp32"."""
        precision = Precision.FP32 if self.precision == RunPrecision.FP32 else Precision.BF16
        return with_precision(self.device, precision)

    def device_of_intents(self, device: str) -> str:
        """Return a device with the precision of the vectors that the run's intent model is fitted on.

        A precision that is named after the device holds; and a run in bfloat16 is asked in what is best on the device.
        """
        name, precision = split_device(pick_device(device))
        if not precision and self.precision == RunPrecision.FP32:
            precision = Precision.FP32.value
        return with_precision(name, precision)

    @property
    def step_precision(self) -> Precision:
        """The precision of the encoder's forward pass in a training step."""
        return Precision.BF16 if self.precision == RunPrecision.BF16 else Precision.FP32

    def to_json(self) -> dict[str, object]:
        """Return the contents of config.json."""
        return {"format": FORMAT, **{entry.name: getattr(self, entry.name) for entry in fields(RunConfig)}}

    @classmethod
    def from_json(cls, values: Mapping[str, Any], folder: Path) -> Self:
        """Check and take over the parsed contents of a run folder's config.json.

        Raises:
            RunError: the folder has another format, or a field is missing, unknown, or not of its type.
        """
        check_format(values, folder)
        hints = {"format": int, **get_type_hints(cls)}
        damaged = [
            name
            for name in {**hints, **values}
            if name not in hints or name not in values or not fits(values[name], hints[name])
        ]
        if damaged:
            raise RunError(
                f"{folder / 'config.json'} is damaged: {', '.join(damaged)[:200]} can't be read; delete the run's "
                "folder"
            )
        return msgspec.convert(values, cls)


@dataclass(frozen=True)
class Plan(RunConfig):
    """The configuration of a run, and those of the runs in its folder, which are trained before it.

    Attributes:
        parts: the runs whose encoders it joins, in their order; none for an encoder that isn't joined. The encoder of
            each is its kind, and the settings are theirs alone.
        teacher: the run whose encoder it learns from; None if it learns from none, or from one that there is already.
    """

    parts: tuple["Plan", ...] = ()
    teacher: "Plan | None" = None

    def by_part(self) -> "tuple[Plan, ...]":
        """Return the runs that the encoder is joined from, or this one."""
        return self.parts or (self,)

    def everywhere(self, **changes: Any) -> "Plan":
        """Return the plan with other values in the configuration of every run."""
        teacher = None if self.teacher is None else self.teacher.everywhere(**changes)
        parts = tuple(part.everywhere(**changes) for part in self.parts)
        return replace(self, **changes, parts=parts, teacher=teacher)


def check_format(values: Mapping[str, Any], folder: Path) -> None:
    """Raise a RunError that names the version to use if a run folder's config.json is not of this format."""
    number, used = values.get("format"), values.get("versions")
    writer = used.get("emu_core") if isinstance(used, dict) else None
    if number != FORMAT and (isinstance(number, int) or isinstance(writer, str)):  # else it is damaged
        raise RunError(other_format(folder, number, writer, FORMAT))


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of this library, Python, torch, numpy and other packages, by name."""
    ours = {"emu_core": __version__, "python": platform.python_version()}
    return ours | {name: version(name) for name in ("torch", "numpy", *packages)}
