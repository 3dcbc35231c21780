"""The report on the dual encoder: which tables and pictures it has, and what differs from the paper."""

from dataclasses import asdict
from typing import Any

from emu_core.bench.dual_encoder.experiment import CLASSIFIER, DualExperiment, System
from emu_core.bench.dual_encoder.tables import LABELS, NOTES, PAPER_TABLES, DualTables, paper_table
from emu_core.bench.figures import bars
from emu_core.bench.paper import differences, versions_of
from emu_core.bench.parallel.experiment import parallel_costs, speed_table
from emu_core.bench.report import Picture, Report
from emu_core.bench.results import Results
from emu_core.bench.tables import mean_score
from emu_core.data.wording import counted


def dual_report(experiment: DualExperiment, results: Results) -> Report:
    """Return the report of finished cells."""
    make = DualTables(results, experiment.systems, experiment.pairs)
    tables = [make.ranking()]
    if experiment.data.sts:
        tables.append(make.sts())
    if results.each(lambda cell: cell.wheres("zero_shot")):
        tables += [make.zero_shot(), make.few_shot()]
    systems, first = experiment.systems, make.names[0]
    tables += [
        make.eigen(),
        speed_table(results, systems, experiment.plain, LABELS, first),
        parallel_costs(results, systems, LABELS),
    ]
    return Report(
        title=f"The dual encoder's experiments on {experiment.config.data}",
        facts=_facts(experiment),
        differences=_differences(experiment),
        tables=tuple(tables),
        pictures=_pictures(make),
        paper=tuple(paper_table(name) for name in PAPER_TABLES),
    )


def _pictures(make: DualTables) -> tuple[Picture, ...]:
    values: dict[str, tuple[float, float]] = {}
    for system in make.systems:
        scores = make.precision(system)
        if (mean := mean_score(scores)) is not None:
            deviations = [score.deviation for score in scores if score is not None]
            values[LABELS[system]] = (mean, sum(deviations) / len(deviations))
    plain = values.get(LABELS[System.SUM_OF_WORDS])
    if plain is None:
        return ()
    title = "Translation ranking, P@1: means over the directions"
    svg = bars(values, plain[0], "P@1, % (the line is the sum of words)")
    return (Picture("figure_ranking", title, NOTES["bars"], svg),)


def _facts(experiment: DualExperiment) -> dict[str, Any]:
    texts, tasks = experiment.data, experiment.data.tasks
    others: dict[str, Any] = {}
    if tasks.running_text:
        others["running_text"] = {
            text.language: f"{sum(map(len, text.documents)):,} sentences" for text in tasks.running_text
        }
    if tasks.dialogues:
        others["dialogues"] = {talk.language: f"{len(talk.comments):,}" for talk in tasks.dialogues}
    if tasks.nli:
        others["nli"] = {nli.language: f"{len(nli.premises):,}" for nli in tasks.nli}
    if texts.sts:
        others["sts_pairs"] = {code: f"{len(pairs.scores):,}" for code, pairs in texts.sts.items()}
    if texts.documents:
        others["sentences_to_train_the_classifier"] = experiment.documents_facts(0)
        others["sentences_to_test_it"] = experiment.documents_facts(1)
        others["classifier"] = asdict(CLASSIFIER)
    config = asdict(experiment.recipe(System.TRANSLATION).config)
    return {
        **experiment.shared_facts(),
        **others,
        "settings": {name: str(value) for name, value in config.items()},
        "protocol": "a model a language pair; among equals (within 1e-6) the sentence that comes first",
        "versions": versions_of("torch", "numpy", "scikit-learn"),
    }


def _differences(experiment: DualExperiment) -> tuple[str, ...]:
    texts = experiment.data
    config: Any = experiment.recipe(System.TRANSLATION).config
    given = {
        "running text (--running-text)": texts.tasks.running_text,
        "dialogues (--dialogues)": texts.tasks.dialogues,
        "NLI (--nli)": texts.tasks.nli,
    }
    missing = ", ".join(name for name, there in given.items() if not there)
    values = {
        **experiment.shared_values(),
        "layers": counted(config.layers, "layer"),
        "dim": config.dim,
        "epochs": config.epochs,
        "missing": missing,
    }
    without = {
        "missing": not missing,
        "sts": not texts.sts,
        "no_sts": texts.sts,
        "documents": not texts.documents,
        "no_documents": texts.documents,
        "quick": not experiment.settings.quick,
    }
    return differences("dual_encoder", values, [name for name, leave in without.items() if leave])
