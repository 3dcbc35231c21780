"""`emu bench bicvm`: run every cell that is not finished yet, then write the report."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from emu_core.api.inputs import Data
from emu_core.bench.bicvm.compose import compose
from emu_core.bench.bicvm.plan import bicvm_plan
from emu_core.bench.bicvm.systems import BicvmSetting, System
from emu_core.bench.bicvm.worker import in_process
from emu_core.bench.pretrained.bench import RunCell, check_call, finished
from emu_core.bench.pretrained.cells import PretrainedCell
from emu_core.bench.pretrained.read import File, Parallel, read_texts
from emu_core.bench.pretrained.texts import sha256
from emu_core.bench.report import Report
from emu_core.bench.runner import OnProgress
from emu_core.data.parallel.text import names_of
from emu_core.devices import pick_device


def bench_bicvm(
    files: Parallel,
    *,
    out: str | Path,
    test: Parallel = (),
    languages: Sequence[str] | None = None,
    drop_empty: bool = False,
    labelled: Data | None = None,
    documents: Mapping[str, File] | None = None,
    test_documents: Mapping[str, File] | None = None,
    seeds: Sequence[int] = (0,),
    epochs: int | None = None,
    quick: bool = False,
    device: str = "auto",
    on_progress: OnProgress | None = None,
    run: RunCell = in_process,
) -> Report:
    """Run the paper's experiments on parallel text.

    Each cell runs in a process of its own and is kept as a file. The same call after a kill goes on where it stopped;
    more seeds add cells. A cell that can't be measured is shown with the reason, and tried again by the next call.

    Args:
        files: parallel text, as `pretrain` takes it; two language pairs or more are trained together, too (BiCVM+).
        out: the benchmark's folder.
        test: parallel text of the same pairs to measure on; without it, up to 1,000 pairs are held out.
        languages: of files that do not say theirs.
        drop_empty: leave out pairs with an empty side, which are an error otherwise.
        labelled: a labelled set whose sentences are classified across languages.
        documents: or folders (or tables) of documents by language, such as Reuters RCV1 and RCV2.
        test_documents: those to test on; without them, a third of `documents`.
        seeds: of all that draws.
        epochs: of every system; None takes the settings' own.
        quick: 3,000 pairs and a few epochs, to see that all works.
        device: "auto", "cpu", "cuda:0".
        on_progress: called with (cells done, cells in all, the next cell's name).
        run: what runs a cell.

    Returns:
        The report, whose files are in `out`.

    Raises:
        EmuError: what can't be read, or a folder that holds cells of other data or settings.
    """
    chosen = check_call(seeds, epochs)
    texts = read_texts(
        files,
        test=test,
        languages=languages,
        drop_empty=drop_empty,
        labelled=labelled,
        documents=documents,
        test_documents=test_documents,
        quick=quick,
    )
    setting = BicvmSetting(pick_device(device), names_of(texts.train), sha256(texts.frame()), epochs, quick)
    pairs = tuple(text.languages for text in texts.train)
    cells = bicvm_plan(pairs, chosen, documents=bool(texts.documents))
    pictured = {PretrainedCell(system, pairs, chosen[0]) for system in (System.PAPER, System.OURS)}
    results = finished(Path(out), setting, texts, cells, chosen, pictured, run, on_progress)
    report = compose(Path(out), setting, texts, results)
    report.write()
    return report
