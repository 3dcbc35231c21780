"""Compare sentences: how alike one's own sentences are by each encoder, and which triples of a file each has right."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from emu_app.data.boxes import ask_file, read_box
from emu_app.data.tables import read_triples
from emu_app.panels.context import A, B, Context
from emu_app.panels.maps import FIRST_POINTS, sample
from emu_app.shell.address import is_in_address
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.session import Remembered
from emu_app.shell.widgets import (
    ADDRESSED,
    KEPT,
    choose_one,
    draw_chart,
    draw_note,
    draw_table,
    roomy_columns,
)
from emu_app.shell.wording import literal
from emu_app.work.cache import encoded, stored_vectors
from emu_app.work.vectors import weights_of
from emu_app.workbench.picked import MOST_OWN, OWN_SENTENCES, picked, take
from emu_core import charts
from emu_core.api.compare import splits_of
from emu_core.charts.style import short
from emu_core.data.cleaning import cleaned
from emu_core.data.repeats import sentence_groups
from emu_core.data.sets import LabelledSet
from emu_core.data.wording import counted
from emu_core.encoders.base import FloatArray
from emu_core.evaluation.comparison import TRIPLES
from emu_core.evaluation.significance import accuracy_interval
from emu_core.evaluation.similarity import cosine_matrix
from emu_core.evaluation.triples import Triple, suggest_triples, triple, triple_cosines

_EXAMPLE = "When does the pool open?\nWhen does the shop open?\nFrom what time can I go swimming?"
TYPED, FILE = "Type or paste", "A file of sentence triples"
OWN = "Your own"
MOST_TRIPLES = 5_000
_PICK, _ACROSS = Remembered("triple-pick", OWN), Remembered("triple-across", False)
_PAIRS = ("S1 and S2", "S1 and S3", "S2 and S3")


def draw_compare_sentences(now: Context) -> None:
    """Draw sentences that are typed, pasted or picked on a map, or evaluate the triples of a file."""
    if choose_one("Sentences from", [TYPED, FILE], "own-from", label_visibility="collapsed") == FILE:
        _draw_file(now)
        return
    with st.container(key="own-columns"):
        words, picture = st.columns([2, 3], gap="medium")
    with words:
        _draw_sources(now)
        if not (OWN_SENTENCES.is_set or is_in_address(OWN_SENTENCES.key)):
            OWN_SENTENCES.set(_EXAMPLE)
        with st.container(key="own-box"):
            typed = st.text_area(
                "One sentence a line", key=OWN_SENTENCES.key, max_chars=3_000, height=150, **ADDRESSED
            )
        st.caption(
            "Two sentences or more. Of three, S2 looks like S1, and S3 means what S1 means. The address is a link "
            "to them.",
            help=help_on(Word.TRIPLE, Word.COSINE),
        )
    lines = [text for line in typed.splitlines() if (text := cleaned(line))]
    texts = lines[:MOST_OWN]
    with picture:
        if len(lines) > MOST_OWN:
            draw_note(f"The first {MOST_OWN} of {len(lines):,} sentences are compared.")
        if len(texts) < 2:
            draw_note("Type two sentences or more.")
            return
        vectors = encoded(now.specs, "", texts)
        if vectors is None:
            return
        if len(texts) == 3:
            _draw_triple(texts, {name: triple(three) for name, three in vectors.items()}, now)
        elif len(texts) == 2:
            _draw_pair({name: float(cosine_matrix(pair)[0, 1]) for name, pair in vectors.items()}, now)
        else:
            _draw_matrices(texts, vectors, now)
    if len(texts) == 3:
        _draw_matrices(texts, vectors, now)


def _draw_sources(now: Context) -> None:
    """Offer the sentences that are picked on a map, and triples of the data on which encoder A follows the words."""
    if rows := picked(now.chosen.sha256):
        st.button(
            f"Take the {counted(len(rows), 'sentence')} picked on the map",
            icon=":material/colorize:",
            on_click=take,
            args=(rows, now),
        )
    offered = _suggested(now, across=_ACROSS.get())
    if offered is None:
        return

    def name(option: str) -> str:
        if option == OWN:
            return OWN
        s1, _, _, intent, other = offered[option]
        return f"{short(s1, 60)} ({short(intent, 30)}, not {short(other, 30)})"

    def fill_in() -> None:
        known = _suggested(now, across=_ACROSS.get()) or {}
        if _PICK.get() not in (OWN, *known):  # only in the other list, which is longer
            _PICK.set(next(iter(known), OWN))
        if (row := known.get(_PICK.get())) is not None:
            OWN_SENTENCES.set("\n".join(row[:3]))

    st.selectbox(
        "From the data: sentences that encoder A confuses",
        [OWN, *offered],
        format_func=name,
        key=_PICK.key,
        on_change=fill_in,
        help=help_on(
            Word.TRIPLE, text="S2 has another intent than S1 and S3, but encoder A puts it nearer to S1."
        ),
    )
    alone = len(now.chosen.labelled.languages) < 2
    st.toggle("S3 in another language", key=_ACROSS.key, disabled=alone, on_change=fill_in, **KEPT)


def _suggested(now: Context, *, across: bool) -> dict[str, tuple[str, str, str, str, str]] | None:
    """Return triples of the measured sentences by number: three texts, the intent of S1 and S3, and that of S2.

    They are found where A's vectors of the data are there already, as on the page Compare; None elsewhere.
    """
    points = sample(now.chosen.labelled, FIRST_POINTS)
    vectors = stored_vectors({A: now.specs[A]}, now.chosen.sha256, points["text"].tolist())
    if A not in vectors:
        return None
    key = f"{weights_of(now.specs[A])}:{now.chosen.sha256}:{now.on}:{across}"
    return _found(key, now.chosen.labelled, points, vectors[A], now.on, across=across)


@st.cache_data(max_entries=16, show_spinner=False)
def _found(
    key: str, _labelled: LabelledSet, _points: pd.DataFrame, _vectors: FloatArray, split: str, *, across: bool
) -> dict[str, tuple[str, str, str, str, str]]:
    measured = _labelled.selected(splits=splits_of(_labelled, split))[_points["row"].to_numpy()]
    frame = _points[measured]
    texts, intents, languages = (frame[column].tolist() for column in ("text", "intent", "language"))
    groups, rng = sentence_groups(frame), np.random.default_rng(0)
    given = (_vectors[measured], intents, texts, languages, groups, TRIPLES, rng)
    return {
        str(number): (texts[s1], texts[s2], texts[s3], intents[s1], intents[s2])
        for number, (s1, s2, s3) in enumerate(suggest_triples(*given, across_languages=across).tolist())
    }


def _draw_triple(texts: Sequence[str], triples: Mapping[str, Triple], now: Context) -> None:
    """Draw which encoder is right, the triangles, and the cosines."""
    verdict = _verdict(triples)
    # The last encoder is the specialised one.
    is_right = list(triples.values())[-1].is_right
    draw, icon = (st.success, ":material/check:") if is_right else (st.error, ":material/close:")
    draw(f"**{verdict}**", icon=icon)
    titles = dict(zip(triples, now.titles, strict=True))
    for name, three in triples.items():
        nearer, further = ("S3", "S2") if three.is_right else ("S2", "S3")
        first, second = sorted((three.s12, three.s13), reverse=True)
        is_tie = not three.is_right and three.s13 >= three.s12
        what = f"{nearer} is nearer to S1 ({first:.2f}) than {further} ({second:.2f})"
        st.caption(f"{literal(titles[name])}: {'S2 and S3 are as near to S1' if is_tie else what}.")
    cosines = {titles[name]: three.cosines for name, three in triples.items()}
    draw_chart(
        charts.triple_picture(cosines, (texts[0], texts[1], texts[2])),
        "triple-picture",
        f"Triangles of the three sentences by each encoder. {verdict} The table below has the similarities.",
    )
    table = pd.DataFrame({"Sentences": _PAIRS, **{name: three.cosines for name, three in triples.items()}})
    _draw_cosines(table)


def _verdict(triples: Mapping[str, Triple]) -> str:
    """Return who is right, in a sentence."""
    right = [name for name, three in triples.items() if three.is_right]
    wrong = [name for name in triples if name not in right]
    if len(triples) > 1 and not (right and wrong):
        return f"Both encoders are {'right' if right else 'wrong'}."
    return ", ".join(f"{name} is {'right' if name in right else 'wrong'}" for name in triples) + "."


def _draw_pair(cosines: Mapping[str, float], now: Context) -> None:
    change = cosines[B] - cosines[A] if B in cosines else None
    for cell, (name, cosine), title in zip(
        roomy_columns(len(cosines), 200, "own-pair", border=True), cosines.items(), now.titles, strict=True
    ):
        delta = f"{change:+.3f}" if name == B and change is not None else None
        cell.metric(literal(title), f"{cosine:.3f}", delta, delta_color="off", help=help_on(Word.COSINE))


def _draw_cosines(table: pd.DataFrame) -> None:
    three, change = (st.column_config.NumberColumn(format=form) for form in ("%.3f", "%+.3f"))
    columns = {name: three for name in (A, B) if name in table}
    if B in table:
        table["Change"] = (table[B] - table[A]).round(3) + 0.0  # no negative zero
        columns["Change"] = change
    st.dataframe(table, hide_index=True, column_config=columns, key="own-cosines")


def _draw_matrices(texts: Sequence[str], vectors: Mapping[str, FloatArray], now: Context) -> None:
    """Draw the cosines of all sentences by each encoder and their difference, in the order in which they are typed."""
    cosines = {name: cosine_matrix(of) for name, of in vectors.items()}
    span = (float(min(values.min() for values in cosines.values())), 1.0)
    figures = {
        title: charts.similarity_matrix(values, texts, title, span)
        for title, values in zip(now.titles, cosines.values(), strict=True)
    }
    if B in cosines:
        figures["Difference"] = charts.similarity_change(cosines[B] - cosines[A], texts, "B - A")
    for number, (column, (title, figure)) in enumerate(
        zip(roomy_columns(len(figures), 300, "own-matrices"), figures.items(), strict=True)
    ):
        alt = f"Heat map of the similarities of {len(texts)} sentences: {title}."
        draw_chart(figure, f"own-matrix-{number}", alt, container=column)
    shown = pd.DataFrame({"Number": range(1, len(texts) + 1), "Sentence": texts})
    st.dataframe(shown, hide_index=True, key="own-list")


def _draw_file(now: Context) -> None:
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
    vectors = encoded(now.specs, "", [*table["s1"], *table["s2"], *table["s3"]])
    if vectors is None:
        return
    for name, of in vectors.items():
        looks, means = triple_cosines(*np.split(np.asarray(of), 3))[:, :2].T
        table[f"{name} right"] = means > looks
        table[f"{name} s1-s2"], table[f"{name} s1-s3"] = looks, means
    _draw_scores(table, vectors, now)
    three = st.column_config.NumberColumn(format="%.3f")
    columns = {column: three for column in table if " s1-" in column}
    draw_table(table, "triples-table", "emu-triples.csv", columns)


def _draw_scores(table: pd.DataFrame, vectors: Mapping[str, Any], now: Context) -> None:
    """Draw how many triples each encoder has right, with the interval of the share, and by language."""
    cells = roomy_columns(len(vectors), 260, "triple-scores", border=True)
    for cell, name, title in zip(cells, vectors, now.titles, strict=True):
        right: NDArray[np.bool_] = table[f"{name} right"].to_numpy()
        share = accuracy_interval(right)
        cell.metric(
            f"{literal(title)}: right",
            f"{int(right.sum()):,} of {len(right):,}",
            f"{100 * right.mean():.1f} %, 95 % interval {share.low:.1f} to {share.high:.1f}",
            delta_color="off",
            delta_arrow="off",
        )
    st.caption(
        "A sentence triple is right if S3 is nearer to S1 than S2 is.", help=help_on(Word.TRIPLE, Word.CLEAR)
    )
    languages = [column for column in ("language", "language_s3") if column in table]
    if languages:
        by = (
            table.groupby(languages)[[f"{name} right" for name in vectors]].sum().set_axis([*vectors], axis=1)
        )
        by["Sentence triples"] = table.groupby(languages).size()
        st.dataframe(by.reset_index(), hide_index=True, key="triples-languages")
