"""What the tables say, in sentences: the claims of the paper, held against our numbers."""

from collections.abc import Sequence

from emu_core.bench.fmda.cells import LABELS, System, part_label
from emu_core.bench.fmda.columns import Column, Values
from emu_core.bench.fmda.grid import FIVE_LINES, Line
from emu_core.bench.fmda.results import FmdaResults
from emu_core.bench.score import Score
from emu_core.evaluation.guard import LanguageChange, language_change
from emu_core.models.parts import Part

_OTHERS: tuple[Line, ...] = (
    (System.BASE, Part.CLS),
    (System.BASE, Part.MEAN),
    (System.BASELINE, Part.MEANING),
)


def meaning_verdict(results: FmdaResults, columns: Sequence[Column]) -> tuple[str, ...]:
    """Whether FMDA's meaning beats the others, and whether its residual is the worst, in every direction."""
    said = [_against(results, columns, other) for other in _OTHERS]
    residual = _scores(results, columns, (System.FMDA, Part.RESIDUAL))
    others = [_scores(results, columns, (System.FMDA, part)) for part in (Part.MEANING, Part.TEMPLATE)]
    if residual and all(others):
        better = [
            column.name
            for i, column in enumerate(columns)
            if any(scores[i].mean <= residual[i].mean for scores in others)
        ]
        worst = (
            f"not the worst of the three in {', '.join(better)}"
            if better
            else "the worst of the three in every direction"
        )
        said.append(f"Of FMDA's embeddings of sense the residual one is {worst}.")
    return tuple(sentence for sentence in said if sentence)


def two_stage_verdict(results: FmdaResults, columns: Sequence[Column]) -> tuple[str, ...]:
    """By how much the two-stage template embedding leads in template retrieval."""
    own = _scores(results, columns, (System.TWO_STAGE, Part.TEMPLATE))
    rest = [*FIVE_LINES, (System.TWO_STAGE, Part.MEANING), (System.TWO_STAGE, Part.RESIDUAL)]
    measured = [(line, scores) for line in rest if (scores := _scores(results, columns, line))]
    if not own or not measured:
        return ()
    leads = []
    for i, column in enumerate(columns):
        (system, part), scores = max(measured, key=lambda item: item[1][i].mean)
        best = f"{LABELS[system]}, {part_label(part)}"
        leads.append(f"{column.name} {own[i].mean - scores[i].mean:+.1f} ({best})")
    return (
        f"The two-stage template embedding against the best of all others in template retrieval: {'; '.join(leads)}.",
    )


def _against(results: FmdaResults, columns: Sequence[Column], other: Line) -> str:
    """A sentence on FMDA's meaning against another embedding, query by query."""
    gains = []
    for column in columns:
        own, theirs = column.of(results, System.FMDA, Part.MEANING), column.of(results, *other)
        if own is None or theirs is None:
            return ""
        change = _change(theirs, own)
        gains.append((change.difference, column.name, change))
    least, name, change = min(gains, key=lambda item: item[0])
    mean = sum(gain for gain, _, _ in gains) / len(gains)
    label = f"{LABELS[other[0]]}, {part_label(other[1])}"
    return (
        f"FMDA's meaning against {label}: {mean:+.1f} points over the directions, at least {least:+.1f} ({name}, 95 % "
        f"interval {change.low:+.1f} to {change.high:+.1f})."
    )


def _change(base: Values, other: Values) -> LanguageChange:
    """The change from one system to another on the same queries; the seeds of one with fewer are used in turn."""
    seeds = max(len(base), len(other))
    return language_change(
        [base[seed % len(base)] > 0 for seed in range(seeds)],
        [other[seed % len(other)] > 0 for seed in range(seeds)],
    )


def _scores(results: FmdaResults, columns: Sequence[Column], line: Line) -> list[Score]:
    """A score for each column; empty where one is missing."""
    scores = [column.score(results, *line) for column in columns]
    return [score for score in scores if score is not None] if all(scores) else []
