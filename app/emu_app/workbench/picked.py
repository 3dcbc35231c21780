"""The sentences that are picked on the workbench: in the session, in the address, and beside the maps."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from emu_app.data.library import add_version
from emu_app.panels.context import Context, stay
from emu_app.panels.undo import draw_undo
from emu_app.shell.address import PICKED, choices_of_session, page_file, parameters, write
from emu_app.shell.session import Remembered
from emu_app.shell.widgets import MAX_TABLE_ROWS, choose, draw_csv_button, errors_shown, say_cut
from emu_app.workbench.picked_figures import PREDICTIONS, draw_figures, found_for, with_predictions
from emu_app.workbench.subject import Subject
from emu_core.data.intent_names import spelt_as
from emu_core.data.wording import counted

MOST_ADDRESSED = 30  # picked rows in the address
MOST_OWN = 30  # sentences that are compared with each other
OWN_SENTENCES = Remembered("own-sentences", "")  # those, one a line: a widget of the page Try
# Of a set, by its hash: the picked rows, and the one that is selected in their table.
_PICKED = Remembered[tuple[str, tuple[int, ...]]]("explore-picked", ("", ()))
_SELECTED = Remembered[tuple[str, int]]("explore-inspected", ("", -1))
_ADDRESS = Remembered("explore-picked-address", "")  # what the address says of the picked rows
_COLUMNS = {"text": "Sentence", "intent": "Intent", "language": "Language", "split": "Split", "id": "Id"}


def picked(data_sha: str) -> tuple[int, ...]:
    """Return the picked rows of a set, as they were picked last or as a link names them."""
    address = choices_of_session().get(PICKED, "")
    if address != _ADDRESS.get():  # by a link, or Back
        _ADDRESS.set(address)
        of, _, numbers = address.partition(".")
        named = [int(number) for number in numbers.split("-") if number.isdecimal()]
        _PICKED.set((data_sha, tuple(named)) if data_sha.startswith(of or "-") else ("", ()))
    of_data, rows = _PICKED.get()
    return rows if of_data == data_sha else ()


def pick(data_sha: str, rows: Sequence[int]) -> None:
    """Pick these rows of a set and no others, and write them into the address unless they are many."""
    distinct = tuple(dict.fromkeys(rows))
    _PICKED.set((data_sha, distinct))
    few = 0 < len(distinct) <= MOST_ADDRESSED
    _ADDRESS.set(f"{data_sha[:8]}.{'-'.join(map(str, distinct))}" if few else "")
    write(PICKED, _ADDRESS.get())


def take(rows: Sequence[int], now: Context) -> None:
    """Take rows of the set as the sentences that are compared on the page Try."""
    texts = now.chosen.labelled.frame["text"].iloc[list(rows)[:MOST_OWN]]
    OWN_SENTENCES.set("\n".join(" ".join(text.split()) for text in texts))


def inspected(data_sha: str, rows: tuple[int, ...]) -> int | None:
    """Return the one of the picked rows of a set that is selected in the table, or the only one."""
    of_data, row = _SELECTED.get()
    if of_data == data_sha and row in rows:
        return row
    return rows[0] if len(rows) == 1 else None


def draw_picked(rows: tuple[int, ...], subject: Subject | None, now: Context) -> None:
    """Draw the picked sentences with figures of just these; selecting a row in their table inspects it."""
    data_sha = now.chosen.sha256
    if not rows:
        draw_undo(now.chosen, "undo-change")
        return
    title, clear = st.columns([3, 2], vertical_alignment="center")
    title.markdown(f"**Picked: {counted(len(rows), 'sentence')}**")
    if clear.button("Clear", icon=":material/close:", width="stretch"):
        pick(data_sha, ())
        st.rerun(scope="fragment")
    if len(rows) > 1 and st.button("Compare these sentences", icon=":material/compare:", width="stretch"):
        take(rows, now)
        named = {"try": "Compare sentences", OWN_SENTENCES.key: OWN_SENTENCES.get()}
        st.switch_page(page_file("try"), query_params=parameters(**named))
    with st.popover("Relabel or drop", icon=":material/edit:", width="stretch"):
        _draw_changes(rows, now)
    if len(rows) == 1:
        return
    frame = now.chosen.labelled.frame  # a search picks sentences that are not drawn, too
    table = frame.loc[frame.index.isin(rows), list(_COLUMNS)].assign(row=lambda part: part.index)
    shown = [column for column in _COLUMNS if column not in ("split", "id") or (table[column] != "").any()]
    if subject is not None and subject.is_measured:
        found = found_for(table, subject)
        table = with_predictions(table, found)
        shown[2:2] = list(PREDICTIONS) if len(found) else []
        draw_figures(found, len(table), subject)

    def inspect() -> None:
        chosen = widget.get()["selection"]["rows"]
        _SELECTED.set((data_sha, int(table["row"].iloc[chosen[0]])) if chosen else ("", -1))

    widget = Remembered[Any](f"explore-table-{hash(rows)}", None)  # a new table has no selected row
    st.dataframe(
        table[shown].rename(columns=_COLUMNS).head(MAX_TABLE_ROWS),
        hide_index=True,
        on_select=inspect,
        selection_mode="single-row",
        key=widget.key,
        # So wide that sentence, intent and what both find are in view.
        column_config={"Sentence": st.column_config.TextColumn(width=150)}
        | {title: st.column_config.TextColumn(width=90) for title in ("Intent", *PREDICTIONS)},
        height="auto" if len(table) <= 6 else 240,
        row_height=28,
    )
    say_cut(table)
    draw_csv_button(table.drop(columns="row"), "emu-selection.csv", width="stretch")


def _draw_changes(rows: Sequence[int], now: Context) -> None:
    labelled, count = now.chosen.labelled, counted(len(rows), "sentence")
    intent = choose(
        f"Intent of the {count}",
        labelled.intents,
        f"explore-intent-{hash(rows)}",
        index=None,
        accept_new_options=True,
        placeholder="Choose one, or type another",
    )
    relabel, drop = st.columns(2)
    done = relabel.button("Relabel", icon=":material/label:", disabled=not intent, width="stretch")
    gone = drop.button("Drop", icon=":material/delete:", width="stretch")
    st.caption("Saved as a new version of the set; this version is kept.")
    if done or gone:
        with errors_shown():
            if done:  # a name that differs from a known one in case only is meant to be that
                intent = spelt_as(pd.Series([intent]), labelled.intents).iloc[0]
            changed = labelled.relabel(rows, intent) if done else labelled.drop(rows)
            add_version(
                now.chosen, changed, f"{count} relabelled as {intent}" if done else f"{count} dropped"
            )
            stay()
            st.rerun()
