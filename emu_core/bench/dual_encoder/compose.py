"""From finished cells to the report: which tables and pictures, and what is said of them."""

from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from emu_core import __version__
from emu_core.bench.dual_encoder.measure import CLASSIFIER
from emu_core.bench.dual_encoder.paper import TITLES, paper_numbers, paper_table
from emu_core.bench.dual_encoder.systems import LABELS, DualSetting, System, systems_for
from emu_core.bench.dual_encoder.tables import (
    eigen_table,
    few_shot_table,
    mean_precision,
    ranking_table,
    sts_table,
    zero_shot_table,
)
from emu_core.bench.pictures import bars_picture
from emu_core.bench.pretrained.costs import costs_table, speed_table
from emu_core.bench.pretrained.ranking import DOT
from emu_core.bench.pretrained.results import PretrainedResults
from emu_core.bench.pretrained.said import counts_of, shared_facts
from emu_core.bench.pretrained.texts import BenchTexts
from emu_core.bench.report import Picture, Report
from emu_core.evaluation.arrays import pair_name


def compose(folder: Path, setting: DualSetting, texts: BenchTexts, results: PretrainedResults) -> Report:
    """Make the report of finished cells.

    Args:
        folder: where its files will be.
        setting: what the cells share.
        texts: what they learnt from.
        results: the cells.
    """
    systems = systems_for(texts)
    tables = [ranking_table(results, systems)]
    if texts.sts:
        tables.append(sts_table(results, systems))
    if any(cell.zero_shot for cell in results.cells.values()):
        tables += [zero_shot_table(results, systems), few_shot_table(results, systems)]
    labels = {system.value: label for system, label in LABELS.items()}
    tables += [
        eigen_table(results, systems),
        speed_table(results, systems, System.SUM_OF_WORDS, labels),
        costs_table(results, systems, labels),
    ]
    return Report(
        title=f"The dual encoder's experiments on {setting.data_name}",
        facts=_facts(setting, texts, results),
        differences=_differences(setting, texts),
        tables=tuple(tables),
        pictures=_pictures(results, systems),
        paper=tuple(paper_table(name) for name in TITLES),
        folder=folder,
    )


def _pictures(results: PretrainedResults, systems: tuple[System, ...]) -> tuple[Picture, ...]:
    values: dict[str, tuple[float, float]] = {}
    ways = [(pair, pair_name(*way)) for pair in results.pairs for way in (pair, pair[::-1])]
    for system in systems:
        if (mean := mean_precision(results, system)) is not None:
            scores = [results.row(system, (pair,)).precision(DOT, way) for pair, way in ways]
            spread = [score.deviation for score in scores if score is not None]
            values[LABELS[system]] = (mean, sum(spread) / len(spread))
    plain = values.get(LABELS[System.SUM_OF_WORDS])
    if plain is None:
        return ()
    return (
        Picture(
            "figure_ranking",
            "Translation ranking, P@1: means over the directions",
            "Bars: mean over directions and seeds; the whisker is the directions' mean standard deviation over seeds; "
            "the line is the sum of words.",
            bars_picture(values, plain[0], label="P@1, % (the line is the sum of words)"),
        ),
    )


def _facts(setting: DualSetting, texts: BenchTexts, results: PretrainedResults) -> dict[str, Any]:
    others: dict[str, Any] = {}
    if texts.running:
        others["running_text"] = {
            text.language: f"{sum(map(len, text.documents)):,} sentences" for text in texts.running
        }
    if texts.dialogues:
        others["dialogues"] = {talk.language: f"{len(talk.comments):,}" for talk in texts.dialogues}
    if texts.nli:
        others["nli"] = {nli.language: f"{len(nli.premises):,}" for nli in texts.nli}
    if texts.sts:
        others["sts_pairs"] = {code: f"{len(pairs.scores):,}" for code, pairs in texts.sts.items()}
    if texts.documents:
        others["sentences_to_train_the_classifier"] = counts_of(texts.documents, 0)
        others["sentences_to_test_it"] = counts_of(texts.documents, 1)
        others["classifier"] = asdict(CLASSIFIER)
    return {
        **shared_facts(setting, texts, results),
        **others,
        "settings": {
            name: str(value) for name, value in asdict(setting.recipe(System.TRANSLATION).config).items()
        },
        "protocol": "a model a language pair; among equals (within 1e-6) the sentence that comes first",
        "versions": {
            "emu_core": __version__,
            **{name: version(name) for name in ("torch", "numpy", "scikit-learn")},
        },
    }


def _differences(setting: DualSetting, texts: BenchTexts) -> tuple[str, ...]:
    numbers = paper_numbers()
    config: Any = setting.recipe(System.TRANSLATION).config
    sizes = ", ".join(f"{len(text):,} {pair_name(*text.languages)} pairs" for text in texts.train)
    missing = [
        name
        for name, there in (
            ("running text (--running-text)", texts.running),
            ("dialogues (--dialogues)", texts.dialogues),
            ("NLI (--nli)", texts.nli),
        )
        if not there
    ]
    return (
        f"Training text: {sizes} of {setting.data_name} here; {numbers['data']} in the paper.",
        f"Encoder: {config.layers} layer{'s' if config.layers != 1 else ''} of {config.dim}, {config.epochs} passes, "
        f"in minutes on a CPU, here; {numbers['encoder']} in the paper. Ours normalises its vectors, ranks both ways "
        "and trains with Adam, where the paper has plain products, one way and SGD; the settings above have all.",
        *(
            (f"Not given, and so without the models that learn from it: {', '.join(missing)}.",)
            if missing
            else ()
        ),
        "NLI is English only in the paper; here it is in whatever language its files are.",
        "STS: the files given here, in their languages and across; the paper translated the STS Benchmark by machine, "
        "prints dev / test, and has cross-lingual figures of en-es alone (SemEval 2017)."
        if texts.sts
        else "No STS files were given (--sts), so that Tables 2 and 3 are missing.",
        "Classification: the labelled sentences given here; the paper has the sentiment of Amazon reviews, 6,000 of a "
        "language, and a network of two layers of 512 trained for 20 passes; ours is smaller, as said above, so that "
        "it takes seconds. Its figures can't be compared with ours, only what leads what."
        if texts.documents
        else "No labelled sentences were given (--labelled), so that Tables 5 and 6 are missing.",
        "SentEval (Table 1) and NLI across languages (Table 4) are not measured; the paper's are below.",
        "The sum of words, P@3, P@10, the second direction, variances and speeds are not in the paper's tables.",
        *(
            ("This is a quick run: at most 3,000 pairs of each language pair and few passes.",)
            if setting.quick
            else ()
        ),
    )
