"""Which intents of a set stand for "none of these"."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from emu_app.data.library import ChosenData, add_version, rows_of
from emu_app.shell.widgets import then_rerun
from emu_core.data.wording import counted, listed


def draw_none_of_these(chosen: ChosenData) -> None:
    """Ask which intents stand for "none of these", and save another answer as a new version of the set."""
    if chosen.is_demo:
        return
    taken, rows = chosen.audit.none_of_these, len(chosen.labelled.none_of_these)
    title = f"None of these ({counted(rows, 'row')})" if rows else "None of these"
    with st.expander(title, icon=":material/do_not_disturb_on:"):
        st.markdown(
            "Sentences that no intent fits, such as out_of_scope, are kept, but no intent is learnt from them. They "
            "show where the known intents end: below that, *Predict* says that no intent is known. Usual names are "
            "recognised."
        )
        wanted = st.multiselect(
            "Intents that stand for none of these",
            sorted({*chosen.labelled.intents, *taken}),
            taken,
            key=f"none-of-these-{chosen.token}",
        )
        if st.button(
            "Save as a new version",
            icon=":material/save:",
            disabled=set(wanted) == set(taken),
            key="save-none-of-these",
            help="This version is kept.",
        ):
            with then_rerun():
                change = f"intents that stand for none of these: {listed(wanted, 8) or 'no intent'}"
                add_version(_with_none_of_these(chosen, wanted), rows_of(chosen), change)


def _with_none_of_these(chosen: ChosenData, wanted: Sequence[str]) -> ChosenData:
    """Return a set whose next version has none but the `wanted` intents stand for "none of these"."""
    taken = set(chosen.audit.none_of_these)
    added, removed = set(wanted) - taken, taken - set(wanted)
    return replace(
        chosen,
        no_intents=tuple(sorted({*chosen.no_intents, *added} - removed)),
        real_intents=tuple(sorted({*chosen.real_intents, *removed} - added)),
    )
