"""The report on Emu: which tables and pictures it has, and what differs from the paper."""

from typing import Any

from emu_core.bench.emu.atis import ATIS_NAME, PAPER_COUNTS, selection
from emu_core.bench.emu.experiment import BASE, FIGURE_METHODS, EmuExperiment
from emu_core.bench.emu.tables import (
    LABELS,
    NOTES,
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
from emu_core.bench.paper import differences, paper_numbers, versions_of
from emu_core.bench.papers import EmuPart
from emu_core.bench.report import Picture, Report
from emu_core.bench.results import Results
from emu_core.bench.tables import Table

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
    return [Picture("figure2", title, NOTES["figure2"], maps(views))] if views else []


def _bars(table: Table, name: str, title: str, base: float) -> Picture:
    values = {LABELS[BASE]: (base, 0.0)} if BASE not in table.data else {}
    values |= {
        _label(key): (one["mean"], one["mean_deviation"]) for key, one in table.data.items() if "mean" in one
    }
    return Picture(name, title, NOTES["bars"], bars(values, base, "Acc@1, % (the line is the base encoder)"))


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
        "versions": versions_of("torch", "sentence-transformers", "scikit-learn"),
    }


def _differences(experiment: EmuExperiment) -> tuple[str, ...]:
    config, data = experiment.config, experiment.data
    printed = paper_numbers("emu")["table1"].items()
    sizes = (f"{name} {n['train']} / {n['test']}, {n['classes']} classes" for name, n in printed)
    code = data.train.languages[0]
    atis = selection(data.whole) if config.data == ATIS_NAME else PAPER_COUNTS
    values = {
        "encoder": config.encoder,
        "data": config.data,
        "sentences": int(data.train.frame["language"].eq(code).sum()),
        "code": code,
        "intents": len(data.train.intents),
        "sizes": "; ".join(sizes),
        **atis,
        **{f"paper_{name}": count for name, count in PAPER_COUNTS.items()},
    }
    return differences("emu", values, ("atis",) if atis == PAPER_COUNTS else ())
