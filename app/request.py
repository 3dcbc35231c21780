"""What a person asked to be trained, kept in the run's folder until its turn comes."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from emu_core.config.settings import Settings, Value
from emu_core.encoders.registry import encoder_kind
from emu_core.errors import RunError
from emu_core.methods.registry import configure
from emu_core.runs.run import Run

FILE = "request.json"
Kind = TypeVar("Kind")


@dataclass(frozen=True)
class TrainRequest:
    """A run to train.

    Attributes:
        name: the run's name, and its folder's.
        data: a path, or the word "demo".
        method: a method's name.
        encoder: what `load_encoder` takes.
        train_languages: codes of the languages whose labels are used.
        unlabelled_languages: codes of the languages used without labels.
        seed: of every draw.
        device: such as "cpu" or "cuda:0".
        preset: "tuned" or "paper", where the settings start from.
        changes: fields of the method's settings that differ from the preset.
        pairs: codes of the languages, two by two, whose translations FMDA and its baseline learn from.
    """

    verb: ClassVar[str] = "train"

    name: str
    data: str
    method: str
    encoder: str
    train_languages: tuple[str, ...]
    unlabelled_languages: tuple[str, ...]
    seed: int
    device: str
    preset: str
    changes: dict[str, Value]
    pairs: tuple[tuple[str, str], ...] = ()

    def on(self, data: str) -> "TrainRequest":
        """Return the same request with its data named."""
        return replace(self, data=data)

    def settings(self) -> Settings:
        """Return the run's hyper-parameters. Raises TrainingError when one is out of range."""
        return preset_settings(self.method, self.encoder, self.preset, **self.changes)

    def arguments(self, out: Path) -> list[str]:
        """Return the arguments of `emu train` that do this in the folder `out`."""
        options = {
            "--out": [str(out)],
            "--method": [self.method],
            "--encoder": [self.encoder],
            "--train-language": self.train_languages,
            "--unlabelled-language": self.unlabelled_languages,
            "--pair": [_pair(*codes) for codes in self.pairs],
            "--seed": [str(self.seed)],
            "--device": [self.device],
            "--preset": [self.preset],
        }
        # --option=value, and -- before the data: no value can be taken for an option.
        named = [f"{option}={value}" for option, values in options.items() for value in values]
        return [*named, *(flag(name, value) for name, value in self.changes.items()), "--", self.data]

    def config(self) -> dict[str, Any]:
        """Return what the run's config.json says while the run waits; the trainer writes it anew."""
        return {
            "method": self.method,
            "encoder": self.encoder,
            "train_languages": list(self.train_languages),
            "unlabelled_languages": list(self.unlabelled_languages),
            **({"pairs": [list(codes) for codes in self.pairs]} if self.pairs else {}),
            "seed": self.seed,
            "device": self.device,
            "data": self.data,
            "hyperparameters": asdict(self.settings()),
        }

    def save(self, run: Run) -> None:
        """Write the request into the run's folder."""
        run.write(FILE, asdict(self))

    @classmethod
    def load(cls, run: Run) -> "TrainRequest":
        """Read the request back. Raises RunError when there is none, or a damaged one."""
        return read_request(cls, run)


def read_request(kind: type[Kind], run: Run) -> Kind:
    """Read a request of a kind back. Raises RunError when there is none, or a damaged one."""
    try:
        values = json.loads((run.folder / FILE).read_text("utf-8"))
        lists = {name: _tuples(value) for name, value in values.items() if isinstance(value, list)}
        return kind(**values | lists)
    except (OSError, ValueError, TypeError, AttributeError):
        raise RunError(f"{run.folder / FILE} is missing or damaged; start the run anew") from None


def preset_settings(method: str, encoder: str, preset: str, **changes: Value) -> Settings:
    """Return a method's settings: those measured for the encoder ("tuned"), or the paper's own ("paper")."""
    return configure(method, encoder_kind(encoder) if preset == "tuned" else None, **changes)


def _tuples(values: list[Any]) -> tuple[Any, ...]:
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


def _pair(first: str, second: str) -> str:
    """Two languages as `emu train` reads them: one hyphen, none within a code such as zh-tw."""
    return f"{first.replace('-', '_')}-{second.replace('-', '_')}"


def flag(name: str, value: Value) -> str:
    """Return a setting as the command takes it."""
    option = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{option}" if value else f"--no-{option}"
    return f"--{option}={value}"
