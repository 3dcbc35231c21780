"""The state that outlives a page switch: the data set, the folder of runs, the chosen run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import uuid4

import streamlit as st

from app.users import runs_root, server
from app.wording import literal
from emu_core.api.compare import ALL, usual_split
from emu_core.data.demo import DEMO
from emu_core.data.labelled import LabelledSet
from emu_core.data.labelled.audit import Audit
from emu_core.data.labelled.load import read_labelled
from emu_core.encoders.registry import BASE
from emu_core.errors import RunError
from emu_core.runs.config import RunConfig, Task
from emu_core.runs.run import Run, RunState, Status, list_runs

_DATA, _BEGUN = "data", "begun"


@dataclass(frozen=True)
class ChosenData:
    """A labelled set with its audit, and what machine translations of its sentences its files have, by the text."""

    labelled: LabelledSet
    audit: Audit
    is_demo: bool
    translations: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def sha256(self) -> str:
        """`labelled.sha256()`, computed once."""
        return self.labelled.sha256()

    @cached_property
    def token(self) -> str:
        """Tells this set with its audit from every other of this server."""
        return uuid4().hex

    @property
    def title(self) -> str:
        """The name of the set on pages."""
        return "Demo set" if self.is_demo else self.labelled.name

    @property
    def line(self) -> str:
        """A description of the set in a line of Markdown."""
        languages = literal(", ".join(self.labelled.languages), 80)
        return (
            f"On **{literal(self.title, 60)}**: {len(self.labelled):,} sentences, {len(self.labelled.intents):,} "
            f"intents, {languages}"
        )


def chosen_data() -> ChosenData:
    """Return the set that every page works on, with its audit: the demo set until another is chosen."""
    chosen = st.session_state.get(_DATA)
    return chosen if isinstance(chosen, ChosenData) else _demo()


def set_data(labelled: LabelledSet, audit: Audit, translations: Mapping[str, str]) -> None:
    """Make a set the one that every page of this session works on, with what machine translations its files have."""
    st.session_state[_DATA] = ChosenData(labelled, audit, False, translations)


def set_demo() -> None:
    """Make the demo set the one that every page of this session works on."""
    st.session_state.pop(_DATA, None)


def is_mine(run: Run) -> bool:
    """Return whether this session began a run, or whoever has signed in did: anybody else is asked before it stops.

    Without a sign-in nothing that a browser sends tells one person from another for good. A session knows what it
    began; after a reload it does not, so that the question must be one that the same person can answer, too.
    """
    return bool(server().sign_in) or run.name in st.session_state.get(_BEGUN, ())


def make_mine(run: Run) -> None:
    """Have this session be the one that began a run."""
    st.session_state[_BEGUN] = {*st.session_state.get(_BEGUN, ()), run.name}


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


def split_picker(label: str, key: str, explanation: str, place: Any = st) -> str:
    """Ask for a split of the set in use, or `ALL` of its rows; at first the one that encoders are compared on."""
    labelled = chosen_data().labelled
    options = [*labelled.splits, ALL]
    split: str = place.selectbox(
        label,
        options,
        index=options.index(usual_split(labelled)),
        format_func=lambda name: "all rows" if name == ALL else f"split {name}",
        key=key,
        persist_state="session",
        help=explanation,
    )
    return split


@st.cache_resource(show_spinner="Reading the demo set ...")
def _demo() -> ChosenData:
    return ChosenData(*read_labelled([DEMO]), is_demo=True)
