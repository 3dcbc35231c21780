"""Maps of the embeddings: translations of two languages, or a few templates of one intent."""

import hashlib
import json
from collections.abc import Sequence
from typing import cast

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from app.background import Done
from app.encoders import computed
from app.explore.downloads import draw_downloads
from app.panels.widgets import draw_csv_button
from app.split.parts import NAMES, encoded_parts, parts_of
from app.vectors import weights_of
from app.wording import literal
from emu_core import charts
from emu_core.api.split import (
    MOST_PAIRS,
    NAMED,
    OTHERS,
    TEMPLATES,
    Pool,
    intents_with_templates,
    language_pairs,
    pairs_of,
    points_of,
    template_sample,
)
from emu_core.charts.marks import ColourBy
from emu_core.data.languages import language_name, ordered
from emu_core.data.slots.utterances import Utterance
from emu_core.data.wording import counted
from emu_core.encoders.base import FloatArray
from emu_core.evaluation.projection import FEWEST, Projection, project
from emu_core.models.parts import Part

TRANSLATIONS, FEW_TEMPLATES = "Translations of two languages", "A few templates of one intent"
MOST_MAPS = 3  # more would be too narrow


def choose_kind() -> str:
    """Ask for what kind of sentences the maps show."""
    kind: str = st.segmented_control(
        "Maps of",
        [TRANSLATIONS, FEW_TEMPLATES],
        default=TRANSLATIONS,
        required=True,
        key="split-map-kind",
        persist_state="session",
    )
    return kind


def draw_maps(spec: str, kind: str, pool: Pool, vectors: FloatArray) -> None:
    """Draw the choice of sentences and embeddings, and the maps.

    Args:
        spec: "run:DIR".
        kind: from `choose_kind`.
        pool: N sentences.
        vectors: (P, N, dim), their embeddings.
    """
    parts = parts_of(vectors)
    if kind == TRANSLATIONS:
        rows = _translations(pool)
        if rows:
            wanted, colour_by = _controls(parts, (Part.LANGUAGE, Part.MEANING), "language")
            _draw(spec, parts, wanted, colour_by, [pool.utterances[row] for row in rows], vectors[:, rows])
        return
    sentences = _templates(pool)
    if sentences:
        found = encoded_parts(spec, "", [one.text for one in sentences])
        if found is not None:
            wanted, colour_by = _controls(parts, (Part.MEAN, Part.TEMPLATE), "template")
            _draw(spec, parts, wanted, colour_by, sentences, found)


def _translations(pool: Pool) -> list[int]:
    """Ask for two languages; the rows of their translations."""
    pairs = language_pairs(pool, FEWEST)
    if not pairs:
        st.info(
            f"No two languages have {FEWEST} translations here: translations are found by the column id.",
            icon=":material/link_off:",
        )
        return []
    first, second = st.selectbox(
        "Languages",
        pairs,
        format_func=lambda pair: " and ".join(map(language_name, pair)),
        key=f"split-map-pair-{pool.key}",
        persist_state="session",
    )
    rows = pairs_of(pool, first, second)
    most = ", the most that are drawn, as in the paper's Figure 4" if len(rows) == 2 * MOST_PAIRS else ""
    st.caption(f"{counted(len(rows) // 2, 'pair')} of translations{most}.")
    return rows


def _templates(pool: Pool) -> list[Utterance]:
    """Ask for a language and an intent; sentences of a few of its templates."""
    languages = {
        code: found
        for code in ordered(pool.frame["language"])
        if (found := intents_with_templates(pool, code))
    }
    if not languages:
        st.info(
            f"No intent has {TEMPLATES} sentences with different templates: slots are read from the column annotated, "
            "such as 'wake me up at [time : five am]'.",
            icon=":material/data_object:",
        )
        return []
    where, what = st.columns([1, 2])
    language = where.selectbox(
        "Language",
        list(languages),
        format_func=language_name,
        key=f"split-few-{pool.key}",
        persist_state="session",
    )
    intent = what.selectbox(
        "Intent", languages[language], key=f"split-few-{pool.key}-{language}", persist_state="session"
    )
    sentences, made = _sampled(pool.key, pool, language, intent)
    note = (
        f"; {made} of them made by putting values that the slots have elsewhere into a template"
        if made
        else ""
    )
    st.caption(
        f"{counted(len(sentences), 'sentence')} of {TEMPLATES} templates, as in the paper's Figure 4c{note}."
    )
    return sentences


@st.cache_data(max_entries=16, show_spinner="Choosing templates ...")
def _sampled(key: str, _pool: Pool, language: str, intent: str) -> tuple[list[Utterance], int]:
    return template_sample(_pool, language, intent)


def _controls(
    parts: Sequence[Part], first: Sequence[Part], colour_first: ColourBy
) -> tuple[list[Part], ColourBy]:
    """Ask which embeddings are drawn, and what the colours say."""
    which, how = st.columns([3, 2])
    default = [part for part in first if part in parts]
    wanted = which.multiselect(
        "Embeddings",
        list(parts),
        default=default,
        max_selections=MOST_MAPS,
        format_func=NAMES.__getitem__,
        key=f"split-map-parts-{'-'.join(default)}-{len(parts)}",
        persist_state="session",
    )
    colour_by = how.segmented_control(
        "Colour by",
        ["language", "intent", "template"],
        default=colour_first,
        required=True,
        key=f"split-map-colour-{colour_first}",
        persist_state="session",
    )
    return wanted, cast(ColourBy, colour_by)


def _draw(
    spec: str,
    parts: Sequence[Part],
    wanted: Sequence[Part],
    colour_by: ColourBy,
    sentences: Sequence[Utterance],
    vectors: FloatArray,
) -> None:
    """Draw the maps of N sentences, by their vectors (P, N, dim)."""
    if not wanted:
        st.info("Choose an embedding.", icon=":material/scatter_plot:")
        return
    digest = hashlib.sha256(json.dumps([[one.language, one.text] for one in sentences]).encode()).hexdigest()
    panels: dict[str, NDArray[np.float32]] = {}
    for part in wanted:
        outcome = computed(
            f"split-map:{weights_of(spec)}:{part}:{digest}",
            f"{literal(NAMES[part])}: t-SNE of {counted(len(sentences), 'sentence')} (some seconds)",
            project,
            np.ascontiguousarray(vectors[list(parts).index(part)]),
            Projection.TSNE,
        )
        if not isinstance(outcome, Done):
            return
        panels[NAMES[part]] = outcome.value
    points = points_of(sentences)
    st.plotly_chart(
        charts.sentence_maps(panels, points, colour_by),
        key="split-map",
        config={"scrollZoom": True, "displaylogo": False},
        alt=f"t-SNE of {', '.join(panels)}: {len(points)} sentences, coloured by {colour_by}.",
    )
    if colour_by == "template" and OTHERS in set(points["template"]):
        st.caption(
            f"The {NAMED} most frequent templates have a colour of their own; a translation has its original's."
        )
    draw_downloads(panels, points, colour_by, frozenset(), "emu-split")
    table = points.drop(columns="row")
    for name, places in panels.items():
        table[[f"{name} x", f"{name} y"]] = places
    draw_csv_button(table, (weights_of(spec), digest, tuple(panels)), "emu-split-map.csv", key="map-csv")
