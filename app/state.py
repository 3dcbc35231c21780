"""What the pages know of runs: which are finished, what each is, and who began it."""

import streamlit as st

from app.users import runs_root, server
from emu_core.encoders.registry import BASE
from emu_core.errors import RunError
from emu_core.runs.config import RunConfig, Task
from emu_core.runs.run import Run, RunState, Status, list_runs

_BEGUN = "begun"


def is_mine(run: Run) -> bool:
    """Return whether this session began a run, or whoever has signed in did: anybody else is asked before it stops.

    Without a sign-in nothing that a browser sends tells one person from another for good. A session knows what it
    began; after a reload it does not, so that the question must be one that the same person can answer, too.
    """
    return bool(server().sign_in) or run.name in st.session_state.get(_BEGUN, ())


def make_mine(run: Run) -> None:
    """Have this session be the one that began a run."""
    st.session_state[_BEGUN] = {*st.session_state.get(_BEGUN, ()), run.name}


def note_of(run: Run) -> str:
    """Return what a person wrote about a run; "" where it can't be read."""
    try:
        return run.note
    except RunError:
        return ""


def tags_of(run: Run) -> tuple[str, ...]:
    """Return what a run is filed under; nothing where it can't be read."""
    try:
        return run.tags
    except RunError:
        return ()


def finished_runs() -> dict[str, Run]:
    """Return the finished runs by name, the newest first; without those whose folder is damaged."""
    return {
        run.name: run
        for run in list_runs(runs_root())
        if is_training(run) and status_of(run).state is RunState.FINISHED
    }


def runs_to_specialise() -> list[Run]:
    """Return the finished runs whose encoder can be fine-tuned: it is no encoder with a head or layers on it."""
    return [run for run in finished_runs().values() if not (run.encoder_folder / BASE).is_dir()]


def status_of(run: Run) -> Status:
    """Return a run's status; a failure that says so where the folder is damaged."""
    try:
        return run.status()
    except RunError as error:
        return Status(state=RunState.FAILED, message=str(error))


def config_of(run: Run) -> RunConfig | None:
    """Return a run's configuration; None where it can't be read."""
    try:
        return run.config()
    except RunError:
        return None


def data_sha_of(run: Run) -> str:
    """Return the hash of the data that a run was trained on; "" where it can't be read."""
    try:
        return str(run.data().get("sha256", ""))
    except RunError:
        return ""


def is_training(run: Run) -> bool:
    """Return whether a run trains an encoder, and is no benchmark."""
    config = config_of(run)
    return config is None or config.task is Task.TRAIN


def is_bench(run: Run) -> bool:
    """Return whether a run is a benchmark; False where its folder is damaged."""
    return not is_training(run)


def is_from_scratch(run: Run) -> bool:
    """Return whether a run trains an encoder from scratch; False where its folder is damaged."""
    config = config_of(run)
    return config is not None and config.task is Task.TRAIN and not config.encoder
