"""Translation retrieval, which the paper does not measure: P@1 both ways, by cosine and by Euclidean distance."""

from emu_core.bench.bicvm.systems import ENCODERS, LABELS, System
from emu_core.bench.pretrained.cells import pair_names
from emu_core.bench.pretrained.grid import Line, grid
from emu_core.bench.pretrained.ranking import COSINE, EUCLID
from emu_core.bench.pretrained.results import PretrainedResults
from emu_core.bench.score import Score
from emu_core.bench.table import Table
from emu_core.evaluation.arrays import pair_name

MEASURES = {COSINE: "cosine", EUCLID: "Euclidean distance"}


def translation_table(results: PretrainedResults) -> Table:
    """A row for each system, what it was trained on and how neighbours are found; a column a direction."""
    lines = []
    columns: dict[str, None] = {}
    for system, pairs, row in results.trained(ENCODERS):
        for measure, words in MEASURES.items():
            ways = dict.fromkeys(way for cell in row.cells for way in cell.ranks[measure])
            scores = {way: s for way in ways if (s := row.precision(measure, way)) is not None}
            columns |= ways
            labels = (LABELS[System(system)], pair_names(pairs), words)
            lines.append(
                Line(labels, f"{system} on {pair_names(pairs)}, {measure}", scores, reason=row.reason)
            )
    seen = {pair_name(*way) for pair in results.pairs for way in (pair, pair[::-1])}
    unseen = [way for way in columns if way not in seen]
    counts = {way: n for cell in results.cells.values() for way, n in cell.candidates.items()}
    return grid(
        "translations",
        "Translation retrieval, P@1",
        ("model", "trained on", "nearest by"),
        list(columns),
        lines,
        verdict=_verdict(results, unseen),
        notes=(
            f"Each sentence's translation among all test sentences of the other language "
            f"({', '.join(f'{way} {count:,}' for way, count in counts.items())}). A model trained on several pairs is "
            "BiCVM+. The sum of words has vectors of length 1, for which cosine and distance are one. The paper does "
            "not measure retrieval.",
            *(
                (f"No pair of {', '.join(unseen)} was trained on: a third language joins them.",)
                if unseen
                else ()
            ),
        ),
        queries=True,
    )


def _verdict(results: PretrainedResults, unseen: list[str]) -> tuple[str, ...]:
    first = results.pairs[:1]
    said = []
    ways = [pair_name(*first[0]), pair_name(*first[0][::-1])]
    means = {
        system: _mean([results.row(system, first).precision(COSINE, way) for way in ways])
        for system in ENCODERS
    }
    plain = means[System.SUM_OF_WORDS]
    for system in (System.PAPER, System.OURS):
        own = means[system]
        if own is not None and plain is not None:
            said.append(
                f"{LABELS[system]}, on {pair_names(first)}: P@1 {own:.1f} by cosine, mean of both ways, "
                f"{own - plain:+.1f} points against the sum of words."
            )
    if unseen:
        for system in (System.PAPER, System.OURS):
            row = results.row(system, results.pairs)
            own = _mean([row.precision(COSINE, way) for way in unseen])
            if own is not None:
                said.append(
                    f"{LABELS[system]}, BiCVM+, on {', '.join(unseen)}, of which no pair was seen: P@1 {own:.1f} by "
                    "cosine, mean of the directions."
                )
    return tuple(said)


def _mean(scores: list[Score | None]) -> float | None:
    there = [score.mean for score in scores if score is not None]
    return sum(there) / len(there) if there and len(there) == len(scores) else None
