"""The queue of runs: one at a time on a device, each in a process that outlives page and server."""

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
from functools import partial
from itertools import chain
from pathlib import Path

import streamlit as st

from emu_app.shell.state import config_of, status_of
from emu_app.shell.users import DATA, USERS, all_runs_root, server
from emu_app.work.vectors import DOWNLOADS
from emu_core.cli.server import ServerSettings
from emu_core.data.wording import counted
from emu_core.errors import Message, RunError
from emu_core.runs.config import RunConfig, RunTask
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

COMMAND = (sys.executable, "-P", "-m", "emu_core")  # -P: what lies in the current folder is not imported
PROCESS_LOG = "process.log"
JOB_POLL_S = 0.5
NICENESS = 10  # for background work, so that pages come first
UNDO_S = 3_600.0  # how long a deletion can be undone
GRACE_S = 30.0  # until a cancelled run is killed: it stops at a step, and loading and evaluating have none


def job_manager() -> "JobManager":
    """Return this server's job manager."""
    return _job_manager(all_runs_root())


@st.cache_resource(show_spinner=False)
def _job_manager(root: Path) -> "JobManager":
    return JobManager(root, limits=server())


class JobManager:
    """Queues runs and starts them in order with `emu resume`, one at a time on a device.

    All state is in the run folders: a new manager finds the running runs there and waits for their device. A run that
    another server queued waits until a person starts it. All users share the queue; each has a folder of runs.
    Methods may be called from any thread.
    """

    def __init__(
        self, root: Path, command: Sequence[str] = COMMAND, limits: ServerSettings | None = None
    ) -> None:
        """Create an empty queue, empty the trash and delete sentences that finished trainings may have left.

        `root` has the runs of all users, `command` runs `emu`, and `limits` are those of each user, if any.
        """
        self._root, self._command, self._limits = root, tuple(command), limits or ServerSettings()
        self._starting = threading.Lock()  # held from checking a user's limits until the run is queued
        self._changed = threading.Condition()
        self._queues: dict[str, deque[Run]] = {}  # the waiting runs by device
        self._current: dict[str, Run] = {}  # the run that has a process, by device
        shutil.rmtree(root / DOWNLOADS, ignore_errors=True)  # they are made again
        for user_root in self._roots():
            empty_trash(user_root)
            empty_trash(user_root / DATA)
        for run in self._runs():
            with suppress(RunError, OSError):  # a damaged folder: pages say so
                run.tidy()

    def submit(self, name: str, config: RunConfig, data: Storable, root: Path | None = None) -> Run:
        """Create a run in the user's folder `root`, by default that of all, and queue it.

        Raises RunError if the name is taken or invalid, the folder can't be written, or a limit is reached.
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
        """Queue a run that stopped early or that another server queued, or a finished benchmark.

        Raises RunError if it can't be resumed, is queued already, or a limit is reached.
        """
        with self._starting:
            self._check_limits(run.folder.parent)
            with self._changed:
                again = status_of(run).state is RunState.FINISHED and run.config().task is RunTask.BENCH
                if self.holds(run) or not (run.can_resume or again):
                    raise RunError(f"the run '{run.name}' can't be resumed now; look at its state")
                run.uncancel()
                run.write_status(Status())
                self._enqueue(run)

    def holds(self, run: Run) -> bool:
        """Return whether the run waits in this queue or has a process."""
        return run.folder in self._held()

    def count(self, root: Path) -> tuple[int, int]:
        """Return how many runs wait or run: those in a user's folder, and all others."""
        held = self._held()
        of_user = sum(folder.parent == root for folder in held)
        return of_user, len(held) - of_user

    def ahead_of(self, run: Run) -> int:
        """Return how many runs are ahead of a waiting run."""
        with self._changed:
            for device, queue in self._queues.items():
                folders = [other.folder for other in queue]
                if run.folder in folders:
                    return folders.index(run.folder) + (device in self._current or self._is_taken(device))
        return 0

    def cancel(self, run: Run) -> None:
        """Stop a run at its next step, or before it starts."""
        run.cancel()
        with self._changed:
            for device, queue in self._queues.items():
                self._queues[device] = deque(other for other in queue if other.folder != run.folder)
            with suppress(RunError):  # a damaged status
                if run.status().state is RunState.QUEUED and not self.holds(run):
                    _never_begin(run)
            self._changed.notify_all()

    def delete(self, run: Run) -> None:
        """Move a run that is over to the trash, from which `Run.put_back` restores it. Raises what `put_aside` does."""
        with self._starting:  # so that nobody resumes it meanwhile
            self._check_over(run)
            run.put_aside()

    def rename(self, run: Run, name: str) -> Run:
        """Rename a run that is over and return it. Raises what `Run.rename` raises."""
        with self._starting:
            self._check_over(run)
            return run.rename(name)

    def _check_over(self, run: Run) -> None:
        if self.holds(run) or not status_of(run).state.is_over:
            raise RunError(f"the run '{run.name}' is not over; cancel it first")

    def wait(self, run: Run, timeout_s: float) -> Status:
        """Wait at most `timeout_s` until a run is over; for tests."""
        with self._changed:
            self._changed.wait_for(lambda: run.status().state.is_over and not self.holds(run), timeout_s)
        return run.status()

    def _runs(self) -> list[Run]:
        """Return the runs of all users."""
        return [run for root in self._roots() for run in list_runs(root)]

    def _roots(self) -> list[Path]:
        """Return the folders of runs of all users."""
        return [self._root, *(self._root / USERS).glob("*")]

    def _held(self) -> set[Path]:
        with self._changed:
            return {run.folder for run in chain(self._current.values(), *self._queues.values())}

    def _check_limits(self, root: Path) -> None:
        """Raise RunError if the user with this folder of runs may not start one now."""
        queued, disk_mb = self._limits.queued, self._limits.disk_mb
        if queued is not None and self.count(root)[0] >= queued:
            yours = counted(queued, "run of yours waits or runs", "runs of yours wait or run")
            raise RunError(
                f"{yours}, and this server accepts no more from one user; wait until one ends, or cancel it"
            )
        if disk_mb is None or _megabytes(root) < disk_mb:
            return
        empty_trash(root)
        if (taken := _megabytes(root)) >= disk_mb:
            raise RunError(
                f"your runs take {taken:,.0f} MB, and this server allows {disk_mb:,} MB for each user; delete a run"
            )

    def _enqueue(self, run: Run) -> None:
        device = run.config().device
        with self._changed:
            if device not in self._queues:
                self._queues[device] = deque()
                worker = partial(self._work, device)
                threading.Thread(target=worker, name=f"jobs {device}", daemon=True).start()
            self._queues[device].append(run)
            self._changed.notify_all()

    def _work(self, device: str) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._queues[device]))
                run = self._queues[device][0]
                if not run.cancel_asked and self._is_taken(device):
                    self._changed.wait(JOB_POLL_S)
                    continue
                self._current[device] = self._queues[device].popleft()
            with suppress(OSError, RunError):  # the run's folder was deleted
                self._run(run)
            with self._changed:
                del self._current[device]
                self._changed.notify_all()

    def _is_taken(self, device: str) -> bool:
        """Return whether a run that another server started is on the device."""
        running = (config_of(run) for run in self._runs() if status_of(run).state is RunState.RUNNING)
        return any(config is not None and config.device == device for config in running)

    def _run(self, run: Run) -> None:
        if run.cancel_asked:
            _never_begin(run)
            return
        try:
            with (run.folder / PROCESS_LOG).open("ab") as log:
                process = subprocess.Popen(
                    [*self._command, "resume", "--", str(run.folder)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Ctrl+C at the server must not end the run
                )
                if hasattr(os, "setpriority"):  # not on Windows; its threads inherit it
                    niceness = os.getpriority(os.PRIO_PROCESS, 0)
                    os.setpriority(os.PRIO_PROCESS, process.pid, max(niceness, NICENESS))
        except (OSError, ValueError) as error:
            run.write_status(
                Status(state=RunState.FAILED, message=Message(f"it could not be started: {error}"))
            )
            return
        _conclude(run, process.pid, _wait(process, run))


def _megabytes(folder: Path) -> float:
    """Return the size of all files in a folder."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # deleted meanwhile
                total += (Path(parent) / name).lstat().st_size
    return total / 1e6


def _never_begin(run: Run) -> None:
    run.write_status(Status(state=RunState.CANCELLED, message=Message("cancelled before it began")))


def _wait(process: subprocess.Popen[bytes], run: Run) -> int:
    """Return the exit code of a process; kill it if its run was cancelled and it does not react."""
    patience_ends: float | None = None
    while True:
        try:
            return process.wait(JOB_POLL_S)
        except subprocess.TimeoutExpired:
            if not run.cancel_asked:
                continue
        if patience_ends is None:
            patience_ends = time.monotonic() + GRACE_S
        elif time.monotonic() > patience_ends:
            process.kill()


def _conclude(run: Run, pid: int, code: int) -> None:
    """Write the final status of a run whose process ended without writing one."""
    status = run.status()
    if status.state.is_over and status.state is not RunState.INTERRUPTED:
        return
    if status.state is RunState.RUNNING and status.pid != pid:
        return  # another process has taken over the run
    if run.cancel_asked:
        run.write_status(
            replace(status, state=RunState.CANCELLED, message=Message("cancelled before the end"))
        )
        return
    if code < 0:
        message = f"its process was stopped by signal {-code}, perhaps for lack of memory"
    else:
        message = last_line(run.folder / PROCESS_LOG) or f"its process ended with code {code}"
    run.write_status(replace(status, state=RunState.FAILED, message=Message(message)))


def last_line(log: Path) -> str:
    """Return the last non-empty line of a process's log, without the command's name."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 4096))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "").removeprefix("emu: ")[:500]
