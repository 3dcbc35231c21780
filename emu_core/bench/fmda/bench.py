"""`emu bench fmda`: run every cell that is not finished yet, then write the report."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from emu_core.api.inputs import Data, labelled_set
from emu_core.bench.fmda.cells import BASE, FmdaCell, Pair, System
from emu_core.bench.fmda.compose import compose
from emu_core.bench.fmda.data import fmda_data, read_pairs
from emu_core.bench.fmda.plan import FmdaPart, fmda_plan
from emu_core.bench.fmda.request import FmdaRequest
from emu_core.bench.fmda.result import FmdaResult
from emu_core.bench.fmda.results import FmdaResults
from emu_core.bench.fmda.setting import FmdaSetting
from emu_core.bench.fmda.worker import in_process
from emu_core.bench.report import Report
from emu_core.bench.runner import OnProgress, run_cells
from emu_core.bench.store import Store
from emu_core.data.labelled.columns import ColumnMapping
from emu_core.devices import pick_device
from emu_core.errors import EncoderError, TrainingError

RunCell = Callable[[FmdaRequest], FmdaResult]


def bench_fmda(
    data: Data,
    *,
    out: str | Path,
    encoder: str = "e5-small",
    pairs: Sequence[Pair | str] | None = None,
    seeds: Sequence[int] = (0,),
    parts: Sequence[FmdaPart | str] = tuple(FmdaPart),
    epochs: int | None = None,
    device: str = "auto",
    mapping: ColumnMapping | None = None,
    language: str | None = None,
    on_progress: OnProgress | None = None,
    run: RunCell = in_process,
) -> Report:
    """Run the paper's experiments on a parallel set with slots.

    Each cell runs in a process of its own and is kept as a file. The same call after a kill goes on where it stopped;
    more seeds or more parts add cells. A cell that can't be measured is shown with the reason, and tried again by the
    next call.

    Args:
        data: labelled set, files, a folder of files, or "demo"; with ids, splits train, dev and test, and annotations.
        out: the benchmark's folder.
        encoder: what `load_encoder` takes; a transformer.
        pairs: language pairs, as ("en", "de") or "en-de"; None pairs the first language of the set (English, where it
            is there) with each other one. The ablation and Figure 4 are of the first.
        seeds: of all that draws.
        parts: what the report holds.
        epochs: at most, of every system; None takes the methods' defaults.
        device: "auto", "cpu", "cuda:0".
        mapping: columns of the files, where their names are unusual.
        language: language of files that do not say it.
        on_progress: called with (cells done, cells in all, the next cell's name).
        run: what runs a cell.

    Returns:
        The report, whose files are in `out`.

    Raises:
        EmuError: what can't be read, or a folder that holds cells of other data or settings.
    """
    if not seeds or min(seeds) < 0:
        raise TrainingError("a seed is a whole number, 0 or more; give one or more with --seeds")
    wanted = tuple(dict.fromkeys(_part(part) for part in parts))
    labelled = labelled_set(data, mapping=mapping, language=language)[0]
    chosen_pairs = read_pairs(pairs, labelled.languages)
    cut = fmda_data(labelled, chosen_pairs)
    setting = FmdaSetting(
        encoder=encoder,
        device=pick_device(device),
        data_name=labelled.name,
        data_sha256=cut.whole.sha256(),
        pairs=chosen_pairs,
        epochs=epochs,
    )
    chosen = tuple(dict.fromkeys(seeds))
    cells = fmda_plan(wanted, chosen_pairs, chosen)
    store: Store[FmdaCell, FmdaResult] = Store(Path(out), setting, cut.whole.frame, FmdaResult.from_json)
    pictured = {FmdaCell(system, chosen_pairs[:1], chosen[0]) for system in (System.FMDA, System.TWO_STAGE)}
    cache = store.folder / "cache"  # stays after a kill, so that what is left is not encoded again
    found = run_cells(
        store,
        cells,
        lambda cell: FmdaRequest(cell, setting, str(store.data_file), str(cache), cell in pictured),
        run,
        on_progress,
    )
    shutil.rmtree(cache, ignore_errors=True)
    if found[BASE].not_measured:
        raise EncoderError(f"the frozen encoder can't be measured: {found[BASE].not_measured}")
    report = compose(store.folder, setting, cut, FmdaResults(found, chosen_pairs, chosen), wanted)
    report.write()
    return report


def _part(name: str) -> FmdaPart:
    try:
        return FmdaPart(name)
    except ValueError:
        raise TrainingError(f"no table '{name}'; there are: {', '.join(FmdaPart)}") from None
