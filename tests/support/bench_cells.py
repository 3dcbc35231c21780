"""Benchmarks whose cells are drawn and not trained, for the tests of everything around the training."""

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from emu_core.bench.experiment import Experiment
from emu_core.bench.fmda.experiment import FmdaSystem
from emu_core.bench.job import bench, experiment_of
from emu_core.bench.papers import PAPERS
from emu_core.bench.pictures import View
from emu_core.bench.report import BenchReport
from emu_core.bench.results import Cell, CellResult, Results, directions, numbers, pair_names
from emu_core.methods.fmda.parts import Part
from tests.support.bench_set import bench_set
from tests.support.fmda_set import fmda_set
from tests.support.pretrained_set import labelled, parallel

PAIRS = (("en", "de"), ("en", "fr"))
QUERIES = 40


def planned(paper: str, data: Any = None, folder: Path | str = "", **options: Any) -> Experiment:
    """Return the experiment of a benchmark on the tests' own data."""
    config, stored = PAPERS[paper].plan(*_data(paper, data, options), device="cpu", **options)
    return experiment_of(config, stored, folder)


def run(
    paper: str, out: Path, data: Any = None, run_cell: Callable[..., CellResult] | None = None, **options: Any
) -> BenchReport:
    """Run a benchmark on the tests' own data, its cells drawn."""
    given = _data(paper, data, options)
    return bench(paper, *given, out=out, run_cell=run_cell or drawn, **{"device": "cpu", **options})


def results_of(experiment: Experiment, changes: dict[Cell, CellResult] | None = None) -> Results:
    """Return drawn results of every cell, but for some."""
    cells = {cell: drawn(experiment, cell) for cell in experiment.cells()}
    return Results(cells | (changes or {}), experiment.seeds)


def counting(asked: list[str], found: Callable[..., CellResult] | None = None) -> Callable[..., CellResult]:
    """Return what draws cells and notes which."""

    def run_cell(experiment: Experiment, cell: Cell) -> CellResult:
        asked.append(cell.key)
        return (found or drawn)(experiment, cell)

    return run_cell


def drawn(experiment: Experiment, cell: Cell) -> CellResult:
    """Return numbers that are the cell's own, the same each time."""
    draws = np.random.default_rng(zlib.crc32(cell.key.encode()))
    make = {"emu": _emu, "fmda": _fmda}.get(experiment.config.method, _parallel)
    values, facts, views = make(experiment, cell, draws)
    costs = {"seconds": 2.0 + cell.seed, "cpu_seconds": 1.0, "seconds_whole": 4.0, "peak_mb": 300.0}
    return CellResult(numbers(values), facts=facts, views=views, **costs)


def _data(paper: str, data: Any, options: dict[str, Any]) -> tuple[Any]:
    if paper in ("bicvm", "dual-encoder"):
        options.setdefault("labelled", labelled())
    usual = {"emu": bench_set, "fmda": fmda_set}.get(paper, lambda: parallel(*PAIRS))
    return (usual() if data is None else data,)


def _emu(experiment: Any, cell: Cell, draws: np.random.Generator) -> tuple[Any, Any, Any]:
    codes, right = experiment.languages, draws.uniform(0.3, 0.9)
    values = {("correct", "", f"{s}-{t}"): draws.random(QUERIES) < right for s in codes for t in codes}
    if cell.system.startswith("peer."):
        values |= {("classified", "", code): draws.random(20) < right for code in codes}
    frame = experiment.data.test.frame
    view = View.of(draws.normal(size=(len(frame), 2)), frame["intent"].tolist(), frame["language"].tolist())
    return values, {}, {"map": view}


def _fmda(experiment: Any, cell: Cell, draws: np.random.Generator) -> tuple[Any, Any, Any]:
    pairs, system = experiment.pairs_of(cell), FmdaSystem(cell.system)
    codes = list(dict.fromkeys(code for pair in pairs for code in pair))
    values: dict[Any, Any] = {}
    for part in system.parts:
        for pair in pair_names(pairs):
            values["probe", part, pair] = draws.uniform(50, 100)
            values["neighbours", part, pair] = 60.0
        if part is not Part.LANGUAGE:
            values |= {("translation", part, way): draws.random(28) < 0.6 for way in directions(pairs)}
            values |= {("template", part, code): draws.random(4) < 0.6 for code in codes}
            values |= {("precision", part, code): draws.random(4) for code in codes}
    shown = system in (FmdaSystem.FMDA, FmdaSystem.TWO_STAGE)
    return values, {}, {letter: _points(draws, 8) for letter in "abc"} if shown else {}


def _points(draws: np.random.Generator, count: int) -> View:
    return View.of(draws.normal(size=(count, 2)), ["en", "de"] * (count // 2))


def _parallel(experiment: Any, cell: Cell, draws: np.random.Generator) -> tuple[Any, Any, Any]:
    pairs = [pair for pair in experiment.pairs if pair_names([pair])[0] in cell.on]
    ways = directions(pairs)
    codes = list(dict.fromkeys(code for pair in pairs for code in pair))
    if len(pairs) > 1:
        ways += directions([(pairs[0][1], pairs[1][1])])
    values: dict[Any, Any] = {
        ("speed", name, ""): draws.uniform(10, 20) for name in ("seconds", "cpu_seconds")
    }
    for way in ways:
        values |= {("rank", by, way): draws.integers(1, 15, size=20) for by in ("cosine", "euclid", "dot")}
        values["candidates", "", way] = 20
        values["zero_shot", "", way] = draws.uniform(30, 90)
        values["majority", "", way] = 40.0
        for size in ("100", "1000", "5000") if experiment.data.documents else ():
            values |= {("documents", size, way): draws.uniform(30, 90), ("draws", size, way): 3}
    values["zero_shot", "", "en-en"] = draws.uniform(30, 90)
    values |= {("sts", "pearson", where): draws.uniform(0, 1) for where in (*codes, *ways)}
    for name in pair_names(pairs):
        for share in ("0", "50", "100"):
            values["few_shot", share, name] = 50 + int(share) / 10
            if share != "0":
                values["monolingual", share, name] = 40.0
        values |= {("eigen", field, name): draws.uniform(0, 2) for field in ("mean", "variance")}
        values["eigen", "standard_error", name] = 0.01
    words = View.of(
        draws.normal(size=(2, 2)),
        ["en", "de"],
        ["<b>$x$", "wort"],
        note="weekdays",
        nearest_right={"en-de": (1, 2)},
    )
    return values, {"selected_epoch": 1}, {"left": words}
