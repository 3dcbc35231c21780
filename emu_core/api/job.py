"""What the training of every method is given, and what it leaves."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emu_core.api.progress import Progress
from emu_core.data.labelled import LabelledSet, UnlabelledSet
from emu_core.encoders.base import Encoder
from emu_core.encoders.shared import Encode
from emu_core.processes import Processes
from emu_core.runs.checkpoint import Checkpoint
from emu_core.runs.run import Run
from emu_core.trainers.loop import Fitted


@dataclass(frozen=True, eq=False)
class Job:
    """A training run under way.

    Attributes:
        run: its folder.
        said: its config.json.
        progress: what tells how far it is.
        labelled: every row of the set.
        unlabelled: sentences whose labels are not read.
        encoder: as loaded.
        processes: those that share the work.
        checkpoint: where training stands.
        cache: folder for what is slow to compute and the same in another run on the same sentences.
        before: called when the encoder is as it was loaded, its data checked, and nothing trained yet: with what
            encodes by it.
    """

    run: Run
    said: dict[str, Any]
    progress: Progress
    labelled: LabelledSet
    unlabelled: UnlabelledSet | None
    encoder: Encoder
    processes: Processes
    checkpoint: Checkpoint
    cache: Path
    before: Callable[[Encode], None]

    def should_stop(self) -> bool:
        """Whether all processes are to stop, since the run was asked to."""
        return self.processes.agree(self.run.cancel_asked)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method leaves.

    Attributes:
        encoder: the specialised one.
        encode: its `encode`, shared between processes.
        fitted: the epoch chosen, and warnings.
        measured: what this method alone measures, for metrics.json.
    """

    encoder: Encoder
    encode: Encode
    fitted: Fitted
    measured: dict[str, Any] = field(default_factory=dict)
