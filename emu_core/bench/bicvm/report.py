"""The report on BiCVM: translation retrieval, Table 1, Figures 2 and 3, and what differs from the paper."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from emu_core.bench.bicvm.experiment import BicvmExperiment, System
from emu_core.bench.cells import Pair, both_ways, pair_names
from emu_core.bench.figures import curves, word_maps
from emu_core.bench.paper import differences, paper_figure, paper_table, versions_of, words
from emu_core.bench.parallel.experiment import candidates_of, parallel_costs, precision, speed_table
from emu_core.bench.parallel.ranking import COSINE, EUCLID
from emu_core.bench.parallel.texts import BenchTexts
from emu_core.bench.report import Picture, Report
from emu_core.bench.results import OverSeeds, Results, View
from emu_core.bench.tables import Line, Score, Table, grid, mean_score, why_missing

_WORDS = words("bicvm")
LABELS, PAPER_LABELS, NOTES = (_WORDS[name] for name in ("labels", "paper_labels", "notes"))
ENCODERS = (System.SUM_OF_WORDS, System.PAPER, System.OURS, System.OURS_BIGRAM)
_BICVM = (System.PAPER, System.OURS)
_NEAREST_BY = {COSINE: "cosine", EUCLID: "Euclidean distance"}
TABLE_1_SIZE = 1_000
# Systems by the paper's name of their row of Table 1, "" where it has none: a model for each pair, and one for all.
_SINGLE = {
    System.GLOSSED: "glossed",
    System.SUM_OF_WORDS: "",
    System.PAPER: "bicvm",
    System.OURS: "",
    System.OURS_BIGRAM: "",
}
_JOINED = {System.SUM_OF_WORDS: "", System.PAPER: "bicvm+", System.OURS: ""}


def bicvm_report(experiment: BicvmExperiment, results: Results) -> Report:
    """Return the report of finished cells."""
    pairs = experiment.pairs
    tables = [translation_table(results, pairs)]
    pictures: list[Picture] = []
    documents = DocumentResults(results, pairs)
    if documents.ways:
        tables += [documents.table_1(), documents.figure_2()]
        title = "Figure 2: document classification by training documents"
        pictures.append(Picture("figure2", title, NOTES["figure2"], documents.curves()))
    return Report(
        title=f"BiCVM's experiments on {experiment.config.data}",
        facts=_facts(experiment),
        differences=_differences(experiment),
        tables=(
            *tables,
            speed_table(results, ENCODERS, experiment.plain, LABELS, pair_names(pairs)[0]),
            parallel_costs(results, ENCODERS, LABELS),
        ),
        pictures=(*pictures, *_figure_3(experiment, results)),
        paper=(printed_table(),),
    )


def printed_table() -> Table:
    """Return Table 1 as printed."""
    return paper_table("bicvm", "table1", labels=lambda name: (PAPER_LABELS[name],))


def translation_table(results: Results, pairs: Sequence[Pair]) -> Table:
    """Return P@1 both ways: a row for each system, what it was trained on and how neighbours are found."""
    lines = []
    for system, on, row in results.trained(ENCODERS):
        names = ", ".join(on)
        for by, label in _NEAREST_BY.items():
            ways = dict.fromkeys(way for cell in row.cells for way in cell.wheres("rank", by))
            labels, scores = (LABELS[system], names, label), {way: precision(row, by, way) for way in ways}
            key, reasons = f"{system} on {names}, {by}", why_missing(labels, row)
            lines.append(Line(labels, key, scores, reasons=reasons))
    columns = list(dict.fromkeys(way for line in lines for way in line.scores))
    unseen = [way for way in columns if way not in both_ways(pairs)]
    counts = ", ".join(f"{way} {count:,}" for way, count in candidates_of(results).items())
    notes = [NOTES["translations"].format(counts=counts)]
    if unseen:
        notes.append(NOTES["unseen"].format(ways=", ".join(unseen)))
    return grid(
        "translations",
        "Translation retrieval, P@1",
        ("model", "trained on", "nearest by"),
        columns,
        lines,
        verdict=_translation_verdict(results, pairs, unseen),
        notes=tuple(notes),
    )


def _translation_verdict(results: Results, pairs: Sequence[Pair], unseen: list[str]) -> tuple[str, ...]:
    first, ways = pair_names(pairs[:1]), both_ways(pairs[:1])

    def mean(system: System, on: Sequence[str], over: Iterable[str]) -> float | None:
        row = results.of(system, on)
        return mean_score([precision(row, COSINE, way) for way in over])

    plain = mean(System.SUM_OF_WORDS, first, ways)
    sentences = [
        f"{LABELS[system]}, on {first[0]}: P@1 {own:.1f} by cosine, mean of both ways, "
        f"{own - plain:+.1f} points against the sum of words."
        for system in _BICVM
        if plain is not None and (own := mean(system, first, ways)) is not None
    ]
    sentences += [
        f"{LABELS[system]}, BiCVM+, on {', '.join(unseen)}, of which no pair was seen: P@1 {own:.1f} by "
        "cosine, mean of the directions."
        for system in _BICVM
        if (own := mean(system, pair_names(pairs), unseen)) is not None
    ]
    return tuple(sentences)


@dataclass(frozen=True, eq=False)
class _Classified:
    """A system that classified documents.

    Attributes:
        key: its name in JSON; one with a plus is the system trained on all pairs together.
        label: what people read.
        paper: the name of the paper's row; "" for none.
        rows: its cells, by direction.
    """

    key: str
    label: str
    paper: str
    rows: Mapping[str, OverSeeds]

    def scores(self, sizes: Mapping[str, int]) -> dict[str, Score | None]:
        """Return accuracies over seeds by direction, each with its number of training documents."""
        return {way: self.score(way, size) for way, size in sizes.items()}

    def score(self, way: str, size: int) -> Score | None:
        """Return the accuracy over seeds."""
        return Score.of_numbers(self.rows[way].numbers("documents", str(size), way))


class DocumentResults:
    """Accuracies of document classification by system, direction and number of training documents.

    Attributes:
        ways: the directions that were measured.
        majority: the share of the largest class of the test documents in percent, by direction.
        sizes: the numbers of training documents that were measured, by direction.
        size: the number of Table 1, by direction: 1,000, or as many as there are.
        systems: those that classified.
    """

    def __init__(self, results: Results, pairs: Sequence[Pair]) -> None:
        """Take the results of all finished cells."""
        cells = [cell for _, cell in results.measured()]
        found = [(cell, key) for cell in cells for key in cell.values]
        self.ways = list(dict.fromkeys(way for _, (measure, _, way) in found if measure == "documents"))
        majority = (one for one in found if one[1][0] == "majority")
        self.majority = {key[2]: float(cell.values[key][0]) for cell, key in majority}
        self.sizes = {
            way: sorted(
                {int(part) for _, (measure, part, where) in found if (measure, where) == ("documents", way)}
            )
            for way in self.ways
        }
        self.size = {way: max(n for n in sizes if n <= TABLE_1_SIZE) for way, sizes in self.sizes.items()}
        draws = max((int(cell.values[key][0]) for cell, key in found if key[0] == "draws"), default=0)
        seeds = " and over seeds ± their standard deviation" if len(results.seeds) > 1 else ""
        self._note = NOTES["documents"].format(draws=draws, seeds=seeds)
        on = {
            way: name
            for pair, name in zip(pairs, pair_names(pairs), strict=True)
            for way in both_ways([pair])
        }
        self.systems = [
            _Classified(
                key, LABELS[key], paper, {way: results.of(key, [on.get(way, way)]) for way in self.ways}
            )
            for key, paper in _SINGLE.items()
        ]
        for key, paper in _JOINED.items() if len(pairs) > 1 else ():
            label = f"{LABELS[key]}, all pairs ({'joined' if key is System.SUM_OF_WORDS else 'BiCVM+'})"
            row = results.of(key, pair_names(pairs))
            self.systems.append(_Classified(f"{key}+", label, paper, dict.fromkeys(self.ways, row)))

    def table_1(self) -> Table:
        """Return accuracy by direction with 1,000 training documents, or with as many as there are."""
        majority = {way: Score.of_numbers([value]) for way, value in self.majority.items()}
        lines = [Line((PAPER_LABELS["majority"],), "majority", majority, "majority")]
        for one in self.systems:
            reasons = filter(None, (why_missing([one.label], row) for row in one.rows.values()))
            lines.append(Line((one.label,), one.key, one.scores(self.size), one.paper, next(reasons, ())))
        lines += [Line((PAPER_LABELS[name],), name, {}, name) for name in ("mt", "i-matrix")]
        sizes = ", ".join(f"{way} {size:,}" for way, size in self.size.items())
        return grid(
            "table1",
            "Table 1: document classification across languages",
            ("model",),
            self.ways,
            lines,
            printed=partial(paper_figure, "bicvm", "table1"),
            verdict=self._verdict({line.key: line.measured for line in lines}),
            notes=(f"Training documents: {sizes}; 1,000 in the paper. {self._note}", NOTES["table1"]),
        )

    def figure_2(self) -> Table:
        """Return accuracy by number of training documents: the numbers behind Figure 2."""
        columns = {size: f"{size:,}" for size in sorted({n for sizes in self.sizes.values() for n in sizes})}
        lines = [
            Line((one.label, way), f"{one.key} {way}", {columns[n]: one.score(way, n) for n in columns})
            for one in self.systems
            for way in self.ways
        ]
        return grid(
            "figure2",
            "Figure 2 in numbers: accuracy by training documents",
            ("model", "direction"),
            list(columns.values()),
            [line for line in lines if line.measured],
            notes=(self._note,),
        )

    def curves(self) -> str:
        """Draw Figure 2."""
        panels: dict[str, dict[str, Mapping[int, float]]] = {}
        for way in self.ways:
            found = {
                one.label: {
                    n: score.mean for n in self.sizes[way] if (score := one.score(way, n)) is not None
                }
                for one in self.systems
            }
            panels[way.replace("-", " → ", 1)] = {label: own for label, own in found.items() if own}
        lines = {way.replace("-", " → ", 1): self.majority[way] for way in self.ways}
        return curves(panels, lines, [one.label for one in self.systems])

    def _verdict(self, scores: Mapping[str, Mapping[str, Score]]) -> tuple[str, ...]:
        """Say where BiCVM lies against the majority class, glosses and the sum of words; and BiCVM+ against BiCVM."""

        def gains(key: str, other: str) -> str:
            own, their = scores.get(key, {}), scores[other]
            return ", ".join(f"{way} {own[way].mean - their[way].mean:+.1f}" for way in own if way in their)

        others = {
            "majority": "the majority class",
            System.GLOSSED: "glosses",
            System.SUM_OF_WORDS: "the sum of words",
        }
        sentences = []
        for system in _BICVM:
            parts = [f"{gain} against {name}" for key, name in others.items() if (gain := gains(system, key))]
            if parts:
                sentences.append(f"{LABELS[system]}: {'; '.join(parts)}.")
            if gain := gains(f"{system}+", system):
                sentences.append(f"{LABELS[system]}, BiCVM+ against BiCVM: {gain}.")
        return tuple(sentences)


def _figure_3(experiment: BicvmExperiment, results: Results) -> list[Picture]:
    pictures, names = [], pair_names(experiment.pairs)
    languages = list(dict.fromkeys(code for pair in experiment.pairs for code in pair))
    for system, name in zip(_BICVM, ("figure3", "figure3_ours"), strict=True):
        views = next((cell.views for cell in results.of(system, names).cells if cell.views), {})
        if views:
            note = " ".join([NOTES["figure3"], *map(_found_words, views.values())])
            trained = f"{LABELS[system]}, trained on {', '.join(names)}"
            title = f"Figure 3: words of {', '.join(languages)} ({trained})"
            pictures.append(Picture(name, title, note, word_maps(views, languages)))
    return pictures


def _found_words(view: View) -> str:
    """Return how many of the shown words have their translation nearest, as a sentence."""
    ways = ", ".join(f"{way} {right} of {count}" for way, (right, count) in view.found.items())
    return f"{view.note[:1].upper()}{view.note[1:]}; translations that are the nearest of all words: {ways}."


def _facts(experiment: BicvmExperiment) -> dict[str, Any]:
    documents = experiment.data.documents
    settings = {
        f"settings, {LABELS[system]}": {name: str(value) for name, value in asdict(recipe.config).items()}
        for system in (System.PAPER, System.OURS)
        if (recipe := experiment.recipe(system)) is not None
    }
    classified = {
        "training_documents": experiment.documents_facts(0),
        "test_documents": experiment.documents_facts(1),
        "classes": len({label for both in documents.values() for label in both[0].labels}),
    }
    return {
        **experiment.shared_facts(),
        **(classified if documents else {}),
        **settings,
        "protocol": "among equals (within 1e-6) the sentence that comes first; BiCVM is told each text's language",
        "versions": versions_of("torch", "numpy", "scikit-learn"),
    }


def _differences(experiment: BicvmExperiment) -> tuple[str, ...]:
    paper, texts = experiment.recipe(System.PAPER), experiment.data
    values = {
        **experiment.shared_values(),
        "epochs": paper.config.epochs if paper else 0,
        "short": " (short texts, not news stories)" if _are_short(texts) else "",
    }
    without = ["no_documents" if texts.documents else "documents"]
    return differences("bicvm", values, without if experiment.settings.quick else [*without, "quick"])


def _are_short(texts: BenchTexts) -> bool:
    lengths = [len(text.split()) for both in texts.documents.values() for text in both[0].texts]
    return bool(lengths) and sum(lengths) < 60 * len(lengths)
