"""A finished run on a slice of the demo set, really trained, in a second or two."""

from pathlib import Path

from emu_core import read_labelled, train
from emu_core.data.sets import LabelledSet
from emu_core.methods.registry import configure
from emu_core.runs.run import Run
from tests.support.small import small_file


def small_run(root: Path, name: str = "small") -> tuple[Run, LabelledSet, Path]:
    """A run of one epoch under `root`, the data it was trained on, and their file."""
    file = small_file(root.parent)
    run = train(
        str(file), out=root / name, method="emu", config=configure("emu", "use", epochs=1), device="cpu"
    )
    return run, read_labelled([str(file)])[0], file
