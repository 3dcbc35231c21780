"""What all cells of one folder share, and what each is trained with."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from emu_core.bench.pretrained.cells import PretrainedCell
from emu_core.bench.setting import checksum
from emu_core.config.settings import Settings

QUICK_EPOCHS = 5


@dataclass(frozen=True)
class Recipe:
    """How a system is trained.

    Attributes:
        method: what trains it.
        config: with which settings.
        dialogues: whether it learns from dialogues, too.
        running: whether it learns from running text, too.
        nli: whether it learns from NLI, too.
    """

    method: str
    config: Settings
    dialogues: bool = False
    running: bool = False
    nli: bool = False


@dataclass(frozen=True)
class PretrainedSetting(ABC):
    """What every cell of a folder shares.

    Attributes:
        device: where cells are trained.
        data_name: what to call the parallel text.
        data_sha256: checksum of everything trained on and measured.
        epochs: of every system, at most; None takes the systems' own.
        quick: fewer epochs (and fewer pairs, which the texts have already).
    """

    device: str
    data_name: str
    data_sha256: str
    epochs: int | None = None
    quick: bool = False

    @property
    def compared(self) -> Mapping[str, str]:
        """The fields that may not differ within a folder, and what a person calls each."""
        return {
            "device": "the device",
            "data_sha256": "the data",
            "epochs": "the number of epochs",
            "quick": "whether they are quick ones",
        }

    @abstractmethod
    def recipe(self, system: str) -> Recipe | None:
        """How a system is trained; None where there is nothing to train."""

    def epochs_of(self, own: int | None) -> dict[str, int]:
        """The change to a config whose own number of epochs this is."""
        if self.epochs is not None:
            return {"epochs": self.epochs}
        return {"epochs": min(own or QUICK_EPOCHS, QUICK_EPOCHS)} if self.quick else {}

    def hyperparameters(self, cell: PretrainedCell) -> dict[str, Any]:
        """What a cell is trained with."""
        recipe = self.recipe(cell.system)
        return {} if recipe is None else asdict(recipe)

    def fingerprint(self, cell: PretrainedCell) -> str:
        """A checksum of all that decides what a cell measures."""
        return checksum(asdict(self), asdict(cell), self.hyperparameters(cell))
