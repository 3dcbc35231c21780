"""Pretrain: an encoder trained from scratch on parallel text."""

import streamlit as st

from app.cache import start_helpers
from app.forms.settings import draw_settings
from app.forms.starting import Plan, draw_forecast, draw_identity, draw_method, draw_start_button
from app.panels.monitor import draw_list, draw_runs
from app.state import is_from_scratch, runs_root
from app.upload.parallel import draw_other_texts, draw_texts
from app.upload.texts import Kind, Read
from emu_core.api.pretrain import plan_pretraining
from emu_core.config.settings import Settings
from emu_core.data.texts.tasks import Tasks
from emu_core.data.wording import counted
from emu_core.errors import EmuError
from emu_core.methods.method import Method, Needs
from emu_core.runs.run import list_runs

WATCHED = "pretrain-watched"
PLACE = "pretrain"
FEWEST = 20  # pairs; with fewer there is nothing to hold out and nothing to learn


def page() -> None:
    """Draw the page."""
    start_helpers()
    st.title("Pretrain")
    st.caption(
        "Train an encoder of your own from scratch, on sentences and their translations. A run goes on when you leave "
        "this page or close the tab."
    )
    settings, runs = st.columns([5, 7], gap="large")
    with settings:
        draw_start()
    pretrained = [run for run in list_runs(runs_root()) if is_from_scratch(run)]
    with runs:
        draw_runs(pretrained, WATCHED)
    if pretrained:
        st.subheader("All runs from scratch")
        draw_list(pretrained, from_scratch=True)


def draw_start() -> None:
    """Ask for texts and settings, and start a run."""
    parallel = draw_texts()
    method = draw_method("pretrain-method", Needs.PARALLEL_TEXT)
    others = draw_other_texts() if method.reads_tasks else {}
    texts = others if parallel is None else {Kind.PARALLEL: parallel, **others}
    name, plan = draw_form(method, texts)
    draw_start_button(PLACE, name, plan, WATCHED)


def draw_form(method: Method, texts: dict[Kind, Read]) -> tuple[str, Plan | str]:
    """Draw the settings; return the run's name, and its plan or why it can't be started."""
    parallel = texts.get(Kind.PARALLEL)
    pairs = () if parallel is None else parallel.parallel
    languages = dict.fromkeys(code for text in pairs for code in text.languages)
    name, seed, device = draw_identity(PLACE, method.name, "-".join(languages))
    settings = draw_settings(method, "")
    if parallel is None:
        return name, "there is no parallel text yet: upload some, or take the example"
    smallest = min(pairs, key=len)
    if len(smallest) < FEWEST:
        problem = (
            f"{'-'.join(smallest.languages)} has {counted(len(smallest), 'pair')}, and training needs {FEWEST} of each "
            "two languages, better thousands; add more"
        )
        return name, problem
    if isinstance(settings, str):
        return name, settings
    token = "-".join(read.key for read in texts.values())
    plan = _plan(token, texts, method.name, seed, device, settings)
    if not isinstance(plan, str):
        draw_forecast(token, plan)
    return name, plan


@st.cache_resource(max_entries=4, show_spinner="Looking whether data and settings fit ...")
def _plan(
    key: str, _texts: dict[Kind, Read], method: str, seed: int, device: str, settings: Settings
) -> Plan | str:
    tasks = Tasks.of([text for read in _texts.values() for text in read.texts])
    try:
        return plan_pretraining(
            tasks.translation,
            method=method,
            dialogues=tasks.dialogues,
            running_text=tasks.running_text,
            nli=tasks.nli,
            seed=seed,
            device=device,
            config=settings,
        )
    except EmuError as error:
        return str(error)


page()
