"""The report on Emu: Tables 2 to 5, the peers, Figure 2, and what differs from the paper."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace

from emu_core.bench.emu.accuracies import (
    AGAINST_BEST,
    HEAD,
    LABELS,
    NOTES,
    PAPERS_SUFFIX,
    Accuracies,
    level_of,
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
from emu_core.bench.paper import differences, paper_numbers, paper_table
from emu_core.bench.papers import EmuPart
from emu_core.bench.peers import Peer
from emu_core.bench.pictures import IntentMaps, Picture, bars_picture
from emu_core.bench.report import BenchReport
from emu_core.bench.results import COSTS, OverSeeds, Results, Score, mean_score
from emu_core.bench.tables import MEMORY_NOTE, Row, RowData, Show, Table, system_table, warnings_of
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.significance import wilcoxon

_COSTS_HEAD = ("seconds of training", "CPU seconds", "seconds in all", "peak MB", "as classifier")
_COMPONENTS = {
    "language discriminator": ("emu", "emu-without-ld"),
    "center loss": ("emu-without-ld", "emu-without-ld-cl"),
}
_DATASETS = ("HotelQA", "ATIS", "Quora")
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
    data = accuracies.experiment.data
    rows, numbers = list[Row](), dict[str, RowData]()
    for code in accuracies.experiment.languages:
        train, test = (part.frame[part.frame["language"] == code] for part in (data.train, data.test))
        counts = {
            "train": len(train),
            "test": len(test),
            "classes": train["intent"].nunique(),
            "test_classes": test["intent"].nunique(),
            "least": int(train["intent"].value_counts().min()),
            "most": int(train["intent"].value_counts().max()),
        }
        rows.append(Row((code, *(f"{count:,}" for count in counts.values())), code))
        numbers[code] = counts
    head = (
        "language",
        "train",
        "test",
        "intents",
        "intents in test",
        "smallest intent",
        "largest intent",
    )
    return Table("table1", "Table 1: sentences and intents", head, tuple(rows), data=numbers)


def table_2(accuracies: Accuracies) -> Table:
    """Return our Table 2 with the paper's means."""
    encoder, translation = (
        accuracies.experiment.config.encoder,
        accuracies.results.of(TRANSLATION, seeds=(0,)),
    )
    if not accuracies.experiment.data.translations:
        translation = OverSeeds((), NOTES["no_translations"])
    keys = [
        *benchmarked_methods(),
        *(f"{name}{PAPERS_SUFFIX}" for name in PAPER_ORDER if accuracies.with_papers),
    ]
    systems = [
        ("mt", f"MT + {encoder} as a monolingual encoder", translation),
        (BASE, f"{encoder} ({LABELS[BASE]})", accuracies.base),
        *((key, row_label(key), accuracies.of(key)) for key in keys),
    ]

    def show(name: str, row: OverSeeds) -> tuple[tuple[str, ...], RowData]:
        numbers = accuracies.numbers(row)
        texts = accuracies.base_texts() if name == BASE else accuracies.texts(row, numbers)
        means, name = "not in the paper", name.removesuffix(PAPERS_SUFFIX)
        if name in ("mt", BASE, *PAPER_ORDER):
            printed = "mt-sent2vec" if name == "mt" else name
            means = " / ".join(f"{paper_mean(dataset, printed):.1f}" for dataset in _DATASETS)
        return (*texts, means), numbers

    head = ("method", *HEAD, *accuracies.directions, f"paper's mean ({' / '.join(_DATASETS)})")
    warnings, notes = warnings_of([(label, row) for _, label, row in systems]), (NOTES["marks"],)
    title = "Table 2: Acc@1 in percent"
    return system_table("table2", title, head, systems, show, warnings=warnings, notes=notes)


def paper_mean(dataset: str, method: str) -> float:
    """Return a method's mean accuracy over the 11 directions of the paper's Table 2, in percent."""
    row = paper_numbers("emu")["table2"]["datasets"][dataset][method]["accuracy"]
    return float(sum(row) / len(row))


def table_3(accuracies: Accuracies) -> Table:
    """Return Table 3: Emu w/o LD trained on each mix of three languages, in their nine directions."""
    mixes = training_sets(accuracies.experiment.languages)
    single = [mix[0] for mix in mixes if len(mix) == 1]
    directions = [pair_name(source, target) for source in single for target in single]
    systems = [("+".join(mix), " + ".join(mix), accuracies.of("emu-without-ld", mix)) for mix in mixes]
    ways = {key: dict(zip(directions, directions, strict=True)) for key, _, _ in systems}
    title, head = "Table 3: training languages", ("trained on", *directions)
    return system_table(
        "table3", title, head, systems, _relative(accuracies, ways), notes=(NOTES["relative"],)
    )


def table_4(accuracies: Accuracies) -> Table:
    """Return Table 4: Emu w/o LD by the language of the queries (rows) and of the pool (columns)."""
    row, languages = accuracies.of("emu-without-ld"), accuracies.experiment.languages
    ways = {source: {target: pair_name(source, target) for target in languages} for source in languages}
    systems = [(source, source, replace(row, asked=0)) for source in languages]
    title = (
        f"Table 4: all ordered pairs, trained on {' + '.join(accuracies.experiment.config.train_languages)}"
    )
    if not row.cells:
        systems = [("emu-without-ld", LABELS["emu-without-ld"], row)]
    title = row.named(title) if row.cells else title
    head = ("queries in \\ pool in", *languages)
    return system_table(
        "table4", title, head, systems, _relative(accuracies, ways), notes=(NOTES["relative"],)
    )


def _relative(accuracies: Accuracies, ways: Mapping[str, Mapping[str, str]]) -> Show:
    """Return what shows changes relative to the base's accuracy; `ways` are each row's directions by column."""

    def show(key: str, row: OverSeeds) -> tuple[tuple[str, ...], RowData]:
        directions = list(ways[key].values())
        base, mean = accuracies.base_percent(directions), accuracies.percent(row, directions).mean(axis=0)
        changes = [None if b == 0 else float(100 * (m - b) / b) for m, b in zip(mean, base, strict=True)]
        texts = tuple("n/a" if change is None else f"{change:+.1f} %" for change in changes)
        return texts, dict(zip(ways[key], changes, strict=True))

    return show


def table_5(accuracies: Accuracies) -> Table:
    """Return Table 5: the contribution of each component of Emu, with a Wilcoxon test over the directions."""
    paper = paper_numbers("emu")
    pairs = {
        f"{name}{suffix}": [accuracies.of(f"{method}{suffix}") for method in with_and_without]
        for suffix in ("", *[PAPERS_SUFFIX] * accuracies.with_papers)
        for name, with_and_without in _COMPONENTS.items()
    }

    def show(component: str, _: OverSeeds) -> tuple[tuple[str, ...], RowData]:
        with_it, without = (accuracies.percent(row).mean(axis=0) for row in pairs[component])
        drops = with_it - without
        test, printed = wilcoxon(drops), paper["table5"][component.removesuffix(PAPERS_SUFFIX)]
        level = level_of(test.p_value)
        texts = (
            f"{drops.mean():+.2f}{stars(level)}",
            f"{test.p_value:.3f}",
            f"{test.n} of {len(drops)}",
            *(f"{printed[d]['drop']:+.2f}{printed[d]['mark']}" for d in _DATASETS),
        )
        return texts, {
            "drop": float(drops.mean()),
            "p_value": test.p_value,
            "significance": level,
            "directions": dict(zip(accuracies.directions, drops.tolist(), strict=True)),
        }

    printed_heads = (f"paper: {dataset}" for dataset in _DATASETS)
    head = ("component", "drop", "p (Wilcoxon)", "directions that differ", *printed_heads)
    systems = [
        (name, row_label(name), min(with_and_without, key=lambda row: len(row.cells)))
        for name, with_and_without in pairs.items()
    ]
    return system_table("table5", "Table 5: ablation", head, systems, show, notes=(NOTES["ablation"],))


def peers_table(accuracies: Accuracies) -> Table:
    """Return Emu, the methods that are not in the paper and the peers, with the same encoder, labels and epochs."""
    peers = {peer.value: accuracies.peer(peer) for peer in Peer}
    systems = [(name, row_label(name), accuracies.of(name)) for name in compared_with_peers()]
    evened = accuracies.results.of(EVENED, seeds=(0,))
    systems += [(EVENED, row_label(EVENED), evened)] if evened.cells else []
    systems += [(name, peer.label, peer.row) for name, peer in peers.items()]
    best = accuracies.best({name: peer.row for name, peer in peers.items()})

    def show(name: str, row: OverSeeds) -> tuple[tuple[str, ...], RowData]:
        languages = row.cells[0].wheres("classified")
        scores = {code: Score.of(row.values("classified", "", code)) for code in languages}
        as_classifier = mean_score(list(scores.values()))
        costs, numbers = {cost: row.mean(cost) for cost in COSTS}, accuracies.numbers(row)
        # The columns of costs are shown between those of the mean and those of the directions.
        texts = accuracies.texts(row, numbers)
        against = None if best in ("", name) else accuracies.difference(row, peers[best].row)
        shown = (
            "" if against is None else str(against),
            f"{costs['seconds']:.1f}",
            f"{costs['cpu_seconds']:.1f}" if costs["cpu_seconds"] else "",
            f"{costs['seconds_whole']:.1f}",
            f"{costs['peak_mb']:.0f}",
            "" if as_classifier is None else f"{as_classifier:.1f}",
        )
        return (*texts[: len(HEAD)], *shown, *texts[len(HEAD) :]), {
            **numbers,
            "learning_rate": peers[name].rate if name in peers else "",
            **costs,
            "against_best_peer": None if against is None else asdict(against),
            "as_classifier": as_classifier,
            "as_classifier_by_language": {code: score.mean for code, score in scores.items() if score},
        }

    title, head = (
        "Peers: Acc@1 in percent, time and memory",
        ("system", *HEAD, AGAINST_BEST, *_COSTS_HEAD, *accuracies.directions),
    )
    general_notes = [NOTES[name] for name in ("retrieval", "budget", "rates", "against_best", "seconds")]
    notes = (*general_notes, f"{MEMORY_NOTE} {NOTES['memory']}", NOTES["marks"])
    table = system_table("peers", title, head, systems, show, notes=notes)
    texts, blank = accuracies.base_texts(), [""] * (1 + len(_COSTS_HEAD))
    base = Row((LABELS[BASE], *texts[: len(HEAD)], *blank, *texts[len(HEAD) :]))
    return replace(table, rows=(base, *table.rows), verdict=_peers_verdict(systems, accuracies))


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
