"""Common parts of the forms that start a run: method, device, name, seed and the start button."""

import json
from dataclasses import asdict, replace

import streamlit as st

from emu_app.panels.started import TO_SHOW
from emu_app.shell.address import compare_newest, keep, linked, linked_in_groups
from emu_app.shell.session import Remembered
from emu_app.shell.state import config_of, facts_of_run, make_mine, runs_root, status_of
from emu_app.shell.widgets import ADDRESSED, choose, then_rerun
from emu_app.shell.wording import literal, sentence
from emu_app.work.jobs import job_manager
from emu_core.devices import (
    Precision,
    RunPrecision,
    available_devices,
    encoding_precision,
    free_memory,
    run_precisions,
    why_no_gpu,
)
from emu_core.methods.presets import Preset, presets
from emu_core.methods.registry import default_method, methods_that_need
from emu_core.runs.config import Plan
from emu_core.runs.data_facts import DataFacts, LabelledFacts
from emu_core.runs.run import RUN_NAME, Run, RunState, Storable, list_runs, new_run_name
from emu_core.runs.stored_data import LabelledData
from emu_core.training.method import Method, Needs

RunPlan = tuple[Plan, Storable]
_PRECISIONS = {
    RunPrecision.FP32: "float32",
    RunPrecision.BF16_VECTORS: "float32, vectors in bfloat16",
    RunPrecision.BF16: "bfloat16",
}


def draw_device(page: str) -> str:
    """Ask for a device; `page` is the page's name, here and below, as a prefix of the keys."""
    devices, why = device_titles(), why_no_gpu()
    about = {"format_func": devices.__getitem__, "help": sentence(why) if why else None}
    device: str = choose("Device", list(devices), f"{page}-device", **about)
    if (memory := free_memory(device)) is not None:
        free, total = (f"{count / 2**30:,.1f}" for count in memory)
        st.caption(f"{free} of {total} GB of its memory are free.")
    return device


def draw_precision(page: str, device: str) -> str | None:
    """Ask for the precision of a run where the device has several; return the argument of `plan_training`."""
    usual, *others = run_precisions(device)
    if not others:
        return None
    asked = choose(
        "Precision",
        [usual, *others],
        f"{page}-precision-{device}",
        format_func=_PRECISIONS.__getitem__,
        help="bfloat16 is faster and takes less memory; vectors in it differ in the third digit.",
    )
    return None if asked == usual else asked.value


def device_titles() -> dict[str, str]:
    """Return the title of each device by its name, with the precision of vectors there if it is bfloat16."""
    titles = {}
    for device in available_devices():
        reduced = encoding_precision(device.name) is Precision.BF16
        titles[device.name] = f"{device.label}, vectors in bf16" if reduced else device.label
    return titles


def draw_method(key: str, *needs: Needs) -> Method:
    """Ask for a method that is trained on such data; the choice is a parameter of the address."""
    known = methods_that_need(*needs)
    name = linked(key, "Method", list(known), key=key, format_func=lambda name: known[name].title)
    st.caption(known[name].summary)
    return known[name]


def draw_method_or_preset(key: str, *needs: Needs) -> Method | Preset:
    """Ask for the default method or the best preset, with a sentence about each, or for another one."""
    known: dict[str, Method | Preset] = {**methods_that_need(*needs), **presets()}
    first = [default_method(), next(iter(presets()))]
    others = [
        *(name for name in presets() if name not in first),
        *(name for name in known if name not in first),
    ]
    name = linked_in_groups(
        key,
        "Method",
        {name: _first_sentence(known[name].summary) for name in first},
        list(dict.fromkeys(others)),
        ("Another method, for research", "Research method"),
        lambda name: known[name].title,
    )
    if name not in first:
        st.caption(known[name].summary)
    return known[name]


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].removesuffix(".") + "."


def draw_seed(page: str) -> int:
    """Ask for the seed of a run's random draws."""
    about = "The same seed on the same CPU gives the same run."
    return st.number_input("Seed", 0, 2**31 - 1, 0, help=about, key=f"{page}-seed", width=140, **ADDRESSED)


def draw_name(page: str, method: str, what: str) -> str:
    """Ask for the run's name; the default is made of the method and of `what` it is trained on."""
    free = new_run_name(runs_root(), method, what)
    key = f"{page}-name-{_started(page).get()}-{free}"  # a new one after each run proposes a new name
    typed = st.text_input("Name of the run", free, max_chars=80, key=key, **ADDRESSED)
    return typed.strip()


def _started(page: str) -> Remembered[int]:
    """Return how many runs the session has started on a page."""
    return Remembered(f"{page}-started", 0)


def _trained_already(config: Plan, data: Storable) -> Run | None:
    """Return the newest run on the same data, of the same encoder, by the same method and with the same settings.

    A run that failed or was stopped doesn't count.
    """
    same = _essence(config)
    runs = [
        run
        for run in list_runs(runs_root())
        if (other := config_of(run)) is not None
        and _essence(other) == same
        and status_of(run).state in (RunState.FINISHED, RunState.RUNNING, RunState.QUEUED)
    ]
    if not runs or (isinstance(data, LabelledData) and data.has_foreign_sentences):
        return None  # a run's facts don't tell such sentences apart
    facts = _counted(data.facts(config))
    return next((run for run in runs if _counted(facts_of_run(run)) == facts), None)


def _essence(config: Plan) -> str:
    """Return what determines a run's result beside its data, as JSON."""
    same = config.everywhere(data="", device="", snapshots=False, keep_examples=True, versions={})
    return json.dumps(asdict(same), sort_keys=True, default=str)


def _counted(facts: DataFacts) -> DataFacts:
    """Return the facts of data without what was written for people."""
    plain = replace(facts, name="")
    return replace(plain, audit=()) if isinstance(plain, LabelledFacts) else plain


def draw_start_button(
    page: str, name: str, plan: RunPlan | str, watched: str, label: str = "Start the run"
) -> None:
    """Draw the button that starts a run and shows it, as `watched` in the address, or why it can't be started."""
    if isinstance(plan, str):
        pass
    elif not RUN_NAME.fullmatch(name):
        plan = "the run's name starts with a lower-case letter or a digit; more of them, '.', '_' and '-' may follow"
    elif (runs_root() / name).exists():
        plan = f"there is a run '{name}' already; choose another name"
    if isinstance(plan, str):
        st.warning(sentence(plan), icon=":material/block:")
    elif (trained := _trained_already(*plan)) is not None:
        with st.container(key="trained-already", horizontal=True, vertical_alignment="center", gap="small"):
            over = status_of(trained).state.is_over
            st.markdown(f"You {'trained' if over else 'are training'} this already:")
            icon, show = ":material/history:", "show-trained"
            st.button(
                trained.name,
                key=show,
                icon=icon,
                type="tertiary",
                on_click=keep,
                args=(watched, trained.name),
            )
        label = f"{label} again"
    icon, disabled = ":material/play_arrow:", isinstance(plan, str)
    pressed = st.button(label, type="primary", icon=icon, disabled=disabled, width="stretch")
    if not pressed or isinstance(plan, str):
        return
    with then_rerun():
        with st.spinner("Starting ..."):
            run = job_manager().submit(name, *plan, root=runs_root())
        make_mine(run)
        keep(watched, run.name)
        compare_newest()
        _started(page).set(_started(page).get() + 1)
        TO_SHOW.set(run.name)  # which may be out of view
        st.toast(f"Started {literal(run.name)}.", icon=":material/play_arrow:")
