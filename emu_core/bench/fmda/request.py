"""What a process that runs a cell is told."""

import json
from dataclasses import asdict, dataclass

import pandas as pd

from emu_core.bench.fmda.cells import FmdaCell, Pair, System
from emu_core.bench.fmda.data import FmdaData
from emu_core.bench.fmda.setting import FmdaSetting
from emu_core.data.labelled import LabelledSet


@dataclass(frozen=True)
class FmdaRequest:
    """One cell to run.

    Attributes:
        cell: the system.
        setting: what all cells share.
        data_file: the sentences, in Parquet.
        cache: folder in which cells keep for one another what the frozen encoder gives.
        in_figure: whether Figure 4 shows it.
    """

    cell: FmdaCell
    setting: FmdaSetting
    data_file: str
    cache: str
    in_figure: bool = False

    def to_json(self) -> str:
        """As one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> "FmdaRequest":
        """Read what `to_json` made."""
        values = json.loads(line)
        cell, setting = values.pop("cell"), values.pop("setting")
        return cls(
            cell=FmdaCell(System(cell["system"]), _pairs(cell["pairs"]), cell["seed"]),
            setting=FmdaSetting(**setting | {"pairs": _pairs(setting["pairs"])}),
            **values,
        )

    def data(self) -> FmdaData:
        """Read the sentences."""
        return FmdaData(LabelledSet(pd.read_parquet(self.data_file), self.setting.data_name))


def _pairs(values: list[list[str]]) -> tuple[Pair, ...]:
    return tuple((source, target) for source, target in values)
