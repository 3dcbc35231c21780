"""The report on Emu: Tables 2 to 5, the peers, Figure 2, and what differs from the paper."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from emu_core.bench.emu.accuracies import (
    AGAINST_BEST,
    LABELS,
    MEAN_COLUMNS,
    NOTES,
    PAPERS_SUFFIX,
    Accuracies,
    row_label,
    stars,
)
from emu_core.bench.emu.atis import ATIS_NAME, PAPER_COUNTS, selection
from emu_core.bench.emu.experiment import (
    BASE,
    EVENED,
    FIGURE_METHODS,
    PAPER_ORDER,
    TRANSLATION,
    EmuExperiment,
    benchmarked_methods,
    compared_with_peers,
    training_sets,
)
from emu_core.bench.emu.few_shot_table import few_shot_picture, few_shot_table
from emu_core.bench.emu.new_intents_table import new_intents_table
from emu_core.bench.paper import differences, paper_numbers
from emu_core.bench.papers import EmuPart
from emu_core.bench.peers import Peer
from emu_core.bench.pictures import IntentMaps, Picture, bars_picture
from emu_core.bench.report import BenchReport
from emu_core.bench.results import COSTS, OverSeeds, Results, mean_score
from emu_core.bench.specs import (
    COST_COLUMNS,
    MEMORY_NOTE,
    Column,
    Figures,
    Line,
    TableSpec,
    paper_table,
)
from emu_core.bench.tables import Row, Table, warnings_of
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.significance import wilcoxon

_COUNTS = {
    "train": "train",
    "test": "test",
    "classes": "intents",
    "test_classes": "intents in test",
    "least": "smallest intent",
    "most": "largest intent",
}
_PEER_COLUMNS = (
    Column("against_best_peer", AGAINST_BEST),
    COST_COLUMNS[0],
    replace(COST_COLUMNS[1], shown=lambda of: f"{of['cpu_seconds']:.1f}" if of.get("cpu_seconds") else ""),
    *COST_COLUMNS[2:4],
    Column("as_classifier", "as classifier", "{:.1f}"),
)
_COMPONENTS = {
    "language discriminator": ("emu", "emu-without-ld"),
    "center loss": ("emu-without-ld", "emu-without-ld-cl"),
}
_OF_BASE = {"gain": "", "below_base": ""}  # its row says nothing of itself
_DATASETS = ("HotelQA", "ATIS", "Quora")
_spec = partial(TableSpec, "emu", missing="")


def _differing(of: Figures) -> str:
    drops = list(of["directions"].values())
    return f"{wilcoxon(drops).n} of {len(drops)}"


_TABLE_5 = _spec(
    "table5",
    ("component",),
    (
        Column("drop", shown=lambda of: f"{of['drop']:+.2f}{stars(of['significance'])}"),
        Column("p_value", "p (Wilcoxon)", "{:.3f}"),
        Column("n", "directions that differ", _differing),
        *(Column(dataset, f"paper: {dataset}") for dataset in _DATASETS),
    ),
    ("ablation",),
)
_BARS = {EmuPart.TABLE_2: "Table 2", EmuPart.PEERS: "Peers"}


def report_of(experiment: EmuExperiment, results: Results) -> BenchReport:
    """Return the report of finished cells."""
    wanted, accuracies = set(experiment.settings.parts), Accuracies(experiment, results)
    tables = {part: make(accuracies) for part, make in _TABLES.items() if part in wanted}
    base = float(accuracies.base_percent().mean())
    pictures = [_bars(tables[part], title, base) for part, title in _BARS.items() if part in tables]
    if EmuPart.FEW_SHOT in tables:
        pictures.append(few_shot_picture(tables[EmuPart.FEW_SHOT], base))
    if EmuPart.FIGURE_2 in wanted:
        pictures += _figure_2(accuracies)
    return BenchReport(
        title=f"Emu's experiments on {experiment.config.data} with {experiment.config.encoder}",
        facts=_facts(experiment),
        differences=_differences(experiment),
        tables=tuple(tables.values()),
        pictures=tuple(pictures),
        paper=tuple(table for part in tables for table in printed_tables(part)),
    )


def table_1(accuracies: Accuracies) -> Table:
    """Return Table 1: the sentences and intents of the data, by language."""
    data, lines = accuracies.experiment.data, []
    for code in accuracies.experiment.languages:
        train, test = (part.frame[part.frame["language"] == code] for part in (data.train, data.test))
        of_intent = train["intent"].value_counts()
        counts = (
            len(train),
            len(test),
            len(of_intent),
            test["intent"].nunique(),
            of_intent.min(),
            of_intent.max(),
        )
        lines.append(Line((code,), code, figures=dict(zip(_COUNTS, map(int, counts), strict=True))))
    return _spec(
        "table1", ("language",), [Column(name, head, "{:,}") for name, head in _COUNTS.items()], ()
    ).table(lines)


def table_2(accuracies: Accuracies) -> Table:
    """Return our Table 2 with the paper's means."""
    encoder, given = accuracies.experiment.config.encoder, accuracies.experiment.data.translations
    translation = accuracies.results.of(TRANSLATION, seeds=(0,))
    papers_own = PAPER_ORDER if accuracies.with_papers else ()
    keys = [*benchmarked_methods(), *(f"{name}{PAPERS_SUFFIX}" for name in papers_own)]
    systems = [
        (
            "mt",
            f"MT + {encoder} as a monolingual encoder",
            translation if given else OverSeeds((), NOTES["no_translations"]),
        ),
        (BASE, f"{encoder} ({LABELS[BASE]})", accuracies.base),
        *((key, row_label(key), accuracies.of(key)) for key in keys),
    ]
    paper = Column("paper", f"paper's mean ({' / '.join(_DATASETS)})")
    return _spec("table2", ("method",), (*MEAN_COLUMNS, *accuracies.columns, paper), ("marks",)).table(
        [
            Line.of(
                key,
                label,
                row,
                accuracies.numbers,
                paper=_paper_means(key),
                **(_OF_BASE if key == BASE else {}),
            )
            for key, label, row in systems
        ],
        warnings=warnings_of([(label, row) for _, label, row in systems]),
    )


def _paper_means(key: str) -> str:
    """Return the means of a row's system in the paper, on each of its data sets."""
    name = "mt-sent2vec" if key == "mt" else key.removesuffix(PAPERS_SUFFIX)
    if name not in paper_numbers("emu")["table2"]["datasets"]["HotelQA"]:
        return "not in the paper"
    return " / ".join(f"{paper_mean(dataset, name):.1f}" for dataset in _DATASETS)


def paper_mean(dataset: str, method: str) -> float:
    """Return a method's mean accuracy over the 11 directions of the paper's Table 2, in percent."""
    row = paper_numbers("emu")["table2"]["datasets"][dataset][method]["accuracy"]
    return float(sum(row) / len(row))


def table_3(accuracies: Accuracies) -> Table:
    """Return Table 3: Emu w/o LD trained on each mix of three languages, in their nine directions."""
    mixes = training_sets(accuracies.experiment.languages)
    single = [mix[0] for mix in mixes if len(mix) == 1]
    ways = [pair_name(source, target) for source in single for target in single]
    changes = partial(accuracies.changes, dict(zip(ways, ways, strict=True)))
    systems = [("+".join(mix), " + ".join(mix), accuracies.of("emu-without-ld", mix)) for mix in mixes]
    return _relative("table3", "trained on", ways).table([Line.of(*system, changes) for system in systems])


def table_4(accuracies: Accuracies) -> Table:
    """Return Table 4: Emu w/o LD by the language of the queries (rows) and of the pool (columns)."""
    row, languages = accuracies.of("emu-without-ld"), accuracies.experiment.languages
    ways = {source: {target: pair_name(source, target) for target in languages} for source in languages}
    lines = [
        Line.of(source, source, replace(row, asked=0), partial(accuracies.changes, ways[source]))
        for source in languages
    ]
    if not row.cells:
        lines = [Line((LABELS["emu-without-ld"],), "emu-without-ld", missing=row.reason)]
    trained_on = " + ".join(accuracies.experiment.config.train_languages)
    table = _relative("table4", "queries in \\ pool in", languages).table(lines, trained_on=trained_on)
    return replace(table, title=row.named(table.title)) if row.cells else table


def _relative(name: str, head: str, columns: Iterable[str]) -> TableSpec:
    changes = [Column(column, shown="{:+.1f} %") for column in columns]
    return _spec(name, (head,), changes, ("relative",), missing="n/a")


def table_5(accuracies: Accuracies) -> Table:
    """Return Table 5: the contribution of each component of Emu, with a Wilcoxon test over the directions."""
    lines = []
    for suffix in ("", *[PAPERS_SUFFIX] * accuracies.with_papers):
        for name, methods in _COMPONENTS.items():
            pair, key = [accuracies.of(f"{method}{suffix}") for method in methods], f"{name}{suffix}"
            fewer, printed = min(pair, key=lambda row: len(row.cells)), paper_numbers("emu")["table5"][name]
            shown = {
                dataset: f"{printed[dataset]['drop']:+.2f}{printed[dataset]['mark']}" for dataset in _DATASETS
            }
            lines.append(Line.of(key, row_label(key), fewer, partial(accuracies.drop, *pair), **shown))
    return _TABLE_5.table(lines)


def peers_table(accuracies: Accuracies) -> Table:
    """Return Emu, the methods that are not in the paper and the peers, with the same encoder, labels and epochs."""
    peers = {peer.value: accuracies.peer(peer) for peer in Peer}
    systems = [(name, row_label(name), accuracies.of(name)) for name in compared_with_peers()]
    evened = accuracies.results.of(EVENED, seeds=(0,))
    systems += [(EVENED, row_label(EVENED), evened)] if evened.cells else []
    systems += [(name, peer.label, peer.row) for name, peer in peers.items()]
    best = accuracies.best({name: peer.row for name, peer in peers.items()})

    def measure(name: str, row: OverSeeds) -> Figures:
        scores = {code: row.score("classified", "", code) for code in row.cells[0].wheres("classified")}
        is_best = best in ("", name)
        return {
            **accuracies.numbers(row),
            "learning_rate": peers[name].rate if name in peers else "",
            **{cost: row.mean(cost) for cost in COSTS},
            "against_best_peer": None if is_best else accuracies.difference(row, peers[best].row),
            "as_classifier": mean_score(list(scores.values())),
            "as_classifier_by_language": {code: score.mean for code, score in scores.items() if score},
        }

    base = Line((LABELS[BASE],), figures=accuracies.numbers(accuracies.base), shown=_OF_BASE)
    columns = (*MEAN_COLUMNS, *_PEER_COLUMNS, *accuracies.columns)
    notes = ("retrieval", "budget", "rates", "against_best", "seconds", "memory", "marks")
    table = _spec("peers", ("system",), columns, notes).table(
        [base, *(Line.of(name, label, row, partial(measure, name)) for name, label, row in systems)],
        peak=MEMORY_NOTE,
    )
    return replace(table, verdict=_peers_verdict(systems, accuracies))


def _peers_verdict(systems: Sequence[tuple[str, str, OverSeeds]], accuracies: Accuracies) -> tuple[str, ...]:
    """Compare the best peer and the fastest tuned peer with this library's methods."""
    labels = {name: label for name, label, _ in systems}
    rows = {name: row for name, _, row in systems if row.cells}
    means = {name: float(accuracies.percent(row).mean()) for name, row in rows.items()}
    peers = [Peer(name) for name in rows if name in set(Peer)]
    ours = [name for name in rows if name not in (*Peer, EVENED)]
    if not peers or not ours:
        return ()
    best, best_of_ours = (max(group, key=means.__getitem__) for group in (peers, ours))
    difference = accuracies.difference(rows[best_of_ours], rows[best])
    against = f"{means[best_of_ours] - means[best]:+.1f}" if difference is None else difference
    sentences = [
        f"The best peer is {labels[best]} with {means[best]:.1f}; the best of this library's here is "
        f"{labels[best_of_ours]} with {means[best_of_ours]:.1f} ({against})."
    ]
    seconds = {name: row.mean("seconds") for name, row in rows.items()}
    tuned = [peer for peer in peers if not peer.is_frozen]
    if tuned and "emu" in ours:
        fastest = min(tuned, key=seconds.__getitem__)
        sentences.append(
            f"Emu trains in {seconds['emu']:.1f} s; the fastest peer that trains the encoder is {labels[fastest]} with "
            f"{seconds[fastest]:.1f} s."
        )
    return tuple(sentences)


_TABLES: Mapping[EmuPart, Callable[[Accuracies], Table]] = {
    EmuPart.TABLE_1: table_1,
    EmuPart.TABLE_2: table_2,
    EmuPart.TABLE_3: table_3,
    EmuPart.TABLE_4: table_4,
    EmuPart.TABLE_5: table_5,
    EmuPart.PEERS: peers_table,
    EmuPart.FEW_SHOT: few_shot_table,
    EmuPart.NEW_INTENTS: new_intents_table,
}


def printed_tables(number: str) -> list[Table]:
    """Return the paper's Table 1, 2, 3 or 4 as printed; empty for another part."""
    if number == "1":
        counts = paper_numbers("emu")["table1"].items()
        printed = tuple(
            Row((name, *(f"{of[kind]:,}" for kind in ("train", "test", "classes")))) for name, of in counts
        )
        title, head = "The paper's Table 1: sentences a language", ("data", "train", "test", "intents")
        return [Table("paper_table1", title, head, printed)]
    if number in ("3", "4"):
        first = "trained on" if number == "3" else "queries in \\ pool in"
        return [paper_table("emu", f"table{number}", (first,), lambda name: (name.replace("+", " + "),))]
    if number != "2":
        return []
    table, made = paper_numbers("emu")["table2"], []
    head = ("method", *table["directions"], "mean")
    for letter, (dataset, rows) in zip("abc", table["datasets"].items(), strict=True):
        shown = []
        for method, row in rows.items():
            texts = (
                f"{accuracy:.1f}{mark}" for accuracy, mark in zip(row["accuracy"], row["marks"], strict=True)
            )
            shown.append(Row((row["label"], *texts, f"{paper_mean(dataset, method):.1f}")))
        title = f"The paper's Table 2 ({letter}): {dataset}, encoder LASER"
        made.append(Table(f"paper_table2{letter}", title, head, tuple(shown)))
    return made


def _figure_2(accuracies: Accuracies) -> list[Picture]:
    on, seeds = accuracies.experiment.config.train_languages, accuracies.results.seeds[:1]
    systems = {BASE: accuracies.base}
    systems |= {method: accuracies.results.of(method, on, seeds=seeds) for method in FIGURE_METHODS}
    views = {
        f"({letter}) {row_label(name)}": row.views["map"]
        for letter, (name, row) in zip("abcd", systems.items(), strict=True)
        if row.views
    }
    title = f"Figure 2: {' and '.join(accuracies.experiment.shown)}"
    return [Picture("figure2", title, NOTES["figure2"], IntentMaps(views))] if views else []


def _bars(table: Table, title: str, base: float) -> Picture:
    measured = {key: cells for key, cells in table.data.items() if "mean" in cells}
    values = {} if BASE in measured else {LABELS[BASE]: [(base, 0.0)]}
    values |= {row_label(key): [(cells["mean"], cells["mean_deviation"])] for key, cells in measured.items()}
    title, label = f"{title}: means over the directions", "Acc@1, % (the line is the base encoder)"
    return bars_picture(table.name, title, NOTES["bars"], values, LABELS[BASE], label)


def _facts(experiment: EmuExperiment) -> dict[str, object]:
    data, budget = experiment.data, experiment.budget
    trained, measured = (part.frame["language"].value_counts() for part in (data.train, data.test))
    return {
        **experiment.shared_facts(),
        "languages": list(experiment.languages),
        "train_languages": list(experiment.config.train_languages),
        "sentences_a_language": {
            code: f"{trained[code]} to train on, {measured[code]} measured" for code in experiment.languages
        },
        "intents": len(data.train.intents),
        "split": data.note,
        "epochs": budget.epochs,
        "batch_size": budget.batch_size,
        "protocol": "leave-one-out on the test sentences; a query's translations never answer it",
    }


def _differences(experiment: EmuExperiment) -> tuple[str, ...]:
    config, data = experiment.config, experiment.data
    printed = paper_numbers("emu")["table1"].items()
    sizes = (f"{name} {n['train']} / {n['test']}, {n['classes']} classes" for name, n in printed)
    code = data.train.languages[0]
    atis = selection(data.labelled) if config.data == ATIS_NAME else PAPER_COUNTS
    values = {
        "sentences": int(data.train.frame["language"].eq(code).sum()),
        "code": code,
        "intents": len(data.train.intents),
        "sizes": "; ".join(sizes),
        **atis,
        **{f"paper_{name}": count for name, count in PAPER_COUNTS.items()},
    }
    return differences(config, values, {"atis": atis != PAPER_COUNTS})
