"""The report on BiCVM: which tables and pictures it has, and what differs from the paper."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from emu_core.bench.bicvm.experiment import BicvmExperiment, System
from emu_core.bench.bicvm.tables import (
    ENCODERS,
    LABELS,
    NOTES,
    DocumentResults,
    paper_table,
    translation_table,
)
from emu_core.bench.cells import pair_names
from emu_core.bench.figures import curves, word_maps
from emu_core.bench.paper import differences, versions_of
from emu_core.bench.parallel.experiment import parallel_costs, speed_table
from emu_core.bench.parallel.texts import BenchTexts
from emu_core.bench.report import Picture, Report
from emu_core.bench.results import Results, View


def bicvm_report(experiment: BicvmExperiment, results: Results) -> Report:
    """Return the report of finished cells."""
    pairs = experiment.pairs
    tables = [translation_table(results, pairs)]
    pictures: list[Picture] = []
    documents = DocumentResults(results, pairs)
    if documents.ways:
        tables += [documents.table_1(), documents.figure_2()]
        title = "Figure 2: document classification by training documents"
        pictures.append(Picture("figure2", title, NOTES["figure2"], _figure_2(documents)))
    tables.append(speed_table(results, ENCODERS, experiment.plain, LABELS, pair_names(pairs)[0]))
    tables.append(parallel_costs(results, ENCODERS, LABELS))
    return Report(
        title=f"BiCVM's experiments on {experiment.config.data}",
        facts=_facts(experiment),
        differences=_differences(experiment),
        tables=tuple(tables),
        pictures=(*pictures, *_figure_3(experiment, results)),
        paper=(paper_table(),),
    )


def _figure_2(found: DocumentResults) -> str:
    panels: dict[str, dict[str, Mapping[int, float]]] = {}
    lines = {}
    for way in found.ways:
        source, _, target = way.partition("-")
        title = f"{source} → {target}"
        lines[title], panels[title] = found.majority[way], {}
        for _, label, _, rows in found.rows:
            scores = {size: found.score(rows[way], way, size) for size in found.sizes(way)}
            own = {size: score.mean for size, score in scores.items() if score is not None}
            if own:
                panels[title][label] = own
    return curves(panels, lines, [label for _, label, _, _ in found.rows])


def _figure_3(experiment: BicvmExperiment, results: Results) -> list[Picture]:
    pictures, names = [], pair_names(experiment.pairs)
    languages = list(dict.fromkeys(code for pair in experiment.pairs for code in pair))
    for system, name in ((System.PAPER, "figure3"), (System.OURS, "figure3_ours")):
        views = next((cell.views for cell in results.of(system, names).cells if cell.views), {})
        if views:
            found = " ".join(map(found_words, views.values()))
            title = (
                f"Figure 3: words of {', '.join(languages)} ({LABELS[system]}, trained on {', '.join(names)})"
            )
            svg = word_maps(views, languages)
            pictures.append(Picture(name, title, f"{NOTES['figure3']} {found}", svg))
    return pictures


def found_words(view: View) -> str:
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
