"""Start a queued run, or resume a stopped one."""

from pathlib import Path

from emu_core.api.execute import Hooks, execute
from emu_core.errors import RunError
from emu_core.processes import join_processes
from emu_core.runs.progress import OnProgress
from emu_core.runs.run import Run, RunState


def resume(
    folder: str | Path | Run, *, on_progress: OnProgress | None = None, hooks: Hooks | None = None
) -> Run:
    """Start a queued run, or resume one that was killed, cancelled or failed from its last checkpoint, and finish it.

    On the same CPU, it ends with the weights of a run that was never stopped. A finished run is left unchanged.

    Args:
        folder: that of the run, or the run.
        on_progress: called with the run's status when it changes; None shows it in a notebook, and nothing elsewhere.
        hooks: what a program that trains for its users asks for; see `Hooks`.

    Raises:
        EmuError: the run can't be resumed, or fails as in `train` and `pretrain`.

    Examples:
        >>> import emu_core
        >>> print(emu_core.resume("runs/hotel").status().state)
        finished
    """
    run = Run(Path(folder))
    processes = join_processes(run.config().device)
    state = run.status().state
    if state is RunState.FINISHED:
        run.tidy()
        return run
    if state is RunState.RUNNING:
        raise RunError(f"{run.folder} is {state} and is not over yet")
    if not run.has_stored_data:
        raise RunError(f"{run.folder} is {state} and has no stored sentences to resume with; train it again")
    processes.wait()  # until all processes have read the state
    # A queued run may be cancelled at any time, even while this process starts.
    if processes.main and run.status().state is not RunState.QUEUED:
        run.uncancel()
    return execute(run, processes, hooks=hooks, on_progress=on_progress)
