"""A cell's runner that kills its own process with SIGKILL when it comes to a cell."""

import os
import signal
from collections.abc import Callable
from typing import TypeVar

Asked = TypeVar("Asked")
Found = TypeVar("Found")


def dying(run: Callable[[Asked], Found], kill_at: int) -> Callable[[Asked], Found]:
    """Run cells up to the one of that number, from 1."""
    begun = 0

    def run_or_die(request: Asked) -> Found:
        nonlocal begun
        begun += 1
        if begun == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return run(request)

    return run_or_die
