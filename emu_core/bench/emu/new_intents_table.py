"""The table of Emu's benchmark on intents without labels."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from emu_core.bench.emu.accuracies import AGAINST_BEST, LABELS, NOTES, Accuracies, row_label
from emu_core.bench.emu.experiment import BASE, EVENED, FEW_INTENTS, new_intents_systems, peer_system
from emu_core.bench.peers import Peer
from emu_core.bench.results import OverSeeds
from emu_core.bench.tables import Row, RowData, Table
from emu_core.evaluation.significance import Difference

Halves = Sequence[OverSeeds]  # a system on each half of the intents


def new_intents_table(accuracies: Accuracies) -> Table:
    """Return the accuracies on intents without labels, trained on the others, each a mean over halves of the intents.

    A peer has the learning rate that is better on intents with labels, so that nothing is chosen on new ones.
    """
    experiment = accuracies.experiment
    count = len(experiment.halves)
    base = _untrained(accuracies, BASE)
    lines = _lines(accuracies)
    measured = {key: new for key, (_, new, _) in lines.items() if new and all(row.cells for row in new)}
    means = {key: _mean(accuracies, new) for key, new in measured.items()}
    best = max((key for key in means if key in set(Peer)), key=means.__getitem__, default="")
    # A row each: the mean, its differences to the base encoder and to the best peer, and the intents with labels.
    known_base = f"{float(accuracies.base_percent().mean()):.1f}"
    rows = [Row((LABELS[BASE], f"{_mean(accuracies, base):.1f}" if base else "", "", "", known_base))]
    data = dict[str, RowData]()
    for key, (label, new, known) in lines.items():
        if key not in means:
            few = f"{FEW_INTENTS} {len(experiment.data.train.intents)}"
            reason = next((row.reason for row in new if not row.cells), few)
            rows.append(Row((label,), key, reason))
            data[key] = {"not_measured": reason}
            continue
        against_base = _difference(accuracies, base, new, base)
        against_best = None if best in ("", key) else _difference(accuracies, base, new, measured[best])
        known_mean = float(accuracies.percent(known).mean()) if known.cells else None
        texts = ("" if difference is None else str(difference) for difference in (against_base, against_best))
        known_text = "" if known_mean is None else f"{known_mean:.1f}"
        rows.append(Row((label, f"{means[key]:.1f}", *texts, known_text), key))
        data[key] = {
            "mean": means[key],
            "known": known_mean,
            "against_base": None if against_base is None else asdict(against_base),
            "against_best_peer": None if against_best is None else asdict(against_best),
        }
    title = f"New intents: Acc@1 in percent without labels, mean of {count} halves"
    head = ("system", "new intents", "against base (95 %)", AGAINST_BEST, "known intents")
    notes = (NOTES["new_intents"], NOTES["against_best"], NOTES["budget"])
    return Table("new_intents", title, head, tuple(rows), notes=notes, data=data)


def _lines(accuracies: Accuracies) -> Mapping[str, tuple[str, Halves, OverSeeds]]:
    """Return the label of each system, its cells on the halves, and those with labels for all intents, by key."""
    on, halves = accuracies.experiment.config.train_languages, range(len(accuracies.experiment.halves))
    peers = {peer_system(peer): peer for peer in Peer}
    lines = dict[str, tuple[str, Halves, OverSeeds]]()
    evened = _untrained(accuracies, EVENED)
    if any(row.cells for row in evened):
        lines[EVENED] = row_label(EVENED), evened, accuracies.results.of(EVENED, seeds=(0,))
    for system in new_intents_systems():
        key, label, known, rate = system, row_label(system), accuracies.of(system), ""
        if system in peers:
            key, (label, known, rate, _) = peers[system].value, accuracies.peer(peers[system])
        new = [accuracies.results.of(system, on, rate, half=half) for half in halves]
        lines[key] = label, new, known
    return lines


def _untrained(accuracies: Accuracies, system: str) -> Halves:
    """Return the cells of a system without labels."""
    halves = range(len(accuracies.experiment.halves))
    return [accuracies.results.of(system, seeds=(0,), half=half) for half in halves]


def _mean(accuracies: Accuracies, halves: Halves) -> float:
    """Return the mean accuracy in percent over halves, seeds and directions."""
    return sum(float(accuracies.percent(row).mean()) for row in halves) / len(halves)


def _difference(accuracies: Accuracies, base: Halves, ours: Halves, theirs: Halves) -> Difference | None:
    return accuracies.mean_difference(list(zip(base, ours, theirs, strict=True)))
