"""The form of the Pretrain page: a method, and the texts that it is trained on."""

from collections.abc import Mapping

import streamlit as st

from app.forms.hyper_parameters import TUNED, draw_hyper_parameters
from app.forms.run import Asked, Plan, draw_device, draw_name, draw_seed
from app.pretraining.texts import Kind, Read
from emu_core.api.pretrain import plan_pretraining
from emu_core.data.texts.tasks import Tasks
from emu_core.data.wording import counted
from emu_core.errors import TrainingError
from emu_core.methods.method import Method

PLACE = "pretrain"
FEWEST = 20  # pairs; with fewer there is nothing to hold out and nothing to learn


def draw_form(method: Method, texts: Mapping[Kind, Read]) -> Asked:
    """Draw the settings of a run.

    Args:
        method: what is trained.
        texts: what it is trained on, as far as it is there.
    """
    tasks = Tasks.of([text for read in texts.values() for text in read.texts])
    parallel = tasks.translation
    device = draw_device(PLACE)
    name_place, seed_place = st.columns([3, 1])
    with name_place:
        name = draw_name(
            PLACE, method.name, "-".join(dict.fromkeys(code for text in parallel for code in text.languages))
        )
    with seed_place:
        seed = draw_seed(PLACE)
    preset, changes = draw_hyper_parameters(method)

    def plan() -> Plan:
        return plan_pretraining(
            parallel,
            method=method.name,
            dialogues=tasks.dialogues,
            running_text=tasks.running_text,
            nli=tasks.nli,
            seed=seed,
            device=device,
            config=method.configure("" if preset == TUNED else None, **changes),
        )

    if not parallel:
        return Asked(name, "there is no parallel text yet: upload some, or take the example", plan)
    smallest = min(parallel, key=len)
    if len(smallest) < FEWEST:
        return Asked(
            name,
            f"{'-'.join(smallest.languages)} has {counted(len(smallest), 'pair')}, and training needs {FEWEST} of each "
            "language pair, better thousands; add more",
            plan,
        )
    try:
        method.configure("" if preset == TUNED else None, **changes)
    except TrainingError as error:
        return Asked(name, str(error), plan)
    return Asked(name, "", plan)
