"""Functions in processes of their own, which other tests then find dead.

The processes are forked from one that has imported training and started no thread: importing torch takes each process
that is started by a command five seconds.
"""

import os
import signal
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

from emu_core import resume
from emu_core.runs.checkpoint import Checkpoint
from emu_core.runs.progress import Progress


def exit_code(function: Callable[..., object], *arguments: Any) -> int | None:
    """Call a function of a module in a new process and wait for its end; -9 is a SIGKILL."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["emu_core.api.execute"])
    child = context.Process(target=function, args=arguments)
    child.start()
    child.join()
    return child.exitcode


def resume_and_die(folder: str, step: int, every: int) -> None:
    """Start a run, or go on with it, with a checkpoint after each `every`-th step; die within a step, by SIGKILL."""
    record, steps = Progress._record, 0

    def counted(self: Progress, values: dict[str, Any], log: Any) -> None:
        nonlocal steps
        record(self, values, log)
        if values["kind"] == "step":
            steps += 1
            if steps == step:
                log.flush()
                os.kill(os.getpid(), signal.SIGKILL)

    Progress._record = counted  # type: ignore[method-assign]
    Checkpoint.due = property(lambda self: steps % every == 0)  # type: ignore[assignment]
    resume(folder)
