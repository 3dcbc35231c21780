"""What a process that runs a cell is told."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from emu_core.bench.cells import Cell, Kind, Rate
from emu_core.bench.data import BenchData
from emu_core.bench.setting import Setting
from emu_core.data.labelled import LabelledSet


@dataclass(frozen=True)
class Request:
    """One cell to run.

    Attributes:
        cell: the system.
        setting: what all cells share.
        data_file: the sentences, in Parquet.
        translations_file: the machine translations, in Parquet.
        map_languages: the two languages of Figure 2; empty for a cell that is not in it.
    """

    cell: Cell
    setting: Setting
    data_file: str
    translations_file: str
    map_languages: tuple[str, ...] = ()

    def to_json(self) -> str:
        """As one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> "Request":
        """Read what `to_json` made."""
        values = json.loads(line)
        cell = values.pop("cell")
        return cls(
            cell=Cell(
                Kind(cell["kind"]),
                cell["name"],
                tuple(cell["train_languages"]),
                cell["seed"],
                Rate(cell["rate"]),
            ),
            setting=Setting(**values.pop("setting")),
            map_languages=tuple(values.pop("map_languages")),
            **values,
        )

    def data(self) -> BenchData:
        """Read the sentences."""
        return BenchData.of(LabelledSet(pd.read_parquet(self.data_file), self.setting.data_name))

    def test_texts(self, test: LabelledSet) -> Sequence[str]:
        """The test sentences; for the translation baseline, their translations where there are any."""
        texts: list[str] = test.frame["text"].tolist()
        if self.cell.kind is Kind.TRANSLATION:
            rows = pd.read_parquet(Path(self.translations_file))
            for row, text in zip(rows["row"].tolist(), rows["text"].tolist(), strict=True):
                texts[row] = text
        return texts
