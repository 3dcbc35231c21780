"""The tables of accuracies: 2, 3, 4, 5, 6 and 9."""

from typing import Any

import numpy as np

from emu_core.bench.fmda.cells import ABLATION, System
from emu_core.bench.fmda.columns import Column, Values, template_columns, translation_columns
from emu_core.bench.fmda.grid import FIVE_LINES, MISSING, Line, grid
from emu_core.bench.fmda.paper import paper_figure, paper_numbers
from emu_core.bench.fmda.results import FmdaResults
from emu_core.bench.fmda.verdicts import meaning_verdict, two_stage_verdict
from emu_core.bench.score import Score
from emu_core.bench.table import Table
from emu_core.evaluation.arrays import pair_name
from emu_core.models.parts import Part

TEMPLATE_NOTE = (
    "Sources are the test utterances with slots, each template once (two sources of one template would make each "
    "other's targets as right as their own); a target is its source with every slot's value replaced by another of the "
    "same slot; the pool holds the targets of all sources and no source."
)


def table_2(results: FmdaResults) -> Table:
    """Cross-lingual semantic retrieval."""
    columns = translation_columns(results.pairs)
    return grid(
        "2",
        "cross-lingual semantic retrieval, Acc@1",
        FIVE_LINES,
        columns,
        results,
        verdict=meaning_verdict(results, columns),
    )


def table_3(results: FmdaResults) -> Table:
    """Template retrieval with one target."""
    columns = template_columns(results.pairs)
    return grid("3", "template retrieval, Acc@1", FIVE_LINES, columns, results, notes=(TEMPLATE_NOTE,))


def table_4(results: FmdaResults) -> Table:
    """What each group of losses adds, on the first pair."""
    lines: list[Line] = [
        (System.BASE, Part.CLS),
        (System.BASELINE, Part.MEANING),
        (System.FMDA, Part.MEANING),
    ]
    lines += [(system, Part.MEANING) for system in ABLATION]
    note = (
        "Each row is trained without the losses it names; a reconstruction is taken out with its cross-lingual form. "
        "FMDA is trained here with one loss more than eq. 5 has: the utterance is also rebuilt with the other "
        "language's embedding. The last row is without it."
    )
    columns = translation_columns(results.pairs[:1])
    return grid(
        "4", "ablation, cross-lingual semantic retrieval, Acc@1", lines, columns, results, notes=(note,)
    )


def table_5(results: FmdaResults) -> Table:
    """All losses at once against two stages."""
    lines: list[Line] = [
        (system, part)
        for system in (System.FMDA, System.TWO_STAGE)
        for part in (Part.MEANING, Part.TEMPLATE, Part.RESIDUAL)
    ]
    columns = [*translation_columns(results.pairs), *template_columns(results.pairs)]
    return grid(
        "5",
        "all losses together against two stages, Acc@1",
        lines,
        columns,
        results,
        verdict=two_stage_verdict(results, template_columns(results.pairs)),
        notes=(TEMPLATE_NOTE,),
    )


def table_6(results: FmdaResults) -> Table:
    """Template retrieval with five targets."""
    columns = template_columns(results.pairs, five=True)
    return grid(
        "6", "template retrieval with five targets, MAP", FIVE_LINES, columns, results, notes=(TEMPLATE_NOTE,)
    )


def table_9(results: FmdaResults) -> Table:
    """A model for each pair against one for all pairs."""
    head = (
        "task",
        "baseline",
        "one pair",
        "all pairs",
        *(f"paper: {name}" for name in paper_numbers()["table9"]["columns"]),
    )
    translate, template = translation_columns(results.pairs), template_columns(results.pairs)
    tasks: list[tuple[str, list[Column], Part]] = [
        (column.name, [column], Part.MEANING) for column in translate if column.pair != _way(column)
    ]
    for code in dict.fromkeys(column.name.split(" ")[0] for column in template):
        tasks.append(
            (code, [column for column in template if column.name.split(" ")[0] == code], Part.TEMPLATE)
        )
    rows, data = [], dict[str, Any]()
    every = results.row(System.FMDA, results.pairs)
    for name, columns, part in tasks:
        scores = {
            "baseline": _mean([column.of(results, System.BASELINE, Part.MEANING) for column in columns]),
            "one pair": _mean([column.of(results, System.FMDA, part) for column in columns]),
            "all pairs": _mean([columns[0].values(every, part)]),
        }
        data[name] = {key: score.facts() for key, score in scores.items() if score is not None}
        rows.append(
            (
                name,
                *(MISSING if score is None else score.text for score in scores.values()),
                *(paper_figure("9", name, key) for key in scores),
            )
        )
    notes = (
        "Cross-lingual rows are of the meaning embedding; rows of one language are template retrieval with FMDA's "
        "template embedding and the baseline's meaning, and a language of several pairs has the mean over their "
        "models. The model for all pairs is trained on every pair here; the paper leaves Japanese out of all rows but "
        "the Japanese ones.",
        *(() if every.cells else (f"All pairs in one model, not measured: {every.reason}",)),
    )
    return Table(
        "table9",
        "Table 9: one language pair against all in one model, Acc@1",
        head,
        tuple(rows),
        (),
        notes,
        data,
    )


def _way(column: Column) -> tuple[str, str]:
    """The pair in the column's own direction."""
    source, target = column.pair
    return column.pair if column.name == pair_name(source, target) else (target, source)


def _mean(values: list[Values | None]) -> Score | None:
    """The score of several models' values on the same queries."""
    there = [value for value in values if value is not None]
    if not there or len(there) < len(values):
        return None
    seeds = min(len(value) for value in there)
    return Score.of(np.mean([value[:seeds] for value in there], axis=0))
