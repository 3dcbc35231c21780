"""Running a benchmark of encoders trained from nothing: what `bench_bicvm` and `bench_dual_encoder` share."""

from collections.abc import Callable, Sequence
from pathlib import Path

from emu_core.bench.pretrained.cells import PretrainedCell
from emu_core.bench.pretrained.request import PretrainedRequest
from emu_core.bench.pretrained.result import PretrainedResult
from emu_core.bench.pretrained.results import PretrainedResults
from emu_core.bench.pretrained.setting import PretrainedSetting
from emu_core.bench.pretrained.texts import BenchTexts
from emu_core.bench.runner import OnProgress, run_cells
from emu_core.bench.store import Store
from emu_core.errors import TrainingError

RunCell = Callable[[PretrainedRequest], PretrainedResult]


def finished(
    out: Path,
    setting: PretrainedSetting,
    texts: BenchTexts,
    cells: Sequence[PretrainedCell],
    seeds: Sequence[int],
    pictured: set[PretrainedCell],
    run: RunCell,
    on_progress: OnProgress | None,
) -> PretrainedResults:
    """Run every cell that is not finished yet.

    Args:
        out: the benchmark's folder.
        setting: what the cells share.
        texts: what they learn from and measure.
        cells: the plain sum of words first.
        seeds: of the cells.
        pictured: the cells that a picture shows.
        run: what runs a cell.
        on_progress: called with (cells done, cells in all, the next cell's name).

    Raises:
        EmuError: a folder that holds something else, or the first cell can't be measured.
    """
    store: Store[PretrainedCell, PretrainedResult] = Store(
        out, setting, texts.frame(), PretrainedResult.from_json
    )
    found = run_cells(
        store,
        cells,
        lambda cell: PretrainedRequest(cell, setting, str(store.data_file), cell in pictured),
        run,
        on_progress,
    )
    if found[cells[0]].not_measured:
        raise TrainingError(f"the plain sum of words can't be measured: {found[cells[0]].not_measured}")
    return PretrainedResults(found, tuple(text.languages for text in texts.train), tuple(seeds))


def check_call(seeds: Sequence[int], epochs: int | None) -> tuple[int, ...]:
    """The seeds, each once.

    Raises:
        TrainingError: there is none, one is below 0, or there are no epochs.
    """
    if not seeds or min(seeds) < 0:
        raise TrainingError("a seed is a whole number, 0 or more; give one or more with --seeds")
    if epochs is not None and epochs < 1:
        raise TrainingError("epochs are a whole number, 1 or more; give more with --epochs")
    return tuple(dict.fromkeys(seeds))
