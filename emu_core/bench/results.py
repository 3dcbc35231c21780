"""The measurements of a benchmark: one tidy table, and beside it each cell's costs."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from emu_core.bench.cells import Cell
from emu_core.errors import RunError
from emu_core.files import whole_file

Values = NDArray[np.float64]
Key = tuple[str, str, str]
KEY = ("measure", "part", "where")
_FACTS = b"emu"  # in the metadata of a cell's file


@dataclass(frozen=True)
class View:
    """Points of a picture.

    Attributes:
        points: their places (N, 2).
        groups: of each point, shown by its colour.
        texts: a second label of each point, such as its language or its word; empty where there is none.
        note: which points these are.
        found: by "a-b", how many of the words of a have the right one of b nearest, and how many there are.
    """

    points: tuple[tuple[float, float], ...]
    groups: tuple[str, ...]
    texts: tuple[str, ...] = ()
    note: str = ""
    found: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, points: NDArray[np.floating], groups: Sequence[str], texts: Sequence[str] = (), **facts: Any
    ) -> Self:
        """Make a view of an array of places (N, 2), rounded to three decimals."""
        rounded = points.astype(float).round(3).tolist()
        return cls(tuple((x, y) for x, y in rounded), tuple(groups), tuple(texts), **facts)


@dataclass(frozen=True, eq=False)
class CellResult:
    """The measurements of a cell and what they cost.

    Attributes:
        values: arrays (queries,) by measure, part (such as an embedding or a number of documents; "" where the measure
            has none) and where (a direction "s-t" or a language).
        seconds: of training alone, from the loaded encoder or the texts to the trained encoder; 0 where nothing is
            trained.
        cpu_seconds: computed by all threads in that time.
        seconds_whole: from loading the encoder or reading the texts to the last measure.
        peak_mb: the most resident memory of the cell's process up to then, in megabytes.
        gpu_mb: the most memory of a GPU that torch held, in megabytes; 0 on a CPU.
        facts: settings and counts that a reader should see.
        views: points of pictures, by name.
        error: why nothing was measured; "" where something was.
    """

    values: Mapping[Key, Values] = field(default_factory=dict)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    seconds_whole: float = 0.0
    peak_mb: float = 0.0
    gpu_mb: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)
    views: Mapping[str, View] = field(default_factory=dict)
    error: str = ""

    def get(self, measure: str, part: str = "", where: str = "") -> Values | None:
        """Return an array (queries,); None where it was not measured."""
        return self.values.get((measure, part, where))

    def keys(self, measure: str) -> list[tuple[str, str]]:
        """Return part and where of everything that was measured, in its order."""
        return [(part, where) for name, part, where in self.values if name == measure]

    def wheres(self, measure: str, part: str | None = None) -> list[str]:
        """Return where something was measured, each once and in its order; `part` None takes every part."""
        return list(dict.fromkeys(where for own, where in self.keys(measure) if part is None or own == part))

    def frame(self) -> pd.DataFrame:
        """Return the tidy table: measure, part, where, query and value."""
        rows = [
            (*key, query, value)
            for key, values in self.values.items()
            for query, value in enumerate(values.tolist())
        ]
        table = pd.DataFrame(rows, columns=[*KEY, "query", "value"])
        return table.astype({"query": np.int64, "value": np.float64})


COSTS = ("seconds", "cpu_seconds", "seconds_whole", "peak_mb", "gpu_mb")


def numbers(values: Mapping[Key, Any]) -> dict[Key, Values]:
    """Return measurements as arrays of floats; a number alone becomes an array of one."""
    return {
        (str(measure), str(part), str(where)): np.atleast_1d(np.asarray(value, dtype=np.float64))
        for (measure, part, where), value in values.items()
    }


def write_cell(path: Path, result: CellResult, facts: Mapping[str, Any]) -> None:
    """Write a finished cell to a Parquet file, whole or not at all, with facts that its reader has to know."""
    described = {
        **facts,
        **{name: getattr(result, name) for name in COSTS},
        "facts": result.facts,
        "views": {name: asdict(view) for name, view in result.views.items()},
    }
    table = pa.Table.from_pandas(result.frame(), preserve_index=False)
    table = table.replace_schema_metadata(
        {_FACTS: json.dumps(described, default=str).encode("utf-8", "replace")}
    )
    with whole_file(path) as partial:
        pq.write_table(table, partial)


def read_cell(path: Path) -> tuple[CellResult, dict[str, Any]]:
    """Read what `write_cell` wrote, and the facts that it was given.

    Raises:
        RunError: the file is damaged.
    """
    try:
        table = pq.read_table(path)
        described = json.loads(table.schema.metadata[_FACTS])
        frame = table.to_pandas()
        values = frame["value"].to_numpy()
        if values.dtype != np.float64 or not np.isfinite(values).all():
            raise ValueError("values are finite numbers")
        costs: dict[str, Any] = {name: float(described.pop(name)) for name in COSTS}
        result = CellResult(
            values={key: values[rows] for key, rows in frame.groupby(list(KEY), sort=False).indices.items()},
            views={name: _view(view) for name, view in described.pop("views").items()},
            facts=described.pop("facts"),
            **costs,
        )
    except (OSError, KeyError, TypeError, ValueError, AttributeError, pa.ArrowException):
        raise RunError(f"{path} is damaged; delete the file, and the cell is run again") from None
    return result, described


def _view(values: Mapping[str, Any]) -> View:
    points = np.array(values["points"], dtype=np.float64).reshape(-1, 2)
    found = {way: (int(right), int(count)) for way, (right, count) in values["found"].items()}
    return View.of(points, values["groups"], values["texts"], note=str(values["note"]), found=found)


@dataclass(frozen=True, eq=False)
class OverSeeds:
    """One system over its seeds.

    Attributes:
        cells: its finished cells, a seed each; empty where none was measured.
        reason: why one is missing; "" where none is.
        asked: seeds that were asked for.
    """

    cells: tuple[CellResult, ...]
    reason: str = ""
    asked: int = 0

    def named(self, label: str) -> str:
        """Return the system's label, which says so where not every seed was measured."""
        if len(self.cells) >= self.asked:
            return label
        return f"{label} ({len(self.cells)} of {self.asked} seeds)"

    def values(self, measure: str, part: str = "", where: str = "") -> Values | None:
        """Return an array (seeds, queries); None where no seed has it."""
        found = [cell.get(measure, part, where) for cell in self.cells]
        there = [values for values in found if values is not None]
        return np.array(there) if there else None

    def numbers(self, measure: str, part: str = "", where: str = "") -> list[float]:
        """Return a number a seed, of a measure that has one; without the seeds that have none."""
        values = self.values(measure, part, where)
        return [] if values is None else [float(row[0]) for row in values]

    def mean(self, cost: str) -> float:
        """Return the mean over seeds of one of `COSTS`; of memory the most of any seed."""
        found = [float(getattr(cell, cost)) for cell in self.cells]
        return max(found) if cost.endswith("mb") else float(np.mean(found))


@dataclass(frozen=True, eq=False)
class Results:
    """All cells of a benchmark.

    Attributes:
        cells: what each measured.
        seeds: asked for.
    """

    cells: Mapping[Cell, CellResult]
    seeds: tuple[int, ...]

    def of(
        self, system: str, on: Sequence[str] = (), variant: str = "", seeds: Sequence[int] | None = None
    ) -> OverSeeds:
        """Return a system over its seeds; `on` and `variant` as in `Cell`, seeds None for those of the benchmark."""
        asked = [Cell(system, tuple(on), seed, variant) for seed in (self.seeds if seeds is None else seeds)]
        found = [self.cells[cell] for cell in asked if cell in self.cells]
        missing = [cell.error for cell in found if cell.error]
        whole = tuple(cell for cell in found if not cell.error)
        return OverSeeds(whole, missing[0] if missing else "" if whole else "not asked for", len(asked))

    def trained(self, systems: Sequence[str]) -> list[tuple[str, tuple[str, ...], OverSeeds]]:
        """Return each of these systems on whatever it was trained on, over its seeds, in the systems' order."""
        on = list(dict.fromkeys((cell.system, cell.on) for cell in self.cells))
        return [
            (system, trained_on, self.of(system, trained_on))
            for one in systems
            for system, trained_on in on
            if system == one
        ]

    def measured(self) -> Iterator[tuple[Cell, CellResult]]:
        """Iterate over the cells that were measured."""
        return ((cell, result) for cell, result in self.cells.items() if not result.error)

    def each(self, of: Callable[[CellResult], Sequence[str]]) -> list[str]:
        """Return what `of` gives for every cell, each once and in order."""
        return list(dict.fromkeys(one for _, result in self.measured() for one in of(result)))

    def frame(self) -> pd.DataFrame:
        """Return the tidy table of all cells: cell, measure, part, where, query and value."""
        frames = [result.frame().assign(cell=cell.key) for cell, result in self.measured()]
        whole = pd.concat(frames, ignore_index=True) if frames else CellResult().frame().assign(cell="")
        return whole[["cell", *KEY, "query", "value"]]
