"""`emu bench emu`: run every cell that is not finished yet, then write the report."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from emu_core.api.inputs import Data, files_of, labelled_set
from emu_core.bench.atis import ATIS, read_atis
from emu_core.bench.cells import BASE, Cell, Kind
from emu_core.bench.compose import compose
from emu_core.bench.data import BenchData, bench_data
from emu_core.bench.launch import in_process
from emu_core.bench.plan import FIGURE_METHODS, Part, plan
from emu_core.bench.report import Report
from emu_core.bench.request import Request
from emu_core.bench.result import CellResult
from emu_core.bench.results import Results
from emu_core.bench.runner import OnProgress, run_cells
from emu_core.bench.setting import Setting
from emu_core.bench.store import Store
from emu_core.bench.translations import read_machine_translations, translations_of
from emu_core.data.demo import DEMO
from emu_core.data.labelled import LabelledSet
from emu_core.data.labelled.columns import ColumnMapping
from emu_core.data.languages import language_code
from emu_core.devices import pick_device
from emu_core.errors import EncoderError, TrainingError

RunCell = Callable[[Request], CellResult]


def bench_emu(
    data: Data,
    *,
    out: str | Path,
    encoder: str = "use",
    seeds: Sequence[int] = (0,),
    parts: Sequence[Part | str] = tuple(Part),
    train_languages: Sequence[str] = ("en",),
    epochs: int | None = None,
    device: str = "auto",
    mapping: ColumnMapping | None = None,
    language: str | None = None,
    on_progress: OnProgress | None = None,
    run: RunCell = in_process,
) -> Report:
    """Run the paper's experiments and today's peers on a labelled set.

    Each cell runs in a process of its own and is kept as a file. The same call after a kill goes on where it stopped;
    more seeds or more parts add cells. A cell that can't be measured (a package is missing, the set is not parallel)
    is shown with the reason, and tried again by the next call.

    Args:
        data: labelled set, files, a folder of files, "demo", or "atis:FOLDER" for the paper's selection of ATIS.
        out: the benchmark's folder.
        encoder: what `load_encoder` takes.
        seeds: of all that draws.
        parts: what the report holds.
        train_languages: languages whose labels are used.
        epochs: of every system that trains; None takes the defaults measured for the encoder.
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
    train = tuple(dict.fromkeys(language_code(code) or code for code in train_languages))
    if not train:
        raise TrainingError("no training language is named; name one with --train-language en")
    labelled = _labelled(data, mapping, language)
    cut = bench_data(labelled)
    translations = _translations(data, cut, train[0], mapping)
    setting = Setting(
        encoder=encoder,
        device=pick_device(device),
        data_name=labelled.name,
        data_sha256=cut.whole.sha256(),
        translations_sha256=_digest(translations),
        epochs=epochs,
    )
    chosen = tuple(dict.fromkeys(seeds))
    cells = plan(wanted, cut.train.languages, train, chosen, translated=bool(translations))
    store: Store[Cell, CellResult] = Store(
        Path(out), setting, cut.whole.frame, CellResult.from_json, translations
    )
    shown = _shown(cut, train[0])
    found = run_cells(store, cells, lambda cell: _request(cell, store, setting, shown), run, on_progress)
    if found[BASE].not_measured:
        raise EncoderError(f"the base encoder can't be measured: {found[BASE].not_measured}")
    results = Results(found, cut.test.languages, train, chosen)
    report = compose(store.folder, setting, cut, results, wanted, shown)
    report.write()
    return report


def _request(cell: Cell, store: Store[Cell, CellResult], setting: Setting, shown: tuple[str, ...]) -> Request:
    in_figure = cell == BASE or (cell.kind is Kind.METHOD and cell.name in FIGURE_METHODS)
    return Request(
        cell, setting, str(store.data_file), str(store.translations_file), shown if in_figure else ()
    )


def _labelled(data: Data, mapping: ColumnMapping | None, language: str | None) -> LabelledSet:
    named = _named(data)
    if len(named) == 1 and str(named[0]).startswith(ATIS):
        return read_atis(Path(str(named[0]).removeprefix(ATIS)))
    return labelled_set(data, mapping=mapping, language=language)[0]


def _translations(data: Data, cut: BenchData, language: str, mapping: ColumnMapping | None) -> dict[int, str]:
    named = _named(data)
    if not named or str(named[0]) == DEMO or str(named[0]).startswith(ATIS):
        return {}
    return translations_of(cut.test, language, read_machine_translations(files_of(named), mapping))


def _named(data: Data) -> list[str | Path]:
    if isinstance(data, LabelledSet):
        return []
    return [data] if isinstance(data, str | Path) else list(data)


def _digest(translations: dict[int, str]) -> str:
    if not translations:
        return ""
    said = json.dumps(sorted(translations.items()))
    return hashlib.sha256(said.encode()).hexdigest()


def _shown(cut: BenchData, first: str) -> tuple[str, ...]:
    """The two languages of Figure 2: the training language, and German or else the first other one."""
    others = [code for code in cut.test.languages if code != first]
    return (first, *(["de"] if "de" in others else others[:1]))


def _part(name: str) -> Part:
    try:
        return Part(name)
    except ValueError:
        raise TrainingError(f"no table '{name}'; there are: {', '.join(Part)}") from None
