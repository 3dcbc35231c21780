"""The report on FMDA: which tables and pictures it has, and what differs from the paper."""

from dataclasses import asdict
from typing import Any

from emu_core.bench.cells import pair_names
from emu_core.bench.figures import bars, group_maps
from emu_core.bench.fmda.experiment import FmdaExperiment, System
from emu_core.bench.fmda.tables import (
    FIVE_PLACES,
    LABELS,
    NOTES,
    FmdaTables,
    paper_table,
    place_key,
    place_label,
    row_of,
)
from emu_core.bench.paper import differences, paper_numbers, versions_of
from emu_core.bench.papers import FmdaPart
from emu_core.bench.report import Picture, Report
from emu_core.bench.results import Results, View
from emu_core.bench.tables import Table, costs_table
from emu_core.encoders.registry import encoder_kind
from emu_core.evaluation.arrays import pair_name

_PANELS = {
    "a": (System.FMDA, "(a) language embeddings"),
    "b": (System.FMDA, "(b) meaning embeddings"),
    "c": (System.TWO_STAGE, "(c) template embeddings, two stages"),
}


def fmda_report(experiment: FmdaExperiment, results: Results) -> Report:
    """Return the report of finished cells."""
    wanted, make = set(experiment.settings.parts), FmdaTables(results, experiment.pairs)
    if len(experiment.pairs) < 2:
        wanted.discard(FmdaPart.TABLE_9)  # several pairs in one model are two or more
    tables = {part: make.table(part) for part in FmdaPart if part in wanted - {FmdaPart.FIGURE_4}}
    pictures = [_bars(tables[part]) for part in (FmdaPart.TABLE_2, FmdaPart.TABLE_3) if part in tables]
    if FmdaPart.FIGURE_4 in wanted:
        pictures += _figure_4(experiment, results)
    return Report(
        title=f"FMDA's experiments on {experiment.config.data} with {experiment.config.encoder}",
        facts=_facts(experiment),
        differences=_differences(experiment),
        tables=(*tables.values(), _costs(results)),
        pictures=tuple(pictures),
        paper=tuple(paper_table(part) for part in tables if f"table{part}" in paper_numbers("fmda")),
    )


def _costs(results: Results) -> Table:
    groups = dict.fromkeys((cell.system, cell.on) for cell, _ in results.measured())
    lines = []
    for system, on in groups:
        key = f"{system}.{'+'.join(on)}" if on else system
        lines.append(((LABELS[system], " + ".join(on)), key, row_of(results, System(system), on)))
    return costs_table(results, lines, NOTES["costs"])


def _bars(table: Table) -> Picture:
    values: dict[str, tuple[float, float]] = {}
    for place in FIVE_PLACES:
        scores = list(table.data[place_key(place)].values())
        if scores:
            mean, deviation = (
                sum(score[key] for score in scores) / len(scores) for key in ("mean", "deviation")
            )
            values[place_label(place)] = (mean, deviation)
    base = values[place_label(FIVE_PLACES[1])][0]
    svg = bars(values, base, "Acc@1, % (the line is mean pooling)")
    return Picture(f"figure_{table.name}", f"{table.title}: means over the columns", NOTES["bars"], svg)


def _figure_4(experiment: FmdaExperiment, results: Results) -> list[Picture]:
    views: dict[str, View] = {}
    for letter, (system, title) in _PANELS.items():
        row = row_of(results, system, pair_names(experiment.pairs[:1]))
        drawn = [cell.views for cell in row.cells if cell.views]
        if drawn:
            views[title] = drawn[0][letter]
    if not views:
        return []
    title = f"Figure 4: {pair_name(*experiment.pairs[0])}"
    return [Picture("figure4", title, NOTES["figure4"], group_maps(views))]


def _facts(experiment: FmdaExperiment) -> dict[str, Any]:
    config, data = experiment.config, experiment.data
    learnt = data.learnt.frame["language"].value_counts()
    languages = data.whole.languages
    return {
        "encoder": config.encoder,
        "data": config.data,
        "data_sha256": experiment.facts["sha256"],
        "pairs": list(pair_names(experiment.pairs)),
        "sentences_learnt_from": {code: f"{learnt[code]:,}" for code in languages},
        "pairs_measured": {
            pair_name(pair.source, pair.target): f"{len(pair):,}"
            for pair in data.test_pairs(experiment.pairs)
        },
        "templates_measured": {code: f"{len(data.templates(code, 1)):,}" for code in languages},
        "split": data.note,
        "seeds": list(experiment.seeds),
        "device": config.device,
        "settings": asdict(experiment.settings_of(System.FMDA)),
        "protocol": "nearest neighbours by cosine on the test split; among equals (within 1e-6) the first in the pool",
        "versions": versions_of("torch", "transformers", "sacrebleu", "scikit-learn"),
    }


def _differences(experiment: FmdaExperiment) -> tuple[str, ...]:
    config, data, printed = experiment.config, experiment.data, paper_numbers("fmda")
    started = ", which was trained to put translations side by side, so that every row begins higher"
    values = {
        "encoder": config.encoder,
        "started": started if encoder_kind(config.encoder) == "e5-small" else "",
        "data": config.data,
        "sentences": len(data.test.frame),
        "languages": len(data.whole.languages),
        **{f"paper_{name}": printed[name] for name in ("encoder", "data")},
    }
    return differences("fmda", values)
