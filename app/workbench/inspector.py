"""The inspector: a typed or picked sentence with its predictions and neighbours by each encoder."""

import numpy as np
import streamlit as st

from emu_app.panels.context import A, B, Context
from emu_app.shell.address import draw_link
from emu_app.shell.widgets import KEPT
from emu_app.shell.wording import literal
from emu_app.workbench.maps import TRIED, draw_picked, inspected, picked
from emu_app.workbench.predict import answers, draw_answer, draw_neighbours
from emu_app.workbench.subject import Space, Subject
from emu_core.data.cleaning import cleaned
from emu_core.data.labelled.repeats import sentence_groups
from emu_core.data.languages import language_name
from emu_core.data.wording import counted
from emu_core.evaluation.retrieval import nearest

_NEIGHBOURS = 10


def draw_inspector(space: Space, subject: Subject | None, now: Context) -> None:
    """Ask for a sentence and draw it, or the one picked on the maps, or an example of what B got right."""
    label, example = "Try a sentence", "In any language"
    if typed := cleaned(st.text_input(label, placeholder=example, max_chars=1_000, key=TRIED, **KEPT)):
        answers_by_encoder = answers(now, [typed]) or {}
        for (name, (table, facts)), title in zip(answers_by_encoder.items(), now.titles, strict=False):
            draw_answer(title, table.iloc[0], facts, f"nearest-{name}")
        return
    draw_picked(space.points, now)
    places = np.flatnonzero(space.points["row"].to_numpy() == inspected(now.chosen.sha256))
    if len(places):
        _draw_picked(int(places[0]), space, now)
        return
    if picked(now.chosen.sha256):
        st.caption("Select a row for its nearest neighbours.")
        return
    st.caption("Or click a point on a map, or draw around several with *Lasso*: they appear here.")
    if now.chosen.is_demo:
        draw_link("views/data.py", "Use my own file", ":material/upload_file:")
    if subject is not None and subject.is_measured:
        _draw_flipped(subject)


def _draw_flipped(subject: Subject) -> None:
    """Draw a triple that A gets wrong and B gets right, if there is one."""
    triples = subject.comparison.triples()
    flipped = triples[(triples["base_closest"] == "1-2") & (triples["other_closest"] == "1-3")]
    if flipped.empty:
        return
    row = flipped.iloc[(flipped["language"] != "en").argsort(kind="stable")].iloc[0]
    st.markdown("**A triple that B gets right**")
    st.markdown(f"*{literal(row['s1'], 120)}* ({literal(row['intent'], 60)})")
    for mark, name, near, cosine in (("✗", A, "s2", "base_s12"), ("✓", B, "s3", "other_s13")):
        text = literal(row[near], 120)
        st.markdown(f"{mark} {name} puts it next to **{text}** (cosine {row[cosine]:.2f})")
    st.caption(
        f"B gets {len(flipped):,} of the {counted(len(triples), 'triple')} right that A gets wrong: see "
        "*Sentence triples* below."
    )


def _draw_picked(row: int, space: Space, now: Context) -> None:
    """Draw a picked sentence's nearest neighbours among the N points, by each encoder's vectors (N, dim)."""
    sentence = space.points.iloc[row]
    st.markdown(f"**{literal(sentence['text'], 300)}**")
    st.caption(f"{literal(sentence['intent'], 60)}, {literal(language_name(sentence['language']))}")
    without = st.toggle("Leave out its translations", value=True, key="explore-no-translations", **KEPT)
    groups = sentence_groups(space.points if without else space.points.assign(id=""))  # never its repeats
    for (name, vectors), title in zip(space.vectors.items(), now.titles, strict=True):
        neighbours = nearest(vectors, [row], _NEIGHBOURS, groups)
        is_neighbour = neighbours.rows[0] >= 0
        near = space.points.iloc[neighbours.rows[0][is_neighbour]]
        same = int((near["intent"] == sentence["intent"]).sum())
        st.markdown(f"{literal(title)}: {same} of {len(near)} have the same intent")
        table = near[["text", "intent", "language"]].assign(cosine=neighbours.cosines[0][is_neighbour])
        draw_neighbours(table, sentence["intent"], f"neighbours-{name}")
