"""The tables of the dual encoder's benchmark."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from emu_core.bench.dual_encoder.paper import paper_figure
from emu_core.bench.dual_encoder.systems import LABELS, System, paper_name
from emu_core.bench.pretrained.grid import MISSING, Line, grid
from emu_core.bench.pretrained.ranking import DOT
from emu_core.bench.pretrained.result import PretrainedResult
from emu_core.bench.pretrained.results import PretrainedResults, PretrainedRow, score_of
from emu_core.bench.score import Score
from emu_core.bench.table import Table
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.translation_ranking import NS

Systems = tuple[System, ...]


def ranking_table(results: PretrainedResults, systems: Systems) -> Table:
    """Section 3.4: P@1, P@3 and P@10 both ways."""
    ways = [pair_name(*way) for pair in results.pairs for way in (pair, pair[::-1])]
    columns = [f"{way} P@{n}" for way in ways for n in NS]
    lines = []
    for system in systems:
        scores: dict[str, Score] = {}
        rows = [results.row(system, (pair,)) for pair in results.pairs]
        for pair, row in zip(results.pairs, rows, strict=True):
            for way in (pair_name(*pair), pair_name(*pair[::-1])):
                for n in NS:
                    if (score := row.precision(DOT, way, n)) is not None:
                        scores[f"{way} P@{n}"] = score
        paper = {
            f"{pair_name(*pair)} P@1": figure
            for pair in results.pairs
            if (figure := paper_figure("section3.4", paper_name(system, systems), pair_name(*pair)))
        }
        lines.append(Line((LABELS[system],), system, scores, paper, reason=_reason(rows)))
    counts = {way: n for cell in results.cells.values() for way, n in cell.candidates.items()}
    return grid(
        "ranking",
        "Section 3.4: translation ranking",
        ("model",),
        columns,
        lines,
        verdict=(*_against(results, systems, ways), *_multi_task(results, systems, ways)),
        notes=(
            "Percent of test sentences whose translation is among the N best of "
            f"{', '.join(f'{count:,} ({way})' for way, count in counts.items())} targets, the others drawn at random; "
            "scores are dot products. The paper draws 999 others, ranks one way, and says of "
            "P@3 and P@10 that the results are identical. Its translation ranking has hard negatives.",
        ),
        queries=True,
    )


def sts_table(results: PretrainedResults, systems: Systems) -> Table:
    """Tables 2 and 3: Pearson's r of the angle, in each language and across."""
    measured = dict.fromkeys(name for cell in results.cells.values() for name in cell.sts)
    columns = sorted(measured, key=_cross_last)
    lines = []
    for system in systems:
        for pair in results.pairs:
            row, name = results.row(system, (pair,)), pair_name(*pair)
            values = {column: row.values(_pearson(column)) for column in columns}
            scores = {column: score_of([100 * r for r in own]) for column, own in values.items() if own}
            paper = {
                column: figure
                for column in columns
                if (figure := paper_figure("table2", f"{paper_name(system, systems)} {name}", column))
            }
            lines.append(
                Line(
                    (LABELS[system], name),
                    f"{system} {name}",
                    {column: score for column, score in scores.items() if score is not None},
                    paper,
                    {column: three_places(own) for column, own in values.items() if own},
                    row.reason,
                )
            )
    return grid(
        "sts",
        "Tables 2 and 3: STS, Pearson's r",
        ("model", "trained on"),
        columns,
        lines,
        verdict=_sts_verdict(results, systems),
        notes=(
            "Pearson's r between people's scores and minus the angle of the two vectors; en-de has the first sentence "
            "in English and the second in German. The paper's figures are dev / test. In report.json it is 100 r.",
        ),
    )


def zero_shot_table(results: PretrainedResults, systems: Systems) -> Table:
    """Table 5: a classifier trained in one language, tested in both."""
    ways = list(dict.fromkeys(way for cell in results.cells.values() for way in cell.zero_shot))
    lines = []
    for system in systems:
        rows = [results.row(system, (pair,)) for pair in results.pairs]
        scores: dict[str, Score] = {}
        for way in ways:
            # English on English is measured in every pair's model: the first pair's stands for all.
            own = next((found for row in rows if (found := row.values(_zero_shot(way)))), [])
            if (score := score_of(own)) is not None:
                scores[way] = score
        lines.append(Line((LABELS[system],), system, scores, reason=_reason(rows)))
    return grid(
        "zero_shot",
        "Table 5: zero-shot classification",
        ("model",),
        ways,
        lines,
        notes=(
            "Accuracy in percent of a small network on the frozen vectors: trained on sentences of the first language, "
            "tested on the second's (en-en is not zero-shot, but what is there to reach); each by the model of that "
            "pair, or of the first pair with the language.",
        ),
    )


def few_shot_table(results: PretrainedResults, systems: Systems) -> Table:
    """Table 6: more and more of the target language's labels, with the source language's and without."""
    every = [one for cell in results.cells.values() for shares in cell.few_shot.values() for one in shares]
    shares = sorted({float(one["share"]) for one in every})
    lines = []
    for pair in results.pairs:
        way, target = pair_name(*pair), pair[1]
        for system in systems:
            row = results.row(system, (pair,))
            for kind, words in (
                ("few_shot", f"100 % {pair[0]} + X % {target}"),
                ("monolingual", f"X % {target}"),
            ):
                scores = {
                    f"{share:g} %": score
                    for share in shares
                    if (score := score_of(row.values(_few_shot(way, share, kind)))) is not None
                }
                if scores:
                    lines.append(Line((LABELS[system], target, words), f"{system} {target} {kind}", scores))
    return grid(
        "few_shot",
        "Table 6: few-shot classification, accuracy in %",
        ("model", "tested in", "trained on"),
        [f"{share:g} %" for share in shares],
        lines,
        notes=("The paper's own, of sentiment in Amazon reviews, is below.",),
    )


def eigen_table(results: PretrainedResults, systems: Systems) -> Table:
    """Table 7: eigen-similarity and its variance."""
    columns = [pair_name(*pair) for pair in results.pairs]
    rows, data = [], dict[str, Any]()
    printed = [name for name in columns if paper_figure("table7", "multi-task", name)]
    for system in systems:
        cells = []
        data[system] = {}
        for pair, name in zip(results.pairs, columns, strict=True):
            found = [cell.eigen[name] for cell in results.row(system, (pair,)).cells if name in cell.eigen]
            if not found:
                cells += [MISSING, MISSING]
                continue
            own = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
            own["deviation"] = (
                float(np.std([one["mean"] for one in found], ddof=1)) if len(found) > 1 else 0.0
            )
            data[system][name] = own
            cells += [three_places([one["mean"] for one in found]), f"{own['variance']:.3f}"]
        paper = [paper_figure("table7", paper_name(system, systems), name) for name in printed]
        rows.append((LABELS[system], *cells, *paper))
    head = ("model", *(part for name in columns for part in (name, f"{name} variance")))
    return Table(
        "eigen",
        "Table 7: eigen-similarity",
        (*head, *(f"paper: {name}" for name in printed)),
        tuple(rows),
        _eigen_verdict(results, systems, data),
        (
            "Equation 3 over 1,000 samples of 10 test pairs: the smaller, the more alike the two languages' sentences "
            "lie; beside it the variance between samples. The paper says neither which distance nor which Laplacian it "
            "takes, so that its figures can be compared with each other but not with ours: ours are of angles and of "
            "the Laplacian that is not normalised. The paper prints no variance, though it says that it is high.",
        ),
        data,
    )


def three_places(values: Sequence[float]) -> str:
    """A mean with its standard deviation where there are several, such as "0.803 ±0.004"."""
    mean = f"{np.mean(values):.3f}"
    return mean + (f" ±{np.std(values, ddof=1):.3f}" if len(values) > 1 else "")


def mean_precision(results: PretrainedResults, system: System, n: int = 1) -> float | None:
    """P@n over all pairs, both ways and all seeds; None where one is missing."""
    scores = [
        results.row(system, (pair,)).precision(DOT, pair_name(*way), n)
        for pair in results.pairs
        for way in (pair, pair[::-1])
    ]
    there = [score.mean for score in scores if score is not None]
    return sum(there) / len(there) if len(there) == len(scores) else None


def _against(results: PretrainedResults, systems: Systems, ways: Sequence[str]) -> tuple[str, ...]:
    plain = mean_precision(results, System.SUM_OF_WORDS)
    said = []
    for system in systems[1:]:
        own = mean_precision(results, system)
        if plain is not None and own is not None:
            said.append(
                f"{LABELS[system]}: P@1 {own:.1f}, mean of {len(ways)} directions, {own - plain:+.1f} points against "
                "the sum of words."
            )
    return tuple(said)


def _multi_task(results: PretrainedResults, systems: Systems, ways: Sequence[str]) -> tuple[str, ...]:
    base = mean_precision(results, System.TRANSLATION)
    said = []
    for system in systems:
        own = mean_precision(results, system)
        others = system in (System.QUICK_THOUGHT, System.DIALOGUES, System.NLI, System.MULTI_TASK)
        if others and base is not None and own is not None:
            said.append(
                f"{LABELS[system]} against translation ranking alone: {own - base:+.1f} points of P@1."
            )
    return tuple(said)


def _sts_verdict(results: PretrainedResults, systems: Systems) -> tuple[str, ...]:
    said = []
    for system in systems[1:]:
        gains = []
        for pair in results.pairs:
            own, plain = (results.row(one, (pair,)) for one in (system, System.SUM_OF_WORDS))
            for name in dict.fromkeys(name for cell in own.cells for name in cell.sts):
                values, base = own.values(_pearson(name)), plain.values(_pearson(name))
                if values and base:
                    gains.append((float(np.mean(values) - np.mean(base)), f"{name} ({pair_name(*pair)})"))
        if gains:
            least, where = min(gains)
            mean = sum(gain for gain, _ in gains) / len(gains)
            said.append(
                f"{LABELS[system]} against the sum of words: {mean:+.3f} of Pearson's r on average, at least "
                f"{least:+.3f} in {where}."
            )
    return tuple(said)


def _eigen_verdict(results: PretrainedResults, systems: Systems, data: dict[str, Any]) -> tuple[str, ...]:
    base, own = data.get(System.TRANSLATION, {}), data.get(systems[-1], {})
    if systems[-1] in (System.TRANSLATION, System.HARD_NEGATIVES):
        return (
            "No running text, dialogues or NLI was given, so that there is no multi-task model to compare with "
            "translation ranking.",
        )
    parts = [
        f"{name} {own[name]['mean']:.3f} against {base[name]['mean']:.3f} "
        f"(standard errors {own[name]['standard_error']:.3f} and {base[name]['standard_error']:.3f})"
        for name in own
        if name in base
    ]
    return (f"{LABELS[systems[-1]]} against translation ranking alone: {'; '.join(parts)}.",) if parts else ()


def _reason(rows: Sequence[PretrainedRow]) -> str:
    return next((row.reason for row in rows if row.reason), "")


def _cross_last(name: str) -> bool:
    return "-" in name


def _pearson(name: str) -> Callable[[PretrainedResult], float | None]:
    return lambda cell: cell.sts[name]["pearson"] if name in cell.sts else None


def _zero_shot(way: str) -> Callable[[PretrainedResult], float | None]:
    return lambda cell: cell.zero_shot.get(way)


def _few_shot(way: str, share: float, kind: str) -> Callable[[PretrainedResult], float | None]:
    return lambda cell: next((one[kind] for one in cell.few_shot.get(way, ()) if one["share"] == share), None)
