"""A benchmark's folder: what was asked, the process that works on it, and what it wrote."""

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from app.bench.request import FILE, BenchRequest
from emu_core.bench.store import write_json
from emu_core.errors import RunError
from emu_core.runs.run import CLOCK_S, NAME

BENCHES = ".bench"  # under the folder of runs; the dot keeps it apart from them
LOG = "process.log"
_PROCESS, _CANCEL = "process.json", "cancel"


@dataclass(frozen=True)
class Bench:
    """One benchmark.

    Attributes:
        folder: where it is.
    """

    folder: Path

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    @property
    def out(self) -> Path:
        """The folder that `emu bench emu` writes: the finished cells and the report."""
        return self.folder / "out"

    @property
    def log(self) -> Path:
        """What the process said."""
        return self.folder / LOG

    def request(self) -> BenchRequest:
        """What was asked. Raises RunError when it can't be read."""
        return BenchRequest.load(self.folder)

    def save(self, request: BenchRequest) -> None:
        """Keep what was asked."""
        write_json(self.folder / FILE, request.to_json())

    def begun(self, pid: int, at: float) -> None:
        """Keep which process works on it since when, in unix seconds; what was cancelled before is no longer."""
        self.uncancel()
        write_json(self.folder / _PROCESS, {"pid": pid, "started_at": at})

    @property
    def started_at(self) -> float:
        """When its last process began, unix seconds; 0 before the first."""
        return self._process()[1]

    @property
    def is_running(self) -> bool:
        """Whether its process is there."""
        return self._alive() is not None

    @property
    def cancel_asked(self) -> bool:
        """Whether `cancel` was called since it last began."""
        return (self.folder / _CANCEL).exists()

    def uncancel(self) -> None:
        """Take `cancel` back."""
        (self.folder / _CANCEL).unlink(missing_ok=True)

    def cancel(self) -> None:
        """End its process; the cells that are finished stay."""
        (self.folder / _CANCEL).touch()
        if (process := self._alive()) is not None:
            with suppress(psutil.NoSuchProcess):  # it has just ended
                process.terminate()

    def _process(self) -> tuple[int, float]:
        try:
            values = json.loads((self.folder / _PROCESS).read_text("utf-8"))
            return int(values["pid"]), float(values["started_at"])
        except (OSError, ValueError, TypeError, KeyError):
            return 0, 0.0

    def _alive(self) -> psutil.Process | None:
        """Its process, and not a later one of the same number."""
        pid, at = self._process()
        if pid <= 0:
            return None
        try:
            process = psutil.Process(pid)
            there = process.create_time() <= at + CLOCK_S and process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return None
        return process if there else None


def list_benches(root: Path) -> list[Bench]:
    """Every benchmark under the folder of runs, the newest first."""
    found = []
    folder = root / BENCHES
    for path in folder.iterdir() if folder.is_dir() else ():
        if NAME.fullmatch(path.name):
            with suppress(OSError):  # not one, or being deleted right now
                found.append(((path / FILE).stat().st_mtime, path.name))
    return [Bench(folder / name) for _, name in sorted(found, reverse=True)]


def running_benches(root: Path) -> list[Bench]:
    """The benchmarks whose process is there."""
    return [bench for bench in list_benches(root) if bench.is_running]


def bench_on(root: Path, device: str) -> str:
    """Return the name of the benchmark that runs on a device; "" where none does."""
    for bench in running_benches(root):
        try:
            if bench.request().device == device:
                return bench.name
        except RunError:  # damaged while it runs; what it was started with is not known
            return bench.name
    return ""
