"""Sentence triples: two sentences that look alike and two that mean the same, by both encoders."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from emu_app.data.boxes import ask_file, read_box
from emu_app.data.tables import read_triples
from emu_app.panels.context import A, B
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.session import Remembered
from emu_app.shell.widgets import KEPT, choose_one, draw_chart, draw_note, draw_table
from emu_app.work.cache import encoded
from emu_app.workbench.subject import Subject
from emu_core import charts
from emu_core.charts.style import short
from emu_core.data.wording import counted
from emu_core.evaluation.triples import Triple, triple, triple_cosines

_TEXTS = (
    Remembered("triple-1", "When does the pool open?"),
    Remembered("triple-2", "When does the shop open?"),
    Remembered("triple-3", "From what time can I go swimming?"),
)
_ROLES = ("S1", "S2: looks like S1", "S3: means what S1 means")
OWN = "Type three sentences"
ONE, FILE = "One sentence triple", "From a file"
MOST_TRIPLES = 5_000
_PICK, _ACROSS = Remembered("triple-pick", OWN), Remembered("triple-across", False)


def draw_triples(subject: Subject) -> None:
    """Draw one triple, typed or picked, or evaluate those of a file."""
    if choose_one("Sentence triples", [ONE, FILE], "triples-from", label_visibility="collapsed") == ONE:
        _draw_one(subject)
    else:
        _draw_file(subject)


def _draw_file(subject: Subject) -> None:
    name, payload = ask_file(
        "A table with the columns s1, s2 (looks like s1) and s3 (means the same as s1); optionally language and "
        "language_s3",
        "triples-file",
    )
    table: pd.DataFrame | None = read_box(read_triples, name, payload) if name else None
    if table is None:
        return
    if len(table) > MOST_TRIPLES:
        draw_note(f"The first {MOST_TRIPLES:,} of {len(table):,} sentence triples are evaluated.")
        table = table.head(MOST_TRIPLES)
    vectors = encoded(subject.specs, "", [*table["s1"], *table["s2"], *table["s3"]])
    if vectors is None:
        return
    for name, cosines in vectors.items():
        looks, means = triple_cosines(*np.split(np.asarray(cosines), 3))[:, :2].T
        table[f"{name} right"] = means > looks
        table[f"{name} s1-s2"], table[f"{name} s1-s3"] = looks, means
    counts = ", ".join(f"**{name}** {table[f'{name} right'].sum():,}" for name in vectors)
    st.markdown(
        f"Right of {counted(len(table), 'sentence triple')}: {counts}. A sentence triple is right if S3 is nearer to "
        "S1 than S2 is."
    )
    languages = [column for column in ("language", "language_s3") if column in table]
    if languages:
        by = table.groupby(languages)[[f"{name} right" for name in vectors]].agg(["sum", "size"])
        by = by.droplevel(0, axis=1).iloc[:, [0, 2, 1]].set_axis([*vectors, "Sentence triples"], axis=1)
        st.dataframe(by.reset_index(), hide_index=True, key="triples-languages")
    three = st.column_config.NumberColumn(format="%.3f")
    columns = {column: three for column in table if " s1-" in column}
    draw_table(table, "triples-table", "emu-triples.csv", columns)


def _draw_one(subject: Subject) -> None:
    st.markdown(
        "An encoder that follows the words puts *S1* next to *S2*, which looks like it; one that follows the intent "
        "puts it next to *S3*, which means the same.",
        help=help_on(Word.TRIPLE),
    )
    words, picture = st.columns([2, 3], gap="medium")
    with words:
        _draw_suggestions(subject)
        typed = []
        for text, role in zip(_TEXTS, _ROLES, strict=True):
            if not text.is_set:
                text.set(text.first)
            typed.append(st.text_area(role, key=text.key, max_chars=1000, height="content", **KEPT))
    texts = tuple(" ".join(text.split()) for text in typed)
    with picture:
        if not all(texts):
            draw_note("Type all three sentences.")
            return
        vectors = subject.of_texts(texts)
        if vectors is not None:
            _draw_cosines(texts, {name: triple(three) for name, three in vectors.items()})


def _draw_suggestions(subject: Subject) -> None:
    """Offer triples of the data on which encoder A follows the words."""
    if not subject.is_measured:
        return
    rows = _suggested(subject, across=_ACROSS.get())

    def name(option: str) -> str:
        if option == OWN:
            return OWN
        row = rows[option]
        return f"{short(row['s1'], 60)} ({short(row['intent'], 30)}, not {short(row['intent_s2'], 30)})"

    def fill_in() -> None:
        offered = _suggested(subject, across=_ACROSS.get())
        if _PICK.get() not in (OWN, *offered):  # only in the other list, which is longer
            _PICK.set(next(iter(offered), OWN))
        if (row := offered.get(_PICK.get())) is not None:
            for text, column in zip(_TEXTS, ("s1", "s2", "s3"), strict=True):
                text.set(row[column])

    alone = len(subject.comparison.languages) < 2
    st.toggle("S3 in another language", key=_ACROSS.key, disabled=alone, on_change=fill_in, **KEPT)
    st.selectbox(
        "From the data: sentences that encoder A confuses",
        [OWN, *rows],
        format_func=name,
        key=_PICK.key,
        on_change=fill_in,
        help=help_on(
            Word.TRIPLE, text="S2 has another intent than S1 and S3, but encoder A puts it nearer to S1."
        ),
    )
    if not rows:
        st.caption("Encoder A confuses no two intents here, so there is nothing to suggest.")


def _suggested(subject: Subject, *, across: bool) -> dict[str, dict[str, Any]]:
    """Return the triples of the data by number; with `across`, S3 is in another language."""
    triples = subject.comparison.triples(across_languages=across).to_dict("records")
    return {str(number): row for number, row in enumerate(triples)}


def _draw_cosines(texts: tuple[str, ...], triples: dict[str, Triple]) -> None:
    base, new = triples[A], triples[B]
    if base.closest == new.closest:
        verdict = f"Both encoders put **{_pair(base)}** closest."
    else:
        verdict = f"A puts **{_pair(base)}** closest, B **{_pair(new)}**."
    st.markdown(verdict)
    cosines = {name: three.cosines for name, three in triples.items()}
    draw_chart(
        charts.triple_picture(cosines, (texts[0], texts[1], texts[2])),
        "triple-picture",
        f"Triangles of the three sentences by both encoders. {verdict} The table below has the similarities.",
    )
    pairs = ["S1 and S2", "S1 and S3", "S2 and S3"]
    table = pd.DataFrame({"Sentences": pairs, **cosines})
    table["Change"] = (table[B] - table[A]).round(3) + 0.0  # no negative zero
    three = st.column_config.NumberColumn(format="%.3f")
    change = st.column_config.NumberColumn(format="%+.3f")
    st.dataframe(table, hide_index=True, column_config={A: three, B: three, "Change": change})
    st.caption("Similarities. The sides of the triangles show the distances.", help=help_on(Word.COSINE))


def _pair(three: Triple) -> str:
    return f"S{three.closest[0]} and S{three.closest[1]}"
