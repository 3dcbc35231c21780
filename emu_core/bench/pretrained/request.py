"""What a process that runs a cell is told."""

import json
from dataclasses import asdict, dataclass

import pandas as pd

from emu_core.bench.pretrained.cells import PretrainedCell
from emu_core.bench.pretrained.setting import PretrainedSetting
from emu_core.bench.pretrained.texts import BenchTexts


@dataclass(frozen=True)
class PretrainedRequest:
    """One cell to run.

    Attributes:
        cell: the system.
        setting: what all cells share.
        data_file: the texts, in Parquet.
        in_figure: whether a picture shows it.
    """

    cell: PretrainedCell
    setting: PretrainedSetting
    data_file: str
    in_figure: bool = False

    def to_json(self) -> str:
        """As one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str, setting: type[PretrainedSetting]) -> "PretrainedRequest":
        """Read what `to_json` made of a request with this kind of setting."""
        values = json.loads(line)
        cell = values.pop("cell")
        pairs = tuple((source, target) for source, target in cell["pairs"])
        return cls(
            cell=PretrainedCell(cell["system"], pairs, cell["seed"]),
            setting=setting(**values.pop("setting")),
            **values,
        )

    def texts(self) -> BenchTexts:
        """Read the texts."""
        return BenchTexts.of(pd.read_parquet(self.data_file))
