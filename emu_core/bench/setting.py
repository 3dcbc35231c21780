"""What all cells of one folder share, and what each is trained with: where these differ, cells can't be compared."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from emu_core.bench.cells import Cell, Kind, Peer, Rate
from emu_core.config import EmuConfig, Method, Settings, configure
from emu_core.encoders.registry import encoder_kind

THEIR_RATE = 2e-5  # what sentence-transformers' and SetFit's documentation trains with
LDA_SHRINKAGE = 0.5
COMPARED = MappingProxyType(
    {
        "encoder": "the encoder",
        "device": "the device",
        "data_sha256": "the data",
        "epochs": "the number of epochs",
    }
)
SETFIT_PAIRS = 20  # R of Tunstall et al. 2022: so many pairs of each sort a sentence


@dataclass(frozen=True)
class Setting:
    """What every cell of a folder shares.

    Attributes:
        encoder: what `load_encoder` takes.
        device: where cells are trained.
        data_name: what to call the labelled set.
        data_sha256: checksum of the sentences trained on and measured.
        translations_sha256: checksum of the machine translations; empty where there are none.
        epochs: of every system; None takes the method's default for the encoder.
    """

    encoder: str
    device: str
    data_name: str
    data_sha256: str
    translations_sha256: str = ""
    epochs: int | None = None

    @property
    def compared(self) -> Mapping[str, str]:
        """The fields that may not differ within a folder, and what a person calls each."""
        return COMPARED | {"translations_sha256": "the machine translations"}

    @property
    def budget(self) -> EmuConfig:
        """Emu's own hyper-parameters: its epochs, batch size and learning rate are what the peers get too."""
        return configure("emu", encoder_kind(self.encoder), **self._changes)

    def config(self, method: Method) -> Settings:
        """The hyper-parameters of a method."""
        if not has_epochs(method):
            return configure(method, encoder_kind(self.encoder))
        return configure(method, encoder_kind(self.encoder), **self._changes)

    @property
    def _changes(self) -> dict[str, Any]:
        return {} if self.epochs is None else {"epochs": self.epochs}

    def hyperparameters(self, cell: Cell) -> dict[str, Any]:
        """What a cell is trained with."""
        if cell.kind is Kind.METHOD:
            return asdict(self.config(Method(cell.name)))
        if cell.kind is not Kind.PEER:
            return {}
        if cell.name == Peer.LDA:
            return {"shrinkage": LDA_SHRINKAGE}
        if cell.name == Peer.LOGISTIC:
            return {"C": "chosen by cross-validation on the training sentences"}
        ours = self.budget
        rate = ours.learning_rate if cell.rate is Rate.OURS else THEIR_RATE
        return {"epochs": ours.epochs, "batch_size": ours.batch_size, "learning_rate": rate}

    def fingerprint(self, cell: Cell) -> str:
        """A checksum of all that decides what a cell measures."""
        return checksum(asdict(self), asdict(cell), self.hyperparameters(cell))


def checksum(setting: Mapping[str, Any], cell: Mapping[str, Any], hyperparameters: Mapping[str, Any]) -> str:
    """A checksum of what decides a cell's numbers."""
    said = {"setting": setting, "cell": cell, "hyperparameters": hyperparameters}
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()


def has_epochs(method: Method) -> bool:
    """Whether a method trains in epochs."""
    return isinstance(configure(method), EmuConfig)
