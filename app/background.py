"""Long functions run in one warm process beside the server, their results stored.

The process is our own and no `ProcessPoolExecutor`: an executor waits for its running task when the server ends, fails
every waiting task when one of them crashes, and says nothing of a task's progress.
"""

import multiprocessing
import os
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

from emu_core.errors import EmuError

STOPPED = "the helper process stopped, perhaps for lack of memory; try again with fewer sentences"
TOO_LONG = "this took over {limit_s:.0f} seconds and was ended; try again with a smaller or simpler file"
NO_MEMORY = "there is not enough memory for this; try again with fewer sentences"
QUIET_S = 2.0  # so long without a task is an idle moment


@dataclass(frozen=True)
class Pending:
    """A task that waits or runs: its key, and how far it is (0 to 1)."""

    key: str
    progress: float = 0.0


@dataclass(frozen=True)
class Done:
    """A task's result."""

    value: Any


@dataclass(frozen=True)
class Failed:
    """Why a task has no result, in one sentence."""

    message: str


Outcome = Pending | Done | Failed
Task = tuple[Callable[..., Any], tuple[Any, ...]]
Limited = tuple[Task, float | None]  # and the seconds it may take
Message = tuple[type[Outcome], Any]  # a share from 0 to 1, a packed result, or an error's sentence
_listener: Connection | None = None  # in the process beside the server


class Background:
    """A queue and the process that works it off. Every method may be called from any thread.

    A task is known by its key: submitting a key again does nothing, so that a page can do so in each of its
    runs. Results are stored until their total size passes `max_bytes`; then those unused for longest go.
    Functions must be importable by name and their arguments picklable; one says how far it is with
    `report`.
    """

    def __init__(
        self,
        max_bytes: int = 512 * 2**20,
        warm_up: Callable[[], None] | None = None,
        memory_bytes: int | None = None,
        niceness: int = 0,
    ) -> None:
        """Make the queue; the process starts with the first task, or with `start`.

        Args:
            max_bytes: memory for results; the newest stays even if it is larger.
            warm_up: run beside the tasks, once, when a fresh process has its first idle moment; importable by name.
            memory_bytes: data that the process may hold; a task that asks for more fails. Enforced on Linux.
            niceness: of the process, as `os.nice` takes it: above 0 it yields to the server, which draws the pages.
        """
        self._max_bytes, self._start_process = max_bytes, partial(_start, warm_up, memory_bytes, niceness)
        self._changed = threading.Condition()
        self._queue: deque[tuple[str, Limited]] = deque()
        self._outcomes: OrderedDict[str, Outcome] = OrderedDict()  # the one used last comes last
        self._sizes: dict[str, int] = {}  # bytes of each task that is over
        self._thread: threading.Thread | None = None

    def submit(
        self, key: str, function: Callable[..., Any], *args: Any, limit_s: float | None = None
    ) -> None:
        """Queue `function(*args)` under `key`, unless the key is known; it fails once it has run for `limit_s`."""
        with self._changed:
            if key not in self._outcomes:
                self._outcomes[key] = Pending(key)
                self._queue.append((key, ((function, args), limit_s)))
                self._changed.notify_all()
                self.start()

    def result(self, key: str) -> Outcome:
        """Return how a task stands.

        Raises:
            KeyError: the key was never submitted, or was forgotten, or its result made room for others.
        """
        with self._changed:
            self._outcomes.move_to_end(key)
            return self._outcomes[key]

    def run(
        self, key: str, function: Callable[..., Any], *args: Any, limit_s: float | None = None
    ) -> Outcome:
        """Submit a task if need be, and return how it stands."""
        with self._changed:
            self.submit(key, function, *args, limit_s=limit_s)
            return self.result(key)

    def wait(self, key: str, timeout_s: float) -> Outcome:
        """Wait for a task's end, at most `timeout_s`, and return how it stands; pages wait a moment only.

        Pending, too, where another session has taken the result, or it made room for others: submit the task anew.
        """
        with self._changed:
            self._changed.wait_for(lambda: not isinstance(self._outcomes.get(key), Pending), timeout_s)
            return self._outcomes.get(key, Pending(key))

    def forget(self, key: str) -> None:
        """Drop a result or a failure, so that the key can be submitted anew; a pending task stays."""
        with self._changed:
            if not isinstance(self._outcomes.get(key), Pending):
                self._outcomes.pop(key, None)
                self._sizes.pop(key, None)

    def start(self) -> None:
        """Start the process, unless it runs, so that the first task need not wait for it."""
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="background", daemon=True)
                self._thread.start()

    def _serve(self) -> None:
        """Hand out the tasks one by one as long as the server lives."""
        process, connection = self._start_process()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._queue))
                key, (task, limit_s) = self._queue.popleft()
            if not process.is_alive():
                process, connection = self._start_process()
            try:
                connection.send(task)
                end = None if limit_s is None else time.monotonic() + limit_s
                while (message := _received(connection, end))[0] is Pending:
                    with self._changed:
                        self._outcomes[key] = Pending(key, message[1])
            except TimeoutError:
                process.kill()
                process.join()
                message = (Failed, TOO_LONG.format(limit_s=limit_s))
            except (EOFError, OSError):
                process.kill()
                process.join()
                message = (Failed, STOPPED)
            except Exception as error:  # the task itself can't be sent
                message = (Failed, f"this can't be run beside the page: {error}")
            self._settle(key, *message)

    def _settle(self, key: str, kind: type[Outcome], value: Any) -> None:
        outcome = Done(ForkingPickler.loads(value)) if kind is Done else Failed(value)
        with self._changed:
            self._outcomes[key], self._sizes[key] = outcome, len(value)
            self._outcomes.move_to_end(key)
            for oldest in [other for other in self._outcomes if other in self._sizes and other != key]:
                if sum(self._sizes.values()) <= self._max_bytes:
                    break
                del self._outcomes[oldest], self._sizes[oldest]
            self._changed.notify_all()


def report(done: int, total: int) -> None:
    """Say how far the running task is; outside its process nobody listens. Fits `on_progress=` as it is."""
    if _listener is not None and total:
        _listener.send((Pending, done / total))


def _received(connection: Connection, end: float | None) -> Message:
    """Return the process's next message. Raises TimeoutError when none has come by `end`, of `time.monotonic`."""
    if end is not None and ((left_s := end - time.monotonic()) <= 0 or not connection.poll(left_s)):
        raise TimeoutError
    message: Message = connection.recv()
    return message


def _start(
    warm_up: Callable[[], None] | None, memory_bytes: int | None, niceness: int
) -> tuple[Any, Connection]:
    """Start the process; return it and the server's end of the pipe to it."""
    # Spawned, not forked: a fork of a server with threads, or of one that has used CUDA, hangs.
    context = multiprocessing.get_context("spawn")
    connection, other_end = context.Pipe()
    process = context.Process(
        target=_work,
        args=(other_end, warm_up, QUIET_S, memory_bytes, niceness),
        name="emu helper",
        daemon=True,
    )
    process.start()
    other_end.close()  # so that the pipe breaks when the process dies
    return process, connection


def _work(
    connection: Connection,
    warm_up: Callable[[], None] | None,
    quiet_s: float,
    memory_bytes: int | None,
    niceness: int = 0,
) -> None:
    """Run tasks until the other end is gone; a warm-up runs in a thread, so that a task need not wait for it."""
    global _listener  # noqa: PLW0603 - one process, one listener
    _listener = connection
    if hasattr(os, "nice"):  # not on Windows
        os.nice(niceness)
    if memory_bytes is not None and sys.platform == "linux":
        import resource

        # Of data, not of addresses: libraries reserve gigabytes of those and use none.
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    try:
        if warm_up is not None:
            while connection.poll(quiet_s):
                connection.send(_outcome(connection.recv()))
            threading.Thread(target=warm_up, daemon=True).start()
        while True:
            connection.send(_outcome(connection.recv()))
    except (EOFError, OSError, KeyboardInterrupt):  # the server is gone
        os._exit(0)  # at once: a warm-up may still run


def _outcome(task: Task) -> Message:
    function, args = task
    try:
        # Packed here, so that its size is known and one that can't be sent fails as the task's own error.
        return Done, bytes(ForkingPickler.dumps(function(*args)))
    except EmuError as error:
        return Failed, str(error)
    except MemoryError:
        return Failed, NO_MEMORY
    except Exception as error:  # a bug must reach the page as a sentence and leave the process alive
        return Failed, f"this failed with {type(error).__name__}: {error}"
