"""A labelled set so small that a tiny transformer is trained on it in moments, and cells made by hand."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from emu_core.bench.cells import BASE, Cell, Kind
from emu_core.bench.data import BenchData, bench_data
from emu_core.bench.request import Request
from emu_core.bench.result import CellResult
from emu_core.bench.results import Results
from emu_core.bench.setting import Setting
from emu_core.data.labelled import LabelledSet

WORDS = {
    "pool": ("where is the pool ?", "find the pool", "the pool", "is the pool open ?", "pool ?", "find pool"),
    "hotel": ("where is the hotel ?", "find the hotel", "the hotel", "hotel", "hotel ?", "find hotel"),
    "hours": ("when does open", "when is open ?", "does open ?", "when ?", "when open", "does the open"),
}


def bench_set(
    languages: tuple[str, ...] = ("en", "de"), names: Mapping[str, str] | None = None
) -> LabelledSet:
    """Three intents, four sentences to train on and two to measure, the same in every language."""
    rows = [
        {
            "id": f"{intent}{i}",
            "text": text,
            "intent": (names or {}).get(intent, intent),
            "language": language,
            "split": "train" if i < 4 else "test",
            "annotated": "",
        }
        for language in languages
        for intent, texts in WORDS.items()
        for i, text in enumerate(texts)
    ]
    return LabelledSet(pd.DataFrame(rows).astype("str"), "tiny")


def bench_file(folder: Path, **columns: str) -> Path:
    """The set as a CSV file, with further columns of one value."""
    path = folder / "tiny.csv"
    bench_set().frame.assign(**columns).to_csv(path, index=False)
    return path


def setting_of(data: BenchData, encoder: str = "use", epochs: int | None = 1) -> Setting:
    """A setting on the CPU."""
    return Setting(encoder, "cpu", data.whole.name, data.whole.sha256(), epochs=epochs)


def request_of(cell: Cell, folder: Path, encoder: str) -> Request:
    """A request for a cell of the set, whose data are written into `folder`."""
    data = bench_data(bench_set())
    data.whole.frame.to_parquet(folder / "data.parquet")
    return Request(
        cell, setting_of(data, encoder), str(folder / "data.parquet"), str(folder / "none"), ("en", "de")
    )


def result_of(bits: Mapping[str, str], **values: object) -> CellResult:
    """A result with these right (1) and wrong (0) queries by direction."""
    correct = {name: np.array([bit == "1" for bit in row]) for name, row in bits.items()}
    return CellResult(correct=correct, **values)  # type: ignore[arg-type]


def results_of(
    base: CellResult,
    methods: Mapping[tuple[str, int], CellResult],
    languages: tuple[str, ...] = ("en", "de"),
    train: tuple[str, ...] = ("en",),
) -> Results:
    """Results with a base and methods by name and seed."""
    cells = {Cell(Kind.METHOD, name, train, seed): result for (name, seed), result in methods.items()}
    seeds = tuple(sorted({seed for _, seed in methods})) or (0,)
    return Results({BASE: base, **cells}, languages, train, seeds)


def drawn_result(languages: tuple[str, ...], seed: int, right: float, n: int = 40) -> CellResult:
    """A result whose queries are right at random, with the share `right`."""
    rng = np.random.default_rng(seed)
    return CellResult(correct={f"{s}-{t}": rng.random(n) < right for s in languages for t in languages})
