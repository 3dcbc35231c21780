"""What a person asked to be trained from scratch, kept in the run's folder until its turn comes."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from app.request import FILE, TrainRequest, flag, read_request
from emu_core.config.settings import Settings, Value
from emu_core.errors import RunError
from emu_core.methods.method import Needs
from emu_core.methods.registry import configure, methods_that_need
from emu_core.runs.run import Run


@dataclass(frozen=True)
class PretrainRequest:
    """A run that trains an encoder from random weights.

    Attributes:
        name: the run's name, and its folder's.
        files: paths of parallel text, each of which says its languages.
        dialogues: paths of dialogues; none for BiCVM, and so for the next two.
        running_text: paths of running text.
        nli: paths of NLI pairs.
        pairs: codes of the languages of each file of parallel text.
        method: a method's name.
        seed: of every draw.
        device: such as "cpu" or "cuda:0".
        preset: "tuned" or "paper", where the settings start from.
        changes: fields of the method's settings that differ from the preset.
    """

    verb: ClassVar[str] = "pretrain"

    name: str
    files: tuple[str, ...]
    dialogues: tuple[str, ...]
    running_text: tuple[str, ...]
    nli: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    method: str
    seed: int
    device: str
    preset: str
    changes: dict[str, Value]

    def settings(self) -> Settings:
        """Return the run's hyper-parameters. Raises TrainingError when one is out of range."""
        return configure(self.method, None if self.preset == "paper" else "", **self.changes)

    def arguments(self, out: Path) -> list[str]:
        """Return the arguments of `emu pretrain` that do this in the folder `out`."""
        options = {
            "--out": [str(out)],
            "--method": [self.method],
            "--dialogues": self.dialogues,
            "--running-text": self.running_text,
            "--nli": self.nli,
            "--seed": [str(self.seed)],
            "--device": [self.device],
            "--preset": [self.preset],
        }
        # --option=value, and -- before the files: no value can be taken for an option.
        named = [f"{option}={value}" for option, values in options.items() for value in values]
        return [*named, *(flag(name, value) for name, value in self.changes.items()), "--", *self.files]

    def config(self) -> dict[str, Any]:
        """Return what the run's config.json says while the run waits; the trainer writes it anew."""
        return {
            "method": self.method,
            "encoder": "",
            "languages": list(dict.fromkeys(code for pair in self.pairs for code in pair)),
            "pairs": [list(pair) for pair in self.pairs],
            "seed": self.seed,
            "device": self.device,
            "data": ", ".join(Path(file).name for file in self.files),
            "hyperparameters": asdict(self.settings()),
        }

    def save(self, run: Run) -> None:
        """Write the request into the run's folder."""
        run.write(FILE, asdict(self))

    @classmethod
    def load(cls, run: Run) -> "PretrainRequest":
        """Read the request back. Raises RunError when there is none, or a damaged one."""
        return read_request(cls, run)


Request = TrainRequest | PretrainRequest


def load_request(run: Run) -> Request:
    """Read what a run that waits was asked for, of whichever kind. Raises RunError when that is damaged."""
    kind = PretrainRequest if is_pretrained(run) else TrainRequest
    return kind.load(run)


def is_pretrained(run: Run) -> bool:
    """Whether a run trains an encoder from scratch; False where its folder is damaged."""
    try:
        return run.config().method in methods_that_need(Needs.PARALLEL_TEXT)
    except RunError:
        return False
