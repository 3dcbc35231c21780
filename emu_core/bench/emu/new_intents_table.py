"""The table of Emu's benchmark on intents without labels."""

from collections.abc import Mapping, Sequence

from emu_core.bench.emu.accuracies import AGAINST_BEST, LABELS, Accuracies, row_label
from emu_core.bench.emu.experiment import BASE, EVENED, FEW_INTENTS, new_intents_systems, peer_system
from emu_core.bench.peers import Peer
from emu_core.bench.results import OverSeeds
from emu_core.bench.specs import Column, Line, TableSpec
from emu_core.bench.tables import Table
from emu_core.evaluation.significance import Difference

Halves = Sequence[OverSeeds]  # a system on each half of the intents
_SPEC = TableSpec(
    "emu",
    "new_intents",
    ("system",),
    (
        Column("mean", "new intents", "{:.1f}"),
        Column("against_base", "against base (95 %)"),
        Column("against_best_peer", AGAINST_BEST),
        Column("known", "known intents", "{:.1f}"),
    ),
    ("new_intents", "against_best", "budget"),
    missing="",
)


def new_intents_table(accuracies: Accuracies) -> Table:
    """Return the accuracies on intents without labels, trained on the others, each a mean over halves of the intents.

    A peer has the learning rate that is better on intents with labels, so that nothing is chosen on new ones.
    """
    experiment = accuracies.experiment
    base = _untrained(accuracies, BASE)
    systems = _systems(accuracies)
    measured = {key: new for key, (_, new, _) in systems.items() if new and all(row.cells for row in new)}
    means = {key: _mean(accuracies, new) for key, new in measured.items()}
    best = max((key for key in means if key in set(Peer)), key=means.__getitem__, default="")
    known_base = float(accuracies.base_percent().mean())
    lines = [
        Line(
            (LABELS[BASE],), figures={"mean": _mean(accuracies, base) if base else None, "known": known_base}
        )
    ]
    for key, (label, new, known) in systems.items():
        if key not in means:
            few = f"{FEW_INTENTS} {len(experiment.data.train.intents)}"
            reason = next((row.reason for row in new if not row.cells), few)
            lines.append(Line((label,), key, missing=reason))
            continue
        is_best = best in ("", key)
        figures = {
            "mean": means[key],
            "known": float(accuracies.percent(known).mean()) if known.cells else None,
            "against_base": _difference(accuracies, base, new, base),
            "against_best_peer": None if is_best else _difference(accuracies, base, new, measured[best]),
        }
        lines.append(Line((label,), key, figures=figures))
    return _SPEC.table(lines, count=len(experiment.halves))


def _systems(accuracies: Accuracies) -> Mapping[str, tuple[str, Halves, OverSeeds]]:
    """Return the label of each system, its cells on the halves, and those with labels for all intents, by key."""
    on, halves = accuracies.experiment.config.train_languages, range(len(accuracies.experiment.halves))
    peers = {peer_system(peer): peer for peer in Peer}
    systems = dict[str, tuple[str, Halves, OverSeeds]]()
    evened = _untrained(accuracies, EVENED)
    if any(row.cells for row in evened):
        systems[EVENED] = row_label(EVENED), evened, accuracies.results.of(EVENED, seeds=(0,))
    for system in new_intents_systems():
        key, label, known, rate = system, row_label(system), accuracies.of(system), ""
        if system in peers:
            key, (label, known, rate, _) = peers[system].value, accuracies.peer(peers[system])
        new = [accuracies.results.of(system, on, rate, half=half) for half in halves]
        systems[key] = label, new, known
    return systems


def _untrained(accuracies: Accuracies, system: str) -> Halves:
    """Return the cells of a system without labels."""
    halves = range(len(accuracies.experiment.halves))
    return [accuracies.results.of(system, seeds=(0,), half=half) for half in halves]


def _mean(accuracies: Accuracies, halves: Halves) -> float:
    """Return the mean accuracy in percent over halves, seeds and directions."""
    return sum(float(accuracies.percent(row).mean()) for row in halves) / len(halves)


def _difference(accuracies: Accuracies, base: Halves, ours: Halves, theirs: Halves) -> Difference | None:
    return accuracies.mean_difference(list(zip(base, ours, theirs, strict=True)))
