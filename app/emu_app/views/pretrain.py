"""Pretrain: an encoder trained from scratch on parallel text."""

from collections.abc import Sequence

import streamlit as st

from emu_app.data.text_files import Read
from emu_app.data.texts import draw_other_texts, draw_texts
from emu_app.forms.estimate import draw_estimate
from emu_app.forms.settings import draw_settings
from emu_app.forms.starting import RunPlan, draw_device, draw_method, draw_name, draw_seed, draw_start_button
from emu_app.panels.monitor import draw_form_and_runs, draw_list
from emu_app.shell.state import is_from_scratch
from emu_app.shell.wording import worded
from emu_core.api.pretrain import plan_pretraining
from emu_core.data.texts.tasks import Tasks
from emu_core.data.wording import counted
from emu_core.errors import EmuError
from emu_core.settings import Settings
from emu_core.training.method import Needs

_WATCHED = "pretrain-watched"
_PAGE = "pretrain"
_FEWEST = 20  # pairs; fewer leave nothing to hold out and little to learn


def page() -> None:
    """Draw the page."""
    st.caption(
        "Train your own encoder from scratch, on sentences and their translations. A run continues when you leave this "
        "page or close the tab."
    )
    runs, _ = draw_form_and_runs(_draw_start, is_from_scratch, _WATCHED)
    if runs:
        st.header("All runs from scratch")
        draw_list(runs, _WATCHED, from_scratch=True)


def _draw_start() -> None:
    parallel = draw_texts()
    method = draw_method("pretrain-method", Needs.PARALLEL_TEXT)
    others = draw_other_texts() if method.reads_tasks else []
    pairs = () if parallel is None else parallel.parallel
    languages = dict.fromkeys(code for text in pairs for code in text.languages)
    device = draw_device(_PAGE)
    name = draw_name(_PAGE, method.name, "-".join(languages))
    seeds: list[int] = []
    settings = draw_settings(method, "", lambda: seeds.append(draw_seed(_PAGE)))
    [seed] = seeds
    plan: RunPlan | str
    if parallel is None:
        plan = "there is no parallel text yet: upload some, or take the example"
    elif len(smallest := min(pairs, key=len)) < _FEWEST:
        plan = (
            f"{'-'.join(smallest.languages)} has {counted(len(smallest), 'pair')}, and training needs {_FEWEST} of "
            "every two languages, preferably thousands; add more"
        )
    elif isinstance(settings, str):
        plan = settings
    else:
        reads = [parallel, *others]
        token = "-".join(read.key for read in reads)
        plan = _plan(token, reads, method.name, seed, device, settings)
        if not isinstance(plan, str):
            draw_estimate(token, plan)
    draw_start_button(_PAGE, name, plan, _WATCHED)


@st.cache_resource(max_entries=4, show_spinner="Checking whether data and settings fit ...")
def _plan(
    key: str, _reads: Sequence[Read], method: str, seed: int, device: str, settings: Settings
) -> RunPlan | str:
    tasks = Tasks.of([text for read in _reads for text in read.training_texts])
    try:
        return plan_pretraining(tasks, method=method, seed=seed, device=device, config=settings)
    except EmuError as error:
        return worded(error)


page()
