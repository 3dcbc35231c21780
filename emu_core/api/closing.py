"""How a run ends that does not finish: its status says why."""

from collections.abc import Iterator
from contextlib import contextmanager

from emu_core.api.progress import Progress
from emu_core.errors import CancelledError, EmuError, TrainingError
from emu_core.runs.run import RunState
from emu_core.trainers.memory import ran_out


@contextmanager
def closing(progress: Progress) -> Iterator[None]:
    """Write the last status of a run whose body ends by an error, and pass the error on.

    Raises:
        CancelledError: the run was stopped, from the keyboard too.
        TrainingError: memory ran out.
    """
    try:
        yield
    except (CancelledError, KeyboardInterrupt) as stop:
        progress.end(RunState.CANCELLED, str(stop) or "stopped from the keyboard")
        raise CancelledError(str(stop) or "stopped from the keyboard") from None
    except EmuError as error:
        progress.end(RunState.FAILED, str(error))
        raise
    except BaseException as error:
        message = (
            "memory ran out while the sentences were encoded; use a device with more, or a smaller encoder"
        )
        if not ran_out(error):
            progress.end(RunState.FAILED, f"{type(error).__name__}: {error}")
            raise
        progress.end(RunState.FAILED, message)
        raise TrainingError(message) from error
