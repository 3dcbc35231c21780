"""A method of this library, trained by `train` as anybody would."""

from pathlib import Path

from emu_core.api.train import train
from emu_core.bench.request import Request
from emu_core.bench.stopwatch import Moment, Took, now, since
from emu_core.bench.systems import System
from emu_core.data.labelled import LabelledSet
from emu_core.encoders.registry import load_encoder
from emu_core.runs.run import Status


def trained_method(request: Request, labelled: LabelledSet, folder: Path) -> System:
    """Train what the request's cell says.

    Args:
        request: the cell, and what all cells share.
        labelled: sentences to train on, in every language.
        folder: where the run is put.

    Raises:
        EmuError: what can't be trained, with the mend.
    """
    cell, setting = request.cell, request.setting
    clock = Clock()
    run = train(
        labelled,
        out=folder / "run",
        method=cell.name,
        encoder=setting.encoder,
        train_languages=cell.train_languages,
        seed=cell.seed,
        device=setting.device,
        config=setting.config(cell.name),
        checkpoint_s=1e9,  # a cell that is killed is begun again
        on_progress=clock,
    )
    encoder = load_encoder(f"run:{run.folder}", device=setting.device)
    warnings = run.metrics()["warnings"]
    return System(encoder.encode, took=clock.took, facts={"warnings": warnings} if warnings else {})


class Clock:
    """How long a run stood in its phase of training."""

    def __init__(self) -> None:
        """Nothing has begun."""
        self._begun: Moment | None = None
        self._over: Moment | None = None

    def __call__(self, status: Status) -> None:
        """See the run's status as it moves."""
        if self._begun is None and status.phase not in ("", "loading"):
            self._begun = now()
        if self._over is None and status.phase in ("evaluating", "saving"):
            self._over = now()

    @property
    def took(self) -> Took:
        """From the loaded encoder to the specialised one."""
        return Took() if self._begun is None or self._over is None else since(self._begun, self._over)
