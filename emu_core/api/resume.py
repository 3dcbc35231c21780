"""`emu resume`: go on with a run that stopped before its end."""

from pathlib import Path

from emu_core.api.kept import kept_sentences
from emu_core.api.kept_texts import kept_texts
from emu_core.api.pretraining import pretrain_run
from emu_core.api.progress import OnProgress
from emu_core.api.training import CHECKPOINT_S, train_run
from emu_core.config.pretraining import Pretraining
from emu_core.errors import RunError
from emu_core.processes import join_processes
from emu_core.runs.run import Run, RunState


def resume(
    folder: str | Path, *, checkpoint_s: float = CHECKPOINT_S, on_progress: OnProgress | None = None
) -> Run:
    """Go on with a run that was killed, cancelled or failed, from its last checkpoint to its end.

    On the same CPU the weights are those of a run that was never stopped.

    Args:
        folder: the run's folder.
        checkpoint_s: seconds between two checkpoints.
        on_progress: called with the run's status as it moves.

    Raises:
        EmuError: the run can't be resumed, with the reason; or what `train` and `pretrain` raise.
    """
    run = Run(Path(folder))
    said = run.config()
    processes = join_processes(str(said.get("device", "auto")))
    if not run.can_resume:
        state = run.status().state
        reason = "holds no sentences to go on with; train it again" if state.is_over else "is not over yet"
        raise RunError(f"{run.folder} is {state}" + ("" if state is RunState.FINISHED else f" and {reason}"))
    if said.get("method") in tuple(Pretraining):
        tasks, dev, test = kept_texts(run)
        run.uncancel()
        return pretrain_run(run, tasks, dev, test, checkpoint_s=checkpoint_s, on_progress=on_progress)
    labelled, pool = kept_sentences(run)
    processes.wait()
    if processes.main:
        run.uncancel()
    return train_run(run, labelled, pool, processes, checkpoint_s=checkpoint_s, on_progress=on_progress)
