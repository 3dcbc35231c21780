"""The report on BiCVM: translation retrieval, Table 1, Figures 2 and 3, and what differs from the paper."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from emu_core.bench.bicvm.experiment import BicvmExperiment, BicvmSystem
from emu_core.bench.paper import GridLine, differences, grid, paper_table, paper_words
from emu_core.bench.parallel.experiment import candidates_of, parallel_costs, precision, speed_table
from emu_core.bench.pictures import Curves, Picture, View, WordMaps
from emu_core.bench.report import BenchReport
from emu_core.bench.results import OverSeeds, Results, Score, directions, mean_score, pair_names
from emu_core.bench.tables import Table, why_missing
from emu_core.data.language_pairs import LanguagePair
from emu_core.evaluation.translation_ranking import COSINE, EUCLID

_WORDS = paper_words("bicvm")
LABELS, PAPER_LABELS, NOTES = (_WORDS[name] for name in ("labels", "paper_labels", "notes"))
ENCODERS = (BicvmSystem.SUM_OF_WORDS, BicvmSystem.PAPER, BicvmSystem.OURS, BicvmSystem.OURS_BIGRAM)
_BICVM = (BicvmSystem.PAPER, BicvmSystem.OURS)
_NEAREST_BY = {COSINE: "cosine", EUCLID: "Euclidean distance"}
TABLE_1_SIZE = 1_000
# The paper's rows of Table 1 by ours; a plus marks a model for all pairs together.
_PAPER_ROWS = {BicvmSystem.GLOSSED: "glossed", BicvmSystem.PAPER: "bicvm", f"{BicvmSystem.PAPER}+": "bicvm+"}


def report_of(experiment: BicvmExperiment, results: Results) -> BenchReport:
    """Return the report of finished cells."""
    pairs = experiment.pairs
    tables = [translation_grid(results, pairs)]
    pictures: list[Picture] = []
    documents = DocumentResults(results, pairs)
    if documents.ways:
        tables += [documents.table_1(), documents.figure_2()]
        title = "Figure 2: document classification by training documents"
        pictures.append(Picture("figure2", title, NOTES["figure2"], documents.curves()))
    return BenchReport(
        title=f"BiCVM's experiments on {experiment.config.data}",
        facts=_facts(experiment),
        differences=_differences(experiment),
        tables=(
            *tables,
            speed_table(results, ENCODERS, experiment.plain, LABELS, pair_names(pairs)[0]),
            parallel_costs(results, ENCODERS, LABELS),
        ),
        pictures=(*pictures, *_figure_3(experiment, results)),
        paper=(printed_bicvm_table(),),
    )


def printed_bicvm_table() -> Table:
    """Return Table 1 as printed."""
    return paper_table("bicvm", "table1", labels=lambda name: (PAPER_LABELS[name],))


def translation_grid(results: Results, pairs: Sequence[LanguagePair]) -> Table:
    """Return P@1 both ways, with a row for each system, what it was trained on and the measure of nearness."""
    lines = []
    for system, on, row in results.trained(ENCODERS):
        names = ", ".join(on)
        for by, label in _NEAREST_BY.items():
            ways = dict.fromkeys(way for cell in row.cells for way in cell.wheres("rank", by))
            labels, scores = (LABELS[system], names, label), {way: precision(row, by, way) for way in ways}
            key, reasons = f"{system} on {names}, {by}", why_missing(labels, row)
            lines.append(GridLine(labels, key, scores, reasons=reasons))
    columns = list(dict.fromkeys(way for line in lines for way in line.scores))
    unseen = [way for way in columns if way not in directions(pairs)]
    counts = ", ".join(f"{way} {count:,}" for way, count in candidates_of(results).items())
    notes = [NOTES["translations"].format(counts=counts)]
    if unseen:
        notes.append(NOTES["unseen"].format(ways=", ".join(unseen)))
    heads, verdict = ("model", "trained on", "nearest by"), _translation_verdict(results, pairs, unseen)
    return grid("bicvm", "translations", heads, columns, lines, verdict=verdict, notes=notes)


def _translation_verdict(
    results: Results, pairs: Sequence[LanguagePair], unseen: list[str]
) -> tuple[str, ...]:
    first, ways = pair_names(pairs[:1]), directions(pairs[:1])

    def mean(system: BicvmSystem, on: Sequence[str], over: Iterable[str]) -> float | None:
        row = results.of(system, on)
        return mean_score([precision(row, COSINE, way) for way in over])

    plain = mean(BicvmSystem.SUM_OF_WORDS, first, ways)
    sentences = [
        f"{LABELS[system]}, on {first[0]}: P@1 {system_mean:.1f} by cosine, mean of both ways, "
        f"{system_mean - plain:+.1f} points against the sum of words."
        for system in _BICVM
        if plain is not None and (system_mean := mean(system, first, ways)) is not None
    ]
    sentences += [
        f"{LABELS[system]}, BiCVM+, on {', '.join(unseen)}, of which no pair was seen: P@1 {system_mean:.1f} by "
        "cosine, mean of the directions."
        for system in _BICVM
        if (system_mean := mean(system, pair_names(pairs), unseen)) is not None
    ]
    return tuple(sentences)


@dataclass(frozen=True, eq=False)
class _Classified:
    """A system that classified documents."""

    key: str  # its name in JSON, with a plus if it was trained on all pairs together
    label: str
    rows: Mapping[str, OverSeeds]  # its cells, by direction

    def score(self, way: str, size: int) -> Score | None:
        """Return the accuracy over seeds with a number of training documents."""
        return self.rows[way].score("documents", str(size), way)


class DocumentResults:
    """Accuracies of document classification by system, direction and number of training documents."""

    def __init__(self, results: Results, pairs: Sequence[LanguagePair]) -> None:
        documents, majority = (results.of_measure(name) for name in ("documents", "majority"))
        by_way = documents.groupby("where", sort=False)["part"]
        # By direction: the share of the largest class of test documents in percent, and the training sizes.
        self.majority = {str(row["where"]): float(row["value"]) for _, row in majority.iterrows()}
        self.sizes = {str(way): sorted({int(size) for size in parts}) for way, parts in by_way}
        self.size = {way: max(n for n in sizes if n <= TABLE_1_SIZE) for way, sizes in self.sizes.items()}
        self.ways = list(self.sizes)
        draws = int(max(results.of_measure("draws")["value"], default=0))
        seeds = " and over seeds ± their standard deviation" if len(results.seeds) > 1 else ""
        self._note = NOTES["documents"].format(draws=draws, seeds=seeds)
        on = {way: pair_names([pair]) for pair in pairs for way in directions([pair])}
        self.systems = []
        for key in (BicvmSystem.GLOSSED, *ENCODERS):
            rows = {way: results.of(key, on.get(way, (way,))) for way in self.ways}
            self.systems.append(_Classified(key, LABELS[key], rows))
        for key in (BicvmSystem.SUM_OF_WORDS, *_BICVM) if len(pairs) > 1 else ():
            label = f"{LABELS[key]}, all pairs ({'joined' if key is BicvmSystem.SUM_OF_WORDS else 'BiCVM+'})"
            row = results.of(key, pair_names(pairs))
            self.systems.append(_Classified(f"{key}+", label, dict.fromkeys(self.ways, row)))

    def table_1(self) -> Table:
        """Return accuracy by direction with 1,000 training documents, or as many as there are."""
        majority = {way: Score.of_numbers([value]) for way, value in self.majority.items()}
        lines = [GridLine((PAPER_LABELS["majority"],), "majority", majority, "majority")]
        for system in self.systems:
            scores = {way: system.score(way, size) for way, size in self.size.items()}
            reasons = why_missing([system.label], *system.rows.values())
            lines.append(
                GridLine((system.label,), system.key, scores, _PAPER_ROWS.get(system.key, ""), reasons)
            )
        lines += [GridLine((PAPER_LABELS[name],), name, {}, name) for name in ("mt", "i-matrix")]
        sizes = ", ".join(f"{way} {size:,}" for way, size in self.size.items())
        notes = [f"Training documents: {sizes}; 1,000 in the paper. {self._note}", NOTES["table1"]]
        verdict = self._verdict({line.key: line.measured for line in lines})
        return grid("bicvm", "table1", ("model",), self.ways, lines, verdict=verdict, notes=notes)

    def figure_2(self) -> Table:
        """Return the numbers of Figure 2: accuracy by number of training documents."""
        columns = {size: f"{size:,}" for size in sorted({n for sizes in self.sizes.values() for n in sizes})}
        lines = [
            GridLine(
                (system.label, way),
                f"{system.key} {way}",
                {columns[n]: system.score(way, n) for n in columns},
            )
            for system in self.systems
            for way in self.ways
        ]
        heads, measured = ("model", "direction"), [line for line in lines if line.measured]
        return grid("bicvm", "figure2", heads, list(columns.values()), measured, notes=[self._note])

    def curves(self) -> Curves:
        """Return the drawing of Figure 2."""
        panels: dict[str, dict[str, dict[int, float]]] = {}
        for way in self.ways:
            panel = panels.setdefault(way.replace("-", " → ", 1), {})
            for system in self.systems:
                for size in self.sizes[way]:
                    if score := system.score(way, size):
                        panel.setdefault(system.label, {})[size] = score.mean
        lines = dict(zip(panels, (self.majority[way] for way in self.ways), strict=True))
        names = [system.label for system in self.systems]
        return Curves(panels, lines, names, "training documents", "majority class")

    def _verdict(self, scores: Mapping[str, Mapping[str, Score]]) -> tuple[str, ...]:
        """Compare BiCVM with the majority class, glosses and the sum of words, and BiCVM+ with BiCVM."""

        def gains(key: str, other: str) -> str:
            system_scores, their = scores.get(key, {}), scores[other]
            return ", ".join(
                f"{way} {system_scores[way].mean - their[way].mean:+.1f}"
                for way in system_scores
                if way in their
            )

        others = {
            "majority": "the majority class",
            BicvmSystem.GLOSSED: "glosses",
            BicvmSystem.SUM_OF_WORDS: "the sum of words",
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
        if views := results.of(system, names).views:
            note = " ".join([NOTES["figure3"], *map(_found_words, views.values())])
            trained = f"{LABELS[system]}, trained on {', '.join(names)}"
            title = f"Figure 3: words of {', '.join(languages)} ({trained})"
            pictures.append(Picture(name, title, note, WordMaps(views, languages)))
    return pictures


def _found_words(view: View) -> str:
    """Return a sentence on how many of the shown words have their translation as nearest neighbour."""
    ways = ", ".join(f"{way} {right} of {count}" for way, (right, count) in view.nearest_right.items())
    return f"{view.note[:1].upper()}{view.note[1:]}; translations that are the nearest of all words: {ways}."


def _facts(experiment: BicvmExperiment) -> dict[str, object]:
    documents = experiment.data.documents
    recipes = {LABELS[system]: experiment.recipe(system) for system in _BICVM}
    classified = {
        "training_documents": experiment.documents_facts(0),
        "test_documents": experiment.documents_facts(1),
        "classes": len(
            {label for train_and_test in documents.values() for label in train_and_test[0].labels}
        ),
    }
    return {
        **experiment.shared_facts(),
        **(classified if documents else {}),
        **{
            f"settings, {label}": {name: str(value) for name, value in asdict(recipe.config).items()}
            for label, recipe in recipes.items()
            if recipe is not None
        },
        "protocol": "among equals (within 1e-6) the sentence that comes first; BiCVM is told each text's language",
    }


def _differences(experiment: BicvmExperiment) -> tuple[str, ...]:
    paper, documents = experiment.recipe(BicvmSystem.PAPER), experiment.data.documents
    lengths = [len(text.split()) for train_and_test in documents.values() for text in train_and_test[0].texts]
    values = {
        "sizes": experiment.sizes,
        "epochs": paper.config.epochs if paper else 0,
        "short": " (short texts, not news stories)" if lengths and sum(lengths) < 60 * len(lengths) else "",
    }
    applies = {"documents": documents, "quick": experiment.settings.quick}
    return differences(experiment.config, values, applies)
