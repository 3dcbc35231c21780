"""What is trained from nothing, and how, on the Pretrain page."""

from dataclasses import replace

import streamlit as st

from app.encoder_choice import KEPT
from app.forms.hyper_parameters import draw_hyper_parameters
from app.pretrain_request import PretrainRequest
from app.pretraining.texts import Kind, Read
from app.state import runs_root
from app.textfile import save_text
from emu_core.data.wording import counted
from emu_core.devices import available_devices
from emu_core.errors import TrainingError
from emu_core.methods.method import Method
from emu_core.runs.run import NAME, new_run_name

FEWEST = 20  # pairs; with fewer there is nothing to hold out and nothing to learn


def draw_form(method: Method, pairs: str, started: int) -> PretrainRequest:
    """Draw the settings; return the request, its files still unnamed.

    Args:
        method: what is trained.
        pairs: the languages, for the run's name, such as "en-de".
        started: how many runs this session has started; each begins with a fresh name.
    """
    devices = {device.name: device.label for device in available_devices()}
    device = st.selectbox(
        "Device", list(devices), format_func=devices.__getitem__, key="pretrain-device", **KEPT
    )
    free = new_run_name(runs_root(), method.name, pairs)
    name_place, seed_place = st.columns([3, 1])
    name = name_place.text_input(
        "Name of the run", free, max_chars=80, key=f"pretrain-name-{started}-{free}", **KEPT
    )
    seed = seed_place.number_input(
        "Seed",
        0,
        2**31 - 1,
        0,
        help="The same seed on the same CPU gives the same run.",
        key="pretrain-seed",
        **KEPT,
    )
    preset, changes = draw_hyper_parameters(method)
    return PretrainRequest(
        name=name.strip(),
        files=(),
        dialogues=(),
        running_text=(),
        nli=(),
        pairs=(),
        method=method.name,
        seed=int(seed),
        device=device,
        preset=preset,
        changes=changes,
    )


def why_not(request: PretrainRequest, parallel: Read | None) -> str:
    """Return why a run can't be started, in a sentence; "" when it can."""
    if parallel is None:
        return "there is no parallel text yet: upload some, or take the example"
    smallest = min(parallel.parallel, key=len)
    if len(smallest) < FEWEST:
        return (
            f"{'-'.join(smallest.languages)} has {counted(len(smallest), 'pair')}, and training needs {FEWEST} of each "
            "two languages, better thousands; add more"
        )
    if not NAME.fullmatch(request.name):
        return "the run's name begins with a lower-case letter or a digit, and more of them, '.', '_' and '-' follow"
    if (runs_root() / request.name).exists():
        return f"there is a run '{request.name}' already; choose another name"
    try:
        request.settings()
    except TrainingError as error:
        return str(error)
    return ""


def with_files(request: PretrainRequest, texts: dict[Kind, Read]) -> PretrainRequest:
    """Return the request with its texts saved under the folder of runs and named."""
    root = runs_root()
    saved = {kind: tuple(str(save_text(root, text)) for text in read.texts) for kind, read in texts.items()}
    return replace(
        request,
        files=saved[Kind.PARALLEL],
        pairs=tuple(text.languages for text in texts[Kind.PARALLEL].parallel),
        dialogues=saved.get(Kind.DIALOGUES, ()),
        running_text=saved.get(Kind.RUNNING, ()),
        nli=saved.get(Kind.NLI, ()),
    )
