"""The way back to the version of a set before its last change."""

import streamlit as st

from emu_app.data.library import ChosenData, can_undo, undo_version
from emu_app.panels.context import stay
from emu_app.shell.widgets import then_rerun
from emu_app.shell.wording import literal


def draw_undo(chosen: ChosenData, key: str) -> None:
    """Offer to go back to the version before the last change, if it was made here."""
    if not can_undo(chosen):
        return
    change = literal(chosen.changes[-1], 60)
    about = "Chooses the version before. The Data page restores this one."
    if st.button(f"Undo: {change}", icon=":material/undo:", key=key, type="tertiary", help=about):
        with then_rerun():
            undo_version(chosen)
            stay()
