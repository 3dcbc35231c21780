"""Translations: retrieval of translations, the similarity of two languages' spaces, and word vectors."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from emu_app.data.texts import Pairs, choose_pairs, choose_source, say_trained_on
from emu_app.forms.encoder import Choice, draw_encoder
from emu_app.panels.maps import PROJECTION_NAMES, draw_progress, laid_out, theme
from emu_app.shell.address import draw_link, draw_tabs
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.model_name import RUN_PREFIX, plain_name
from emu_app.shell.state import finished_runs, is_from_scratch
from emu_app.shell.widgets import (
    KEPT,
    choose,
    choose_languages,
    choose_one,
    draw_chart,
    draw_csv_button,
    draw_note,
    draw_table,
    roomy_columns,
)
from emu_app.shell.wording import literal, sentence
from emu_app.work.cache import computed, encoded
from emu_app.work.tasks import word_spaces
from emu_app.work.vectors import digest, weights_of
from emu_core import charts
from emu_core.data.calendar_words import MONTHS, WEEKDAYS
from emu_core.data.languages import language_name
from emu_core.data.wording import counted, listed
from emu_core.encoders.base import FloatArray
from emu_core.encoders.reading import languages_note
from emu_core.encoders.registry import has_word_vectors
from emu_core.evaluation.eigen_similarity import EigenSimilarity, eigen_similarity
from emu_core.evaluation.projection import MIN_POINTS, Projection
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
FROM_TEXT, CALENDAR, FREQUENT, TYPED = "From the text", "Weekdays and months", "Most frequent", "Typed"
TRUE, _MARK = "✓ translation", "Translation"
SIZE = 10  # pairs in a sample: the paper's K and the default of `eigen_similarity`
_MISSES = ["Place", "Sentence", "Its translation", "Cosine", "Found instead", "Its cosine"]
Spaces = Mapping[str, Words]


def page() -> None:
    """Ask for an encoder, and draw what it finds."""
    st.caption(
        "Which sentence of another language is nearest, and is it the translation?",
        help=help_on(Word.TRANSLATION_FOUND, Word.NEIGHBOUR, Word.PAIR),
    )
    runs = list(finished_runs().values())
    pretrained = [run for run in runs if is_from_scratch(run)]
    first = f"{RUN_PREFIX}{pretrained[0].folder}" if pretrained else None
    choice = draw_encoder("translations-encoder", first, runs, param="encoder")
    if choice.problem:
        draw_note(sentence(choice.problem))
        return
    tabs = {
        LISTS: lambda: _draw_lists(choice, runs),
        EIGEN: lambda: _draw_eigen(choice, runs),
        WORDS: lambda: _draw_words(choice.spec),
    }
    draw_tabs(tabs, "translations-tab")


def _draw_source(choice: Choice, runs: list[Run]) -> Pairs | None:
    source = choose_source()
    if source is None:
        return None
    pairs = choose_pairs(source, choice.info.languages)
    say_trained_on(next((run for run in runs if choice.spec == f"{RUN_PREFIX}{run.folder}"), None), source)
    if note := languages_note("The encoder", choice.info.languages, pairs.text.languages):
        st.warning(literal(note), icon=":material/translate:")
    return pairs


def _draw_beside(choice: Choice, runs: list[Run]) -> dict[str, str]:
    """Offer a second encoder; return the specs for `load_encoder` by the encoders' names."""
    specs = {plain_name(choice.spec): choice.spec}
    if st.toggle("Compare with another encoder", key="translations-beside-on", **KEPT):
        other = draw_encoder("translations-beside", None, runs, label="Other encoder")
        if other.problem:
            draw_note(sentence(other.problem))
        else:
            specs.setdefault(plain_name(other.spec), other.spec)
    return specs


def _draw_lists(choice: Choice, runs: list[Run]) -> None:
    """Draw the precision, a sentence's ranked list and the misses."""
    name, spec = plain_name(choice.spec), choice.spec
    pairs = _draw_source(choice, runs)
    vectors = None if pairs is None else encoded({name: spec}, pairs.key, pairs.sentences)
    if pairs is None or vectors is None:
        return
    queries, targets = np.split(vectors[name], 2)
    ranking: FoundTranslations | None = computed(
        f"translations:{pairs.key}:{weights_of(spec)}",
        f"Ranking {counted(len(pairs.text), 'translation')}",
        find_translations, queries, targets, pairs.text.second,
    )  # fmt: skip
    if ranking is None:
        return
    _draw_precision(ranking, pairs)
    st.header("One sentence")
    how, which = st.columns([1, 3], vertical_alignment="bottom")
    if choose_one("The sentence is", [FROM_TEXT, TYPED], "translations-how", container=how) == FROM_TEXT:
        row = choose(
            "Sentence",
            range(len(pairs.text)),
            f"translations-sentence-{pairs.key}",
            container=which,
            format_func=lambda row: pairs.text.first[row],
        )
        _draw_list(queries[row], row, pairs, targets, ranking)
    else:
        typed = which.text_input(
            "Sentence",
            placeholder=pairs.text.first[0][:80],
            max_chars=500,
            key="translations-typed",
            help="In any language that the encoder knows.",
            **KEPT,
        ).strip()
        if fresh := encoded({name: spec}, "", [typed]) if typed else None:
            _draw_list(fresh[name][0], None, pairs, targets, ranking)
    _draw_misses(pairs, ranking)


def _draw_precision(ranking: FoundTranslations, pairs: Pairs) -> None:
    direction = " → ".join(map(language_name, pairs.text.languages))
    among = f"{ranking.ranking.candidates:,} sentences"
    for cell, n in zip(roomy_columns(len(NS), 200, "precision", border=True), NS, strict=True):
        interval = ranking.ranking.interval(n)
        best = f"the nearest of {among} is the translation"
        cell.metric(
            f"{'The translation is nearest' if n == 1 else f'Among the {n} nearest'}, {direction}",
            f"{ranking.ranking.precision(n):.1f} %",
            f"95 %: {interval.low:.1f} to {interval.high:.1f}",
            delta_color="off",
            delta_arrow="off",
            help=help_on(
                Word.TRANSLATION_FOUND,
                text=f"How often {best if n == 1 else f'the translation is among the {n} nearest of {among}'}.",
            ),
        )


def _draw_list(
    vector: FloatArray, row: int | None, pairs: Pairs, targets: FloatArray, ranking: FoundTranslations
) -> None:
    """Draw the sentences nearest to a vector; `row` is its number among the pairs, None if it was typed."""
    k = st.slider("Sentences shown", 5, 50, 10, 5, key="translations-k", **KEPT)
    rank = None if row is None else int(ranking.ranking.ranks[row])
    table = nearest_translations(vector, targets, pairs.text.second, k, row=row, rank=rank)
    table["is_translation"] = table["is_translation"].map({True: TRUE, False: ""})
    table.columns = pd.Index(["Place", "Cosine", language_name(pairs.text.target), _MARK])
    if rank is not None and row is not None:
        what = "first" if rank == 1 else f"at place {rank:,} of {ranking.ranking.candidates:,}"
        st.markdown(f"Its translation **{literal(pairs.text.second[row], 300)}** ranks **{what}**.")
    st.dataframe(table, hide_index=True, column_config=_columns(table), key="translations-list")


def _draw_misses(pairs: Pairs, ranking: FoundTranslations) -> None:
    table = ranking.misses(pairs.text.first, pairs.text.second)
    table.columns = pd.Index(_MISSES)
    st.header("The worst misses")
    if table.empty:
        st.success("Every translation ranks first.", icon=":material/check_circle:")
        return
    st.caption(
        f"{counted(len(table), 'sentence')} of {len(pairs.text):,} whose nearest sentence is not the translation, "
        "the lowest-ranked translations first."
    )
    draw_table(table, "translations-misses", "emu-misses.csv", _columns(table))


def _columns(table: pd.DataFrame) -> dict[str, Any]:
    column = st.column_config
    about = help_on(Word.COSINE)
    cosine, its_cosine = (
        column.NumberColumn(title, format="%.3f", width="small", help=about)
        for title in ("Similarity", "Its similarity")
    )
    rank_column = column.NumberColumn(format="localized", width="small")
    known = {
        "Place": rank_column,
        "Cosine": cosine,
        "Its cosine": its_cosine,
        _MARK: column.TextColumn(width="small"),
    }
    texts = [name for name in table if name not in known]
    wide = column.TextColumn(width="large" if len(texts) == 1 else "medium")
    return known | dict.fromkeys(texts, wide)


def _draw_eigen(choice: Choice, runs: list[Run]) -> None:
    """Draw a sample's spectra, and Psi over all samples."""
    if (pairs := _draw_source(choice, runs)) is None:
        return
    specs = _draw_beside(choice, runs)
    if (vectors := encoded(specs, pairs.key, pairs.sentences)) is None:
        return
    if len(pairs.text) < SIZE:
        draw_note(f"Eigen-similarity needs {SIZE} pairs, and there are {len(pairs.text)}.")
        return
    similarities: dict[str, EigenSimilarity] = {}
    for name, sides in vectors.items():
        spectra = computed(
            f"spectra:{pairs.key}:{weights_of(specs[name])}",
            f"{literal(name, 60)}: comparing the spectra of 1,000 samples",
            eigen_similarity, *np.split(sides, 2),
        )  # fmt: skip
        if spectra is None:
            return
        similarities[name] = spectra
    st.caption(
        f"Are the distances between {SIZE} sentences the same in both languages? The eigenvalues of the graph's "
        "Laplacian describe how the sentences are arranged, wherever they are. Psi is the sum of squared differences "
        "between the two languages' eigenvalues; 0 means alike. In Chidambaram et al. it was smaller for pairs of "
        "European languages between which labels transferred better.",
        help=help_on(Word.EIGEN),
    )
    st.markdown("**Psi over 1,000 samples**, with its mean and the mean's 95 % interval")
    draw_chart(
        charts.psi_distributions({name: similarity.values for name, similarity in similarities.items()}),
        "psi",
        "; ".join(f"{name}: Psi {similarity.mean:.3f}" for name, similarity in similarities.items()),
    )
    rows = [(name, psi.mean, psi.standard_error, psi.variance) for name, psi in similarities.items()]
    table = pd.DataFrame(rows, columns=["Encoder", "Psi", "Standard error", "Variance"])
    numbers = {name: st.column_config.NumberColumn(format="%.4f") for name in table.columns[1:]}
    st.dataframe(table, hide_index=True, column_config=numbers, key="psi-table")
    _draw_sample(pairs, similarities)


def _draw_sample(pairs: Pairs, similarities: Mapping[str, EigenSimilarity]) -> None:
    """Draw the spectra of one sample, at first the one with the median Psi."""
    values = next(iter(similarities.values())).values
    middle = int(np.argsort(values)[len(values) // 2])
    st.markdown("**One sample's eigenvalues**, without the first, which is always 0")
    key = f"translations-sample-{pairs.key}-{middle}"
    about = "At first the median: half of all samples are more alike."
    sample = int(st.number_input("Sample", 1, len(values), middle + 1, key=key, help=about, **KEPT))
    at = sample - 1
    first, second = map(language_name, pairs.text.languages)
    panels = {
        f"{name}: Psi {similarity.values[at]:.3f}": {
            first: similarity.first[at],
            second: similarity.second[at],
        }
        for name, similarity in similarities.items()
    }
    draw_chart(
        charts.spectrum_lines(panels),
        "spectra",
        f"Sorted Laplacian eigenvalues of sample {sample}: {'; '.join(panels)}.",
    )
    with st.expander("The sentences of this sample", icon=":material/table_rows:"):
        rows = next(iter(similarities.values())).rows[at]
        texts = [(pairs.text.first[row], pairs.text.second[row]) for row in rows]
        st.dataframe(pd.DataFrame(texts, columns=[first, second]), hide_index=True)


def _draw_words(spec: str) -> None:
    if not has_word_vectors(spec):
        draw_note(
            "This encoder has no word vectors; choose a run of a method that learns them, such as BiCVM."
        )
        draw_link("pretrain", "Train one", ":material/foundation:")
        return
    weights = weights_of(spec)
    spaces: Spaces | None = computed(f"words:{weights}", "Reading the words", word_spaces, spec, weights)
    if spaces is None:
        return
    counts = (f"{language_name(code)}: {counted(len(words), 'word')}" for code, (words, _) in spaces.items())
    st.caption(f"{'; '.join(counts)}. Words are in lower case, as in the encoder.")
    entries, method = _choose(spaces, weights)
    if len(entries) < MIN_POINTS:
        if entries:
            draw_note(f"A map needs at least {MIN_POINTS} words; choose the most frequent ones.")
        return
    words = pd.DataFrame(entries, columns=["word", "language"])
    row_of = {(word, code): row for code in spaces for row, word in enumerate(spaces[code][0])}
    vectors = np.stack([spaces[code][1][row_of[word, code]] for word, code in entries])
    key = f"word-map:{weights}:{method}:{digest(entries)}"
    maps = laid_out({WORDS: vectors}, {WORDS: key}, method)
    draw_progress(maps, "word-map")
    places = maps[WORDS].places
    about = f"{PROJECTION_NAMES[method]} of {len(words)} words, coloured by language."
    draw_chart(charts.word_map(places, words, theme()), "word-map", about, zooms=True)
    table = words.assign(x=places[:, 0], y=places[:, 1])
    draw_csv_button(table, "emu-words.csv", key="word-map-csv")
    st.header("Nearest words")
    named = {entry: f"{entry[0]} ({language_name(entry[1])})" for entry in entries}
    word, language = choose(
        "Of the word", entries, f"words-one-{weights[:12]}", format_func=named.__getitem__
    )
    table = nearest_words_table(word, language, spaces)
    cosines = {
        name: st.column_config.NumberColumn(
            name.replace("Cosine", "Similarity"), format="%.3f", help=help_on(Word.COSINE)
        )
        for name in table
        if name.startswith("Cosine")
    }
    draw_table(table, "words-nearest", "emu-nearest-words.csv", cosines)


def _choose(spaces: Spaces, weights: str) -> tuple[list[tuple[str, str]], Projection]:
    """Ask for the words to draw, with their languages, and for the map's method."""
    what, how = st.columns([3, 2])
    which = choose_one("Words", [CALENDAR, FREQUENT, TYPED], "words-which", container=what, default=FREQUENT)
    named = PROJECTION_NAMES.__getitem__
    method = Projection(
        choose_one("Map", list(PROJECTION_NAMES), "words-method", container=how, format_func=named)
    )
    codes = list(spaces)
    languages = choose_languages("Languages", codes, f"words-languages-{weights[:12]}", default=codes)
    chosen = {code: spaces[code] for code in languages}
    if which == FREQUENT:
        most = st.slider("Words of each language", 10, 300, 40, 10, key="words-most", **KEPT)
        return frequent_words(chosen, most), method
    return _calendar(chosen) if which == CALENDAR else _typed(chosen), method


def _calendar(spaces: Spaces) -> list[tuple[str, str]]:
    words = [(word, code) for code in spaces for word in (*WEEKDAYS.get(code, ()), *MONTHS.get(code, ()))]
    words_by_language = {code: set(spaces[code][0]) for code in spaces}
    unknown = [word for word, code in words if word not in words_by_language[code]]
    if without := [code for code in spaces if code not in WEEKDAYS]:
        draw_note(f"No weekdays are known here in {listed(map(language_name, without))}.")
    if unknown:
        draw_note(
            f"{counted(len(unknown), 'weekday or month', 'weekdays and months')} did not occur in the training text: "
            f"{literal(listed(unknown, 8))}."
        )
    return [(word, code) for word, code in words if word in words_by_language[code]]


def _typed(spaces: Spaces) -> list[tuple[str, str]]:
    label, example = "Words, separated by commas", "dog, man, hund, rot"
    typed = st.text_input(label, placeholder=example, max_chars=1_000, key="words-typed", **KEPT)
    wanted = list(dict.fromkeys(word.strip().casefold() for word in typed.split(",") if word.strip()))
    with_nearest = st.checkbox(
        "With the nearest word in each other language", value=True, key="words-with-nearest", **KEPT
    )
    known = [(word, code) for word in wanted for code, (words, _) in spaces.items() if word in set(words)]
    known_words = {word for word, _ in known}
    if unknown := [word for word in wanted if word not in known_words]:
        draw_note(f"Not in the training text: {literal(listed(unknown, 8))}.")
    if with_nearest:
        for word, code in list(known):
            near = word_neighbours(word, code, spaces, 1)
            known += [(names[0][0], other) for other, names in near.items() if other != code and names]
    return list(dict.fromkeys(known))


if __name__ == "__main__":  # not where a test imports this file
    page()
