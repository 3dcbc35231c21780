"""The other end of `app.background`: a process that takes tasks one after another and says how far it is."""

import os
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any, Literal, NamedTuple

from emu_core.errors import EmuError


class Task(NamedTuple):
    """What to run."""

    function: Callable[..., Any]
    args: tuple[Any, ...]


class Message(NamedTuple):
    """What the worker says: a share from 0 to 1, a packed result, or an error's sentence."""

    kind: Literal["progress", "done", "failed"]
    value: Any


_listener: Connection | None = None


def report(done: int, total: int) -> None:
    """Say how far the running task is; outside a worker nobody listens. Fits `on_progress=` as it is."""
    if _listener is not None and total:
        _listener.send(Message("progress", done / total))


def serve(connection: Connection, warm_up: Callable[[], None] | None) -> None:
    """Run tasks until the other end is gone.

    Args:
        connection: `Task`s come in, `Message`s go out; None asks for the warm-up.
        warm_up: run in a thread of its own, so that a task that comes meanwhile need not wait for it.
    """
    global _listener  # noqa: PLW0603 - one process, one listener
    _listener = connection
    try:
        while True:
            task: Task | None = connection.recv()
            if task is not None:
                connection.send(_outcome(task))
            elif warm_up is not None:
                threading.Thread(target=warm_up, daemon=True).start()
    except (EOFError, OSError, KeyboardInterrupt):  # the server is gone
        os._exit(0)  # at once: a warm-up may still run


def _outcome(task: Task) -> Message:
    try:
        # Packed here, so that its size is known and one that can't be sent fails as the task's own error.
        return Message("done", bytes(ForkingPickler.dumps(task.function(*task.args))))
    except EmuError as error:
        return Message("failed", str(error))
    except MemoryError:
        return Message("failed", "there is not enough memory for this; try again with fewer sentences")
    except Exception as error:  # a bug must reach the page as a sentence and leave the worker alive
        return Message("failed", f"this failed with {type(error).__name__}: {error}")
