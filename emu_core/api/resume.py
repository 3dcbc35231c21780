"""`emu resume`: start a run that is queued, or go on with one that stopped before its end."""

from pathlib import Path

from emu_core.api.execute import CHECKPOINT_S, execute
from emu_core.errors import RunError
from emu_core.processes import join_processes
from emu_core.runs.progress import OnProgress
from emu_core.runs.run import Run, RunState


def resume(
    folder: str | Path, *, checkpoint_s: float = CHECKPOINT_S, on_progress: OnProgress | None = None
) -> Run:
    """Start a queued run, or go on with one that was killed, cancelled or failed, from its last checkpoint to its end.

    On the same CPU the weights are those of a run that was never stopped. A finished run is left as it is.

    Args:
        folder: the run's folder.
        checkpoint_s: seconds between two checkpoints.
        on_progress: called with the run's status as it moves; None draws it in a notebook, and nothing elsewhere.

    Raises:
        EmuError: the run can't be resumed, with the reason; or what `train` and `pretrain` raise.
    """
    run = Run(Path(folder))
    processes = join_processes(run.config().device)
    if run.status().state is RunState.FINISHED:
        run.tidy()
        return run
    check_resumable(run)
    processes.wait()  # no process takes `cancel` back before the others have looked
    # A queued run may be cancelled at any time, also while this process starts.
    if processes.main and run.status().state is not RunState.QUEUED:
        run.uncancel()
    return execute(run, processes, checkpoint_s=checkpoint_s, on_progress=on_progress)


def check_resumable(run: Run) -> None:
    """Raise RunError, with the reason, where a run is running, or its data is gone."""
    state = run.status().state
    if state is RunState.RUNNING:
        raise RunError(f"{run.folder} is {state} and is not over yet")
    if not run.has_stored_data:
        raise RunError(f"{run.folder} is {state} and holds no sentences to go on with; train it again")
