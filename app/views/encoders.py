"""Encoders: which there are, what they know, and whether they can be used here."""

from collections.abc import Sequence

import streamlit as st

from app.forms.encoder import facts
from app.forms.model_name import EXAMPLE, HF
from app.panels.run_table import runs_frame
from app.state import finished_runs
from app.wording import literal
from emu_core.data.languages import language_name
from emu_core.data.wording import counted
from emu_core.encoders.registry import EncoderInfo, available_encoders
from emu_core.runs.run import Run

FEW = 20  # languages that are named at once; more fold away


def page() -> None:
    """Draw the page."""
    st.title("Encoders")
    st.caption(
        "What turns a sentence into numbers. Every method starts from any of them, and every page works with each."
    )
    for info in available_encoders():
        with st.container(border=True):
            draw_encoder(info)
    if runs := list(finished_runs().values()):
        draw_trained(runs)


def draw_trained(runs: Sequence[Run]) -> None:
    """Draw the encoders that were trained here."""
    st.subheader("Trained here")
    st.caption("The encoders of finished runs. Each goes by `run:` and its folder in the command.")
    table = runs_frame(runs)[["Run", "Method", "Encoder", "Trained on"]].rename(
        columns={"Encoder": "Trained from"}
    )
    table["Name in the command"] = [f"run:{run.folder}" for run in runs]
    st.dataframe(table, hide_index=True, key="trained-encoders")


def draw_encoder(info: EncoderInfo) -> None:
    """Draw an encoder's card."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.subheader(literal(info.name), anchor=False, width="content")
        if info.available:
            st.badge("Ready", icon=":material/check:", color="green")
        else:
            st.badge("Not here", icon=":material/block:", color="orange")
    if not info.available:
        st.warning(literal(f"Not available here: {info.reason}"), icon=":material/download:")
    draw_facts(info)
    draw_languages(info)


def draw_facts(info: EncoderInfo) -> None:
    """Draw what is known of it: what the command calls it, its vectors, size and licence."""
    known = {
        "Name in the command": f"`{info.spec}{EXAMPLE if info.spec == HF else ''}`",
        "A sentence becomes": f"{info.dim:,} numbers" if info.dim else "",
        "On disk": f"{info.size_mb:,} MB" if info.size_mb else "",
        "Licence": literal(info.licence, 60),
    }
    told = {what: value for what, value in known.items() if value}
    for place, (what, value) in zip(st.columns([2, 1, 1, 1])[: len(told)], told.items(), strict=True):
        place.caption(what)
        place.markdown(value)
    if info.spec == HF:
        st.markdown(
            f"{facts(info)} Any text transformer that sentence-transformers opens will do, by its name on the hub or "
            "as a folder on this machine. Type it on the Train page. A model of the hub is fetched once, when it is "
            "first used; Python code that a model brings is never run."
        )


def draw_languages(info: EncoderInfo) -> None:
    """Draw the languages it was trained on, by name."""
    if not info.languages:
        return
    names = literal(", ".join(sorted(map(language_name, info.languages))))
    number = counted(len(info.languages), "language")
    if len(info.languages) <= FEW:
        st.markdown(f"**{number}:** {names}")
        return
    with st.expander(f"Trained on {number}", icon=":material/translate:"):
        st.markdown(names)


page()
