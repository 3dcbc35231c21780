"""Functions in processes of their own, which other tests then find dead.

The processes are forked from one that has imported all that a training imports on its way, and started no thread. A
new interpreter would spend three seconds of CPU time on imports, and two to four more until its training begins.
"""

import os
import resource
import runpy
import signal
import sys
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from emu_core import resume
from emu_core.api.execute import Hooks
from emu_core.cli import main
from emu_core.runs.checkpoint import Checkpoint
from emu_core.runs.config import RunConfig
from emu_core.runs.log import Record
from emu_core.runs.progress import Progress
from emu_core.runs.run import Storable, create_run
from tests.support.paths import ROOT

OWN = ("emu_core", "emu_app", "tests")
IMPORTED = (
    "emu_core.api.execute",
    "emu_core.api.resume",
    "emu_core.methods.bicvm.encoder",
    "emu_core.methods.fmda.encoder",
    "emu_core.methods.dual_encoder.encoder",
    "emu_core.encoders.transformer.hf",
    "emu_core.encoders.use.encoder",
    "emu_core.evaluation.disentangled",
    "emu_core.methods.bicvm.trainer",
    "emu_core.methods.dual_encoder.trainer",
    "emu_core.methods.emu.trainer",
    "emu_core.methods.fmda.trainer",
    "emu_core.methods.head.fit",
    "pyarrow.parquet",
    "pytest",
    "sacrebleu",
    "sentence_transformers",  # and with it what an optimiser's first step imports
    "sklearn.linear_model",
    "sklearn.neighbors",
    "tests.support.killed_bench",
)


def forked() -> ForkServerContext:
    """Return the context of `multiprocessing` that starts such processes."""
    context = get_context("forkserver")
    context.set_forkserver_preload(list(IMPORTED))
    return context


def exit_code(function: Callable[..., object], *arguments: Any) -> int | None:
    """Call a function of a module in a new process and wait for its end; -9 is a SIGKILL."""
    child = started(function, *arguments)
    child.join()
    return child.exitcode


def started(function: Callable[..., object], *arguments: Any) -> BaseProcess:
    """Call a function of a module in a new process."""
    child = forked().Process(target=function, args=arguments)
    child.start()
    return child


def command(*arguments: str) -> None:
    """Run the command `emu`."""
    sys.exit(main(arguments))


def python(folder: str, words: Sequence[str], out: str) -> None:
    """Do what `python -m MODULE ARGUMENTS` or `python -c CODE` does, where nothing of this project is imported yet.

    Args:
        folder: where it is run; packages of the project that are in it come before the installed ones.
        words: what follows `python`.
        out: the file for what it prints; errors go to another, which ends in `.err`.
    """
    for descriptor, name in ((1, out), (2, f"{out}.err")):
        with Path(name).open("wb") as file:
            os.dup2(file.fileno(), descriptor)
    for name in [name for name in sys.modules if name.partition(".")[0] in OWN]:
        del sys.modules[name]
    sys.path[:] = [folder, *(p for p in sys.path if p not in ("", str(ROOT), str(ROOT / "tests")))]
    os.environ.pop("PYTHONPATH", None)
    os.chdir(folder)
    option, what, *arguments = words
    sys.argv = [what, *arguments]
    if option == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        exec(what, {"__name__": "__main__"})  # noqa: S102 - the tests' own code


def full_disk(most_bytes: int) -> None:
    """Let no file become longer in this process from now on, which is what a full disk does to writers."""
    sys.dont_write_bytecode = True  # or modules that are imported from now on would be stored in part
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))


def resume_and_die(folder: str, step: int, every: int) -> None:
    """Start a run, or go on with it, with a checkpoint after each `every`-th step; die within a step, by SIGKILL."""
    record, steps = Progress._record, 0

    def counted(self: Progress, values: Record, log: Any) -> None:
        nonlocal steps
        record(self, values, log)
        if values.is_step:
            steps += 1
            if steps == step:
                log.flush()
                os.kill(os.getpid(), signal.SIGKILL)

    Progress._record = counted  # type: ignore[method-assign]
    Checkpoint.due = property(lambda self: steps % every == 0)  # type: ignore[assignment]
    resume(folder)


def create_and_finish(
    folder: str, config: RunConfig, data: Storable, checkpoint_s: float, rename: int = 0
) -> None:
    """Do what a person does who gives the same command again after a kill: make the run, or go on with it.

    Args:
        folder: of the run.
        config: of the run.
        data: of the run.
        checkpoint_s: seconds between two checkpoints.
        rename: the process kills itself instead of the renaming of this number, from 1; 0 for none.
    """
    done = 0

    def counting(rename_file: Callable[..., None]) -> Callable[..., None]:
        def renamed(*arguments: Any, **options: Any) -> None:
            nonlocal done
            done += 1
            if done == rename:
                os.kill(os.getpid(), signal.SIGKILL)
            rename_file(*arguments, **options)

        return renamed

    os.replace, os.rename = counting(os.replace), counting(os.rename)
    if not (Path(folder) / "status.json").exists():
        create_run(Path(folder), config, data)
    resume(folder, hooks=Hooks(checkpoint_s=checkpoint_s))
