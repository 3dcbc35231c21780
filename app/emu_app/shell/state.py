"""The facts about runs that pages show: which are finished, what each is, and which session started it."""

import hashlib
import re
from collections.abc import Callable
from contextlib import suppress
from secrets import token_urlsafe
from typing import TypeVar

import streamlit as st

from emu_app.shell.session import Remembered
from emu_app.shell.users import runs_root, server
from emu_core.encoders.registry import BASE, PARTS
from emu_core.errors import RunError
from emu_core.evaluation.run_metrics import Metrics
from emu_core.runs.config import Plan, RunTask
from emu_core.runs.data_facts import DataFacts
from emu_core.runs.run import Run, RunState, Status, list_runs

BROWSER = "emu-browser"  # the cookie by which a browser is known again after a reload
_STARTED_BY = ".started-by"  # in the folder of a run: a hash of that cookie
_TOKEN = re.compile(r"[\w-]{20,100}", re.ASCII)  # as it is written into a script of the page
_T = TypeVar("_T")


def is_mine(run: Run) -> bool:
    """Return whether this browser, or the person who has signed in, started a run; others confirm before they stop it.

    Without a sign-in nothing but their browsers tells people apart.
    """
    if server().sign_in:
        return True
    try:
        return (run.folder / _STARTED_BY).read_text("utf-8") == _hash_of_browser()
    except (OSError, ValueError):  # started by a command, or damaged
        return False


def make_mine(run: Run) -> None:
    """Remember that this browser started a run."""
    with suppress(OSError):
        (run.folder / _STARTED_BY).write_text(_hash_of_browser(), "utf-8")


def browser() -> str:
    """Return the random text that identifies this browser; it is new if the browser sent none that this app made."""
    sent: object = st.context.cookies.get(BROWSER)
    token = sent if isinstance(sent, str) and _TOKEN.fullmatch(sent) else ""
    return Remembered(BROWSER, "").get_or_make(lambda: token or token_urlsafe())


def _hash_of_browser() -> str:
    return hashlib.sha256(
        browser().encode()
    ).hexdigest()  # who reads the folder can't pretend to be that browser


def finished_runs() -> dict[str, Run]:
    """Return the finished training runs by name, the newest first, without damaged ones."""
    return {
        run.name: run
        for run in list_runs(runs_root())
        if is_training(run) and status_of(run).state is RunState.FINISHED
    }


def runs_to_specialise() -> list[Run]:
    """Return the finished runs whose encoder can be fine-tuned: it has no head or layers on top of a base.

    Nor has any part of a joined one.
    """
    heads = (BASE, f"{PARTS}/*/{BASE}")
    return [
        run
        for run in finished_runs().values()
        if not any(found for head in heads for found in run.encoder_folder.glob(head))
    ]


def _read(read: Callable[[], _T], damaged: _T) -> _T:
    """Return what `read` does, or `damaged` if the run's folder is."""
    try:
        return read()
    except RunError:
        return damaged


def remarks_of(run: Run) -> tuple[str, tuple[str, ...]]:
    """Return a run's note and tags; "" and none if they can't be read."""
    return _read(lambda: (run.note, run.tags), ("", tuple[str, ...]()))


def status_of(run: Run) -> Status:
    """Return a run's status; a failure that says so if the folder is damaged or of another format."""
    try:
        run.config()
        return run.status()
    except RunError as error:
        return Status(state=RunState.FAILED, message=error.message)


def metrics_of(run: Run) -> Metrics:
    """Return a run's figures; none if they can't be read."""
    return _read(run.metrics, Metrics())


def config_of(run: Run) -> Plan | None:
    """Return a run's configuration, with those of the runs in its folder; None if it can't be read."""
    return _read(run.plan, None)


def data_sha_of(run: Run) -> str:
    """Return the hash of a run's training data; "" if it can't be read."""
    return facts_of_run(run).sha256


def facts_of_run(run: Run) -> DataFacts:
    """Return the facts of a run's training data; those of unknown data if they can't be read."""
    return _read(run.data, DataFacts())


def can_resume(run: Run) -> bool:
    """Return whether a run can be started or resumed; False if its folder is damaged."""
    return _read(lambda: run.can_resume, False)


def is_training(run: Run) -> bool:
    """Return whether a run trains an encoder and is no benchmark; True if its folder is damaged."""
    config = config_of(run)
    return config is None or config.task is RunTask.TRAIN


def is_bench(run: Run) -> bool:
    """Return whether a run is a benchmark; False if its folder is damaged."""
    return not is_training(run)


def is_from_scratch(run: Run) -> bool:
    """Return whether a run trains an encoder from scratch; False if its folder is damaged."""
    config = config_of(run)
    return config is not None and config.task is RunTask.TRAIN and not config.encoder
