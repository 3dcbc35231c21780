"""From finished cells to the report: which tables and pictures, and what is said of them."""

from collections.abc import Iterable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from emu_core import __version__
from emu_core.bench.fmda.cells import LABELS, System, part_label
from emu_core.bench.fmda.costs import costs_table
from emu_core.bench.fmda.data import FmdaData
from emu_core.bench.fmda.figure4 import NOTE, figure_4
from emu_core.bench.fmda.grid import FIVE_LINES, line_name
from emu_core.bench.fmda.paper import paper_numbers, paper_table
from emu_core.bench.fmda.plan import FmdaPart
from emu_core.bench.fmda.probes import probes_table
from emu_core.bench.fmda.result import View
from emu_core.bench.fmda.results import FmdaResults
from emu_core.bench.fmda.setting import FmdaSetting
from emu_core.bench.fmda.tables import table_2, table_3, table_4, table_5, table_6, table_9
from emu_core.bench.pictures import bars_picture
from emu_core.bench.report import Picture, Report
from emu_core.bench.table import Table
from emu_core.encoders.registry import encoder_kind
from emu_core.evaluation.arrays import pair_name
from emu_core.models.parts import Part

_TABLES = {
    FmdaPart.TABLE_2: table_2,
    FmdaPart.TABLE_3: table_3,
    FmdaPart.TABLE_4: table_4,
    FmdaPart.TABLE_5: table_5,
    FmdaPart.TABLE_6: table_6,
    FmdaPart.TABLE_9: table_9,
    FmdaPart.PROBES: probes_table,
}


def compose(
    folder: Path, setting: FmdaSetting, data: FmdaData, results: FmdaResults, parts: Iterable[FmdaPart]
) -> Report:
    """Make the report of finished cells.

    Args:
        folder: where its files will be.
        setting: what the cells share.
        data: the sentences.
        results: the cells.
        parts: the parts asked for.
    """
    wanted = set(parts)
    if len(results.pairs) < 2:
        wanted.discard(FmdaPart.TABLE_9)  # several pairs in one model are two or more
    tables = {part: make(results) for part, make in _TABLES.items() if part in wanted}
    pictures = [
        _bars(tables[part], f"figure_table{part}")
        for part in (FmdaPart.TABLE_2, FmdaPart.TABLE_3)
        if part in tables
    ]
    if FmdaPart.FIGURE_4 in wanted:
        pictures += _figure_4(results)
    return Report(
        title=f"FMDA's experiments on {setting.data_name} with {setting.encoder}",
        facts=_facts(setting, data, results),
        differences=_differences(setting, data),
        tables=(*tables.values(), costs_table(results)),
        pictures=tuple(pictures),
        paper=tuple(paper_table(part) for part in tables if f"table{part}" in paper_numbers()),
        folder=folder,
    )


def _bars(table: Table, name: str) -> Picture:
    rows: dict[str, tuple[float, float]] = {}
    for system, part in FIVE_LINES:
        scores = list(table.data[line_name(system, part)].values())
        if scores:
            of = [sum(score[key] for score in scores) / len(scores) for key in ("mean", "deviation")]
            rows[f"{LABELS[system]}, {part_label(part)}"] = (of[0], of[1])
    base = rows[f"{LABELS[System.BASE]}, {part_label(Part.MEAN)}"][0]
    return Picture(
        name,
        f"{table.title}: means over the columns",
        "Bars: mean over columns and seeds; the whisker is the columns' mean standard deviation over seeds; the line "
        "is the frozen encoder's mean pooling.",
        bars_picture(rows, base, label="Acc@1, % (the line is mean pooling)"),
    )


def _figure_4(results: FmdaResults) -> list[Picture]:
    views: dict[str, View] = {}
    for system, letters in ((System.FMDA, "ab"), (System.TWO_STAGE, "c")):
        drawn = [cell.views for cell in results.row(system, results.pairs[:1]).cells if cell.views]
        views |= {letter: view for letter, view in (drawn[0] if drawn else {}).items() if letter in letters}
    if not views:
        return []
    title = f"Figure 4: {pair_name(*results.pairs[0])}"
    return [Picture("figure4", title, NOTE, figure_4(views))]


def _facts(setting: FmdaSetting, data: FmdaData, results: FmdaResults) -> dict[str, Any]:
    pairs = data.test_pairs(results.pairs)
    learnt = data.learnt.frame
    rows = {code: learnt[learnt["language"] == code] for code in data.whole.languages}
    return {
        "encoder": setting.encoder,
        "data": setting.data_name,
        "data_sha256": setting.data_sha256,
        "pairs": [pair_name(*pair) for pair in results.pairs],
        "sentences_learnt_from": {code: f"{len(own):,}" for code, own in rows.items()},
        "pairs_measured": {pair_name(pair.source, pair.target): f"{len(pair):,}" for pair in pairs},
        "templates_measured": {code: f"{len(data.templates(code, 1)):,}" for code in data.whole.languages},
        "split": data.note,
        "seeds": list(results.seeds),
        "device": setting.device,
        "settings": asdict(setting.config(System.FMDA)),
        "protocol": "nearest neighbours by cosine on the test split; among equals (within 1e-6) the first in the pool",
        "versions": {
            "emu_core": __version__,
            **{name: version(name) for name in ("torch", "transformers", "sacrebleu", "scikit-learn")},
        },
    }


def _differences(setting: FmdaSetting, data: FmdaData) -> tuple[str, ...]:
    numbers = paper_numbers()
    started = (
        ", which was trained to put translations side by side, so that every row begins higher"
        if encoder_kind(setting.encoder) == "e5-small"
        else ""
    )
    return (
        f"Encoder: {setting.encoder} here{started}; {numbers['encoder']} in the paper.",
        f"Data: {setting.data_name} here, with {len(data.test.frame):,} test sentences in "
        f"{len(data.whole.languages)} languages; {numbers['data']} in the paper, some 11,000 utterances a language to "
        "train on and 2,974 to measure.",
        "Template retrieval: the paper replaced slot values by hand in 1,900 utterances a language; here they are "
        "drawn from the values of the same slot in the test split, and each template is asked for once.",
        "Negatives are drawn by BLEU below 0.1 as in the paper, which does not name its smoothing; ours is sacrebleu's "
        "(exp, effective order, lower case, characters in Japanese, Chinese, Thai and others without spaces).",
        "Hyper-parameters: those found here (emu_core/config); the paper refers to Tiyajamorn et al. for its own and "
        "gives the losses no weights.",
        "The paper does not say how many seeds it ran; here each number is the mean over the seeds named above, with "
        "their standard deviation where there are several.",
        "Mean pooling, the residual of two stages and the language probes are not in the paper.",
    )
