"""The tables of Emu's benchmark: 2 to 5, and the peers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from emu_core.bench.costs import MEMORY_NOTE
from emu_core.bench.emu.experiment import (
    BASE,
    OURS,
    PAPER_ORDER,
    THEIRS,
    TRANSLATION,
    EmuExperiment,
    compared_with_peers,
    methods,
    peer_system,
    training_sets,
)
from emu_core.bench.paper import paper_numbers, words
from emu_core.bench.peers import Peer
from emu_core.bench.results import COSTS, OverSeeds, Results, Values
from emu_core.bench.tables import (
    Row,
    Table,
    deviation,
    level_above,
    level_of,
    plain_rows,
    spread,
    stars,
    warnings_of,
)
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.significance import wilcoxon

_WORDS = words("emu")
LABELS, NOTES = _WORDS["labels"], _WORDS["notes"]
PEERS_NOTES = (
    *(NOTES[name] for name in ("retrieval", "budget", "rates", "seconds")),
    f"{MEMORY_NOTE} {NOTES['memory']}",
    NOTES["marks"],
)
HEAD = ("mean", "against base", "directions below base")
_COMPONENTS = (
    ("language discriminator", "emu", "emu-without-ld"),
    ("center loss", "emu-without-ld", "emu-without-ld-cl"),
)
_COSTS_HEAD = ("seconds of training", "CPU seconds", "seconds in all", "peak MB", "as classifier")


def label_of(system: str) -> str:
    """Return what a table calls a system."""
    return LABELS.get(system, system)


class Accuracies:
    """Acc@1 in percent of the benchmark's systems, by direction and over seeds."""

    def __init__(self, experiment: EmuExperiment, results: Results) -> None:
        """Take the results of an experiment's cells."""
        self.experiment, self.results = experiment, results
        self.directions = experiment.directions
        self.base = results.of(BASE, seeds=(0,))

    def of(self, system: str, on: Sequence[str] | None = None, variant: str = "") -> OverSeeds:
        """Return a system's cells, trained on the benchmark's languages or on others."""
        trained_on = self.experiment.config.train_languages if on is None else on
        return self.results.of(system, trained_on, variant)

    def percent(self, row: OverSeeds, directions: Sequence[str] | None = None) -> Values:
        """Return (seeds, directions); `directions` None takes Table 2's."""
        ways = self.directions if directions is None else directions
        return np.array(
            [[100 * cell.values["correct", "", way].mean() for way in ways] for cell in row.cells]
        )

    def base_percent(self, directions: Sequence[str] | None = None) -> Values:
        """Return the base encoder's (directions,)."""
        return np.asarray(self.percent(self.base, directions)[0])

    def mean(self, row: OverSeeds) -> float:
        """Return the mean over directions and seeds."""
        return float(self.percent(row).mean())

    def relative(self, row: OverSeeds, directions: Sequence[str]) -> list[float | None]:
        """Return the change in percent of the base's accuracy, by direction; None where that is 0."""
        base, mean = self.base_percent(directions), self.percent(row, directions).mean(axis=0)
        return [None if b == 0 else float(100 * (m - b) / b) for m, b in zip(mean, base, strict=True)]

    def numbers(self, row: OverSeeds) -> dict[str, Any]:
        """Return a system's accuracies against the base, as JSON has them."""
        values, base = self.percent(row), self.base_percent()
        mean, means = values.mean(axis=0), values.mean(axis=1)
        levels = {}
        for way, accuracy in zip(self.directions, mean, strict=True):
            right = self.base.cells[0].values["correct", "", way]
            levels[way] = level_above(float(accuracy), int(right.sum()), len(right))
        return {
            "accuracy": dict(zip(self.directions, mean.tolist(), strict=True)),
            "deviation": dict(zip(self.directions, deviation(values).tolist(), strict=True)),
            "mean": float(means.mean()),
            "mean_deviation": float(deviation(means)),
            "gain": float(means.mean() - base.mean()),
            "least_gain": float((mean - base).min()),
            "below_base": [w for w, m, b in zip(self.directions, mean, base, strict=True) if m < b - 1e-9],
            "significance": levels,
            "seeds": len(values),
            "facts": [dict(cell.facts) for cell in row.cells],
        }

    def texts(self, row: OverSeeds, found: Mapping[str, Any]) -> tuple[str, ...]:
        """Return what HEAD names, then each direction's accuracy with its spread over seeds and its marks.

        Args:
            row: the system.
            found: its `numbers`.
        """
        values = self.percent(row)
        shown = [
            spread(values[:, i]) + stars(found["significance"][way]) for i, way in enumerate(self.directions)
        ]
        below = ", ".join(found["below_base"]) or "none"
        return (spread(values.mean(axis=1)), f"{found['gain']:+.1f}", below, *shown)


def table_2(found: Accuracies) -> Table:
    """Return our own Table 2, the paper's means beside it."""
    encoder = found.experiment.config.encoder
    translation = found.results.of(TRANSLATION, seeds=(0,))
    if not found.experiment.data.translations:
        translation = OverSeeds((), NOTES["no_translations"])
    systems = [
        ("mt", f"MT + {encoder} as a monolingual encoder", translation),
        (BASE, f"{encoder} ({LABELS[BASE]})", found.base),
        *((name, label_of(name), found.of(name)) for name in methods()),
    ]
    rows, data = [], dict[str, Any]()
    for name, label, row in systems:
        if not row.cells:
            rows.append(Row((label,), name, row.reason))
            data[name] = {"not_measured": row.reason}
            continue
        data[name] = found.numbers(row)
        texts = _base_texts(found) if name == BASE else found.texts(row, data[name])
        rows.append(Row((row.named(label), *texts, _paper_means(name)), name))
    return Table(
        "table2",
        "Table 2: Acc@1 in percent",
        ("method", *HEAD, *found.directions, "paper's mean (HotelQA / ATIS / Quora)"),
        tuple(rows),
        warnings=warnings_of([(label, row) for _, label, row in systems]),
        notes=(NOTES["marks"],),
        data=data,
    )


def _base_texts(found: Accuracies) -> tuple[str, ...]:
    base = found.base_percent()
    return (f"{base.mean():.1f}", *[""] * (len(HEAD) - 1), *(f"{value:.1f}" for value in base))


def _paper_means(name: str) -> str:
    known = {"mt": "mt-sent2vec", BASE: BASE} | {method: method for method in PAPER_ORDER}
    if name not in known:
        return "not in the paper"
    return " / ".join(f"{paper_mean(dataset, known[name]):.1f}" for dataset in ("HotelQA", "ATIS", "Quora"))


def paper_mean(dataset: str, method: str) -> float:
    """Return a method's mean accuracy over the 11 directions of the paper's Table 2, in percent."""
    row = paper_numbers("emu")["table2"]["datasets"][dataset][method]["accuracy"]
    return float(sum(row) / len(row))


def table_3(found: Accuracies) -> Table:
    """Return Table 3: Emu w/o LD trained on each mix of three languages, over the nine pairs of these."""
    mixes = training_sets(found.experiment.languages)
    single = [mix[0] for mix in mixes if len(mix) == 1]
    directions = [pair_name(source, target) for source in single for target in single]
    rows, data = [], dict[str, Any]()
    for mix in mixes:
        row, label, key = found.of("emu-without-ld", mix), " + ".join(mix), "+".join(mix)
        if not row.cells:
            rows.append(Row((label,), key, row.reason))
            continue
        values = found.relative(row, directions)
        rows.append(Row((row.named(label), *map(_percent, values)), key))
        data[key] = dict(zip(directions, values, strict=True))
    head = ("trained on", *directions)
    title = "Table 3: training languages"
    return Table("table3", title, head, tuple(rows), notes=(NOTES["relative"],), data=data)


def table_4(found: Accuracies) -> Table:
    """Return Table 4: Emu w/o LD over all ordered pairs: a row a query language, a column a pool's."""
    row, languages = found.of("emu-without-ld"), found.experiment.languages
    head = ("queries in \\ pool in", *languages)
    title = f"Table 4: all ordered pairs, trained on {' + '.join(found.experiment.config.train_languages)}"
    if not row.cells:
        return Table("table4", title, head, (Row((LABELS["emu-without-ld"],), missing=row.reason),))
    rows, data = [], dict[str, Any]()
    for source in languages:
        values = found.relative(row, [pair_name(source, target) for target in languages])
        rows.append(Row((source, *map(_percent, values)), source))
        data[source] = dict(zip(languages, values, strict=True))
    return Table("table4", title, head, tuple(rows), notes=(NOTES["relative"],), data=data)


def table_5(found: Accuracies) -> Table:
    """Return Table 5: what each component of Emu adds, with a Wilcoxon test over the directions."""
    paper = paper_numbers("emu")
    datasets = list(paper["table1"])
    rows, data = [], dict[str, Any]()
    for component, with_it, without_it in _COMPONENTS:
        both = [found.of(method) for method in (with_it, without_it)]
        reason = next((row.reason for row in both if not row.cells), "")
        if reason:
            rows.append(Row((component,), component, reason))
            continue
        means = [found.percent(row).mean(axis=0) for row in both]
        drops = means[0] - means[1]
        test, printed = wilcoxon(drops), paper["table5"][component]
        level = level_of(test.p_value)
        texts = (
            component,
            f"{drops.mean():+.2f}{stars(level)}",
            f"{test.p_value:.3f}",
            f"{test.n} of {len(drops)}",
            *(f"{printed[d]['drop']:+.2f}{printed[d]['mark']}" for d in datasets),
        )
        rows.append(Row(texts, component))
        data[component] = {
            "drop": float(drops.mean()),
            "p_value": test.p_value,
            "significance": level,
            "directions": dict(zip(found.directions, drops.tolist(), strict=True)),
        }
    head = ("component", "drop", "p (Wilcoxon)", "directions that differ", *(f"paper: {d}" for d in datasets))
    return Table("table5", "Table 5: ablation", head, tuple(rows), notes=(NOTES["ablation"],), data=data)


@dataclass(frozen=True)
class _Compared:
    """A row of the peers' table."""

    name: str
    label: str
    row: OverSeeds
    is_peer: bool
    trains: bool = True
    rate: str = ""


def peers_table(found: Accuracies) -> Table:
    """Return Emu and the methods that are not the paper's, beside the peers: the same encoder, labels and epochs."""
    systems = [_Compared(name, label_of(name), found.of(name), False) for name in compared_with_peers()]
    systems += [_peer(peer, found) for peer in Peer]
    mean, _, _, *by_way = _base_texts(found)
    blank = [""] * (len(HEAD) - 1 + len(_COSTS_HEAD))
    rows, data = [Row((LABELS[BASE], mean, *blank, *by_way))], dict[str, Any]()
    for system in systems:
        row = system.row
        if not row.cells:
            rows.append(Row((system.label,), system.name, row.reason))
            data[system.name] = {"not_measured": row.reason}
            continue
        by_language = {
            code: float(np.mean([100 * cell.values["classified", "", code].mean() for cell in row.cells]))
            for code in row.cells[0].wheres("classified")
        }
        as_classifier = sum(by_language.values()) / len(by_language) if by_language else None
        costs = {name: row.mean(name) for name in COSTS}
        data[system.name] = found.numbers(row) | {
            "learning_rate": system.rate,
            **costs,
            "as_classifier": as_classifier,
            "as_classifier_by_language": by_language,
        }
        shown = (
            f"{costs['seconds']:.1f}",
            f"{costs['cpu_seconds']:.1f}" if costs["cpu_seconds"] else "",
            f"{costs['seconds_whole']:.1f}",
            f"{costs['peak_mb']:.0f}",
            "" if as_classifier is None else f"{as_classifier:.1f}",
        )
        texts = found.texts(row, data[system.name])
        texts = (*texts[: len(HEAD)], *shown, *texts[len(HEAD) :])
        rows.append(Row((row.named(system.label), *texts), system.name))
    return Table(
        "peers",
        "Peers: Acc@1 in percent, time and memory",
        ("system", *HEAD, *_COSTS_HEAD, *found.directions),
        tuple(rows),
        _peers_verdict(systems, found),
        notes=PEERS_NOTES,
        data=data,
    )


def _peer(peer: Peer, found: Accuracies) -> _Compared:
    """Return a peer, with the learning rate with which it is better."""
    system = peer_system(peer)
    label, on = label_of(system), found.experiment.config.train_languages
    if peer.is_frozen:
        return _Compared(peer.value, label, found.results.of(system, on, seeds=(0,)), True, trains=False)
    tried = {rate: found.of(system, variant=rate) for rate in (THEIRS, OURS)}
    measured = {rate: row for rate, row in tried.items() if row.cells}
    if not measured:
        return _Compared(peer.value, label, tried[THEIRS], True)
    best = max(measured, key=lambda rate: found.mean(measured[rate]))
    rate = "2e-05" if best == THEIRS else f"{found.experiment.budget.learning_rate:g}"
    return _Compared(peer.value, f"{label} (learning rate {rate}, {best})", measured[best], True, rate=rate)


def _peers_verdict(systems: list[_Compared], found: Accuracies) -> tuple[str, ...]:
    """Name the best peer, and the fastest that trains the encoder."""
    measured = [system for system in systems if system.row.cells]
    peers = [system for system in measured if system.is_peer]
    ours = [system for system in measured if not system.is_peer]
    if not peers or not ours:
        return ()
    best, own = (max(group, key=lambda one: found.mean(one.row)) for group in (peers, ours))
    theirs, mean = found.mean(best.row), found.mean(own.row)
    sentences = [
        f"The best peer is {best.label} with {theirs:.1f}; the best of this library's here is {own.label} with "
        f"{mean:.1f} ({mean - theirs:+.1f})."
    ]
    tuned = [system for system in peers if system.trains]
    emu = next((system for system in ours if system.name == "emu"), None)
    if tuned and emu is not None:
        fastest = min(tuned, key=lambda system: system.row.mean("seconds"))
        sentences.append(
            f"Emu trains in {emu.row.mean('seconds'):.1f} s; the fastest peer that trains the encoder is "
            f"{fastest.label} with {fastest.row.mean('seconds'):.1f} s."
        )
    return tuple(sentences)


def paper_tables(number: str) -> list[Table]:
    """Return the paper's Table 2, 3 or 4 as printed; none for another number."""
    numbers = paper_numbers("emu")
    if number == "2":
        return [
            Table(
                f"paper_table2{letter}",
                f"The paper's Table 2 ({letter}): {dataset}, encoder LASER",
                ("method", *numbers["table2"]["directions"], "mean"),
                plain_rows([_paper_row(row) for row in rows.values()]),
            )
            for letter, (dataset, rows) in zip("abc", numbers["table2"]["datasets"].items(), strict=True)
        ]
    if number not in ("3", "4"):
        return []
    table = numbers[f"table{number}"]
    first, columns, title = (
        ("trained on", table["directions"], "HotelQA, encoder LASER")
        if number == "3"
        else ("queries in \\ pool in", table["targets"], "HotelQA, encoder LASER, trained on en")
    )
    rows = [(name.replace("+", " + "), *map(_percent, row)) for name, row in table["relative"].items()]
    head = (first, *columns)
    return [Table(f"paper_table{number}", f"The paper's Table {number}: {title}", head, plain_rows(rows))]


def _paper_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    values, marks = row["accuracy"], row["marks"]
    shown = (f"{value:.1f}{mark}" for value, mark in zip(values, marks, strict=True))
    return (row["label"], *shown, f"{sum(values) / len(values):.1f}")


def _percent(value: float | None) -> str:
    return "n/a" if value is None else f"{value:+.1f} %"
