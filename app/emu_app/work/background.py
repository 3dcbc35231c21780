"""A queue of long functions that run in warm processes beside the server, which keeps their results.

This is not a `ProcessPoolExecutor`: an executor waits for its running task when the server ends, fails every waiting
task when one of them crashes, and reports no progress.
"""

import gc
import multiprocessing
import os
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

from emu_core.errors import EmuError, Message
from emu_core.spawning import isolated
from emu_core.threads import give_memory_back

STOPPED = "the helper process stopped, perhaps for lack of memory; try again with fewer sentences"
TOO_LONG = "this took over {limit_s:.0f} seconds and was ended; try again with a smaller or simpler file"
NO_MEMORY = "there is not enough memory for this; try again with fewer sentences"
QUIET_S = 2.0  # without a task for this long, a new process is warmed up
IDLE_S = 300.0  # without a task for this long, a process gives back what it keeps for the next one
LOOK_S = 0.2  # how often a thread checks whether anybody still waits for its task
GONE_S = 30.0  # an asker that has not asked for this long is gone: a closed tab, another page


@dataclass(frozen=True)
class Pending:
    """A task that waits or runs: its key, its progress (0 to 1), and the result so far if it reports one."""

    key: str
    progress: float = 0.0
    value: Any = None


@dataclass(frozen=True)
class Done:
    """A task's result."""

    value: Any


@dataclass(frozen=True)
class Failed:
    """Why a task failed, in one sentence."""

    message: Message


TaskOutcome = Pending | Done | Failed
BackgroundTask = tuple[Callable[..., Any], tuple[Any, ...]]
# A progress with the result so far, a pickled result, an error's sentence, or nothing if the task was stopped.
_Report = tuple[type[TaskOutcome] | None, Any]
_listener: Connection | None = None  # in the helper process: the server's end


class StoppedError(Exception):
    """Nobody waits for the running task any more."""


class Background:
    """A queue and the processes that run its tasks. Its methods may be called from any thread.

    A task is identified by its key, and runs once however often a page asks for it. Results are kept until their total
    size passes `max_bytes`; then the least recently used go. Functions must be importable by name and their arguments
    picklable; they call `report` to report progress.

    A task with an `asker`, such as a session, runs only while one of its askers wants it: asks for it again at least
    every `GONE_S` and does not `stop` it. Otherwise it ends at its next `report`, or never starts, and its key becomes
    unknown again.
    """

    def __init__(
        self,
        max_bytes: int = 512 * 2**20,  # memory for results; the newest is kept even if it is larger
        modules: Sequence[str] = (),  # names of those that each process imports first
        warm_up: Callable[[], None] | None = None,  # runs once, in a thread, when a process is first quiet
        memory_bytes: int
        | None = None,  # limit of a process's data, beyond which a task fails; enforced on Linux
        niceness: int = 0,  # for the processes, as in `os.nice`
        processes: int = 1,  # the most tasks that run at the same time
        when_idle: Callable[[], None] | None = None,  # runs when a process has had no task for `IDLE_S`
    ) -> None:
        """Create the queue; `start` starts the first process, and tasks start as many as they need."""
        self._max_bytes, self._processes = max_bytes, processes
        # As bytes: a process reads them when it has its niceness, for the modules of both take seconds to import.
        functions = bytes(ForkingPickler.dumps((warm_up, when_idle)))
        self._work = partial(_work, modules, functions, memory_bytes, niceness)
        self._changed = threading.Condition()
        self._queue: deque[tuple[str, BackgroundTask, float | None]] = (
            deque()
        )  # with the time limit in seconds
        self._outcomes: OrderedDict[str, TaskOutcome] = OrderedDict()  # the most recently used last
        self._sizes: dict[str, int] = {}  # bytes, of each task that is over
        self._askers: dict[str, dict[str, float]] = {}  # by task: when each asker last asked
        self._threads: list[threading.Thread] = []

    def run(
        self,
        key: str,
        function: Callable[..., Any],
        *args: Any,
        limit_s: float | None = None,
        asker: str | None = None,
    ) -> TaskOutcome:
        """Queue `function(*args)`, which may run for `limit_s`, unless the key is known; return its outcome so far."""
        with self._changed:
            if key not in self._outcomes:
                self._outcomes[key] = Pending(key)
                self._queue.append((key, (function, args), limit_s))
                if asker is not None:
                    self._askers[key] = {}
                self._changed.notify_all()
                pending = sum(isinstance(outcome, Pending) for outcome in self._outcomes.values())
                self.start(min(pending, self._processes))
            return self.result(key, asker)

    def stop(self, key: str, asker: str) -> None:
        """Withdraw an asker from a task, which ends unless others want it."""
        with self._changed:
            self._askers.get(key, {}).pop(asker, None)

    def result(self, key: str, asker: str | None = None) -> TaskOutcome:
        """Return a task's outcome so far; the `asker` keeps wanting it. Raises KeyError if the key is unknown."""
        with self._changed:
            self._outcomes.move_to_end(key)
            if asker is not None and key in self._askers:
                self._askers[key][asker] = time.monotonic()
            return self._outcomes[key]

    def wait(self, key: str, timeout_s: float) -> TaskOutcome:
        """Wait at most `timeout_s` for a task's end; return its outcome, pending also if it is no longer known."""
        with self._changed:
            self._changed.wait_for(lambda: not isinstance(self._outcomes.get(key), Pending), timeout_s)
            return self._outcomes.get(key, Pending(key))

    def forget(self, key: str) -> None:
        """Drop a result or a failure, so that the key can be used again; a pending task is left alone."""
        with self._changed:
            if not isinstance(self._outcomes.get(key), Pending):
                self._outcomes.pop(key, None)
                self._sizes.pop(key, None)

    @property
    def is_started(self) -> bool:
        """Whether a process runs, or will soon."""
        with self._changed:
            return bool(self._threads)

    def start(self, processes: int = 1) -> None:
        """Start processes unless as many run, so that the first task need not wait for one."""
        with self._changed:
            while len(self._threads) < processes:
                self._threads.append(threading.Thread(target=self._serve, name="background", daemon=True))
                self._threads[-1].start()

    def _start_process(self) -> tuple[Any, Connection]:
        """Start a process; return it and the server's end of the pipe to it."""
        # Spawned: the fork of a server with threads, or of one that has used CUDA, hangs.
        context = multiprocessing.get_context("spawn")
        connection, other_end = context.Pipe()
        process = context.Process(
            target=self._work, args=(QUIET_S, IDLE_S, other_end), name="emu helper", daemon=True
        )
        with isolated():
            process.start()
        other_end.close()  # so that the pipe breaks when the process dies
        return process, connection

    def _serve(self) -> None:
        """Hand out the tasks one by one for as long as the server lives."""
        process, connection = self._start_process()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._queue))
                key, task, limit_s = self._queue.popleft()
            if self._is_unwanted(key):
                self._settle(key, None, None)
                continue
            if not process.is_alive():
                process, connection = self._start_process()
            last: _Report
            try:
                connection.send(task)
                end = None if limit_s is None else time.monotonic() + limit_s
                last = self._last_report(connection, key, end)
            except (EOFError, OSError) as error:
                process.kill()
                process.join()
                timed_out = isinstance(error, TimeoutError)
                last = (Failed, Message(TOO_LONG.format(limit_s=limit_s) if timed_out else STOPPED))
            except Exception as error:  # the task itself can't be pickled
                last = (Failed, Message(f"this can't be run beside the page: {error}"))
            self._settle(key, *last)

    def _last_report(self, connection: Connection, key: str, end: float | None) -> _Report:
        """Return a task's last report and store those before it. Raises TimeoutError at `end`, of `time.monotonic`."""
        has_report = False
        while True:
            if end is not None and time.monotonic() >= end:
                raise TimeoutError
            if not has_report and self._is_unwanted(key):
                connection.send(None)
                has_report = True
            left_s = LOOK_S if end is None else min(LOOK_S, max(0.0, end - time.monotonic()))
            if not connection.poll(left_s):
                continue
            last: _Report = connection.recv()
            if last[0] is not Pending:
                return last
            with self._changed:
                self._outcomes[key] = Pending(key, *last[1])

    def _is_unwanted(self, key: str) -> bool:
        with self._changed:
            askers = self._askers.get(key)
            return askers is not None and all(time.monotonic() - last > GONE_S for last in askers.values())

    def _settle(self, key: str, kind: type[TaskOutcome] | None, value: Any) -> None:
        outcome = Done(ForkingPickler.loads(value)) if kind is Done else Failed(value)
        with self._changed:
            self._askers.pop(key, None)
            if kind is None:  # stopped
                del self._outcomes[key]
                self._changed.notify_all()
                return
            self._outcomes[key], self._sizes[key] = outcome, len(value) if kind is Done else 0
            self._outcomes.move_to_end(key)
            for oldest in [other for other in self._outcomes if other in self._sizes and other != key]:
                if sum(self._sizes.values()) <= self._max_bytes:
                    break
                del self._outcomes[oldest], self._sizes[oldest]
            self._changed.notify_all()


def report(done: float, total: float, value: Any = None) -> None:
    """Report the running task's progress and its result so far; outside a helper process this does nothing.

    It can be passed as an `on_progress` callback. Raises StoppedError if nobody waits for the task any more.
    """
    if _listener is None or not total:
        return
    if _listener.poll():  # while a task runs, the server sends nothing else
        _listener.recv()
        raise StoppedError
    _listener.send((Pending, (done / total, value)))


def _work(
    modules: Sequence[str],
    functions: bytes,
    memory_bytes: int | None,
    niceness: int,
    quiet_s: float,
    idle_s: float,
    connection: Connection,
) -> None:
    """Run tasks until the server is gone; a warm-up runs in a thread, so that a task need not wait for it."""
    global _listener  # noqa: PLW0603 - one process, one listener
    _listener = connection
    if hasattr(os, "nice"):  # not on Windows
        os.nice(niceness)
    if memory_bytes is not None and sys.platform == "linux":
        import resource

        # A limit of data, not of addresses: libraries reserve gigabytes of those and use none.
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    gc.disable()  # looking for garbage among what is imported would take a sixth of the start
    for name in modules:
        import_module(name)
    warm_up, when_idle = ForkingPickler.loads(functions)
    gc.freeze()
    gc.enable()
    try:
        if warm_up is not None:
            while connection.poll(quiet_s):
                _answer(connection)
            threading.Thread(target=warm_up, daemon=True).start()
        while True:
            if when_idle is not None and not connection.poll(idle_s):
                when_idle()
            _answer(connection)
    except (EOFError, OSError, KeyboardInterrupt):  # the server is gone
        os._exit(0)  # at once: a warm-up may still run


def _answer(connection: Connection) -> None:
    task: BackgroundTask | None = connection.recv()
    if task is None:  # a stop that came after the task's end
        return
    function, args = task
    last: _Report
    try:
        # Pickled here, so that its size is known, and a result that can't be pickled is the task's own error.
        last = Done, bytes(ForkingPickler.dumps(function(*args)))
    except StoppedError:
        last = None, None
    except EmuError as error:
        last = Failed, error.message
    except MemoryError:
        last = Failed, Message(NO_MEMORY)
    except Exception as error:  # a bug is shown as a sentence and leaves the process alive
        last = Failed, Message(f"this failed with {type(error).__name__}: {error}")
    connection.send(last)
    del task, args, last  # not kept until the next task
    give_memory_back()
