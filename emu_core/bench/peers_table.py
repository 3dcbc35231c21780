"""The table of peers: the same encoder, labels and epochs, in one run."""

from dataclasses import dataclass
from typing import Any

from emu_core.bench.cells import Kind, Peer, Rate, label_of
from emu_core.bench.marks import LEGEND
from emu_core.bench.memory import LEGEND as MEMORY
from emu_core.bench.plan import compared_with_peers
from emu_core.bench.results import Results, Row
from emu_core.bench.rows import HEAD, accuracy_cells, accuracy_data
from emu_core.bench.setting import Setting
from emu_core.bench.table import Table, not_measured

_COSTS = ("seconds of training", "CPU seconds", "seconds in all", "peak MB", "as classifier")
NOTES = (
    "Retrieval: a sentence's nearest neighbour by cosine in the system's space answers for it; logistic regression's "
    "space is its class probabilities, LDA's its discriminant scores as scikit-learn's transform gives them. As "
    "classifier is another task, and easier: the system's own classifier names the intent of a test sentence, no "
    "labelled pool in any language being searched; mean over the languages of the sentences.",
    "Every system that trains the encoder passes over the same sentences in the same number of epochs and with the "
    "same batch size as Emu. With losses that take pairs each sentence is the first of one pair an epoch, so these "
    "encode twice as many sentences; SetFit's sampling (R = 20) is stopped at Emu's number of sentence passes. "
    "sentence-transformers' trainer moves every weight it finds, a transformer's word embeddings too.",
    "Each peer is trained with the learning rate of its documentation (2e-5) and with Emu's; the row is the better "
    "of the two by the very mean that is shown, which is in the peer's favour.",
    "Seconds of training count from the loaded encoder to the specialised one (tokenising is in the peers' and, a "
    "moment for a set of this kind, not in this library's), by the clock; CPU seconds are what all threads computed "
    "in that time, and bear a busy machine better; seconds in all also load the encoder and measure.",
    MEMORY + " A process that trains with sentence-transformers holds that library too.",
    LEGEND,
)


@dataclass(frozen=True)
class _System:
    name: str
    label: str
    row: Row
    is_peer: bool
    trains: bool
    rate: str = ""


def peers_table(results: Results, setting: Setting) -> Table:
    """Emu and the methods that are not the paper's, beside the peers."""
    head = ("system", *HEAD, *_COSTS, *results.directions)
    base = results.base_accuracy(results.directions)
    rows: list[tuple[str, ...]] = [
        (
            "base encoder",
            f"{base.mean():.1f}",
            *[""] * (len(HEAD) + len(_COSTS) - 1),
            *(f"{v:.1f}" for v in base),
        )
    ]
    data: dict[str, Any] = {}
    systems = _systems(results, setting)
    for system in systems:
        if not system.row.cells:
            rows.append(not_measured(system.label, system.row.reason, len(head)))
            data[system.name] = {"not_measured": system.row.reason}
            continue
        row, classified = system.row, system.row.classified()
        as_classifier = sum(classified.values()) / len(classified) if classified else None
        costs = (
            f"{row.seconds:.1f}",
            f"{row.cpu_seconds:.1f}" if row.cpu_seconds else "",
            f"{row.seconds_whole:.1f}",
            f"{row.peak_mb:.0f}",
            "" if as_classifier is None else f"{as_classifier:.1f}",
        )
        cells = accuracy_cells(row, results)
        rows.append((row.named(system.label), *cells[: len(HEAD)], *costs, *cells[len(HEAD) :]))
        data[system.name] = accuracy_data(row, results) | {
            "learning_rate": system.rate,
            "seconds": row.seconds,
            "cpu_seconds": row.cpu_seconds,
            "seconds_whole": row.seconds_whole,
            "peak_mb": row.peak_mb,
            "gpu_mb": max(cell.gpu_mb for cell in row.cells),
            "as_classifier": as_classifier,
            "as_classifier_by_language": classified,
        }
    title = "Peers: Acc@1 in percent, time and memory"
    return Table("peers", title, head, tuple(rows), _verdict(systems, results), NOTES, data)


def _systems(results: Results, setting: Setting) -> list[_System]:
    ours = [
        _System(m.value, label_of(m.value), results.row(Kind.METHOD, m.value), False, True)
        for m in compared_with_peers()
    ]
    return ours + [_peer(peer, results, setting) for peer in Peer]


def _peer(peer: Peer, results: Results, setting: Setting) -> _System:
    if peer.is_frozen:
        return _System(peer, label_of(peer), results.row(Kind.PEER, peer, seeds=(0,)), True, False)
    tried = {rate: results.row(Kind.PEER, peer, rate=rate) for rate in (Rate.THEIRS, Rate.OURS)}
    measured = {rate: row for rate, row in tried.items() if row.cells}
    if not measured:
        return _System(peer, label_of(peer), tried[Rate.THEIRS], True, True)
    best = max(measured, key=lambda rate: measured[rate].accuracy(results.directions).mean())
    rate = "2e-05" if best is Rate.THEIRS else f"{setting.budget.learning_rate:g}"
    label = f"{label_of(peer)} (learning rate {rate}, {best})"
    return _System(peer, label, measured[best], True, True, rate)


def _verdict(systems: list[_System], results: Results) -> tuple[str, ...]:
    """What the table says in a sentence or two: the best peer, and the fastest that trains the encoder."""
    measured = [system for system in systems if system.row.cells]
    peers = [system for system in measured if system.is_peer]
    ours = [system for system in measured if not system.is_peer]
    if not peers or not ours:
        return ()

    def mean(system: _System) -> float:
        return float(system.row.accuracy(results.directions).mean())

    best, own = max(peers, key=mean), max(ours, key=mean)
    said = [
        f"The best peer is {best.label} with {mean(best):.1f}; the best of this library's here is {own.label} with "
        f"{mean(own):.1f} ({mean(own) - mean(best):+.1f})."
    ]
    tuned = [system for system in peers if system.trains]
    emu = next((system for system in ours if system.name == "emu"), None)
    if tuned and emu is not None:
        fastest = min(tuned, key=lambda system: system.row.seconds)
        said.append(
            f"Emu trains in {emu.row.seconds:.1f} s; the fastest peer that trains the encoder is {fastest.label} with "
            f"{fastest.row.seconds:.1f} s."
        )
    return tuple(said)
