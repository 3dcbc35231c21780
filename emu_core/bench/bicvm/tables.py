"""The tables of BiCVM's benchmark: translation retrieval, Table 1, and Figure 2 in numbers."""

from collections.abc import Mapping, Sequence

from emu_core.bench.bicvm.experiment import System
from emu_core.bench.cells import Pair, both_ways, pair_names
from emu_core.bench.paper import paper_numbers, words
from emu_core.bench.parallel.experiment import candidates_of, precision
from emu_core.bench.parallel.ranking import COSINE, EUCLID
from emu_core.bench.results import OverSeeds, Results
from emu_core.bench.tables import Line, Score, Table, grid, mean_score, plain_rows, present, why_missing

_WORDS = words("bicvm")
LABELS, PAPER_LABELS, NOTES = (_WORDS[name] for name in ("labels", "paper_labels", "notes"))
ENCODERS = (System.SUM_OF_WORDS, System.PAPER, System.OURS, System.OURS_BIGRAM)
NEAREST_BY = {COSINE: "cosine", EUCLID: "Euclidean distance"}
TABLE_1_SIZE = 1_000
# Key, the system's paper name ("" for none); a key with a plus is the system trained on all pairs together.
_ROWS = (
    (System.GLOSSED, "glossed"),
    (System.SUM_OF_WORDS, ""),
    (System.PAPER, "bicvm"),
    (System.OURS, ""),
    (System.OURS_BIGRAM, ""),
)
_JOINED = ((System.SUM_OF_WORDS, ""), (System.PAPER, "bicvm+"), (System.OURS, ""))


def paper_row(name: str) -> dict[str, str]:
    """Return a row of the paper's Table 1 by direction, such as {"en-de": "83.7", ...}."""
    table = paper_numbers("bicvm")["table1"]
    return {way: f"{value:.1f}" for way, value in zip(table["columns"], table["rows"][name], strict=True)}


def paper_table() -> Table:
    """Return Table 1 as printed."""
    numbers = paper_numbers("bicvm")
    table = numbers["table1"]
    rows = [(PAPER_LABELS[name], *paper_row(name).values()) for name in table["rows"]]
    title = f"The paper's Table 1: {table['title']}; {numbers['encoder']}, documents of {numbers['data']}"
    return Table("paper_table1", title, ("model", *table["columns"]), plain_rows(rows))


def translation_table(results: Results, pairs: Sequence[Pair]) -> Table:
    """Return P@1 both ways: a row for each system, what it was trained on and how neighbours are found."""
    lines = []
    columns: dict[str, None] = {}
    for system, on, row in results.trained(ENCODERS):
        names = ", ".join(on)
        for by, label in NEAREST_BY.items():
            ways = dict.fromkeys(way for cell in row.cells for way in cell.wheres("rank", by))
            columns |= ways
            labels = (LABELS[system], names, label)
            scores = present({way: precision(row, by, way) for way in ways})
            lines.append(Line(labels, f"{system} on {names}, {by}", scores, reasons=why_missing(labels, row)))
    unseen = [way for way in columns if way not in both_ways(pairs)]
    counts = ", ".join(f"{way} {count:,}" for way, count in candidates_of(results).items())
    return grid(
        "translations",
        "Translation retrieval, P@1",
        ("model", "trained on", "nearest by"),
        list(columns),
        lines,
        verdict=_translation_verdict(results, pairs, unseen),
        notes=(
            NOTES["translations"].format(counts=counts),
            *([NOTES["unseen"].format(ways=", ".join(unseen))] if unseen else []),
        ),
    )


def _translation_verdict(results: Results, pairs: Sequence[Pair], unseen: list[str]) -> tuple[str, ...]:
    first, ways = pair_names(pairs[:1]), both_ways(pairs[:1])
    means = {
        system: mean_score([precision(results.of(system, first), COSINE, way) for way in ways])
        for system in ENCODERS
    }
    plain = means[System.SUM_OF_WORDS]
    sentences = []
    for system in (System.PAPER, System.OURS):
        own = means[system]
        if own is not None and plain is not None:
            sentences.append(
                f"{LABELS[system]}, on {first[0]}: P@1 {own:.1f} by cosine, mean of both ways, "
                f"{own - plain:+.1f} points against the sum of words."
            )
    for system in (System.PAPER, System.OURS) if unseen else ():
        row = results.of(system, pair_names(pairs))
        own = mean_score([precision(row, COSINE, way) for way in unseen])
        if own is not None:
            sentences.append(
                f"{LABELS[system]}, BiCVM+, on {', '.join(unseen)}, of which no pair was seen: P@1 {own:.1f} by "
                "cosine, mean of the directions."
            )
    return tuple(sentences)


class DocumentResults:
    """Accuracies of document classification by system, direction and number of training documents.

    Attributes:
        ways: the directions that were measured.
        majority: the share of the largest class of the test documents in percent, by direction.
        draws: of the training documents, at most.
        rows: key, label, the paper's name ("" for none) and, by direction, the cells of each line.
    """

    def __init__(self, results: Results, pairs: Sequence[Pair]) -> None:
        """Take the results of all finished cells."""
        self.results, self.pairs = results, tuple(pairs)
        self.ways = results.each(lambda cell: cell.wheres("documents"))
        cells = [cell for _, cell in results.measured()]
        self.majority = {
            way: float(cell.values["majority", "", way][0])
            for cell in cells
            for way in cell.wheres("majority")
        }
        self.draws = max(
            (int(cell.values["draws", *key][0]) for cell in cells for key in cell.keys("draws")), default=0
        )
        self._sizes = {
            way: sorted({int(part) for cell in cells for part, own in cell.keys("documents") if own == way})
            for way in self.ways
        }
        self.rows = [
            (key.value, LABELS[key], paper, {way: self._row_of(key, way) for way in self.ways})
            for key, paper in _ROWS
        ]
        for key, paper in _JOINED if len(pairs) > 1 else ():
            kind = "BiCVM+" if key != System.SUM_OF_WORDS else "joined"
            row = results.of(key, pair_names(pairs))
            label = f"{LABELS[key]}, all pairs ({kind})"
            self.rows.append((f"{key}+", label, paper, dict.fromkeys(self.ways, row)))

    def _row_of(self, system: str, way: str) -> OverSeeds:
        on = [
            name
            for pair, name in zip(self.pairs, pair_names(self.pairs), strict=True)
            if way in both_ways([pair])
        ]
        return self.results.of(system, on or [way])

    def sizes(self, way: str) -> list[int]:
        """Return the numbers of training documents that were measured in a direction."""
        return self._sizes[way]

    def size(self, way: str) -> int:
        """Return the number of documents of Table 1: 1,000, or as many as there are."""
        return max(size for size in self.sizes(way) if size <= TABLE_1_SIZE)

    def score(self, row: OverSeeds, way: str, size: int) -> Score | None:
        """Return the accuracy over seeds."""
        return Score.of_numbers(row.numbers("documents", str(size), way))

    def note(self) -> str:
        """Return how accuracies are measured, as a sentence."""
        seeds = " and over seeds ± their standard deviation" if len(self.results.seeds) > 1 else ""
        return NOTES["documents"].format(draws=self.draws, seeds=seeds)

    def table_1(self) -> Table:
        """Return accuracy by direction with 1,000 training documents, or with as many as there are."""
        majority = present({way: Score.of_numbers([value]) for way, value in self.majority.items()})
        lines = [Line((PAPER_LABELS["majority"],), "majority", majority, paper_row("majority"))]
        for key, label, paper, rows in self.rows:
            scores = present({way: self.score(rows[way], way, self.size(way)) for way in self.ways})
            reasons = [why_missing([label], row) for row in rows.values()]
            first = next((one for one in reasons if one), ())
            lines.append(Line((label,), key, scores, paper_row(paper) if paper else {}, reasons=first))
        lines += [Line((PAPER_LABELS[name],), name, {}, paper_row(name)) for name in ("mt", "i-matrix")]
        sizes = ", ".join(f"{way} {self.size(way):,}" for way in self.ways)
        return grid(
            "table1",
            "Table 1: document classification across languages",
            ("model",),
            self.ways,
            lines,
            verdict=self._verdict(),
            notes=(
                f"Training documents: {sizes}; 1,000 in the paper. {self.note()}",
                NOTES["table1"],
            ),
        )

    def figure_2(self) -> Table:
        """Return accuracy by number of training documents: the numbers behind Figure 2."""
        columns = {f"{size:,}": size for size in sorted({n for way in self.ways for n in self.sizes(way)})}
        lines = []
        for key, label, _, rows in self.rows:
            for way in self.ways:
                scores = {column: self.score(rows[way], way, size) for column, size in columns.items()}
                if own := present(scores):
                    lines.append(Line((label, way), f"{key} {way}", own))
        return grid(
            "figure2",
            "Figure 2 in numbers: accuracy by training documents",
            ("model", "direction"),
            list(columns),
            lines,
            notes=(self.note(),),
        )

    def _verdict(self) -> tuple[str, ...]:
        """Say where BiCVM lies against the majority class, glosses and the sum of words; and BiCVM+ against BiCVM."""
        by_key: dict[str, dict[str, float]] = {}
        for key, _, _, rows in self.rows:
            scores = present({way: self.score(rows[way], way, self.size(way)) for way in self.ways})
            by_key[key] = {way: score.mean for way, score in scores.items()}
        others: list[tuple[str, Mapping[str, float]]] = [
            ("the majority class", self.majority),
            ("glosses", by_key[System.GLOSSED]),
            ("the sum of words", by_key[System.SUM_OF_WORDS]),
        ]
        sentences = []
        for system in (System.PAPER, System.OURS):
            own = by_key[system]
            parts = [f"{gain} against {name}" for name, their in others if (gain := _gains(own, their))]
            if parts:
                sentences.append(f"{LABELS[system]}: {'; '.join(parts)}.")
            if gain := _gains(by_key.get(f"{system}+", {}), own):
                sentences.append(f"{LABELS[system]}, BiCVM+ against BiCVM: {gain}.")
        return tuple(sentences)


def _gains(own: Mapping[str, float], other: Mapping[str, float]) -> str:
    return ", ".join(f"{way} {own[way] - other[way]:+.1f}" for way in own if way in other)
