"""What all cells of one folder share, and what each is trained with."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from emu_core.bench.fmda.cells import FmdaCell, Pair, System
from emu_core.bench.setting import COMPARED, checksum
from emu_core.config import Method, Settings, configure
from emu_core.encoders.registry import encoder_kind

_RECONSTRUCTIONS = {
    System.WITHOUT_UTTERANCE: ("utterance_weight", "utterance_cross_weight"),
    System.WITHOUT_TEMPLATE: ("template_weight", "template_cross_weight"),
    System.WITHOUT_RESIDUAL: ("residual_weight", "residual_cross_weight"),
}
_CHANGES: dict[System, dict[str, Any]] = {
    System.BASELINE: {},
    System.FMDA: {},
    System.TWO_STAGE: {"two_stage": True},
    System.WITHOUT_RECONSTRUCTION: {name: 0.0 for names in _RECONSTRUCTIONS.values() for name in names},
    **{system: dict.fromkeys(names, 0.0) for system, names in _RECONSTRUCTIONS.items()},
    System.WITHOUT_CONTRAST: {"template_contrast_weight": 0.0, "meaning_contrast_weight": 0.0},
    System.EQUATION_5: {"utterance_cross_weight": 0.0},
}


@dataclass(frozen=True)
class FmdaSetting:
    """What every cell of a folder shares.

    Attributes:
        encoder: what `load_encoder` takes.
        device: where cells are trained.
        data_name: what to call the set.
        data_sha256: checksum of the sentences trained on and measured.
        pairs: every language pair of the benchmark.
        epochs: at most, of every system (of each of its stages); None takes the methods' default.
    """

    encoder: str
    device: str
    data_name: str
    data_sha256: str
    pairs: tuple[Pair, ...]
    epochs: int | None = None

    @property
    def compared(self) -> Mapping[str, str]:
        """The fields that may not differ within a folder, and what a person calls each."""
        return COMPARED | {"pairs": "the language pairs"}

    def config(self, system: System) -> Settings:
        """The hyper-parameters of a system that is trained."""
        changes = {} if self.epochs is None else {"epochs": self.epochs}
        return configure(method_of(system), encoder_kind(self.encoder), **changes, **_CHANGES[system])

    def hyperparameters(self, cell: FmdaCell) -> dict[str, Any]:
        """What a cell is trained with."""
        return {} if cell.system is System.BASE else asdict(self.config(cell.system))

    def fingerprint(self, cell: FmdaCell) -> str:
        """A checksum of all that decides what a cell measures."""
        return checksum(asdict(self), asdict(cell), self.hyperparameters(cell))


def method_of(system: System) -> Method:
    """The method that a system is trained by."""
    return "meaning-language" if system is System.BASELINE else "fmda"
