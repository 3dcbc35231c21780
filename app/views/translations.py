"""Translations: what an encoder finds in another language, how alike its languages lie, and its words."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from app.address import draw_link
from app.cache import computed, encoded, start_helpers
from app.forms.encoder import Choice, draw_encoder
from app.forms.model_name import RUN, short_name
from app.maps import NAMES, draw_progress, laid_out
from app.panels.widgets import (
    choose,
    choose_languages,
    choose_one,
    draw_chart,
    draw_csv_button,
    draw_note,
    errors_shown,
    roomy_columns,
)
from app.state import finished_runs, is_from_scratch
from app.tasks import word_spaces
from app.upload.parallel import (
    Pairs,
    choose_pairs,
    choose_source,
    run_of,
    say_trained_on,
    warn_of_strangers,
)
from app.vectors import weights_of
from app.wording import literal, sentence
from emu_core import charts
from emu_core.data.calendar_words import MONTHS, WEEKDAYS
from emu_core.data.languages import language_name
from emu_core.data.wording import counted, listed
from emu_core.encoders.base import FloatArray
from emu_core.encoders.registry import encoder_kind
from emu_core.evaluation.eigen_similarity import EigenSimilarity, eigen_similarity
from emu_core.evaluation.projection import FEWEST, Projection
from emu_core.evaluation.translation_ranking import (
    NS,
    FoundTranslations,
    find_translations,
    nearest_translations,
)
from emu_core.evaluation.word_neighbours import (
    Words,
    frequent_words,
    nearest_words_table,
    word_neighbours,
)
from emu_core.runs.run import Run

LISTS, EIGEN, WORDS = "Ranked lists", "Eigen-similarity", "Words"
FROM_TEXT, TYPED = "From the text", "Typed"
TRUE = "✓ translation"
MOST_MISSES = 200
SIZE = 10  # pairs in a sample, the paper's K and the default of `eigen_similarity`
CALENDAR, FREQUENT, TYPED = "Weekdays and months", "Most frequent", "Typed"
Spaces = Mapping[str, Words]


def page() -> None:
    """Draw the page."""
    start_helpers()
    st.title("Translations")
    st.caption("Which sentence of another language lies nearest, and is it the translation?")
    with errors_shown():  # of a damaged run folder
        draw_encoder_and_tabs()


def draw_encoder_and_tabs() -> None:
    """Ask for an encoder, and draw what it finds."""
    runs = list(finished_runs().values())
    pretrained = [run for run in runs if is_from_scratch(run)]
    first = f"{RUN}{pretrained[0].folder}" if pretrained else None
    choice = draw_encoder("translations-encoder", first, runs, param="encoder")
    if choice.problem:
        st.info(sentence(choice.problem), icon=":material/edit:")
        return
    lists, eigen, words = st.tabs([LISTS, EIGEN, WORDS], key="translations-tab", on_change="rerun")
    with lists:
        if lists.open and (pairs := draw_source(choice, runs)) is not None:
            name = short_name(choice.spec)
            vectors = encoded({name: choice.spec}, pairs.key, pairs.sentences)
            if vectors is not None:
                draw_ranked(name, choice.spec, pairs, vectors[name])
    with eigen:
        if eigen.open and (pairs := draw_source(choice, runs)) is not None:
            specs = draw_beside(choice, runs)
            vectors = encoded(specs, pairs.key, pairs.sentences)
            if vectors is not None:
                draw_eigen(specs, pairs, vectors)
    with words:
        if words.open:
            draw_words(choice.spec)


def draw_source(choice: Choice, runs: list[Run]) -> Pairs | None:
    """Ask for parallel text and two of its languages."""
    source = choose_source()
    if source is None:
        return None
    languages = choice.info.languages
    pairs = choose_pairs(source, languages)
    say_trained_on(run_of(choice.spec, runs), source)
    warn_of_strangers(languages, pairs.text)
    return pairs


def draw_beside(choice: Choice, runs: list[Run]) -> dict[str, str]:
    """Ask for another encoder to set beside; what `load_encoder` takes, by the encoder's name."""
    specs = {short_name(choice.spec): choice.spec}
    if st.toggle("Beside another encoder", key="translations-beside-on", persist_state="session"):
        other = draw_encoder("translations-beside", None, runs, label="Other encoder")
        if other.problem:
            st.info(sentence(other.problem), icon=":material/edit:")
        else:
            specs.setdefault(short_name(other.spec), other.spec)
    return specs


@dataclass(frozen=True, eq=False)
class _Query:
    text: str
    vector: FloatArray
    row: int | None  # None where it was typed


def draw_ranked(name: str, spec: str, pairs: Pairs, vectors: FloatArray) -> None:
    """Draw how often translations are found, one sentence's list, and the misses, by N pairs' vectors (2N, dim)."""
    queries, targets = vectors[: len(pairs.text)], vectors[len(pairs.text) :]
    found: FoundTranslations | None = computed(
        f"translations:{pairs.key}:{weights_of(spec)}",
        f"Ranking {counted(len(pairs.text), 'translation')}",
        find_translations, queries, targets, pairs.text.second,
    )  # fmt: skip
    if found is None:
        return
    _draw_precision(found, pairs)
    query = _choose_query(name, spec, pairs, queries)
    if query is not None:
        _draw_list(query, pairs, targets, found)
    _draw_misses(spec, pairs, found)


def _draw_precision(found: FoundTranslations, pairs: Pairs) -> None:
    cells = roomy_columns(len(NS), 200, "precision", border=True)
    for cell, n in zip(cells, NS, strict=True):
        interval = found.ranking.interval(n)
        cell.metric(
            f"P@{n}, {language_name(pairs.text.source)} → {language_name(pairs.text.target)}",
            f"{found.ranking.precision(n):.1f} %",
            f"95 %: {interval.low:.1f} to {interval.high:.1f}",
            delta_color="off",
            delta_arrow="off",
            help=f"How often the translation is among the {n} nearest of {found.ranking.candidates:,} sentences."
            if n > 1
            else f"How often the nearest of {found.ranking.candidates:,} sentences is the translation.",
        )


def _choose_query(name: str, spec: str, pairs: Pairs, queries: FloatArray) -> _Query | None:
    st.subheader("One sentence")
    how, which = st.columns([1, 3], vertical_alignment="bottom")
    source = choose_one("The sentence is", [FROM_TEXT, TYPED], "translations-how", place=how)  # fmt: skip
    if source == FROM_TEXT:
        row = choose(
            "Sentence",
            range(len(pairs.text)),
            f"translations-sentence-{pairs.key}",
            place=which,
            format_func=lambda row: pairs.text.first[row],
        )
        return _Query(pairs.text.first[row], queries[row], row)
    typed = which.text_input(
        "Sentence",
        placeholder=pairs.text.first[0][:80],
        max_chars=500,
        key="translations-typed",
        persist_state="session",
        help="In any language that the encoder knows.",
    ).strip()
    if not typed:
        return None
    fresh = encoded({name: spec}, "", [typed])
    return None if fresh is None else _Query(typed, fresh[name][0], None)


def _draw_list(query: _Query, pairs: Pairs, targets: FloatArray, found: FoundTranslations) -> None:
    k = st.slider("How many are shown", 5, 50, 10, 5, key="translations-k", persist_state="session")
    rank = None if query.row is None else int(found.ranking.ranks[query.row])
    texts = pairs.text.second
    table = nearest_translations(query.vector, targets, texts, k, row=query.row, rank=rank)
    table["is_translation"] = table["is_translation"].map({True: TRUE, False: ""})
    table.columns = pd.Index(["Place", "Cosine", language_name(pairs.text.target), ""])
    if rank is not None and query.row is not None:
        what = "first" if rank == 1 else f"at place {rank:,} of {found.ranking.candidates:,}"
        st.markdown(f"Its translation **{literal(pairs.text.second[query.row], 300)}** ranks **{what}**.")
    _draw_table(table, "translations-list")


def _draw_misses(spec: str, pairs: Pairs, found: FoundTranslations) -> None:
    table = found.misses(pairs.text.first, pairs.text.second)
    table.columns = pd.Index(
        ["Place", "Sentence", "Its translation", "Cosine", "Found instead", "Its cosine"]
    )
    st.subheader("The worst misses")
    if table.empty:
        st.success("Every translation ranks first.", icon=":material/check_circle:")
        return
    st.caption(
        f"{counted(len(table), 'sentence')} of {len(pairs.text):,} whose nearest sentence is not the translation, "
        "those whose translation ranks lowest first."
    )
    _draw_table(table.head(MOST_MISSES), "translations-misses")
    if len(table) > MOST_MISSES:
        st.caption(f"The first {MOST_MISSES} are shown, the download has all.")
    draw_csv_button(table, (pairs.key, weights_of(spec)), "emu-misses.csv", key="misses-csv")


def _draw_table(table: pd.DataFrame, key: str) -> None:
    cosine = st.column_config.NumberColumn(format="%.3f", width="small")
    sentences = [name for name in table if table[name].dtype.kind not in "if" and name]
    st.dataframe(
        table,
        hide_index=True,
        column_config={
            "Place": st.column_config.NumberColumn(format="localized", width="small"),
            "Cosine": cosine,
            "Its cosine": cosine,
            "": st.column_config.TextColumn(width="small"),
            **{
                name: st.column_config.TextColumn(width="large" if len(sentences) == 1 else "medium")
                for name in sentences
            },
        },
        key=key,
    )


def draw_eigen(specs: Mapping[str, str], pairs: Pairs, vectors: Mapping[str, FloatArray]) -> None:
    """Draw one sample's spectra and Psi over all samples, by each encoder's vectors (2N, dim) of N pairs."""
    n = len(pairs.text)
    if n < SIZE:
        draw_note(f"Eigen-similarity needs {SIZE} pairs, and there are {n}.")
        return
    found: dict[str, EigenSimilarity] = {}
    for name, both in vectors.items():
        spectra = computed(
            f"spectra:{pairs.key}:{weights_of(specs[name])}",
            f"{literal(name, 60)}: comparing the spectra of 1,000 samples",
            eigen_similarity, both[:n], both[n:],
        )  # fmt: skip
        if spectra is None:
            return
        found[name] = spectra
    st.caption(
        f"Of {SIZE} sentences, how far is each from each: the same in both languages? The eigenvalues of the graph's "
        "Laplacian say how the sentences are arranged, wherever they lie. Psi adds up the squared differences between "
        "the two languages' eigenvalues; 0 is alike. In Chidambaram et al. it was smaller where labels in one European "
        "language served better in another."
    )
    st.markdown("**Psi over 1,000 samples**, with its mean and the mean's 95 % interval")
    draw_chart(
        charts.psi_distributions({name: one.values for name, one in found.items()}),
        "psi",
        "; ".join(f"{name}: Psi {one.mean:.3f}" for name, one in found.items()),
    )
    table = pd.DataFrame(
        {
            "Encoder": list(found),
            "Psi": [one.mean for one in found.values()],
            "Standard error": [one.standard_error for one in found.values()],
            "Variance": [one.variance for one in found.values()],
        }
    )
    numbers = {name: st.column_config.NumberColumn(format="%.4f") for name in table.columns[1:]}
    st.dataframe(table, hide_index=True, column_config=numbers, key="psi-table")
    _draw_sample(pairs, found)


def _draw_sample(pairs: Pairs, found: Mapping[str, EigenSimilarity]) -> None:
    """Draw the spectra of one sample, at first of one that is as alike as most."""
    values = next(iter(found.values())).values
    middle = int(np.argsort(values)[len(values) // 2])
    st.markdown("**One sample's eigenvalues**, without the first, which is always 0")
    sample = st.number_input(
        "Sample",
        1,
        len(values),
        middle + 1,
        key=f"translations-sample-{pairs.key}-{middle}",
        persist_state="session",
        help="At first the one in the middle: half of all samples are more alike.",
    )
    at = int(sample) - 1
    first, second = map(language_name, pairs.text.languages)
    panels = {
        f"{name}: Psi {one.values[at]:.3f}": {first: one.first[at], second: one.second[at]}
        for name, one in found.items()
    }
    draw_chart(
        charts.spectrum_lines(panels),
        "spectra",
        f"Sorted Laplacian eigenvalues of sample {sample}: {'; '.join(panels)}.",
    )
    with st.expander("The sentences of this sample", icon=":material/table_rows:"):
        rows = next(iter(found.values())).rows[at]
        st.dataframe(
            pd.DataFrame(
                [(pairs.text.first[row], pairs.text.second[row]) for row in rows], columns=[first, second]
            ),
            hide_index=True,
        )


def draw_words(spec: str) -> None:
    """Draw a map of words and the nearest words of one; say so where an encoder has no words."""
    if encoder_kind(spec) != "bicvm":
        draw_note("Only BiCVM keeps a vector for each word; choose a run of that method above.")
        draw_link("views/pretrain.py", "Train one", ":material/foundation:")
        return
    weights = weights_of(spec)
    spaces: Spaces | None = computed(f"words:{weights}", "Reading the words", word_spaces, spec, weights)
    if spaces is None:
        return
    st.caption(
        "; ".join(
            f"{language_name(code)}: {counted(len(words), 'word')}" for code, (words, _) in spaces.items()
        )
        + ". Words are in lower case, as the encoder knows them."
    )
    words, method = _choose(spaces, weights)
    if len(words) < FEWEST:
        if len(words):
            draw_note(f"A map needs {FEWEST} words or more; choose the most frequent ones.")
        return
    vectors = np.stack([_vector(spaces, *entry) for entry in words.itertuples(index=False)])
    digest = hashlib.sha256(json.dumps(words.to_numpy().tolist()).encode()).hexdigest()
    of_words = "Words"
    maps = laid_out({of_words: vectors}, {of_words: f"word-map:{weights}:{method}:{digest}"}, method)
    draw_progress(maps, "word-map")
    places = maps[of_words].places
    draw_chart(
        charts.word_map(places, words),
        "word-map",
        f"{NAMES[method]} of {len(words)} words, coloured by language.",
        zooms=True,
    )
    table = words.assign(x=places[:, 0], y=places[:, 1])
    draw_csv_button(table, (maps[of_words].key, maps[of_words].progress), "emu-words.csv", key="word-map-csv")
    _draw_nearest(spaces, words, weights)


def _choose(spaces: Spaces, weights: str) -> tuple[pd.DataFrame, Projection]:
    """Ask which words are drawn, and how; columns `word` and `language`."""
    what, how = st.columns([3, 2])
    which = choose_one("Words", [CALENDAR, FREQUENT, TYPED], "words-which", place=what, default=FREQUENT)  # fmt: skip
    method = choose_one("Map", list(NAMES), "words-method", place=how, format_func=NAMES.__getitem__)
    languages = choose_languages(
        "Languages", list(spaces), f"words-languages-{weights[:12]}", default=list(spaces)
    )
    chosen = {code: spaces[code] for code in languages}
    if which == FREQUENT:
        most = st.slider("Words of each language", 10, 300, 40, 10, key="words-most", persist_state="session")
        return _frame(frequent_words(chosen, most)), Projection(method)
    if which == CALENDAR:
        return _calendar(chosen), Projection(method)
    return _typed(chosen), Projection(method)


def _calendar(spaces: Spaces) -> pd.DataFrame:
    known: list[tuple[str, str]] = []
    unknown: list[tuple[str, str]] = []
    for code, (words, _) in spaces.items():
        there = set(words)
        for word in (*WEEKDAYS.get(code, ()), *MONTHS.get(code, ())):
            (known if word in there else unknown).append((word, code))
    if without := [code for code in spaces if code not in WEEKDAYS]:
        draw_note(f"No weekdays are known here in {listed(map(language_name, without))}.")
    if unknown:
        draw_note(
            f"{counted(len(unknown), 'weekday or month', 'weekdays and months')} did not stand in the training text: "
            f"{literal(listed((word for word, _ in unknown), 8))}."
        )
    return _frame(known)


def _typed(spaces: Spaces) -> pd.DataFrame:
    typed = st.text_input(
        "Words, with commas between them",
        placeholder="dog, man, hund, rot",
        max_chars=1_000,
        key="words-typed",
        persist_state="session",
    )
    wanted = list(dict.fromkeys(word.strip().casefold() for word in typed.split(",") if word.strip()))
    with_nearest = st.checkbox(
        "With the nearest word in each other language",
        value=True,
        key="words-with-nearest",
        persist_state="session",
    )
    known = [(word, code) for word in wanted for code, (words, _) in spaces.items() if word in set(words)]
    found = {word for word, _ in known}
    if unknown := [word for word in wanted if word not in found]:
        draw_note(f"Not in the training text: {literal(listed(unknown, 8))}.")
    if with_nearest:
        for word, code in list(known):
            near = word_neighbours(word, code, spaces, 1)
            known += [(names[0][0], other) for other, names in near.items() if other != code and names]
    return _frame(list(dict.fromkeys(known)))


def _frame(rows: Sequence[tuple[str, str]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["word", "language"])


def _vector(spaces: Spaces, word: str, language: str) -> np.ndarray:
    words, vectors = spaces[language]
    vector: np.ndarray = vectors[list(words).index(word)]
    return vector


def _draw_nearest(spaces: Spaces, words: pd.DataFrame, weights: str) -> None:
    st.subheader("Nearest words")
    options = list(words.itertuples(index=False, name=None))
    word, language = choose(
        "Of the word",
        options,
        f"words-one-{weights[:12]}",
        format_func=lambda entry: f"{entry[0]} ({language_name(entry[1])})",
    )
    table = nearest_words_table(word, language, spaces)
    cosines = {
        name: st.column_config.NumberColumn(format="%.3f") for name in table if name.startswith("Cosine")
    }
    st.dataframe(table, hide_index=True, column_config=cosines, key="words-nearest")
    draw_csv_button(table, (weights, word, language), "emu-nearest-words.csv", key="nearest-csv")


if __name__ == "__main__":  # not where a test imports this file
    page()
