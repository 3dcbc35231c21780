"""The report on Emu: which tables and pictures it has, and what differs from the paper."""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from emu_core import __version__
from emu_core.bench.emu.atis import ATIS_NAME, PAPER_COUNTS, selection
from emu_core.bench.emu.experiment import BASE, FIGURE_METHODS, EmuExperiment
from emu_core.bench.emu.tables import (
    LABELS,
    Accuracies,
    label_of,
    paper_tables,
    peers_table,
    table_2,
    table_3,
    table_4,
    table_5,
)
from emu_core.bench.figures import bars, maps
from emu_core.bench.paper import paper_numbers
from emu_core.bench.papers import EmuPart
from emu_core.bench.report import Picture, Report
from emu_core.bench.results import Results
from emu_core.bench.tables import Table

FIGURE_NOTE = (
    "Test sentences of two languages, colour the intent. Each system's vectors are laid out by a t-SNE of their own "
    "(perplexity 30, from the first two principal components), so places can't be compared between panels, only who "
    "is near whom. One seed."
)
_TABLES = {
    EmuPart.TABLE_2: table_2,
    EmuPart.TABLE_3: table_3,
    EmuPart.TABLE_4: table_4,
    EmuPart.TABLE_5: table_5,
    EmuPart.PEERS: peers_table,
}
_BARS = {
    EmuPart.TABLE_2: "Table 2: means over the directions",
    EmuPart.PEERS: "Peers: means over the directions",
}


def emu_report(experiment: EmuExperiment, results: Results) -> Report:
    """Return the report of finished cells."""
    wanted, found = set(experiment.settings.parts), Accuracies(experiment, results)
    tables = {part: make(found) for part, make in _TABLES.items() if part in wanted}
    base = float(found.base_percent().mean())
    pictures = [
        _bars(tables[part], f"figure_{tables[part].name}", title, base)
        for part, title in _BARS.items()
        if part in tables
    ]
    if EmuPart.FIGURE_2 in wanted:
        pictures += _figure_2(experiment, results)
    data = experiment.config.data
    return Report(
        title=f"Emu's experiments on {data} with {experiment.config.encoder}",
        facts=_facts(experiment),
        differences=_differences(experiment),
        tables=tuple(tables.values()),
        pictures=tuple(pictures),
        paper=tuple(table for part in tables for table in paper_tables(part)),
    )


def _figure_2(experiment: EmuExperiment, results: Results) -> list[Picture]:
    on, seeds = experiment.config.train_languages, results.seeds[:1]
    systems = [results.of(BASE, seeds=(0,))]
    systems += [results.of(method, on, seeds=seeds) for method in FIGURE_METHODS]
    views = {
        f"({letter}) {label_of(name)}": row.cells[0].views["map"]
        for letter, name, row in zip("abcd", (BASE, *FIGURE_METHODS), systems, strict=True)
        if row.cells and "map" in row.cells[0].views
    }
    title = f"Figure 2: {' and '.join(experiment.shown)}"
    return [Picture("figure2", title, FIGURE_NOTE, maps(views))] if views else []


def _bars(table: Table, name: str, title: str, base: float) -> Picture:
    values = {LABELS[BASE]: (base, 0.0)} if BASE not in table.data else {}
    values |= {
        _label(key): (one["mean"], one["mean_deviation"]) for key, one in table.data.items() if "mean" in one
    }
    note = "Bars: mean over seeds, the whisker one standard deviation."
    return Picture(name, title, note, bars(values, base, "Acc@1, % (the line is the base encoder)"))


def _label(key: str) -> str:
    return LABELS.get(key) or LABELS.get(f"peer.{key}", key)


def _facts(experiment: EmuExperiment) -> dict[str, Any]:
    config, data, budget = experiment.config, experiment.data, experiment.budget
    counts = {
        code: tuple(int((part.frame["language"] == code).sum()) for part in (data.train, data.test))
        for code in experiment.languages
    }
    return {
        "encoder": config.encoder,
        "data": config.data,
        "data_sha256": experiment.facts["sha256"],
        "languages": list(experiment.languages),
        "train_languages": list(config.train_languages),
        "sentences_a_language": {
            code: f"{train} to train on, {test} measured" for code, (train, test) in counts.items()
        },
        "intents": len(data.train.intents),
        "split": data.note,
        "seeds": list(experiment.seeds),
        "device": config.device,
        "epochs": budget.epochs,
        "batch_size": budget.batch_size,
        "protocol": "leave-one-out on the test sentences; a query's translations never answer it",
        "versions": {
            "emu_core": __version__,
            **{name: version(name) for name in ("torch", "sentence-transformers", "scikit-learn")},
        },
    }


def _differences(experiment: EmuExperiment) -> tuple[str, ...]:
    config, data = experiment.config, experiment.data
    numbers = paper_numbers("emu")["table1"]
    sizes = "; ".join(
        f"{name} {n['train']} / {n['test']}, {n['classes']} classes" for name, n in numbers.items()
    )
    code, intents = data.train.languages[0], len(data.train.intents)
    sentences = int(data.train.frame["language"].eq(code).sum())
    atis = selection(data.whole) if config.data == ATIS_NAME else PAPER_COUNTS
    return (
        *(() if atis == PAPER_COUNTS else (_atis(atis),)),
        f"Encoder: {config.encoder} here, LASER in the paper.",
        f"Data: {config.data} here, with {sentences} training sentences in {code} and {intents} intents; "
        f"in the paper {sizes} (train / test sentences a language). HotelQA is "
        "private, ATIS and Quora were translated by machine.",
        "Hyper-parameters: the defaults found for the encoder here (emu_core/methods/emu.py), LASER's own in the paper.",
        "The paper does not say how many seeds it ran; here each number is the mean over the seeds named above, with "
        "their standard deviation where there are several.",
        "MT + sent2vec translates into English and uses an English encoder; where the set holds translations, the row "
        "here encodes them with the same multilingual encoder.",
        "Quora: Table 1 of the paper says 353 test sentences, but the accuracies of its Table 2 (c) are fractions of "
        "223.",
    )


def _atis(found: Mapping[str, int]) -> str:
    return (
        f"ATIS here has {found['classes']} intents, {found['train']} training and {found['test']} test sentences after "
        f"the paper's selection, the paper {PAPER_COUNTS['classes']}, {PAPER_COUNTS['train']:,} and "
        f"{PAPER_COUNTS['test']}: these are not its files."
    )
