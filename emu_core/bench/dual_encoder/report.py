"""The report on the dual encoder: which tables and pictures it has, and what differs from the paper."""

from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from emu_core import __version__
from emu_core.bench.dual_encoder.experiment import CLASSIFIER, DualExperiment, System
from emu_core.bench.dual_encoder.tables import LABELS, PAPER_TABLES, DualTables, paper_table
from emu_core.bench.figures import bars
from emu_core.bench.paper import paper_numbers
from emu_core.bench.parallel.experiment import parallel_costs, speed_table
from emu_core.bench.report import Picture, Report
from emu_core.bench.results import Results
from emu_core.bench.tables import mean_score
from emu_core.evaluation.arrays import pair_name

BARS_NOTE = (
    "Bars: mean over directions and seeds; the whisker is the directions' mean standard deviation over seeds; "
    "the line is the sum of words."
)


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
    return (Picture("figure_ranking", title, BARS_NOTE, svg),)


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
        "versions": {
            "emu_core": __version__,
            **{name: version(name) for name in ("torch", "numpy", "scikit-learn")},
        },
    }


def _differences(experiment: DualExperiment) -> tuple[str, ...]:
    texts, numbers = experiment.data, paper_numbers("dual_encoder")
    config: Any = experiment.recipe(System.TRANSLATION).config
    sizes = ", ".join(f"{len(text):,} {pair_name(*text.languages)} pairs" for text in texts.train)
    given = {
        "running text (--running-text)": texts.tasks.running_text,
        "dialogues (--dialogues)": texts.tasks.dialogues,
        "NLI (--nli)": texts.tasks.nli,
    }
    missing = ", ".join(name for name, there in given.items() if not there)
    return (
        f"Training text: {sizes} of {experiment.config.data} here; {numbers['data']} in the paper.",
        f"Encoder: {config.layers} layer{'s' if config.layers != 1 else ''} of {config.dim}, {config.epochs} passes, "
        f"in minutes on a CPU, here; {numbers['encoder']} in the paper. Ours normalises its vectors, ranks both ways "
        "and trains with Adam, where the paper has plain products, one way and SGD; the settings above have all.",
        *((f"Not given, and so without the models that learn from it: {missing}.",) if missing else ()),
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
            if experiment.settings.quick
            else ()
        ),
    )
