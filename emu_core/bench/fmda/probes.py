"""The table of language probes: which embeddings tell the language, and which hide it."""

from typing import Any

from emu_core.bench.fmda.cells import LABELS, System, part_label
from emu_core.bench.fmda.grid import MISSING, Line, line_name
from emu_core.bench.fmda.results import FmdaResults
from emu_core.bench.score import Score
from emu_core.bench.table import Table
from emu_core.evaluation.arrays import pair_name
from emu_core.models.parts import Part

LINES: tuple[Line, ...] = (
    (System.BASE, Part.CLS),
    (System.BASE, Part.MEAN),
    (System.BASELINE, Part.LANGUAGE),
    (System.BASELINE, Part.MEANING),
    (System.FMDA, Part.LANGUAGE),
    (System.FMDA, Part.MEANING),
    (System.FMDA, Part.TEMPLATE),
    (System.FMDA, Part.RESIDUAL),
)
_MEASURES = (("probe", "probe"), ("neighbours", "neighbours in own language"))
NOTE = (
    "Probe: balanced accuracy in percent of a linear probe that names the language of a test sentence, neither it nor "
    "its translation learnt from; 50 is chance. Neighbours: percent of a sentence's ten nearest that are in its own "
    "language, its translation left out; about 50 is chance."
)


def probes_table(results: FmdaResults) -> Table:
    """How well each embedding tells the two languages of each pair."""
    columns = [(pair, field, words) for pair in results.pairs for field, words in _MEASURES]
    head = ("model", "embedding", *(f"{pair_name(*pair)}: {words}" for pair, _, words in columns))
    rows, data = [], dict[str, Any]()
    scores: dict[Line, dict[str, Score]] = {}
    for line in LINES:
        found = {
            f"{pair_name(*pair)} {field}": _score(results, line, pair, field) for pair, field, _ in columns
        }
        scores[line] = {name: score for name, score in found.items() if score is not None}
        data[line_name(*line)] = {name: score.facts() for name, score in scores[line].items()}
        rows.append(
            (
                LABELS[line[0]],
                part_label(line[1]),
                *(MISSING if score is None else score.text for score in found.values()),
            )
        )
    return Table("probes", "Language probes", head, tuple(rows), _verdict(results, scores), (NOTE,), data)


def _score(results: FmdaResults, line: Line, pair: tuple[str, str], field: str) -> Score | None:
    system, part = line
    values = results.row(system, [pair]).probes(part, pair_name(*pair), field)
    return Score.of_shares(values) if values else None


def _verdict(results: FmdaResults, scores: dict[Line, dict[str, Score]]) -> tuple[str, ...]:
    said = []
    for pair in results.pairs:
        key = f"{pair_name(*pair)} probe"
        cls, language, meaning = (
            scores[line].get(key)
            for line in ((System.BASE, Part.CLS), (System.FMDA, Part.LANGUAGE), (System.FMDA, Part.MEANING))
        )
        if cls and language and meaning:
            said.append(
                f"{pair_name(*pair)}: a linear probe is right on {language.mean:.1f} % of language embeddings and "
                f"on {meaning.mean:.1f} % of meaning embeddings, {cls.mean - meaning.mean:.1f} points fewer than on "
                "[CLS]."
            )
    return tuple(said)
