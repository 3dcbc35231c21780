"""From finished cells to the report: which tables and pictures, and what is said of them."""

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from emu_core import __version__
from emu_core.bench.atis import ATIS_NAME, PAPER_COUNTS, selection
from emu_core.bench.cells import Kind, label_of
from emu_core.bench.data import BenchData
from emu_core.bench.paper import paper_numbers
from emu_core.bench.peers_table import peers_table
from emu_core.bench.pictures import bars_picture, maps_picture
from emu_core.bench.plan import FIGURE_METHODS, Part
from emu_core.bench.report import Picture, Report
from emu_core.bench.results import Results
from emu_core.bench.setting import Setting
from emu_core.bench.table import Table
from emu_core.bench.table2 import paper_table_2, table_2
from emu_core.bench.table5 import table_5
from emu_core.bench.table34 import paper_tables_3_4, table_3, table_4

FIGURE_NOTE = (
    "Test sentences of two languages, colour the intent. Each system's vectors are laid out by a t-SNE of their own "
    "(perplexity 30, from the first two principal components), so places can't be compared between panels, only who "
    "stands beside whom. One seed."
)


def compose(
    folder: Path,
    setting: Setting,
    data: BenchData,
    results: Results,
    parts: Iterable[Part],
    shown: tuple[str, ...],
) -> Report:
    """Make the report of finished cells.

    Args:
        folder: where its files will be.
        setting: what the cells share.
        data: the sentences.
        results: the cells.
        parts: the parts asked for.
        shown: the two languages of Figure 2.
    """
    wanted = set(parts)
    tables: list[Table] = []
    pictures: list[Picture] = []
    paper: list[Table] = []
    if Part.TABLE_2 in wanted:
        table = table_2(results, encoder=setting.encoder)
        tables.append(table)
        pictures.append(_bars(table, "figure_table2", "Table 2: means over the directions"))
        paper += paper_table_2()
    if Part.TABLE_3 in wanted:
        tables.append(table_3(results))
    if Part.TABLE_4 in wanted:
        tables.append(table_4(results))
    printed = {"table3": Part.TABLE_3, "table4": Part.TABLE_4}
    paper += [table for table in paper_tables_3_4() if printed[table.name.removeprefix("paper_")] in wanted]
    if Part.TABLE_5 in wanted:
        tables.append(table_5(results))
    if Part.PEERS in wanted:
        table = peers_table(results, setting)
        tables.append(table)
        base = {"base encoder": {"mean": _base_mean(results), "mean_deviation": 0.0}}
        pictures.append(_bars(table, "figure_peers", "Peers: means over the directions", base))
    if Part.FIGURE_2 in wanted:
        pictures += _figure_2(data, results, shown)
    return Report(
        title=f"Emu's experiments on {setting.data_name} with {setting.encoder}",
        facts=_facts(setting, data, results),
        differences=_differences(setting, data),
        tables=tuple(tables),
        pictures=tuple(pictures),
        paper=tuple(paper),
        folder=folder,
    )


def _figure_2(data: BenchData, results: Results, shown: tuple[str, ...]) -> list[Picture]:
    views = {f"(a) {label_of(Kind.BASE)}": results.base}
    for letter, method in zip("bcd", FIGURE_METHODS, strict=True):
        cells = results.row(Kind.METHOD, method, seeds=results.seeds[:1]).cells
        if cells:
            views[f"({letter}) {label_of(method)}"] = cells[0]
    views = {title: view for title, view in views.items() if view.map_rows}
    if not views:
        return []
    frame = data.test.frame
    svg = maps_picture(views, frame["intent"].tolist(), frame["language"].tolist(), shown)
    title = f"Figure 2: {' and '.join(shown)}"
    return [Picture("figure2", title, FIGURE_NOTE, svg)]


def _bars(table: Table, name: str, title: str, first: dict[str, Any] | None = None) -> Picture:
    rows = {
        label_of(key): (values["mean"], values["mean_deviation"])
        for key, values in {**(first or {}), **table.data}.items()
        if "mean" in values
    }
    base = next(mean for mean, _ in rows.values()) if first else rows[label_of(Kind.BASE)][0]
    return Picture(
        name,
        title,
        "Bars: mean over seeds, the whisker one standard deviation.",
        bars_picture(rows, base),
    )


def _base_mean(results: Results) -> float:
    return float(results.base_accuracy(results.directions).mean())


def _facts(setting: Setting, data: BenchData, results: Results) -> dict[str, Any]:
    budget = setting.budget
    return {
        "encoder": setting.encoder,
        "data": setting.data_name,
        "data_sha256": setting.data_sha256,
        "languages": list(results.languages),
        "train_languages": list(results.train_languages),
        "sentences_a_language": {
            code: f"{(data.train.frame['language'] == code).sum()} to train on, "
            f"{(data.test.frame['language'] == code).sum()} measured"
            for code in results.languages
        },
        "intents": len(data.train.intents),
        "split": data.note,
        "seeds": list(results.seeds),
        "device": setting.device,
        "epochs": budget.epochs,
        "batch_size": budget.batch_size,
        "protocol": "leave-one-out on the test sentences; a query's translations never answer it",
        "versions": {
            "emu_core": __version__,
            **{name: version(name) for name in ("torch", "sentence-transformers", "scikit-learn")},
        },
    }


def _differences(setting: Setting, data: BenchData) -> tuple[str, ...]:
    numbers = paper_numbers()["table1"]
    sizes = "; ".join(
        f"{name} {n['train']} / {n['test']}, {n['classes']} classes" for name, n in numbers.items()
    )
    code, intents = data.train.languages[0], len(data.train.intents)
    sentences = int(data.train.frame["language"].eq(code).sum())
    atis = selection(data.whole) if setting.data_name == ATIS_NAME else PAPER_COUNTS
    return (
        *(() if atis == PAPER_COUNTS else (_atis(atis),)),
        f"Encoder: {setting.encoder} here, LASER in the paper.",
        f"Data: {setting.data_name} here, with {sentences} training sentences in {code} and {intents} intents; "
        f"in the paper {sizes} (train / test sentences a language). HotelQA is "
        "private, ATIS and Quora were translated by machine.",
        "Hyper-parameters: the defaults found for the encoder here (emu_core/config.py), LASER's own in the paper.",
        "The paper does not say how many seeds it ran; here each number is the mean over the seeds named above, with "
        "their standard deviation where there are several.",
        "MT + sent2vec translates into English and uses an English encoder; where the set holds translations, the row "
        "here encodes them with the same multilingual encoder.",
        "Quora: Table 1 of the paper says 353 test sentences, but the accuracies of its Table 2 (c) are fractions of "
        "223.",
    )  # fmt: skip


def _atis(found: Mapping[str, int]) -> str:
    return (
        f"ATIS here has {found['classes']} intents, {found['train']} training and {found['test']} test sentences after "
        f"the paper's selection, the paper {PAPER_COUNTS['classes']}, {PAPER_COUNTS['train']:,} and "
        f"{PAPER_COUNTS['test']}: these are not its files."
    )
