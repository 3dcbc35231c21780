"""Running what is not finished yet of a benchmark's cells."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from emu_core.bench.store import C, R, Store

Q = TypeVar("Q")
OnProgress = Callable[[int, int, str], None]


def run_cells(
    store: Store[C, R],
    cells: Sequence[C],
    request_of: Callable[[C], Q],
    run: Callable[[Q], R],
    on_progress: OnProgress | None = None,
) -> dict[C, R]:
    """Run each cell that is not in the store, and keep what it measured.

    A cell that can't be measured is not kept, and so is tried again the next time. The first cell is the base encoder:
    where it can't be measured none is, and no other is tried.

    Args:
        store: the benchmark's folder.
        cells: to run, the base encoder first.
        request_of: what a cell's process is told.
        run: runs a cell.
        on_progress: called with (cells done, cells in all, the next cell's name).
    """
    # All are read before any is run: a cell of other settings is refused before an hour's work and not after it.
    found = {cell: result for cell in cells if (result := store.read(cell)) is not None}
    for cell in cells:
        if cell in found:
            continue
        if on_progress is not None:
            on_progress(len(found), len(cells), cell.label)
        found[cell] = run(request_of(cell))
        if not found[cell].not_measured:
            store.write(cell, found[cell])
        elif cell == cells[0]:
            break  # whatever stands in its way stands in every cell's
    if on_progress is not None:
        on_progress(len(cells), len(cells), "the report")
    return found
