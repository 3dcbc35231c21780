"""The report on BiCVM: translation retrieval, Table 1, Figures 2 and 3, and what differs from the paper."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from emu_core.bench.bicvm.experiment import BicvmExperiment, BicvmSystem
from emu_core.bench.paper import differences, paper_words
from emu_core.bench.parallel.experiment import candidates_of, parallel_costs, speed_table
from emu_core.bench.pictures import Curves, Picture, View, WordMaps
from emu_core.bench.report import BenchReport
from emu_core.bench.results import Results, Score, directions, mean_score, pair_names
from emu_core.bench.specs import Column, Figures, Line, TableSpec, paper_table
from emu_core.bench.tables import Table, why_missing
from emu_core.data.language_pairs import LanguagePair
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.translation_ranking import COSINE, EUCLID

_WORDS = paper_words("bicvm")
LABELS, PAPER_LABELS, NOTES = (_WORDS[name] for name in ("labels", "paper_labels", "notes"))
ENCODERS = (BicvmSystem.SUM_OF_WORDS, BicvmSystem.PAPER, BicvmSystem.OURS, BicvmSystem.OURS_BIGRAM)
_BICVM = (BicvmSystem.PAPER, BicvmSystem.OURS)
_NEAREST_BY = {COSINE: "cosine", EUCLID: "Euclidean distance"}
TABLE_1_SIZE = 1_000
_spec = partial(TableSpec, "bicvm")
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
    trained = results.trained(ENCODERS)
    lines = [
        Line(
            labels := (LABELS[system], ", ".join(on), label),
            f"{system} on {', '.join(on)}, {by}",
            {"system": system, "on": on, "part": by},
            reasons=why_missing(labels, row),
        )
        for system, on, row in trained
        for by, label in _NEAREST_BY.items()
    ]
    ways = dict.fromkeys(way for *_, row in trained for cell in row.cells for way in cell.wheres("rank"))
    unseen = [way for way in ways if way not in directions(pairs)]
    spec = _spec(
        "translations",
        ("model", "trained on", "nearest by"),
        [Column(way, at={"measure": "rank", "where": way}) for way in ways],
        ("translations", "unseen")[: 1 + bool(unseen)],
    )
    counts = ", ".join(f"{way} {count:,}" for way, count in candidates_of(results).items())
    verdict = partial(_translation_verdict, pairs, unseen)
    return spec.table(lines, results, verdict=verdict, counts=counts, ways=", ".join(unseen))


def _translation_verdict(
    pairs: Sequence[LanguagePair], unseen: Sequence[str], figures: Mapping[str, Figures]
) -> tuple[str, ...]:
    first, names, ways = pair_name(*pairs[0]), ", ".join(pair_names(pairs)), directions(pairs[:1])

    def mean(system: BicvmSystem, on: str, over: Iterable[str]) -> float | None:
        scores = figures.get(f"{system} on {on}, {COSINE}", {})
        return mean_score([scores.get(way) for way in over])

    plain = mean(BicvmSystem.SUM_OF_WORDS, first, ways)
    sentences = [
        f"{LABELS[system]}, on {first}: P@1 {system_mean:.1f} by cosine, mean of both ways, "
        f"{system_mean - plain:+.1f} points against the sum of words."
        for system in _BICVM
        if plain is not None and (system_mean := mean(system, first, ways)) is not None
    ]
    sentences += [
        f"{LABELS[system]}, BiCVM+, on {', '.join(unseen)}, of which no pair was seen: P@1 {system_mean:.1f} by "
        "cosine, mean of the directions."
        for system in _BICVM
        if (system_mean := mean(system, names, unseen)) is not None
    ]
    return tuple(sentences)


class DocumentResults:
    """Accuracies of document classification by system, direction and number of training documents."""

    def __init__(self, results: Results, pairs: Sequence[LanguagePair]) -> None:
        documents, majority = (results.of_measure(name) for name in ("documents", "majority"))
        by_way = documents.groupby("where", sort=False)["part"]
        self.results = results
        # By direction: the share of the largest class of test documents in percent, and the training sizes.
        self.majority = {str(row["where"]): float(row["value"]) for _, row in majority.iterrows()}
        self.sizes = {str(way): sorted({int(size) for size in parts}) for way, parts in by_way}
        self.ways = list(self.sizes)
        draws = int(max(results.of_measure("draws")["value"], default=0))
        seeds = " and over seeds ± their standard deviation" if len(results.seeds) > 1 else ""
        self._values: dict[str, Any] = {"sizes": "", "draws": draws, "seeds": seeds}
        self.on: dict[str, tuple[str, ...]] = {way: (way,) for way in self.ways}  # the pair of each direction
        self.on |= {way: pair_names([pair]) for pair in pairs for way in directions([pair])}
        # A line each, whose key has a plus if one model was trained on all pairs together.
        self.systems = [
            Line((LABELS[system],), system, {"system": system}) for system in (BicvmSystem.GLOSSED, *ENCODERS)
        ]
        for system in (BicvmSystem.SUM_OF_WORDS, *_BICVM) if len(pairs) > 1 else ():
            label = f"{LABELS[system]}, all pairs ({'joined' if system is BicvmSystem.SUM_OF_WORDS else 'BiCVM+'})"
            self.systems.append(Line((label,), f"{system}+", {"system": system, "on": pair_names(pairs)}))

    def table_1(self) -> Table:
        """Return accuracy by direction with 1,000 training documents, or as many as there are."""
        size = {way: max(n for n in sizes if n <= TABLE_1_SIZE) for way, sizes in self.sizes.items()}
        majority = {way: Score.of_numbers([value]) for way, value in self.majority.items()}
        lines = [Line((PAPER_LABELS["majority"],), "majority", figures=majority, paper="majority")]
        for line in self.systems:
            rows = (self.results.of(**{"on": self.on[way], **line.at}) for way in self.ways)
            lines.append(
                replace(line, paper=_PAPER_ROWS.get(line.key, ""), reasons=why_missing(line.labels, *rows))
            )
        lines += [Line((PAPER_LABELS[name],), name, paper=name) for name in ("mt", "i-matrix")]
        columns = [
            Column(way, at={"on": self.on[way], "measure": "documents", "part": str(n), "where": way})
            for way, n in size.items()
        ]
        shown_sizes = ", ".join(f"{way} {n:,}" for way, n in size.items())
        sizes = f"Training documents: {shown_sizes}; 1,000 in the paper. "
        spec = _spec("table1", ("model",), columns, ("documents", "table1"))
        return spec.table(lines, self.results, verdict=_documents_verdict, **{**self._values, "sizes": sizes})

    def figure_2(self) -> Table:
        """Return the numbers of Figure 2: accuracy by number of training documents."""
        sizes = sorted({n for sizes in self.sizes.values() for n in sizes})
        columns = [Column(f"{n:,}", at={"measure": "documents", "part": str(n)}) for n in sizes]
        lines = [
            Line((*line.labels, way), f"{line.key} {way}", {"on": self.on[way], **line.at, "where": way})
            for line in self.systems
            for way in self.ways
        ]
        spec = _spec("figure2", ("model", "direction"), columns, ("documents",), measured_only=True)
        return spec.table(lines, self.results, **self._values)

    def curves(self) -> Curves:
        """Return the drawing of Figure 2."""
        panels: dict[str, dict[str, dict[int, float]]] = {}
        data, lines = self.figure_2().data, {}
        for way in self.ways:
            title = way.replace("-", " → ", 1)
            lines[title] = self.majority[way]
            panels[title] = {
                line.labels[0]: {int(size.replace(",", "")): score["mean"] for size, score in scores.items()}
                for line in self.systems
                if (scores := data.get(f"{line.key} {way}"))
            }
        names = [line.labels[0] for line in self.systems]
        return Curves(panels, lines, names, "training documents", "majority class")


def _documents_verdict(figures: Mapping[str, Figures]) -> tuple[str, ...]:
    """Compare BiCVM with the majority class, glosses and the sum of words, and BiCVM+ with BiCVM."""

    def gains(key: str, other: str) -> str:
        ours, theirs = figures.get(key, {}), figures[other]
        return ", ".join(f"{way} {ours[way].mean - theirs[way].mean:+.1f}" for way in ours if way in theirs)

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
