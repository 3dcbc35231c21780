"""From finished cells to the report: which tables and pictures, and what is said of them."""

from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from emu_core import __version__
from emu_core.bench.bicvm.documents import DocumentResults, figure_2_table, table_1
from emu_core.bench.bicvm.figures import FIGURE_2_NOTE, FIGURE_3_NOTE, figure_2, figure_3, found_words
from emu_core.bench.bicvm.paper import paper_numbers, paper_table
from emu_core.bench.bicvm.systems import ENCODERS, LABELS, BicvmSetting, System
from emu_core.bench.bicvm.translations import translation_table
from emu_core.bench.pretrained.cells import pair_names
from emu_core.bench.pretrained.costs import costs_table, speed_table
from emu_core.bench.pretrained.results import PretrainedResults
from emu_core.bench.pretrained.said import counts_of, shared_facts
from emu_core.bench.pretrained.texts import BenchTexts
from emu_core.bench.report import Picture, Report
from emu_core.evaluation.arrays import pair_name


def compose(folder: Path, setting: BicvmSetting, texts: BenchTexts, results: PretrainedResults) -> Report:
    """Make the report of finished cells.

    Args:
        folder: where its files will be.
        setting: what the cells share.
        texts: what they learnt from.
        results: the cells.
    """
    tables = [translation_table(results)]
    pictures: list[Picture] = []
    documents = DocumentResults(results)
    if documents.ways:
        tables += [table_1(documents), figure_2_table(documents)]
        title = "Figure 2: document classification by training documents"
        pictures.append(Picture("figure2", title, FIGURE_2_NOTE, figure_2(documents)))
    labels = {system.value: label for system, label in LABELS.items()}
    tables.append(speed_table(results, ENCODERS, System.SUM_OF_WORDS, labels))
    tables.append(costs_table(results, ENCODERS, labels))
    return Report(
        title=f"BiCVM's experiments on {setting.data_name}",
        facts=_facts(setting, texts, results),
        differences=_differences(setting, texts, bool(documents.ways)),
        tables=tuple(tables),
        pictures=(*pictures, *_words(results)),
        paper=(paper_table(),),
        folder=folder,
    )


def _words(results: PretrainedResults) -> list[Picture]:
    pictures = []
    for system, name in ((System.PAPER, "figure3"), (System.OURS, "figure3_ours")):
        row = results.row(system, results.pairs)
        views = next((cell.views for cell in row.cells if cell.views), {})
        if views:
            languages = list(dict.fromkeys(code for pair in results.pairs for code in pair))
            said = " ".join(found_words(view) for view in views.values())
            trained = f"{LABELS[system]}, trained on {pair_names(results.pairs)}"
            title = f"Figure 3: words of {', '.join(languages)} ({trained})"
            pictures.append(Picture(name, title, f"{FIGURE_3_NOTE} {said}", figure_3(views, languages)))
    return pictures


def _facts(setting: BicvmSetting, texts: BenchTexts, results: PretrainedResults) -> dict[str, Any]:
    settings = {
        f"settings, {LABELS[system]}": {name: str(value) for name, value in asdict(recipe.config).items()}
        for system in (System.PAPER, System.OURS)
        if (recipe := setting.recipe(system)) is not None
    }
    return {
        **shared_facts(setting, texts, results),
        **(
            {
                "training_documents": counts_of(texts.documents, 0),
                "test_documents": counts_of(texts.documents, 1),
                "classes": len({label for both in texts.documents.values() for label in both[0].labels}),
            }
            if texts.documents
            else {}
        ),
        **settings,
        "protocol": "among equals (within 1e-6) the sentence that comes first; BiCVM is told each text's language",
        "versions": {
            "emu_core": __version__,
            **{name: version(name) for name in ("torch", "numpy", "scikit-learn")},
        },
    }


def _differences(setting: BicvmSetting, texts: BenchTexts, documents: bool) -> tuple[str, ...]:
    numbers = paper_numbers()
    sizes = ", ".join(f"{len(text):,} {pair_name(*text.languages)} pairs" for text in texts.train)
    paper = setting.recipe(System.PAPER)
    epochs = getattr(paper.config, "epochs", 0) if paper is not None else 0
    return (
        f"Parallel text: {sizes} of {setting.data_name} here; in the paper {numbers['encoder']}.",
        f"Training: {epochs} epochs of the paper's settings here, of which held-out pairs choose the best; 50 in the "
        "paper, and the last is taken. The paper gives neither the size of its batches nor the spread of its first "
        "weights; the settings above have ours.",
        "Words: lower-cased, with punctuation apart, here; the paper uses cdec's tokenizer.",
        *(
            (
                "Documents: those named above"
                + (" (short texts, not news stories)" if _are_short(texts) else "")
                + f"; the paper has {numbers['data']} with 100 to 10,000 training documents and the splits of "
                "Klementiev et al. Figures of different documents can't be compared, only what leads what.",
            )
            if documents
            else (
                "No documents were given (--labelled or --documents), so that Table 1 and Figure 2 are missing.",
            )
        ),
        "Figure 3 shows weekdays and months where the texts of every language have four or more of them, and else "
        "frequent words that the parallel text translates surely.",
        "Translation retrieval, speed, the sum of words, our settings and bigrams are not in the paper (bigrams are of "
        "its authors' next one, ACL 2014).",
        *(
            ("This is a quick run: at most 3,000 pairs of each language pair, few epochs and few draws.",)
            if setting.quick
            else ()
        ),
    )


def _are_short(texts: BenchTexts) -> bool:
    lengths = [len(text.split()) for both in texts.documents.values() for text in both[0].texts]
    return sum(lengths) < 60 * len(lengths)
