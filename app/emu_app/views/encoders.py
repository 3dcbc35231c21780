"""Encoders: the available encoders, their languages, and whether they can be used here."""

import streamlit as st

from emu_app.forms.encoder import facts
from emu_app.panels.run_table import runs_frame
from emu_app.shell.model_name import EXAMPLE_MODEL, HF
from emu_app.shell.state import finished_runs
from emu_app.shell.wording import literal
from emu_core.data.languages import language_name
from emu_core.data.wording import counted
from emu_core.encoders.registry import EncoderInfo, available_encoders

_FEW = 20  # languages that are named at once; more are folded


def page() -> None:
    """Draw a card for each encoder, and a table of those that were trained here."""
    st.caption(
        "An encoder turns a sentence into a vector. Every method and every page works with any of them."
    )
    for info in available_encoders():
        with st.container(border=True):
            _draw_card(info)
    if runs := list(finished_runs().values()):
        st.header("Trained here")
        st.caption("The encoders of finished runs. In the command, each is named by `run:` and its folder.")
        table = runs_frame(runs)[["Run", "Method", "Encoder", "Trained on"]]
        table = table.rename(columns={"Encoder": "Trained from"})
        table["Name in the command"] = [f"run:{run.folder}" for run in runs]
        st.dataframe(table, hide_index=True, key="trained-encoders")


def _draw_card(info: EncoderInfo) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.header(literal(info.name), anchor=False, width="content")
        if info.available:
            st.badge("Ready", icon=":material/check:", color="green")
        else:
            st.badge("Not available", icon=":material/block:", color="orange")
    if not info.available:
        st.warning(literal(f"Not available here: {info.reason}"), icon=":material/download:")
    known = {
        "Name in the command": f"`{info.spec}{EXAMPLE_MODEL if info.spec == HF else ''}`",
        "Vectors": f"{info.dim:,} dimensions" if info.dim else "",
        "On disk": f"{info.size_mb:,} MB" if info.size_mb else "",
        "Licence": literal(info.licence, 60),
    }
    shown_facts = {what: value for what, value in known.items() if value}
    for column, (what, value) in zip(
        st.columns([2, 1, 1, 1])[: len(shown_facts)], shown_facts.items(), strict=True
    ):
        with column.container(gap=None):
            st.caption(what)
            st.markdown(value)
    if info.spec == HF:
        st.markdown(
            f"{facts(info)} Any text transformer that sentence-transformers can open is supported, by its name on the "
            "hub or as a folder on this machine. Type it on the Train page. A hub model is downloaded once, when it "
            "is first used; Python code in a model is never run."
        )
    if not info.languages:
        return
    names = literal(", ".join(sorted(map(language_name, info.languages))))
    number = counted(len(info.languages), "language")
    if len(info.languages) <= _FEW:
        st.markdown(f"**{number}:** {names}")
        return
    with st.expander(f"Trained on {number}", icon=":material/translate:"):
        st.markdown(names)


page()
