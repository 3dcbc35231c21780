"""The queue of runs: one after another on a device, each in a process that outlives page and server."""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path

import streamlit as st

import emu_core
from app.library import FOLDER as DATA
from app.state import config_of, status_of
from app.users import USERS, all_runs_root, server
from app.vectors import DOWNLOADS
from emu_core.config.server import ServerSettings
from emu_core.data.wording import counted
from emu_core.errors import RunError
from emu_core.runs.config import RunConfig, Task
from emu_core.runs.run import (
    Run,
    RunState,
    Status,
    Storable,
    check_name,
    create_run,
    empty_trash,
    list_runs,
)

COMMAND = (sys.executable, "-m", "emu_core")
LOG = "process.log"
POLL_S = 0.5
NICENESS = 10  # of work that nobody waits for at a page, so that pages come first
UNDO_S = 3_600.0  # what was deleted earlier goes for good
GRACE_S = 30.0  # a run that was asked to cancel looks at its next step; loading and evaluating have no steps
OUTDATED = "it was queued by an earlier version, without its data; start it again"


def job_manager() -> "JobManager":
    """Return the one job manager of this server."""
    return _job_manager(all_runs_root())


@st.cache_resource(show_spinner=False)
def _job_manager(root: Path) -> "JobManager":
    return JobManager(root, limits=server())


class JobManager:
    """Queues runs and starts them, first come first served, one at a time on a device.

    A run is a folder that `create_run` made, be it a training or a benchmark; `emu resume` starts it or goes on with
    it. All that matters is in the run folders: a manager made anew finds running runs there and waits for their
    device. What somebody else has queued there waits until a person starts it. Users share the queue, and have a folder
    of runs each. Methods may be called from any thread.
    """

    def __init__(
        self, root: Path, command: Sequence[str] = COMMAND, limits: ServerSettings | None = None
    ) -> None:
        """Begin with an empty queue, and delete what was put aside and sentences that finished trainings may have left.

        Args:
            root: the folder of everybody's runs.
            command: starts a process, which gets `resume` and a run's folder.
            limits: how much a user may take; by default nothing is limited.
        """
        self._root, self._command, self._limits = root, tuple(command), limits or ServerSettings()
        self._starting = threading.Lock()  # held from the look at a user's limits until the run is queued
        self._changed = threading.Condition()
        self._queues: dict[str, deque[Run]] = {}  # by device
        self._current: dict[str, Run] = {}  # by device
        shutil.rmtree(root / DOWNLOADS, ignore_errors=True)  # they are made again
        for own in self._roots():
            empty_trash(own)
            empty_trash(own / DATA)
        for run in self._runs():
            with suppress(RunError, OSError):  # a damaged folder: pages say so
                run.tidy()

    def submit(self, name: str, config: RunConfig, data: Storable, root: Path | None = None) -> Run:
        """Make a run's folder and queue the run.

        Args:
            name: the run's, and its folder's.
            config: how it trains.
            data: what it trains on.
            root: the user's folder of runs; by default that of all.

        Raises:
            RunError: the name is taken, or can't name a run, the folder can't be written, or a limit is reached.
        """
        check_name(name)
        folder = (root or self._root) / name
        if (folder / "status.json").exists():
            raise RunError(f"there is a run '{name}' already; choose another name")
        with self._starting:
            self._check_limits(folder.parent)
            run = create_run(folder, config, data)
            self._enqueue(run)
        return run

    def resume(self, run: Run) -> None:
        """Queue a run that stopped before its end, to go on from its checkpoint, or a benchmark once more.

        A run that somebody else has queued is queued here, too.

        Raises:
            RunError: it can't go on, or it is about to already, or a limit is reached.
        """
        with self._starting:
            self._check_limits(run.folder.parent)
            with self._changed:
                again = status_of(run).state is RunState.FINISHED and run.config().task is Task.BENCH
                if self.holds(run) or not (run.can_resume or again):
                    raise RunError(f"the run '{run.name}' can't go on now; look at its state")
                run.uncancel()
                run.write_status(Status())
                self._enqueue(run)

    def holds(self, run: Run) -> bool:
        """Return whether the run waits for its turn, or its process is there."""
        return run.folder in self._held()

    def count(self, root: Path) -> tuple[int, int]:
        """Return how many runs wait or run, of the user with a folder of runs and of all others."""
        held = self._held()
        own = sum(folder.parent == root for folder in held)
        return own, len(held) - own

    def ahead_of(self, run: Run) -> int:
        """Return how many runs must end before this one, which waits, begins."""
        with self._changed:
            for device, queue in self._queues.items():
                folders = [other.folder for other in queue]
                if run.folder in folders:
                    return folders.index(run.folder) + (device in self._current or self._is_taken(device))
        return 0

    def cancel(self, run: Run) -> None:
        """Stop a run: at its next step, or before it begins."""
        run.cancel()
        with self._changed:
            for queue in self._queues.values():
                for waiting in [other for other in queue if other.folder == run.folder]:
                    queue.remove(waiting)
            if status_of(run).state is RunState.QUEUED and not self.holds(run):
                _never_begin(run)  # nobody else will
            self._changed.notify_all()

    def delete(self, run: Run) -> None:
        """Put a run aside that is over, and whose process is gone; `undelete` brings it back within the hour.

        Raises:
            RunError: it is not, or is none any more, or its folder can't be written.
        """
        with self._starting:  # so that it is not resumed meanwhile
            self._check_over(run)
            run.put_aside()

    def undelete(self, run: Run) -> Run:
        """Bring a run back from the trash and return it. Raises RunError where another has its name by now."""
        with self._starting:
            return run.put_back()

    def rename(self, run: Run, name: str) -> Run:
        """Give a run that is over, and whose process is gone, another name. Raises what `Run.rename` raises."""
        with self._starting:
            self._check_over(run)
            return run.rename(name)

    def _check_over(self, run: Run) -> None:
        if self.holds(run) or not status_of(run).state.is_over:
            raise RunError(f"the run '{run.name}' is not over; cancel it first")

    def wait(self, run: Run, timeout_s: float) -> Status:
        """Wait until a run is over, at most `timeout_s`; for tests, not for pages."""
        with self._changed:
            self._changed.wait_for(lambda: run.status().state.is_over and not self.holds(run), timeout_s)
        return run.status()

    def _runs(self) -> list[Run]:
        """Return everybody's runs."""
        return [run for root in self._roots() for run in list_runs(root)]

    def _roots(self) -> list[Path]:
        """Return everybody's folders of runs."""
        return [self._root, *(self._root / USERS).glob("*")]

    def _held(self) -> set[Path]:
        with self._changed:
            return {
                run.folder
                for run in chain(self._current.values(), chain.from_iterable(self._queues.values()))
            }

    def _check_limits(self, root: Path) -> None:
        """Raise RunError when the user with a folder of runs may begin none now."""
        queued, disk_mb = self._limits.queued, self._limits.disk_mb
        if queued is not None and self.count(root)[0] >= queued:
            raise RunError(
                f"{counted(queued, 'run')} of yours {'waits or runs' if queued == 1 else 'wait or run'}, and this "
                "server takes no more of a user; wait for the end of one, or cancel it"
            )
        if disk_mb is None or _megabytes(root) < disk_mb:
            return
        empty_trash(root)
        if (taken := _megabytes(root)) >= disk_mb:
            raise RunError(
                f"your runs take {taken:,.0f} MB, and this server has {disk_mb:,} MB for each user; delete a run"
            )

    def _enqueue(self, run: Run) -> None:
        device = run.config().device
        with self._changed:
            if device not in self._queues:
                self._queues[device] = deque()
                threading.Thread(
                    target=self._work, args=(device,), name=f"jobs {device}", daemon=True
                ).start()
            self._queues[device].append(run)
            self._changed.notify_all()

    def _work(self, device: str) -> None:
        queue = self._queues[device]
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(queue))
                run = queue[0]
                if not run.cancel_asked and self._is_taken(device):
                    self._changed.wait(POLL_S)
                    continue
                self._current[device] = queue.popleft()
            with suppress(OSError, RunError):  # somebody has deleted the run's folder
                self._run(run)
            with self._changed:
                del self._current[device]
                self._changed.notify_all()

    def _is_taken(self, device: str) -> bool:
        """Return whether a run that somebody else has started, such as an older server, is on the device."""
        running = (run for run in self._runs() if status_of(run).state is RunState.RUNNING)
        return any((config := config_of(run)) is not None and config.device == device for run in running)

    def _run(self, run: Run) -> None:
        if run.cancel_asked:
            _never_begin(run)
            return
        try:
            with (run.folder / LOG).open("ab") as log:
                process = subprocess.Popen(
                    [*self._command, "resume", "--", str(run.folder)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=environment(),
                    start_new_session=True,  # Ctrl+C at the server is not meant for the run
                )
                if hasattr(os, "setpriority"):  # not on Windows; the threads it starts later inherit it
                    own = os.getpriority(os.PRIO_PROCESS, 0)
                    os.setpriority(os.PRIO_PROCESS, process.pid, max(own, NICENESS))
        except (OSError, ValueError) as error:
            run.write_status(Status(state=RunState.FAILED, message=f"it could not be started: {error}"))
            return
        _conclude(run, process.pid, _wait(process, run))


def _megabytes(folder: Path) -> float:
    """Return what the files below a folder take."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # deleted meanwhile
                total += (Path(parent) / name).lstat().st_size
    return total / 1e6


def _never_begin(run: Run) -> None:
    run.write_status(Status(state=RunState.CANCELLED, message="cancelled before it began"))


def _wait(process: subprocess.Popen[bytes], run: Run) -> int:
    """Wait for the process; end it when the run was cancelled and the process takes no notice."""
    patience_ends: float | None = None
    while True:
        try:
            return process.wait(POLL_S)
        except subprocess.TimeoutExpired:
            if not run.cancel_asked:
                continue
        if patience_ends is None:
            patience_ends = time.monotonic() + GRACE_S
        elif time.monotonic() > patience_ends:
            process.kill()


def _conclude(run: Run, pid: int, code: int) -> None:
    """Write the last status of a run whose process ended without doing so."""
    status = run.status()
    if status.state.is_over and status.state is not RunState.INTERRUPTED:
        return
    if status.state is RunState.RUNNING and status.pid != pid:
        return  # a run that another process took over is that one's to conclude
    if run.cancel_asked:
        run.write_status(replace(status, state=RunState.CANCELLED, message="cancelled before the end"))
        return
    message = last_line(run.folder / LOG)
    if code < 0:
        message = f"its process was stopped by signal {-code}, perhaps for lack of memory"
    message = message or f"its process ended with code {code}"
    run.write_status(replace(status, state=RunState.FAILED, message=message))


def last_line(log: Path) -> str:
    """Return the last line of a process's log that says something, without the command's name before it."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 4096))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "").removeprefix("emu: ")[:500]


def environment() -> dict[str, str]:
    """Return the server's environment, with the way to this very emu_core from any folder."""
    package = str(Path(emu_core.__file__).parent.parent)
    known = os.environ.get("PYTHONPATH")
    return os.environ | {"PYTHONPATH": os.pathsep.join([package, known] if known else [package])}
