"""Try all on my data: a run of each of several methods, one after the other."""

from collections.abc import Mapping, Sequence

import streamlit as st

from emu_app.data.library import ChosenData
from emu_app.forms.estimate import time_of
from emu_app.forms.starting import RunPlan
from emu_app.shell.state import make_mine
from emu_app.shell.users import runs_root
from emu_app.shell.widgets import choose_many, errors_shown
from emu_app.shell.wording import literal, worded
from emu_app.work.jobs import job_manager
from emu_core.api.train import plan_training
from emu_core.data.wording import counted
from emu_core.devices import available_devices
from emu_core.errors import EmuError
from emu_core.methods.presets import presets
from emu_core.methods.registry import default_method, methods_that_need
from emu_core.runs.run import new_run_name
from emu_core.training.method import Needs

_PAGE = "try-all"
_USUAL = ("best", "emu")  # beside the default; the others take as long and win seldom


def draw_try_all(chosen: ChosenData) -> None:
    """Ask which methods to try on these data, say how long each takes, and queue a run of each."""
    with st.expander("Try all on my data", icon=":material/trophy:"):
        st.caption("A run of each method, one after the other, and a ranking by right intents below.")
        titles = {name: preset.title for name, preset in presets().items()}
        titles |= {name: method.title for name, method in methods_that_need(Needs.INTENTS).items()}
        first = [default_method(), *_USUAL]
        names = choose_many(
            "Methods to try",
            [*first, *(name for name in titles if name not in first)],
            f"{_PAGE}-methods",
            default=first,
            format_func=titles.__getitem__,
        )
        plans = {name: _plan(chosen.token, name, chosen) for name in names}
        for name, plan in plans.items():
            about = f"can't be trained here: {plan}" if isinstance(plan, str) else time_of(*plan)
            st.markdown(f"- **{literal(titles[name])}**: {literal(about, 300)}")
        ready = {name: plan for name, plan in plans.items() if not isinstance(plan, str)}
        label = f"Start {counted(len(ready), 'run')}"
        if st.button(label, icon=":material/play_arrow:", key=_PAGE, disabled=not ready, width="stretch"):
            _start(ready)


def _start(plans: Mapping[str, RunPlan]) -> None:
    with errors_shown():
        for name, plan in plans.items():
            run = job_manager().submit(
                new_run_name(runs_root(), name, plan[0].encoder), *plan, root=runs_root()
            )
            make_mine(run)
        st.rerun()


@st.cache_resource(max_entries=40, show_spinner="Checking whether data and methods fit ...")
def _plan(token: str, name: str, _chosen: ChosenData) -> RunPlan | str:
    """Return the plan of a method or preset with its defaults, on the labels of one language, or why there is none."""
    languages: Sequence[str] = _chosen.train_languages
    is_preset = name in presets()
    try:
        return plan_training(
            _chosen.labelled,
            method=None if is_preset else name,
            preset=name if is_preset else None,
            train_languages=["en"] if "en" in languages else languages[:1],
            device=available_devices()[0].name,
            snapshots=True,
        )
    except EmuError as error:
        return worded(error)
