"""What a person asked to be measured, kept in the benchmark's folder."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from emu_core.errors import RunError

FILE = "request.json"


@dataclass(frozen=True)
class BenchRequest:
    """A benchmark to run.

    Attributes:
        title: what a person calls the data.
        data: a path, or the word "demo".
        encoder: what `load_encoder` takes.
        parts: `Part`s' values.
        seeds: of every draw.
        train_languages: codes of the languages whose labels are used.
        epochs: of every system; None takes the defaults measured for the encoder.
        device: such as "cpu" or "cuda:0".
    """

    title: str
    data: str
    encoder: str
    parts: tuple[str, ...]
    seeds: tuple[int, ...]
    train_languages: tuple[str, ...]
    epochs: int | None
    device: str

    def on(self, data: str) -> "BenchRequest":
        """Return the same request with its data named."""
        return replace(self, data=data)

    def arguments(self, out: Path) -> list[str]:
        """Return the arguments of `emu` that do this in the folder `out`."""
        epochs = [] if self.epochs is None else [f"--epochs={self.epochs}"]
        # --option=value, and -- before the data: no value can be taken for an option.
        return [
            "bench",
            "emu",
            f"--out={out}",
            f"--encoder={self.encoder}",
            f"--device={self.device}",
            *(f"--train-language={code}" for code in self.train_languages),
            *epochs,
            "--seeds",
            *map(str, self.seeds),
            "--tables",
            *self.parts,
            "--",
            self.data,
        ]

    def to_json(self) -> Mapping[str, Any]:
        """As plain values."""
        return asdict(self)

    @classmethod
    def load(cls, folder: Path) -> "BenchRequest":
        """Read the request back. Raises RunError when there is none, or a damaged one."""
        try:
            values = json.loads((folder / FILE).read_text("utf-8"))
            lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
            return cls(**values | lists)
        except (OSError, ValueError, TypeError, AttributeError):
            raise RunError(
                f"{folder / FILE} is missing or damaged; start the benchmark anew under another name"
            ) from None
