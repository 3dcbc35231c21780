"""`emu bench dual-encoder`: run every cell that is not finished yet, then write the report."""

from collections.abc import Sequence
from pathlib import Path

from emu_core.api.inputs import Data
from emu_core.bench.dual_encoder.compose import compose
from emu_core.bench.dual_encoder.plan import dual_plan
from emu_core.bench.dual_encoder.systems import DualSetting, systems_for
from emu_core.bench.dual_encoder.worker import in_process
from emu_core.bench.pretrained.bench import RunCell, check_call, finished
from emu_core.bench.pretrained.read import File, Parallel, read_texts
from emu_core.bench.pretrained.texts import sha256
from emu_core.bench.report import Report
from emu_core.bench.runner import OnProgress
from emu_core.data.parallel.text import names_of
from emu_core.devices import pick_device


def bench_dual_encoder(
    files: Parallel,
    *,
    out: str | Path,
    test: Parallel = (),
    languages: Sequence[str] | None = None,
    drop_empty: bool = False,
    labelled: Data | None = None,
    sts: File | None = None,
    dialogues: Sequence[File] = (),
    running_text: Sequence[File] = (),
    nli: Sequence[File] = (),
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
        files: parallel text, as `pretrain` takes it; a model is trained on each language pair.
        out: the benchmark's folder.
        test: parallel text of the same pairs to measure on; without it, up to 1,000 pairs are held out.
        languages: of files that do not say theirs.
        drop_empty: leave out pairs with an empty side, which are an error otherwise.
        labelled: a labelled set whose sentences are classified across languages (zero-shot and few-shot).
        sts: folder of files such as de.dev.csv: two sentences and a score a row.
        dialogues: comments with their responses, for a model that learns from them, too.
        running_text: sentences in their order, for one that learns quick thought.
        nli: SNLI's or MultiNLI's JSON lines, for one that learns NLI.
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
        sts=sts,
        dialogues=dialogues,
        running_text=running_text,
        nli=nli,
        quick=quick,
    )
    setting = DualSetting(pick_device(device), names_of(texts.train), sha256(texts.frame()), epochs, quick)
    pairs = tuple(text.languages for text in texts.train)
    cells = dual_plan(systems_for(texts), pairs, chosen)
    results = finished(Path(out), setting, texts, cells, chosen, set(), run, on_progress)
    report = compose(Path(out), setting, texts, results)
    report.write()
    return report
