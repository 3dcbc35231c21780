"""Long functions run in one warm process beside the server, their results kept."""

import multiprocessing
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.reduction import ForkingPickler
from typing import Any

from app.worker import Task, serve

STOPPED = "the helper process stopped, perhaps for lack of memory; try again with fewer sentences"
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


class Background:
    """A queue and the process that works it off. Every method may be called from any thread.

    A task is known by its key: submitting a key again does nothing, so that a page can do so in each of its
    runs. Results are kept until their total size passes `max_bytes`; then those unused for longest go.
    Functions must be importable by name and their arguments picklable; one says how far it is with
    `app.worker.report`.
    """

    def __init__(self, max_bytes: int = 512 * 2**20, warm_up: Callable[[], None] | None = None) -> None:
        """Make the queue; the process starts with the first task, or with `start`.

        Args:
            max_bytes: memory for results; the newest is kept even if it is larger.
            warm_up: run beside the tasks, once, when a fresh process has its first idle moment.
        """
        self._max_bytes, self._warm_up = max_bytes, warm_up
        self._changed = threading.Condition()
        self._queue: deque[tuple[str, Task]] = deque()
        self._outcomes: OrderedDict[str, Outcome] = OrderedDict()  # the one used last stands last
        self._sizes: dict[str, int] = {}  # bytes of each task that is over
        self._thread: threading.Thread | None = None

    def submit(self, key: str, function: Callable[..., Any], *args: Any) -> None:
        """Queue `function(*args)` under `key`, unless the key is known."""
        with self._changed:
            if key not in self._outcomes:
                self._outcomes[key] = Pending(key)
                self._queue.append((key, Task(function, args)))
                self._changed.notify_all()
                self.start()

    def result(self, key: str) -> Outcome:
        """Tell how a task stands.

        Raises:
            KeyError: the key was never submitted, or was forgotten, or its result made room for others.
        """
        with self._changed:
            self._outcomes.move_to_end(key)
            return self._outcomes[key]

    def run(self, key: str, function: Callable[..., Any], *args: Any) -> Outcome:
        """Submit a task if need be, and tell how it stands."""
        with self._changed:
            self.submit(key, function, *args)
            return self.result(key)

    def wait(self, key: str, timeout_s: float) -> Outcome:
        """Wait for a task's end, at most `timeout_s`, and tell how it stands; for tests, not for pages."""
        with self._changed:
            self._changed.wait_for(lambda: not isinstance(self._outcomes[key], Pending), timeout_s)
            return self._outcomes[key]

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
        worker = _Worker(self._warm_up)
        warm = self._warm_up is None
        while True:
            with self._changed:
                found = self._changed.wait_for(lambda: bool(self._queue), None if warm else QUIET_S)
                key, task = self._queue.popleft() if found else ("", None)
            if not worker.is_alive():
                worker, warm = _Worker(self._warm_up), self._warm_up is None
            if task is None:
                worker.warm_up()
                warm = True
                continue
            self._settle(key, *worker.work(task, partial(self._advance, key)))

    def _advance(self, key: str, share: float) -> None:
        with self._changed:
            self._outcomes[key] = Pending(key, share)

    def _settle(self, key: str, outcome: Outcome, size: int) -> None:
        with self._changed:
            self._outcomes[key], self._sizes[key] = outcome, size
            self._outcomes.move_to_end(key)
            for oldest in [other for other in self._outcomes if other in self._sizes and other != key]:
                if sum(self._sizes.values()) <= self._max_bytes:
                    break
                del self._outcomes[oldest], self._sizes[oldest]
            self._changed.notify_all()


class _Worker:
    """The process, seen from the server."""

    def __init__(self, warm_up: Callable[[], None] | None) -> None:
        # Spawned, not forked: a fork of a server with threads, or of one that has used CUDA, hangs.
        context = multiprocessing.get_context("spawn")
        self._connection, other_end = context.Pipe()
        self._process = context.Process(
            target=serve, args=(other_end, warm_up), name="emu helper", daemon=True
        )
        self._process.start()
        other_end.close()  # so that the pipe breaks when the process dies

    def is_alive(self) -> bool:
        return self._process.is_alive()

    def warm_up(self) -> None:
        with suppress(OSError):  # it has just died: the next task finds out
            self._connection.send(None)

    def work(self, task: Task, on_progress: Callable[[float], None]) -> tuple[Outcome, int]:
        """Run a task to its end; its outcome and that one's size in bytes."""
        try:
            self._connection.send(task)
            while (message := self._connection.recv()).kind == "progress":
                on_progress(message.value)
        except (EOFError, OSError):
            self._process.kill()
            self._process.join()
            return Failed(STOPPED), len(STOPPED)
        except Exception as error:  # the task itself can't be sent
            return Failed(f"this can't be run beside the page: {error}"), 0
        if message.kind == "failed":
            return Failed(message.value), len(message.value)
        return Done(ForkingPickler.loads(message.value)), len(message.value)
