"""Try all on my data: a run of each of several methods, one after the other."""

from collections.abc import Mapping, Sequence

import streamlit as st

from emu_app.data.library import ChosenData
from emu_app.forms.estimate import ExpectedTime, earlier_runs, expected_time
from emu_app.forms.starting import RunPlan
from emu_app.shell.state import make_mine
from emu_app.shell.users import runs_root
from emu_app.shell.widgets import choose_many, choose_one, errors_shown
from emu_app.shell.wording import literal, time_span, worded
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
_MINUTES = (1, 5, 20)
_USUAL = ("best", "emu")  # after the default; the others take as long and win seldom


def draw_try_all(chosen: ChosenData) -> None:
    """Ask for how long methods are tried on these data, and for which, say how long each takes, and queue the runs."""
    box = st.expander("Try all on my data", key=f"{_PAGE}-open", icon=":material/trophy:", on_change="rerun")
    if box.open:  # it plans a run of every method
        with box:
            _draw_methods(chosen)


def _draw_methods(chosen: ChosenData) -> None:
    st.caption("A run of each method, one after the other, and a ranking by right intents below.")
    minutes = choose_one(
        "Time for all of them",
        _MINUTES,
        f"{_PAGE}-minutes",
        default=_MINUTES[1],
        format_func=lambda count: f"{count} min",
    )
    titles = {name: preset.title for name, preset in presets().items()}
    titles |= {name: method.title for name, method in methods_that_need(Needs.INTENTS).items()}
    first = [default_method(), *_USUAL]
    order = [*first, *(name for name in titles if name not in first)]
    plans = {name: _plan(chosen.token, name, chosen) for name in order}
    ready = {name: plan for name, plan in plans.items() if not isinstance(plan, str)}
    earlier = earlier_runs()
    times = {name: expected_time(*plan, earlier) for name, plan in ready.items()}
    names = choose_many(
        "Methods to try",
        list(ready),
        f"{_PAGE}-methods-{minutes}-{chosen.sha256[:12]}",
        default=that_fit({name: time.seconds for name, time in times.items()}, 60 * minutes),
        format_func=titles.__getitem__,
    )
    about = {
        name: literal(f"can't be trained here: {plan}", 300)
        for name, plan in plans.items()
        if isinstance(plan, str)
    }
    about |= {name: _told(time) for name, time in times.items()}
    _draw_times({titles[name]: about[name] for name in names})
    label = f"Start {counted(len(names), 'run')}"
    if names:
        label += f", about {time_span(sum(times[name].seconds for name in names))}"
    if st.button(label, icon=":material/play_arrow:", key=_PAGE, disabled=not names, width="stretch"):
        _start({name: ready[name] for name in names})
    if others := {titles[name]: about[name] for name in order if name not in names}:
        st.caption("Left out:")
        _draw_times(others)


def that_fit(seconds: Mapping[str, float], budget: float) -> list[str]:
    """Return the names, in their order, whose seconds fit into those of the budget together; the first come first."""
    names = list[str]()
    for name, needed in seconds.items():
        if needed <= budget:
            names.append(name)
            budget -= needed
    return names


def _told(time: ExpectedTime) -> str:
    """Return a time in words, briefly where it is a guess."""
    if time.is_measured:
        return time.line
    return f"About {time_span(time.seconds)}, a guess: no run of it was timed here"


def _draw_times(about: Mapping[str, str]) -> None:
    """Draw what is known of the time of each title, in Markdown."""
    st.markdown("\n".join(f"- **{literal(title)}**: {text}" for title, text in about.items()))


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
