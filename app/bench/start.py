"""Benchmarks begun, gone on with and kept from getting in the way of runs: a device does one thing at a time."""

import subprocess
import threading
import time
from pathlib import Path

from app.bench.folder import BENCHES, Bench, running_benches
from app.bench.request import BenchRequest
from app.jobs import COMMAND, JobManager, environment
from emu_core.errors import RunError
from emu_core.runs.run import NAME


def start(root: Path, jobs: JobManager, name: str, request: BenchRequest) -> Bench:
    """Begin a benchmark in a process of its own, which outlives page, session and server.

    Args:
        root: the folder of runs.
        jobs: the runs, which keep a device to themselves.
        name: of the benchmark, as a run's.
        request: what to measure.

    Raises:
        RunError: the name is taken or can't name a benchmark, or something else is going on.
    """
    if not NAME.fullmatch(name):
        raise RunError(
            f"{name[:80]!r} can't name a benchmark; use lower-case letters, digits, '.', '_' and '-'"
        )
    if reason := in_the_way(root, jobs, request.device):
        raise RunError(reason)
    bench = Bench(root / BENCHES / name)
    try:
        bench.folder.mkdir(parents=True)
    except FileExistsError:
        raise RunError(f"there is a benchmark '{name}' already; choose another name") from None
    bench.save(request)
    _launch(root, jobs, bench, request)
    return bench


def go_on(root: Path, jobs: JobManager, bench: Bench) -> None:
    """Run what is not finished yet of a benchmark.

    Raises:
        RunError: it is running, its folder is damaged, or something else is going on.
    """
    _launch(root, jobs, bench, bench.request())


def in_the_way(root: Path, jobs: JobManager, device: str) -> str:
    """Return why no benchmark can begin on a device now, in a sentence; "" when one can."""
    if running := running_benches(root):
        return f"the benchmark '{running[0].name}' is running, and one runs at a time; wait for its end or cancel it"
    if run := jobs.busy_with(device):
        return (
            f"the training run '{run}' is on this device or waits for it, and would spoil the times; wait for its end "
            "or cancel it on the Train page"
        )
    return ""


def _launch(root: Path, jobs: JobManager, bench: Bench, request: BenchRequest) -> None:
    def begin() -> None:
        if reason := in_the_way(root, jobs, request.device):
            raise RunError(reason)
        at = time.time()
        try:
            with bench.log.open("wb") as log:
                process = subprocess.Popen(
                    [*COMMAND, *request.arguments(bench.out)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=log,
                    env=environment(),
                    start_new_session=True,  # Ctrl+C at the server is not meant for it
                )
        except (OSError, ValueError) as error:
            raise RunError(f"the benchmark could not be started: {error}") from None
        bench.begun(process.pid, at)
        # Somebody must take note of a child's end, or the system keeps it as one.
        threading.Thread(target=process.wait, name=f"bench {bench.name}", daemon=True).start()

    jobs.undisturbed(begin)
