"""Cross-lingual document classification: Table 1, and Figure 2 as a table."""

from collections.abc import Mapping

from emu_core.bench.bicvm.paper import PAPER_LABELS, paper_row
from emu_core.bench.bicvm.systems import LABELS, System
from emu_core.bench.pretrained.cells import Pair
from emu_core.bench.pretrained.grid import Line, grid
from emu_core.bench.pretrained.results import PretrainedResults, PretrainedRow, score_of
from emu_core.bench.score import Score
from emu_core.bench.table import Table

TABLE_1_SIZE = 1_000
NOTE = (
    "Accuracy in percent of the averaged perceptron (10 passes): trained on documents of the first language, tested on "
    "those of the second. A document is the mean of its sentences' vectors. Mean over random draws of the training "
    "documents{seeds}."
)


class DocumentResults:
    """Accuracies by system, direction and number of documents, over the seeds."""

    def __init__(self, results: PretrainedResults) -> None:
        """Look at all finished cells."""
        self.results = results
        every = [one for cell in results.cells.values() for one in cell.documents]
        self.ways = list(dict.fromkeys((one["source"], one["target"]) for one in every))
        self.majority = {(one["source"], one["target"]): float(one["majority"]) for one in every}
        self.draws = max((int(one["draws"]) for one in every), default=0)

    def sizes(self, way: Pair) -> list[int]:
        """Numbers of training documents that were measured in a direction."""
        every = (one for cell in self.results.cells.values() for one in cell.documents)
        return sorted({int(one["size"]) for one in every if (one["source"], one["target"]) == way})

    def size(self, way: Pair) -> int:
        """The number of documents of Table 1: 1,000, or as many as there are."""
        return max(size for size in self.sizes(way) if size <= TABLE_1_SIZE)

    def score(self, row: PretrainedRow, way: Pair, size: int) -> Score | None:
        """The accuracy over seeds."""
        return score_of(
            row.values(
                lambda cell: next(
                    (
                        one["accuracy"]
                        for one in cell.documents
                        if (one["source"], one["target"]) == way and one["size"] == size
                    ),
                    None,
                )
            )
        )

    def rows(self) -> list[tuple[str, str, str, Mapping[Pair, PretrainedRow]]]:
        """Key, label, the paper's name ("" for none) and, by direction, the cells of each line that is measured."""
        pairs = self.results.pairs
        single: list[tuple[str, str, str]] = [
            (System.GLOSSED, LABELS[System.GLOSSED], "glossed"),
            (System.SUM_OF_WORDS, LABELS[System.SUM_OF_WORDS], ""),
            (System.PAPER, LABELS[System.PAPER], "bicvm"),
            (System.OURS, LABELS[System.OURS], ""),
            (System.OURS_BIGRAM, LABELS[System.OURS_BIGRAM], ""),
        ]
        lines: list[tuple[str, str, str, Mapping[Pair, PretrainedRow]]] = [
            (key, label, paper, {way: self._row_of(key, way) for way in self.ways})
            for key, label, paper in single
        ]
        if len(pairs) > 1:
            lines += [
                (
                    f"{key}+",
                    f"{LABELS[key]}, all pairs ({'BiCVM+' if key != System.SUM_OF_WORDS else 'joined'})",
                    paper,
                    {way: self.results.row(key, pairs) for way in self.ways},
                )
                for key, paper in ((System.SUM_OF_WORDS, ""), (System.PAPER, "bicvm+"), (System.OURS, ""))
            ]
        return lines

    def _row_of(self, system: str, way: Pair) -> PretrainedRow:
        pair = next((pair for pair in self.results.pairs if set(pair) == set(way)), way)
        return self.results.row(system, (pair,))


def table_1(found: DocumentResults) -> Table:
    """Accuracy by direction with 1,000 training documents, or with as many as there are."""
    columns = {way: "-".join(way) for way in found.ways}
    lines = [_majority(found, columns)]
    for key, label, paper, rows in found.rows():
        scores = {columns[way]: found.score(rows[way], way, found.size(way)) for way in found.ways}
        lines.append(
            Line(
                (label,),
                key,
                {way: score for way, score in scores.items() if score is not None},
                _paper(paper),
                reason=next(
                    (row.reason for row in rows.values() if row.reason not in ("", "not asked for")), ""
                ),
            )
        )
    lines += [Line((PAPER_LABELS[name],), name, {}, _paper(name)) for name in ("mt", "i-matrix")]
    sizes = ", ".join(f"{columns[way]} {found.size(way):,}" for way in found.ways)
    seeds = len(found.results.seeds) > 1
    return grid(
        "table1",
        "Table 1: document classification across languages",
        ("model",),
        list(columns.values()),
        lines,
        verdict=_verdict(found),
        notes=(
            f"Training documents: {sizes}; 1,000 in the paper. {_note(found.draws, seeds)}",
            "A direction needs a model of its two languages: those without parallel text of their own have one in "
            "models of all pairs only. Machine translation needs a translation system, and I-Matrix a word aligner and "
            "a language model; neither is run here. Glosses are each word's likeliest translation by Dice's "
            "coefficient in the parallel text; the paper's are from word alignments.",
        ),
    )


def figure_2_table(found: DocumentResults) -> Table:
    """Accuracy by number of training documents: the numbers behind Figure 2."""
    sizes = sorted({size for way in found.ways for size in found.sizes(way)})
    lines = []
    for key, label, _, rows in found.rows():
        for way in found.ways:
            scores = {f"{size:,}": found.score(rows[way], way, size) for size in sizes}
            own = {size: score for size, score in scores.items() if score is not None}
            if own:
                name = "-".join(way)
                lines.append(Line((label, name), f"{key} {name}", own))
    return grid(
        "figure2",
        "Figure 2 in numbers: accuracy by training documents",
        ("model", "direction"),
        [f"{size:,}" for size in sizes],
        lines,
        notes=(_note(found.draws, len(found.results.seeds) > 1),),
    )


def _note(draws: int, seeds: bool) -> str:
    return NOTE.format(
        seeds=f" ({draws}) and over seeds ± their standard deviation" if seeds else f" ({draws})"
    )


def _paper(name: str) -> dict[str, str]:
    return paper_row(name) if name else {}


def _majority(found: DocumentResults, columns: Mapping[Pair, str]) -> Line:
    scores = {columns[way]: Score.of_shares([value]) for way, value in found.majority.items()}
    return Line((PAPER_LABELS["majority"],), "majority", scores, _paper("majority"))


def _verdict(found: DocumentResults) -> tuple[str, ...]:
    """Where BiCVM lies against the majority class, glosses and the sum of words; and BiCVM+ against BiCVM."""
    by_key: dict[str, dict[Pair, float]] = {}
    for key, _, _, rows in found.rows():
        scores = {way: found.score(rows[way], way, found.size(way)) for way in found.ways}
        by_key[key] = {way: score.mean for way, score in scores.items() if score is not None}
    others: list[tuple[str, Mapping[Pair, float]]] = [
        ("the majority class", found.majority),
        ("glosses", by_key[System.GLOSSED]),
        ("the sum of words", by_key[System.SUM_OF_WORDS]),
    ]
    said = []
    for system in (System.PAPER, System.OURS):
        own = by_key[system]
        parts = [f"{gain} against {name}" for name, their in others if (gain := _gains(own, their))]
        if parts:
            said.append(f"{LABELS[system]}: {'; '.join(parts)}.")
        if gain := _gains(by_key.get(f"{system}+", {}), own):
            said.append(f"{LABELS[system]}, BiCVM+ against BiCVM: {gain}.")
    return tuple(said)


def _gains(own: Mapping[Pair, float], other: Mapping[Pair, float]) -> str:
    return ", ".join(f"{'-'.join(way)} {own[way] - other[way]:+.1f}" for way in own if way in other)
