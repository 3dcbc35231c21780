"""Compare: what a specialised encoder does better than its base, and where it does worse."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from app.background import Done
from app.cache import encoded, outcome_of
from app.forms.encoder import BASE, NEW, encoder_specs
from app.panels.accuracy import draw_accuracy
from app.panels.run_table import run_facts
from app.panels.widgets import (
    choose,
    choose_languages,
    draw_chart,
    draw_csv_button,
    draw_note,
    draw_notebook_button,
    errors_shown,
)
from app.state import chosen_data, run_picker, split_picker
from app.vectors import weights_of
from app.wording import literal, sentence
from emu_core import charts
from emu_core.api.compare import choose_rows, training_notes
from emu_core.api.forgetting import read_forgetting
from emu_core.charts import comparison_page
from emu_core.charts.intervals import ROW
from emu_core.charts.style import short
from emu_core.data.labelled import LabelledSet
from emu_core.data.languages import language_name
from emu_core.data.wording import counted
from emu_core.encoders.base import FloatArray
from emu_core.errors import DataError
from emu_core.evaluation.comparison import Change, Comparison
from emu_core.evaluation.forgetting import MOST_FALL_POINTS, MOST_FALL_SPEARMAN, PARTS, measure_name
from emu_core.evaluation.projection import stratified_sample
from emu_core.evaluation.similarity import cosine_matrix, heat_map_order
from emu_core.evaluation.triples import Triple, triple
from emu_core.runs.run import Run

KEYS = ("triple-1", "triple-2", "triple-3")
EXAMPLE = ("When does the pool open?", "When does the shop open?", "From what time can I go swimming?")
ROLES = ("S1", "S2: looks like S1", "S3: means what S1 means")
OWN = "Type three sentences"
_PICK = "triple-pick"
MOST_CHOSEN = 30  # sentences chosen
MOST_OFFERED = 3_000
MOST_CHANGES = 1_000  # shown; the download has them all
# Headings and widths in pixels, which have both neighbours in view.
_TEXTS = {
    "change": ("Change", 70),
    "sentence": ("Sentence", 215),
    "intent": ("Intent", 155),
    "base_neighbour": ("Base: nearest", 215),
    "base_intent": ("Base: its intent", 155),
    "other_neighbour": ("Specialised: nearest", 215),
    "other_intent": ("Specialised: its intent", 155),
    "language": ("Language", 90),
    "base_language": ("Base: language", 90),
    "other_language": ("Specialised: language", 90),
}
_COSINES = {"base_cosine": "Base: cosine", "other_cosine": "Specialised: cosine"}
ANYWHERE = "any language"
MOST_BARS = 20  # of a chart in view; a taller one scrolls


def page() -> None:
    """Draw the page."""
    st.title("Compare")
    st.caption("A specialised encoder against the base it was trained from, on the same sentences.")
    run = run_picker()
    if run is None:
        return
    with errors_shown():  # of a damaged run folder
        draw_comparison(run)


def draw_comparison(run: Run) -> None:
    """Draw everything about one run."""
    st.caption(run_facts(run))
    specs = encoder_specs(run)
    chosen = choose_part(run)
    if chosen is None or specs is None:
        return
    part, key, of_data = chosen
    vectors = encoded(specs, key, part.frame["text"].tolist())
    if vectors is None:
        return
    comparison = Comparison(part.frame, vectors[BASE], vectors[NEW], (BASE, NEW))
    outcome = outcome_of(
        f"compare:{key}:{':'.join(map(weights_of, specs.values()))}",
        f"Finding the nearest neighbours of {counted(len(part), 'sentence')}",
        Comparison.computed,
        comparison,
    )
    if outcome is None:
        return
    if isinstance(outcome, Done):
        comparison.with_computed(outcome.value)
    subject = Subject(specs, key, comparison, isinstance(outcome, Done))
    accuracy, triples, similarity, neighbours, forgetting = st.tabs(
        ["Accuracy", "Sentence triples", "Similarity", "Changed neighbours", "Forgetting"],
        key="compare-tab",
        on_change="rerun",
    )
    with accuracy:
        if accuracy.open and subject.is_measured:
            draw_accuracy(comparison, (key, *subject.weights))
    with triples:
        if triples.open:
            draw_triples(subject)
    with similarity:
        if similarity.open:
            draw_similarity(subject)
    with neighbours:
        if neighbours.open and subject.is_measured:
            draw_neighbours(subject)
    with forgetting:
        if forgetting.open and not run.config().encoder:
            draw_note(
                "An encoder that was trained from scratch has no base of which it could have forgotten anything; "
                "specialise it, and look at that run."
            )
        elif forgetting.open:
            draw_forgetting(run)
    if subject.is_measured:
        st.download_button(
            "Download everything as one page",
            lambda: comparison_page(comparison),
            file_name=f"emu-{run.name}.html",
            mime="text/html",
            icon=":material/download:",
            on_click="ignore",
            help="With interactive charts, for a browser without a network.",
        )
        if run.config().encoder:
            draw_notebook_button(run.name, run.config(), run.folder, **of_data)


@dataclass(frozen=True, eq=False)
class Subject:
    """Two encoders on some sentences."""

    specs: dict[str, str]  # what `load_encoder` takes, by the encoder's name, the base first
    key: str  # of the data and rows, so that other data begin with choices of their own
    comparison: Comparison  # of the two encoders
    is_measured: bool  # whether accuracy, leakage and neighbours can be measured on these sentences

    @property
    def weights(self) -> tuple[str, ...]:
        """The fingerprints of both encoders' weights."""
        return tuple(map(weights_of, self.specs.values()))

    def of_texts(self, texts: Sequence[str]) -> dict[str, FloatArray] | None:
        """Return both encoders' vectors (len(texts), dim), or None while those of typed texts are being computed."""
        wanted = set(texts)
        found = {text: row for row, text in enumerate(self.comparison.sentences["text"]) if text in wanted}
        typed = sorted(wanted - found.keys())
        fresh = encoded(self.specs, "", typed) if typed else {}
        if fresh is None:
            return None
        place = {text: i for i, text in enumerate(typed)}
        both = zip(self.specs, (self.comparison.base, self.comparison.other), strict=True)
        return {
            name: np.stack([vectors[found[t]] if t in found else fresh[name][place[t]] for t in texts])
            for name, vectors in both
        }


def choose_part(run: Run) -> tuple[LabelledSet, str, dict[str, Any]] | None:
    """Draw the choice of split and languages; return the sentences, a key for them and what was chosen, or None."""
    chosen = chosen_data()
    labelled, prefix = chosen.labelled, f"compare-{chosen.sha256[:12]}"
    which, whose = st.columns([1, 3])
    explanation = "Only sentences that the encoder was not trained on show how good it is on new ones."
    split = split_picker("Rows", f"{prefix}-split", explanation, which)
    languages = choose_languages(
        "Languages", labelled.languages, f"{prefix}-languages", place=whose, placeholder="All languages"
    )
    try:
        part, sampled = choose_rows(labelled, split, languages)
    except DataError as error:
        st.warning(sentence(error), icon=":material/filter_alt_off:")
        return None
    notes = training_notes(run, labelled, split, sha256=chosen.sha256, title=chosen.title)
    for note in (*notes, *sampled):
        draw_note(literal(note))
    of_data = {"is_demo": chosen.is_demo, "split": split, "languages": languages}
    return part, f"{chosen.sha256}:{split}:{','.join(languages)}", of_data


def draw_triples(subject: Subject) -> None:
    """Let a person type or pick three sentences and draw both encoders' cosines."""
    st.markdown(
        "An encoder that goes by the words puts *S1* next to *S2*, which looks like it; one that goes by the intent "
        "puts it next to *S3*, which means the same."
    )
    words, picture = st.columns([2, 3], gap="medium")
    with words:
        _draw_suggestions(subject)
        for key, role, text in zip(KEYS, ROLES, EXAMPLE, strict=True):
            st.session_state.setdefault(key, text)
            st.text_area(role, key=key, max_chars=1000, height="content", persist_state="session")
    texts = tuple(" ".join(str(st.session_state[key]).split()) for key in KEYS)
    with picture:
        if not all(texts):
            st.info("Type all three sentences.", icon=":material/edit:")
            return
        vectors = subject.of_texts(texts)
        if vectors is not None:
            _draw_cosines(texts, {name: triple(three) for name, three in vectors.items()})


def _draw_suggestions(subject: Subject) -> None:
    """Offer triples of the data on which the base encoder goes by the words."""
    if not subject.is_measured:
        return
    across = st.toggle(
        "S3 in another language",
        key="triple-across",
        persist_state="session",
        disabled=len(subject.comparison.languages) < 2,
    )
    triples = subject.comparison.triples(across_languages=across).to_dict("records")
    rows = {str(place): row for place, row in enumerate(triples)}

    def name(option: str) -> str:
        if option == OWN:
            return OWN
        row = rows[option]
        return f"{short(row['s1'], 60)} ({short(row['intent'], 30)}, not {short(row['intent_s2'], 30)})"

    def fill_in() -> None:
        option = st.session_state[_PICK]
        if option in rows:
            for key, column in zip(KEYS, ("s1", "s2", "s3"), strict=True):
                st.session_state[key] = rows[option][column]

    st.selectbox(
        "From the data: sentences that the base encoder takes for each other",
        [OWN, *rows],
        format_func=name,
        key=_PICK,
        on_change=fill_in,
        help="S2 has another intent than S1 and S3, and yet the base encoder puts it nearer to S1.",
    )
    if not rows:
        st.caption("The base encoder takes no two intents for each other here: there is nothing to suggest.")


def _draw_cosines(texts: tuple[str, ...], triples: dict[str, Triple]) -> None:
    base, new = triples[BASE], triples[NEW]
    if base.closest == new.closest:
        verdict = f"Both encoders put **{_pair(base)}** closest."
    else:
        verdict = f"The base encoder puts **{_pair(base)}** closest, the specialised one **{_pair(new)}**."
    st.markdown(verdict)
    figure = charts.triple_picture(
        {name: three.cosines for name, three in triples.items()},
        (texts[0], texts[1], texts[2]),
    )
    draw_chart(
        figure,
        "triple-picture",
        f"Triangles of the three sentences by both encoders. {verdict} The table below has the cosines.",
    )
    table = pd.DataFrame(
        {
            "Sentences": ["S1 and S2", "S1 and S3", "S2 and S3"],
            BASE: base.cosines,
            NEW: new.cosines,
        }
    )
    table["Change"] = (table[NEW] - table[BASE]).round(3) + 0.0  # no minus before a zero
    three = st.column_config.NumberColumn(format="%.3f")
    change = st.column_config.NumberColumn(format="%+.3f")
    st.dataframe(table, hide_index=True, column_config={BASE: three, NEW: three, "Change": change})
    st.caption(
        "Cosines, 1 for the same direction. A side of a triangle is as long as its two sentences are apart."
    )


def _pair(three: Triple) -> str:
    return f"S{three.closest[0]} and S{three.closest[1]}"


def draw_similarity(subject: Subject) -> None:
    """Let a person choose or type sentences and draw a heat map of their cosines for both encoders."""
    offered, first = _offered(subject)
    chosen = st.multiselect(
        "Sentences: choose from the data, or type one and press Enter",
        list(offered),
        default=first,
        max_selections=MOST_CHOSEN,
        accept_new_options=True,
        key=f"similar-{subject.key}",
        persist_state="session",
    )
    if len(chosen) < 2:
        st.info("Choose two sentences or more.", icon=":material/edit:")
        return
    columns = ["text", "intent", "language"]
    frame = subject.comparison.sentences
    known = frame.loc[[offered[option] for option in chosen if option in offered], columns]
    typed = pd.DataFrame([(option, "", "") for option in chosen if option not in offered], columns=columns)
    sentences = pd.concat([known, typed])
    order = heat_map_order(sentences["intent"].tolist(), sentences["language"].tolist())
    sentences = sentences.iloc[order]
    texts = sentences["text"].tolist()
    vectors = subject.of_texts(texts)
    if vectors is None:
        return
    cosines = {name: cosine_matrix(part) for name, part in vectors.items()}
    lowest = min(float(values.min()) for values in cosines.values())
    for place, (name, matrix) in zip(st.columns(2), cosines.items(), strict=True):
        draw_chart(
            charts.similarity_matrix(matrix, texts, name, (lowest, 1.0)),
            f"similarity-{name}",
            f"Heat map of the cosines of {len(texts)} sentences by the encoder {name}.",
            place=place,
        )
    st.dataframe(sentences.set_axis(range(1, len(sentences) + 1)).rename(columns=str.capitalize))


def _offered(subject: Subject) -> tuple[dict[str, int], list[str]]:
    """Return the rows of the sentences offered, by what the list shows, and which are chosen at first."""
    frame = subject.comparison.sentences
    rows = stratified_sample(frame["language"].tolist(), frame["intent"].tolist(), MOST_OFFERED)
    first = (subject.comparison.example_rows() if subject.is_measured else []) or rows[:6].tolist()
    label = {
        row: f"{short(text, 90)} ({intent}, {language})"
        for row, text, intent, language in frame.loc[
            sorted({*rows.tolist(), *first}), ["text", "intent", "language"]
        ].itertuples()
    }
    return {name: row for row, name in label.items()}, list(dict.fromkeys(label[row] for row in first))[
        :MOST_CHOSEN
    ]


def draw_neighbours(subject: Subject) -> None:
    """Draw the table, its filters and its download."""
    languages = subject.comparison.languages
    where, whose = st.columns(2)
    pool = choose(
        "Nearest neighbour in",
        [ANYWHERE, *languages],
        f"changed-pool-{subject.key}",
        place=where,
        format_func=lambda code: code if code == ANYWHERE else language_name(code),
    )
    queries = choose_languages(
        "Of the sentences in",
        languages,
        f"changed-queries-{subject.key}",
        place=whose,
        placeholder="All languages",
    )
    table = subject.comparison.changes(None if pool == ANYWHERE else pool)
    table = table.drop(columns=["base_row", "other_row"])
    if queries:
        table = table[table["language"].isin(queries)]
    counts = table["change"].value_counts()
    kinds = st.pills(
        "Kind of change",
        list(Change),
        selection_mode="multi",
        default=[Change.FIXED, Change.BROKEN],
        format_func=lambda kind: f"{kind} ({counts.get(kind, 0):,})",
        key="changed-kinds",
        persist_state="session",
        help="; ".join(f"{kind}: {kind.meaning}" for kind in Change),
    )
    table = table[table["change"].isin(list(kinds))]
    if table.empty:
        st.info("No sentence is left; choose more above.", icon=":material/filter_alt_off:")
        return
    column = st.column_config
    st.dataframe(
        table.head(MOST_CHANGES),
        hide_index=True,
        column_order=[*_TEXTS, *_COSINES],
        column_config={
            **{name: column.TextColumn(title, width=width) for name, (title, width) in _TEXTS.items()},
            **{name: column.NumberColumn(title, width=90, format="%.2f") for name, title in _COSINES.items()},
        },
        key="changed-table",
    )
    shown = f"the first {MOST_CHANGES:,} of " if len(table) > MOST_CHANGES else ""
    st.caption(
        f"{shown}{counted(len(table), 'sentence')}; a sentence never meets its own translations.".capitalize()
    )
    draw_csv_button(
        table, (subject.key, subject.weights, pool, tuple(queries), tuple(kinds)), "emu-neighbours.csv"
    )


def draw_forgetting(run: Run) -> None:
    """Draw the run's forgetting check, or say which command makes it."""
    measured = read_forgetting(run)
    if measured is None:
        st.markdown("Forgetting was not measured for this run. This command does it:")
        folder = shlex.quote(str(run.folder))
        st.code(
            f"emu forgetting {folder} --sts FOLDER --translations FOLDER", language="bash", wrap_lines=True
        )
        return
    fallen = measured[measured["flagged"]]
    if fallen.empty:
        st.success("Nothing was forgotten: no measure fell too far.", icon=":material/check_circle:")
    else:
        named = "; ".join(_fall(row) for row in fallen.to_dict("records"))
        st.error(f"**Forgotten:** {named}.", icon=":material/trending_down:")
    parts = {part: rows for part in PARTS if len(rows := measured[measured["part"] == part])}
    for place, (part, rows) in zip(st.columns(max(1, len(parts))), parts.items(), strict=False):
        with place:
            _draw_part(part, rows)
    st.caption(
        "The base encoder's abilities on sentences that are not of your data, and how much of them is left. "
        "Similarity: how well cosines order pairs of sentences as people do (Spearman's correlation). "
        "Translations: how often the nearest neighbour of a sentence is its translation. Lines are 95 % intervals. "
        f"The dotted line is the largest harmless fall, of {MOST_FALL_SPEARMAN:g} or of {MOST_FALL_POINTS:g} point."
    )
    _draw_measures(measured, weights_of(f"run:{run.folder}"))


def _draw_part(part: str, rows: pd.DataFrame) -> None:
    title = PARTS[part].title
    st.subheader(title)
    with st.container(height=ROW * MOST_BARS if len(rows) > MOST_BARS else "content", border=False):
        draw_chart(
            charts.forgetting(rows, part),
            f"forgetting-{part}",
            f"{title}: what rose and fell, with 95 % intervals around zero. The table below has the numbers.",
        )


def _fall(row: dict[str, Any]) -> str:
    about = PARTS[row["part"]]
    name = literal(measure_name(row["part"], row["name"]), 60)
    return f"{about.title.lower()}, {name} {_shown(row, 'base')} → {_shown(row, 'specialised')}"


def _draw_measures(measured: pd.DataFrame, weights: str) -> None:
    rows = [
        {
            "Measure": PARTS[row["part"]].title,
            "Language": measure_name(row["part"], row["name"]),
            "Base": _shown(row, "base"),
            "Specialised": _shown(row, "specialised"),
            "Difference": _shown(row, "difference", "+"),
            "Difference, 95 %": f"{_shown(row, 'low', '+')} to {_shown(row, 'high', '+')}",
            "Pairs": row["count"],
            "Verdict": "fell too far" if row["flagged"] else "",
        }
        for row in measured.to_dict("records")
    ]
    counts = st.column_config.NumberColumn(format="localized", help="Of sentences.")
    st.dataframe(pd.DataFrame(rows), hide_index=True, column_config={"Pairs": counts}, key="forgetting-table")
    draw_csv_button(
        measured, ("forgetting", weights, *measured["difference"], *measured["base"]), "emu-forgetting.csv"
    )


def _shown(row: dict[str, Any], column: str, sign: str = "") -> str:
    """Return a number with the decimals of its part."""
    return f"{row[column]:{sign}.{PARTS[row['part']].places}f}"


page()
