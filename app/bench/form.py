"""What to measure, asked on the Evidence page."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from app.bench.folder import BENCHES
from app.bench.outline import Outline, outline
from app.bench.request import BenchRequest
from app.forms.encoder import KEPT, draw_encoder
from app.forms.model_name import short_name
from app.forms.training import draw_train_languages
from app.state import ChosenData, runs_root
from app.wording import sentence, time_span
from emu_core.bench.plan import Part
from emu_core.data.wording import counted
from emu_core.devices import available_devices
from emu_core.runs.run import NAME, new_run_name

TABLES = {
    Part.TABLE_2.value: "Table 2: every method",
    Part.PEERS.value: "Peers: what others do today",
    Part.TABLE_3.value: "Table 3: training languages",
    Part.TABLE_4.value: "Table 4: every pair of languages",
    Part.TABLE_5.value: "Table 5: what each part adds",
    Part.FIGURE_2.value: "Figure 2: maps of two languages",
}
MOST_SEEDS, MOST_EPOCHS = 10, 1_000
PACKAGES_S = 60.0  # what is not installed now may be by then


@dataclass(frozen=True)
class Asked:
    """What the form says.

    Attributes:
        name: of the benchmark.
        request: what to measure, its data still unnamed.
        problem: why it can't be started, in a sentence; "" when it can.
    """

    name: str
    request: BenchRequest
    problem: str


def draw_form(chosen: ChosenData, started: int) -> Asked:
    """Draw the form, and what it amounts to.

    Args:
        chosen: the data.
        started: how many benchmarks this session has started; each begins with a fresh name.
    """
    encoder = draw_encoder("bench-encoder")
    parts = st.multiselect(
        "Tables",
        list(TABLES),
        default=[Part.TABLE_2.value],
        format_func=TABLES.__getitem__,
        key="bench-tables",
        help="Table and figure numbers are the paper's. Tables share cells: each is run once.",
        **KEPT,
    )
    train = draw_train_languages(chosen)
    seed_place, epoch_place = st.columns(2)
    seeds = seed_place.number_input(
        "Seeds",
        1,
        MOST_SEEDS,
        1,
        help="How often each system that draws is trained: with seed 0, 1, 2 and so on. With several the report "
        "shows how far they lie apart.",
        key="bench-seeds",
        **KEPT,
    )
    epochs = epoch_place.number_input(
        "Epochs",
        1,
        MOST_EPOCHS,
        None,
        placeholder="the encoder's own",
        help="Of every system that trains. Empty takes the number that was measured to be good for the encoder.",
        key="bench-epochs",
        **KEPT,
    )
    devices = {device.name: device.label for device in available_devices()}
    device = st.selectbox(
        "Device", list(devices), format_func=devices.__getitem__, key="bench-device", **KEPT
    )
    request = BenchRequest(
        title=chosen.title,
        data="",
        encoder=encoder.spec,
        parts=tuple(parts),
        seeds=tuple(range(int(seeds))),
        train_languages=tuple(train),
        epochs=None if epochs is None else int(epochs),
        device=device,
    )
    free = new_run_name(runs_root() / BENCHES, chosen.title, short_name(encoder.spec))
    name = st.text_input(
        "Name of the benchmark", free, max_chars=80, key=f"bench-name-{started}-{free}", **KEPT
    ).strip()
    found = _outline(chosen.token, chosen, request)
    if encoder.problem or found.problem:
        return Asked(name, request, encoder.problem or found.problem)
    draw_outline(found)
    return Asked(name, request, _misnamed(name))


def draw_outline(found: Outline) -> None:
    """Draw what a benchmark would be."""
    passes = (
        f"; {counted(found.training, 'cell trains', 'cells train')} the encoder, on {found.passes:,} sentences in all "
        "(each counted as often as it comes)"
        if found.training
        else ""
    )
    st.markdown(
        f"**{counted(found.cells, 'cell')}**: each is one system with one seed, trained and measured in a process of "
        f"its own, one after another{passes}. With `use` on two CPU cores that takes roughly "
        f"{time_span(found.seconds)}; a larger encoder takes longer."
    )
    st.caption(sentence(found.split))
    if found.missing:
        with st.expander(
            f"{counted(len(found.missing), 'thing')} can't be measured here", icon=":material/info:"
        ):
            _draw_reasons(found.missing)


def _draw_reasons(reasons: Sequence[str]) -> None:
    st.markdown("\n".join(f"- {sentence(reason)}" for reason in reasons))


def _misnamed(name: str) -> str:
    if not NAME.fullmatch(name):
        return (
            "the name begins with a lower-case letter or a digit, and more of them, '.', '_' and '-' follow"
        )
    if (runs_root() / BENCHES / name).exists():
        return f"there is a benchmark '{name}' already; choose another name"
    return ""


@st.cache_data(max_entries=64, ttl=PACKAGES_S, show_spinner="Looking whether data and tables fit ...")
def _outline(token: str, _chosen: ChosenData, request: BenchRequest) -> Outline:
    return outline(
        _chosen.labelled,
        translations=_chosen.translations,
        parts=request.parts,
        train_languages=request.train_languages,
        seeds=request.seeds,
        encoder=request.encoder,
        epochs=request.epochs,
    )
