"""The cells of a benchmark and their measurements: one tidy table, the costs of each, and scores over seeds."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from emu_core.bench.pictures import View
from emu_core.data.language_pairs import LanguagePair
from emu_core.errors import RunError
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.significance import mean_interval
from emu_core.files import whole_file

CellValues = NDArray[np.float64]
Key = tuple[str, str, str]
Draw = Callable[[], Mapping[str, View]]
KEY = ("measure", "part", "where")
COSTS = ("seconds", "cpu_seconds", "seconds_whole", "peak_mb", "gpu_mb")
_FACTS = b"emu"  # in the metadata of a cell's file
# Measures whose score is of one number a cell: by how much JSON has it multiplied, and the decimals of its text. Others
# have a value for each query, a rank (`rank`) or from 0 to 1, and their scores are in percent.
NUMBERS: Mapping[str, tuple[float, int]] = {
    **dict.fromkeys(("documents", "few_shot", "monolingual", "neighbours", "probe", "zero_shot"), (1, 1)),
    "eigen": (1, 3),
    "sts": (100, 3),
}
PAPER = "paper"  # the variant of a cell that is trained with the paper's settings


@dataclass(frozen=True)
class Cell:
    """One system to train and measure."""

    system: str
    on: tuple[str, ...] = ()  # languages whose labels it is trained on, or pairs such as "en-de"; or none
    seed: int = 0
    variant: str = ""  # distinguishes cells of one system, for example by learning rate
    labels: int = 0  # labelled sentences an intent, drawn with the seed; 0 for all
    half: int | None = (
        None  # of the intents, that has labels, by number; the others are measured. None for all
    )

    @property
    def key(self) -> str:
        """The stem of the cell's file name, safe for any language codes that a user wrote."""
        on = "+".join(self.on)
        if not re.fullmatch(r"[a-z0-9+-]{0,60}", on):
            on = "x" + hashlib.sha256("\0".join(self.on).encode()).hexdigest()[:12]
        shots = f"{self.labels}-shot" if self.labels else ""
        half = "" if self.half is None else f"half-{self.half}"
        return ".".join(
            part for part in (self.system, self.variant, on, shots, half, f"s{self.seed}") if part
        )

    @property
    def label(self) -> str:
        """The name shown while the cell runs."""
        half = "" if self.half is None else f", half {self.half} of the intents,"
        if not self.on:
            return f"{self.system} encoder{half.rstrip(',')}"
        variant = f" ({self.variant} learning rate)" if self.variant else ""
        if self.variant == PAPER:
            variant = " (the paper's settings)"
        shots = f", {self.labels} labels an intent," if self.labels else ""
        on = ", ".join(self.on)
        return f"{self.system.removeprefix('peer.')} on {on}{shots}{half}{variant} seed {self.seed}"


def cells_of(systems: Iterable[str], on: Iterable[Sequence[str]], seeds: Sequence[int]) -> list[Cell]:
    """Return a cell for each system, each set of languages or pairs it is trained on, and each seed."""
    trained_on = [tuple(names) for names in on]
    return [Cell(system, names, seed) for system in systems for names in trained_on for seed in seeds]


def pair_names(pairs: Iterable[LanguagePair]) -> tuple[str, ...]:
    """Return names such as "en-de"."""
    return tuple(pair_name(*pair) for pair in pairs)


def directions(pairs: Iterable[LanguagePair]) -> list[str]:
    """Return the directions "s-t" and "t-s" of each pair."""
    return [pair_name(*way) for pair in pairs for way in (pair, pair[::-1])]


@dataclass(frozen=True, eq=False)
class CellResult:
    """The measurements of a cell and what they cost.

    `values` are arrays (queries,) by measure, part (such as an embedding or a number of documents; "" if the measure
    has none) and where (a direction "s-t" or a language).
    """

    values: Mapping[Key, CellValues] = field(default_factory=dict)
    seconds: float = 0.0  # training time, from the loaded encoder or the texts to the trained encoder
    cpu_seconds: float = 0.0  # sum over all threads in that time
    seconds_whole: float = 0.0  # from loading the encoder or reading the texts to the last measurement
    peak_mb: float = 0.0  # peak resident memory of the cell's process until then, in megabytes
    gpu_mb: float = 0.0  # peak GPU memory held by torch, in megabytes
    facts: Mapping[str, Any] = field(default_factory=dict)  # settings and counts for the report
    views: Mapping[str, View] = field(default_factory=dict)  # points of pictures, by name
    error: str = ""  # why nothing was measured
    draw: Draw | None = None  # lays out the views, once the costs are known

    def keys(self, measure: str) -> list[tuple[str, str]]:
        """Return part and where of every value of a measure."""
        return [(part, where) for name, part, where in self.values if name == measure]

    def wheres(self, measure: str, part: str | None = None) -> list[str]:
        """Return where a measure was taken, each once; `part` None takes every part."""
        return list(
            dict.fromkeys(where for key_part, where in self.keys(measure) if part in (None, key_part))
        )

    def frame(self) -> pd.DataFrame:
        """Return the tidy table: measure, part, where, query and value."""
        rows = [
            (*key, query, value)
            for key, values in self.values.items()
            for query, value in enumerate(values.tolist())
        ]
        table = pd.DataFrame(rows, columns=[*KEY, "query", "value"])
        return table.astype({"query": np.int64, "value": np.float64})


def numbers(values: Mapping[Key, Any]) -> dict[Key, CellValues]:
    """Return measurements as arrays of floats; a single number becomes an array of one."""
    return {
        (str(measure), str(part), str(where)): np.atleast_1d(np.asarray(value, dtype=np.float64))
        for (measure, part, where), value in values.items()
    }


def write_cell(path: Path, result: CellResult, facts: Mapping[str, Any]) -> None:
    """Write a finished cell and facts about it to a Parquet file, atomically."""
    described = {
        **facts,
        **{name: getattr(result, name) for name in COSTS},
        "facts": result.facts,
        "views": {name: asdict(view) for name, view in result.views.items()},
    }
    encoded = json.dumps(described, default=str).encode("utf-8", "replace")
    table = pa.Table.from_pandas(result.frame(), preserve_index=False)
    with whole_file(path) as partial:
        pq.write_table(table.replace_schema_metadata({_FACTS: encoded}), partial)


def read_cell(path: Path) -> tuple[CellResult, dict[str, object]]:
    """Read the result and the facts that `write_cell` wrote. Raises RunError if the file is damaged."""
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
            views={name: _view(**view) for name, view in described.pop("views").items()},
            facts=described.pop("facts"),
            **costs,
        )
    except (OSError, KeyError, TypeError, ValueError, AttributeError, pa.ArrowException):
        raise RunError(f"{path} is damaged; delete the file, and the cell is run again") from None
    return result, described


def _view(points: Any, groups: Any, texts: Any, note: Any, nearest_right: Mapping[str, Any]) -> View:
    places = np.array(points, dtype=np.float64).reshape(-1, 2)
    counts = {way: (int(right), int(count)) for way, (right, count) in nearest_right.items()}
    return View.of(places, groups, texts, note=str(note), nearest_right=counts)


@dataclass(frozen=True)
class Score:
    """A measure over seeds."""

    mean: float
    deviation: float  # standard deviation over seeds; 0 for a single one
    low: float | None  # 95 % interval over the queries, each averaged over the seeds; None without queries
    high: float | None
    seeds: int
    text: str  # as tables show it

    def __str__(self) -> str:
        return self.text

    @classmethod
    def of(cls, values: CellValues | None) -> Self | None:
        """Return the score, in percent, of (seeds, queries) values from 0 to 1; None if there are none."""
        if values is None:
            return None
        means, interval = 100 * values.mean(axis=1), mean_interval(values.mean(axis=0))
        mean, over_seeds, seeds = float(means.mean()), float(deviation(means)), len(values)
        text = with_deviation(mean, over_seeds, seeds)
        return cls(mean, over_seeds, interval.low, interval.high, seeds, text)

    @classmethod
    def of_numbers(cls, numbers: Sequence[float], times: float = 1, places: int = 1) -> Self | None:
        """Return the score of one number a seed, multiplied by `times` in JSON; None if there are none."""
        if not len(numbers):
            return None
        array = np.asarray(numbers, dtype=np.float64)
        means, seeds = array * times, len(array)
        text = with_deviation(float(array.mean()), float(deviation(array)), seeds, places)
        return cls(float(means.mean()), float(deviation(means)), None, None, seeds, text)

    def facts(self) -> dict[str, float | None]:
        """Return the score's values for JSON."""
        return {name: value for name, value in asdict(self).items() if name != "text"}


def mean_score(scores: Sequence[Score | None]) -> float | None:
    """Return the mean of several scores; None if there are none or one is missing."""
    means = [score.mean for score in scores if score is not None]
    return sum(means) / len(means) if means and len(means) == len(scores) else None


def deviation(values: CellValues) -> Any:
    """Return the standard deviation over seeds, with n - 1 in the denominator; 0 for a single seed."""
    return values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1:])


def with_deviation(mean: float, over_seeds: float, seeds: int, places: int = 1) -> str:
    """Return a mean as text, with its standard deviation over seeds if there are several."""
    return f"{mean:.{places}f}" + (f" ±{over_seeds:.{places}f}" if seeds > 1 else "")


@dataclass(frozen=True, eq=False)
class OverSeeds:
    """One system over its seeds."""

    cells: tuple[CellResult, ...]  # those that were measured, one a seed
    reason: str = ""  # why a cell is missing; "" if none is
    asked: int = 0  # number of seeds asked for

    def named(self, label: str) -> str:
        """Return the system's label, with the number of seeds if some were not measured."""
        if len(self.cells) >= self.asked:
            return label
        return f"{label} ({len(self.cells)} of {self.asked} seeds)"

    def values(self, measure: str, part: str = "", where: str = "") -> CellValues | None:
        """Return an array (seeds, queries); None if no seed has it."""
        key = (measure, part, where)
        measured = [cell.values[key] for cell in self.cells if key in cell.values]
        return np.array(measured) if measured else None

    def numbers(self, measure: str, part: str = "", where: str = "") -> list[float]:
        """Return the number of each seed that has one, of a measure that is a single number."""
        values = self.values(measure, part, where)
        return [] if values is None else values[:, 0].tolist()

    def score(self, measure: str, part: str = "", where: str = "", n: int = 1) -> Score | None:
        """Return the score of a measure; None if no seed has it. Of ranks, the share of those up to `n`."""
        if measure in NUMBERS:
            return Score.of_numbers(self.numbers(measure, part, where), *NUMBERS[measure])
        values = self.values(measure, part, where)
        return Score.of(
            (values <= n).astype(np.float64) if measure == "rank" and values is not None else values
        )

    @property
    def views(self) -> Mapping[str, View]:
        """The views of the first cell that has some."""
        return next((cell.views for cell in self.cells if cell.views), {})

    def mean(self, cost: str) -> float:
        """Return the mean over seeds of one of `COSTS`; of memory, the maximum."""
        costs = [float(getattr(cell, cost)) for cell in self.cells]
        return max(costs) if cost.endswith("mb") else float(np.mean(costs))


@dataclass(frozen=True, eq=False)
class Results:
    """All cells of a benchmark, and the seeds asked for."""

    cells: Mapping[Cell, CellResult]
    seeds: tuple[int, ...]

    def of(
        self,
        system: str,
        on: Sequence[str] = (),
        variant: str = "",
        seeds: Sequence[int] | None = None,
        labels: int = 0,
        half: int | None = None,
    ) -> OverSeeds:
        """Return a system over its seeds; seeds None takes the benchmark's, for the other arguments see `Cell`."""
        asked = [
            Cell(system, tuple(on), seed, variant, labels, half)
            for seed in (self.seeds if seeds is None else seeds)
        ]
        finished = [self.cells[cell] for cell in asked if cell in self.cells]
        errors = [cell.error for cell in finished if cell.error]
        measured = tuple(cell for cell in finished if not cell.error)
        reason = errors[0] if errors else "" if measured else "not asked for"
        return OverSeeds(measured, reason, len(asked))

    def score(
        self, *, measure: str, part: str = "", where: str = "", n: int = 1, **cells: Any
    ) -> Score | None:
        """Return the score at an address: of a measure of `cells`, arguments of `of`; None if there is none."""
        return self.of(**cells).score(measure, part, where, n)

    def trained(self, systems: Sequence[str]) -> list[tuple[str, tuple[str, ...], OverSeeds]]:
        """Return each of these systems with what it was trained on, over its seeds, in the systems' order."""
        on = dict.fromkeys((cell.system, cell.on) for cell in self.cells)
        ordered = sorted((key for key in on if key[0] in systems), key=lambda key: systems.index(key[0]))
        return [(system, trained_on, self.of(system, trained_on)) for system, trained_on in ordered]

    def measured(self) -> Iterator[tuple[Cell, CellResult]]:
        """Iterate over the cells that were measured."""
        return ((cell, result) for cell, result in self.cells.items() if not result.error)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The tidy table of all cells: cell, measure, part, where, query and value."""
        frames = [result.frame().assign(cell=cell.key) for cell, result in self.measured()]
        whole = pd.concat(frames, ignore_index=True) if frames else CellResult().frame().assign(cell="")
        return whole[["cell", *KEY, "query", "value"]]

    def of_measure(self, measure: str) -> pd.DataFrame:
        """Return the rows of a measure, in the order of the cells."""
        return self.frame[self.frame["measure"] == measure]

    def wheres(self, measure: str) -> list[str]:
        """Return the languages or directions in which some cell took a measure, each once and in order."""
        return self.of_measure(measure)["where"].unique().tolist()
