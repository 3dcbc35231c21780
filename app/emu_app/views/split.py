"""Split: an utterance taken apart into language, template, residual and meaning, and the neighbours by each."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np
import streamlit as st

from emu_app.panels.context import context
from emu_app.panels.maps import draw_downloads, draw_progress, laid_out, theme
from emu_app.panels.run_table import run_facts
from emu_app.shell.address import draw_link, draw_tabs, linked
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.model_name import RUN_PREFIX
from emu_app.shell.state import finished_runs
from emu_app.shell.widgets import (
    KEPT,
    choose,
    choose_languages,
    choose_many,
    choose_one,
    draw_chart,
    draw_csv_button,
    draw_note,
    draw_table,
    errors_shown,
    roomy_columns,
)
from emu_app.shell.wording import literal, sentence
from emu_app.work.cache import computed, encoded
from emu_app.work.tasks import split
from emu_app.work.vectors import digest, weights_of
from emu_core import charts
from emu_core.api import split as splitting
from emu_core.api.compare import ALL
from emu_core.api.split import TEMPLATES, Pool, SplitSentence, Token
from emu_core.charts.attention import Bar, TokenKind
from emu_core.charts.marks import ColourBy
from emu_core.data.cleaning import cleaned, normal_form, normalised
from emu_core.data.languages import language_name, ordered
from emu_core.data.sets import LabelledSet
from emu_core.data.slots.utterances import Utterance, parse_annotated
from emu_core.data.wording import counted
from emu_core.encoders.base import FloatArray
from emu_core.encoders.reading import languages_note
from emu_core.errors import EncoderError
from emu_core.evaluation.disentangled import PROBE, direction, part_table
from emu_core.evaluation.projection import MIN_POINTS, Projection
from emu_core.methods.fmda.parts import Part
from emu_core.methods.registry import default_method
from emu_core.runs.run import Run
from emu_core.training.method import Needs

FROM_DATA, TYPED = "From the data", "Typed"
_ABOUT = "A sentence taken apart into its language, its template, the rest, and its meaning."
_EXAMPLE = "wake me up at [time : five am]"
MOST_TOKENS = 80  # drawn
_MOST_NAMED = 3
ON_WORDS = 0.05  # share of the attention; with less, words are not compared
MUCH = 1.3  # times an even share
TRANSLATIONS, FEW_TEMPLATES = "Translations of two languages", "A few templates of one intent"
MOST_MAPS = 3  # side by side
PART_NAMES = {part: part.capitalize() for part in Part} | {Part.CLS: "[CLS]"}
MEANINGS = {
    Part.CLS: "The frozen encoder's vector of the first token.",
    Part.MEAN: "The mean of the frozen encoder's token vectors.",
    Part.LANGUAGE: "The language-specific part.",
    Part.TEMPLATE: "The sentence without its slots.",
    Part.RESIDUAL: "The rest of the sentence: its slots.",
    Part.MEANING: "The meaning of the sentence in any language.",
}
_TITLES = {PROBE: Word.LANGUAGE.title}  # of columns
_WITHOUT_TEMPLATE = (Part.CLS, Part.MEAN, Part.LANGUAGE, Part.MEANING)


def page() -> None:
    """Draw the page."""
    st.caption(_ABOUT, help=help_on(Word.PARTS, Word.SLOT))
    runs = {name: run for name, run in finished_runs().items() if _splits(run)}
    if not runs:
        draw_note(
            "No finished run splits sentences yet. Train one with FMDA or its baseline: with the demo set this takes "
            "three to five minutes on two idle cores."
        )
        draw_link("train", "Train one", ":material/model_training:", method=default_method(Needs.SLOTS))
        return
    run = runs[linked("run", "Run", list(runs))]
    st.caption(run_facts(run))
    spec = f"{RUN_PREFIX}{run.folder}"
    tabs = {
        "One utterance": lambda: _draw_utterance(run, spec),
        "Evaluation of the parts": lambda: _draw_numbers(run),
        "Maps": lambda: _draw_maps(spec),
    }
    draw_tabs(tabs, "split-tab")


def _splits(run: Run) -> bool:
    """Return whether a finished run's encoder gives several embeddings of a sentence."""
    with suppress(EncoderError):
        return splitting.splits_sentences(run.encoder_folder)
    return False


def _draw_utterance(run: Run, spec: str) -> None:
    source, pool = _choose_with_pool("The utterance", [FROM_DATA, TYPED], "split-source")
    trained_on = run.config().train_languages
    utterance = _typed() if source == TYPED else _of_data(pool, trained_on)
    if utterance is None:
        return
    known = (
        [language_name(utterance.language), utterance.intent and f"intent {utterance.intent}"]
        if utterance.language
        else []
    )
    slots = f"template: {utterance.template}" if utterance.slots else "no slots are marked"
    st.caption(literal("; ".join([*filter(None, known), slots]), 600))
    if utterance.language and (note := languages_note("The run", trained_on, [utterance.language])):
        draw_note(literal(note))
    weights = weights_of(spec)
    label = "Opening the run's encoder and splitting the sentence"
    analysis = computed(f"split:{weights}:{utterance.text}", label, split, spec, weights, utterance.text)
    if analysis is None:
        return
    _draw_parts(utterance, analysis)
    _draw_attention(utterance, analysis)
    vectors = _encoded_parts(spec, pool.key, pool.texts)
    if vectors is not None:
        _draw_neighbours(utterance, analysis.parts, pool, vectors)


def _choose_with_pool(label: str, options: Sequence[str], key: str) -> tuple[str, Pool]:
    """Ask for an option; return it and the rows that the bar names, which are searched and drawn on maps."""
    chosen, now = choose_one(label, options, key), context()
    pool = _pool(now.chosen.sha256, now.chosen.labelled, now.on)
    if len(pool.frame) < pool.total:
        draw_note(
            f"{len(pool.frame):,} of {counted(pool.total, 'sentence')} are used, translations together."
        )
    if pool.unread:
        st.warning(
            f"{counted(pool.unread, 'annotation')} can't be read, or do not match their sentences, which are "
            "treated as having no slots.",
            icon=":material/data_object:",
        )
    return chosen, pool


# A resource and not data: it is large, and nobody changes it.
@st.cache_resource(max_entries=8, show_spinner="Reading the slots ...")
def _pool(sha256: str, _labelled: LabelledSet, split: str) -> Pool:
    part = _labelled if split == ALL else _labelled.select(splits=[split])
    return splitting.read_pool(f"{sha256}:{split}", part.frame)


def _of_data(pool: Pool, trained_on: Sequence[str]) -> Utterance:
    languages = ordered(pool.frame["language"])
    first = trained_on[0] if trained_on and trained_on[0] in languages else languages[0]
    where, which = st.columns([1, 4])
    language = choose(
        "Language",
        languages,
        f"split-language-{pool.key}",
        container=where,
        index=languages.index(first),
        format_func=language_name,
    )
    row = choose(
        "Sentence",
        pool.rows(language),
        f"split-sentence-{pool.key}-{language}",
        container=which,
        format_func=lambda row: pool.utterances[row].text,
    )
    return pool.utterances[row]


def _typed() -> Utterance | None:
    typed = st.text_input(
        "Sentence",
        placeholder=_EXAMPLE,
        max_chars=500,
        key="split-typed",
        help=f"Slots may be marked with brackets, as in {literal(_EXAMPLE)}.",
        **KEPT,
    )
    with errors_shown():
        text, slots = parse_annotated(cleaned(typed))
        return Utterance(text, slots, "", "", "") if cleaned(text) else None
    return None


def _draw_parts(utterance: Utterance, analysis: SplitSentence) -> None:
    sure = sorted(analysis.languages.items(), key=lambda item: -item[1])[:_MOST_NAMED]
    named = ", ".join(f"{literal(language_name(code))} {100 * share:.0f} %" for code, share in sure)
    texts = {Part.LANGUAGE: f"Says: {named}"}
    if analysis.tokens:
        texts |= {
            Part.TEMPLATE: looks_at(utterance, analysis, [token.template for token in analysis.tokens]),
            Part.RESIDUAL: looks_at(utterance, analysis, [token.residual for token in analysis.tokens]),
            Part.MEANING: "Template and residual together, without the language.",
        }
    else:
        texts[Part.MEANING] = "The encoder's first token through one layer, which removes the language."
    for column, (part, says) in zip(roomy_columns(len(texts), 230, "parts"), texts.items(), strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f"**{PART_NAMES[part]}**")
            st.caption(MEANINGS[part])
            st.markdown(says)


def _draw_attention(utterance: Utterance, analysis: SplitSentence) -> None:
    if not analysis.tokens:
        draw_note(
            "This is a run of the baseline. It reads only the encoder's first token and has no attention over words, "
            "no template and no residual; a run of FMDA has them."
        )
        return
    tokens = analysis.tokens[:MOST_TOKENS]
    shares = {
        PART_NAMES[Part.TEMPLATE]: [token.template for token in tokens],
        PART_NAMES[Part.RESIDUAL]: [token.residual for token in tokens],
    }
    draw_chart(
        charts.attention_bars([Bar(token.word, kind_of(token, utterance)) for token in tokens], shares),
        "split-attention",
        f"Attention over {len(tokens)} tokens, for template and residual.",
    )
    added = [token for token in analysis.tokens if token.is_added]
    template, residual = (
        f"{100 * sum(getattr(t, name) for t in added):.0f} %" for name in ("template", "residual")
    )
    cut = f"The first {MOST_TOKENS} of {len(analysis.tokens)} tokens are drawn. "
    st.caption(
        f"{cut if len(tokens) < len(analysis.tokens) else ''}Shares of the attention in percent; the dotted line is an "
        "even share. Faint: the special tokens that the encoder adds to every sentence "
        f"({literal(' '.join(token.word for token in added))}), which get {template} of the template's attention and "
        f"{residual} of the residual's. The residual attends where the template does not, and always nearly evenly.",
        help=help_on(Word.ATTENTION, text="The residual's is softmax(1 - the template's)."),
    )


def kind_of(token: Token, utterance: Utterance) -> TokenKind:
    """Return the kind of an utterance's token."""
    if token.is_added:
        return TokenKind.ADDED
    if not utterance.slots:
        return TokenKind.WORD
    spans = [(slot.start, slot.end) for slot in utterance.slots]
    return TokenKind.SLOT if token.touches(spans) else TokenKind.TEMPLATE


def looks_at(utterance: Utterance, analysis: SplitSentence, shares: list[float]) -> str:
    """Describe an embedding's attention: to slots if they are marked, and to the words with most."""
    word_shares = [
        (share, token) for share, token in zip(shares, analysis.tokens, strict=True) if not token.is_added
    ]
    total = sum(share for share, _ in word_shares)
    if total < ON_WORDS:  # too little to compare words
        return "Attends to no word: nearly all of its attention is on the special tokens."
    even = total / max(1, len(word_shares))
    more = [(share, token) for share, token in word_shares if share > MUCH * even]
    less = [(share, token) for share, token in word_shares if share < even / MUCH]
    if more:
        looks = f"Attends most to: {_named(sorted(more, key=lambda item: -item[0]))}."
    else:
        looks = f"Attends evenly to all words{f' but {_named(less)}' if less else ''}."
    if not utterance.slots:
        return looks
    in_slots = [share for share, token in word_shares if kind_of(token, utterance) is TokenKind.SLOT]
    return (
        f"{looks} Slots get {100 * sum(in_slots) / total:.0f} % of its attention to words, and are {len(in_slots)} of "
        f"{len(word_shares)} tokens."
    )


def _named(words: list[tuple[float, Token]]) -> str:
    return ", ".join(f"*{literal(token.word, 30)}*" for _, token in words[:_MOST_NAMED])


def _draw_neighbours(
    utterance: Utterance, parts: Mapping[Part, FloatArray], pool: Pool, vectors: FloatArray
) -> None:
    """Draw the neighbours of each embedding (dim,) among N sentences' (P, N, dim)."""
    st.header("Nearest neighbours")
    languages = choose_languages(
        "Neighbours in",
        ordered(pool.frame["language"]),
        f"split-near-{pool.key}",
        placeholder="All languages",
    )
    # The language of a typed utterance is unknown; it may be in the data.
    is_same = np.array(normalised(pool.texts), dtype=object) == normal_form(utterance.text)
    if utterance.language:
        is_same &= pool.frame["language"].to_numpy() == utterance.language
    allowed = ~is_same.astype(bool)
    if languages:
        allowed &= pool.frame["language"].isin(languages).to_numpy()
    table = splitting.neighbours(utterance, parts, pool, vectors, allowed)
    if table.empty:
        draw_note("No other sentence is left; choose more languages.")
        return
    for column, part in zip(roomy_columns(len(parts), 190, "near"), parts, strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f"**{literal(PART_NAMES[part])}**", help=MEANINGS[part])
            for row in table[table["embedding"] == part].to_dict("records"):
                shares = f"  \n:blue[{literal(row['what it shares'], 120)}]" if row["what it shares"] else ""
                st.markdown(
                    f"{literal(row['sentence'], 160)}  \n:gray[{row['cosine']:.3f} · "
                    f"{literal(language_name(row['language']))}]{shares}"
                )
    st.caption(
        "By similarity. Similarities of different embeddings can't be compared; compare the order of the sentences.",
        help=help_on(Word.COSINE, Word.NEIGHBOUR),
    )
    table["embedding"] = table["embedding"].map(PART_NAMES)
    draw_csv_button(table, "emu-split-neighbours.csv", key="near-csv")


def _draw_numbers(run: Run) -> None:
    metrics = run.metrics()
    measured = metrics.parts
    if not measured:
        draw_note("Nothing was measured: the run's data have no rows of split test or dev.")
        return
    table = part_table(measured)
    table["Embedding"] = table["Embedding"].map(PART_NAMES)
    columns = {
        name: st.column_config.NumberColumn(_TITLES.get(name), format="%.1f", help=_help(name))
        for name in table.columns[1:]
    }
    draw_table(table, "split-numbers", "emu-split-numbers.csv", columns)
    pairs = {direction(pair): count for pair, count in measured.counts.translation.items()}
    templates = {
        f"templates in {language_name(code)}": count for code, count in measured.counts.template.items()
    }
    asked = [_asked(pairs, "for each language pair"), _asked(templates, "for the templates of each language")]
    st.caption(
        "Percent. A language pair: how often the nearest sentence in the other language is the translation. "
        "Templates: how often the nearest sentence, among those made by putting other values into the slots, has the "
        f"same template. {_TITLES[PROBE]}: how well a linear layer identifies the language, which should be high for "
        "the language part and low for the meaning.",
        help=help_on(Word.PAIR, Word.TRANSLATION_FOUND, Word.PARTS),
    )
    if any(asked):
        st.caption(
            sentence(f"asked about, of split {metrics.split or 'test'}: {'; '.join(filter(None, asked))}")
        )
    for note in measured.notes:
        draw_note(sentence(note))


def _asked(counts: Mapping[str, int], each: str) -> str:
    """Say how many sentences were asked about by name, or "for each ..." if they are equally many."""
    if len(set(counts.values())) == 1:
        return f"{counted(next(iter(counts.values())), 'sentence')} {each}"
    return "; ".join(f"{name}: {counted(count, 'sentence')}" for name, count in counts.items())


def _help(name: str) -> str:
    if name == PROBE:
        return help_on(Word.LANGUAGE, text="How well a linear layer, the probe, identifies the language.")
    if name.startswith("Templates "):
        return f"Template retrieval in {language_name(name.removeprefix('Templates '))} (Acc@1)."
    source, target = name.split(" → ")
    return help_on(Word.TRANSLATION_FOUND, text=f"From {language_name(source)} to {language_name(target)}.")


def _draw_maps(spec: str) -> None:
    kind, pool = _choose_with_pool("Maps of", [TRANSLATIONS, FEW_TEMPLATES], "split-map-kind")
    vectors = _encoded_parts(spec, pool.key, pool.texts)
    if vectors is None:
        return
    if kind == TRANSLATIONS:
        if rows := _translations(pool):
            sentences = [pool.utterances[row] for row in rows]
            _draw_panels(spec, sentences, vectors[:, rows], (Part.LANGUAGE, Part.MEANING), "language")
    elif sentences := _templates(pool):
        made = _encoded_parts(spec, "", [utterance.text for utterance in sentences])
        if made is not None:
            _draw_panels(spec, sentences, made, (Part.MEAN, Part.TEMPLATE), "template")


def _translations(pool: Pool) -> list[int]:
    """Ask for two languages; return the rows of their translations."""
    pairs = splitting.language_pairs(pool, MIN_POINTS)
    if not pairs:
        draw_note(
            f"No two languages have {MIN_POINTS} translations here: the column id identifies translations."
        )
        return []
    first, second = choose(
        "Languages",
        pairs,
        f"split-map-pair-{pool.key}",
        format_func=lambda pair: " and ".join(map(language_name, pair)),
    )
    rows = splitting.pairs_of(pool, first, second)
    pairs_drawn, most = len(rows) // 2, ", the most that are drawn, as in the paper's Figure 4"
    st.caption(
        f"{counted(pairs_drawn, 'pair')} of translations{most if pairs_drawn == splitting.MOST_PAIRS else ''}."
    )
    return rows


def _templates(pool: Pool) -> list[Utterance]:
    """Ask for a language and an intent; return sentences of a few of its templates."""
    intents_by_language = {
        code: splitting.intents_with_templates(pool, code) for code in ordered(pool.frame["language"])
    }
    languages = [code for code, intents in intents_by_language.items() if intents]
    if not languages:
        draw_note(
            f"No intent has {TEMPLATES} sentences with different templates: slots are read from the column annotated, "
            "such as 'wake me up at [time : five am]'."
        )
        return []
    where, what = st.columns([1, 2])
    language = choose(
        "Language", languages, f"split-few-{pool.key}", container=where, format_func=language_name
    )
    intent = choose(
        "Intent", intents_by_language[language], f"split-few-{pool.key}-{language}", container=what
    )
    sentences, made = _sampled(pool.key, pool, language, intent)
    note = f"; {made} were made by filling a template with slot values from other sentences" if made else ""
    st.caption(
        f"{counted(len(sentences), 'sentence')} of {TEMPLATES} templates, as in the paper's Figure 4c{note}."
    )
    return sentences


@st.cache_data(max_entries=16, show_spinner="Choosing templates ...")
def _sampled(key: str, _pool: Pool, language: str, intent: str) -> tuple[list[Utterance], int]:
    return splitting.template_sample(_pool, language, intent)


def _draw_panels(
    spec: str,
    sentences: Sequence[Utterance],
    vectors: FloatArray,
    first: Sequence[Part],
    colour_first: ColourBy,
) -> None:
    """Draw maps of N sentences by their vectors (P, N, dim), with these embeddings and colours at first."""
    parts = parts_of(vectors)
    which, how = st.columns([3, 2])
    default = [part for part in first if part in parts]
    wanted = choose_many(
        "Embeddings",
        parts,
        f"split-map-parts-{'-'.join(default)}-{len(parts)}",
        container=which,
        default=default,
        max_selections=MOST_MAPS,
        format_func=PART_NAMES.__getitem__,
    )
    colour_by: ColourBy = choose_one(
        "Colour by",
        ["language", "intent", "template"],
        f"split-map-colour-{colour_first}",
        container=how,
        default=colour_first,
    )
    if not wanted:
        draw_note("Choose an embedding.")
        return
    drawn = digest([[utterance.language, utterance.text] for utterance in sentences])
    maps = laid_out(
        {PART_NAMES[part]: np.ascontiguousarray(vectors[parts.index(part)]) for part in wanted},
        {PART_NAMES[part]: f"split-map:{weights_of(spec)}:{part}:{drawn}" for part in wanted},
        Projection.TSNE,
    )
    draw_progress(maps, "split-map")
    panels = {name: layout.places for name, layout in maps.items()}
    points = splitting.points_of(sentences)
    draw_chart(
        charts.sentence_maps(panels, points, colour_by, theme=theme()),
        "split-map",
        f"t-SNE of {', '.join(panels)}: {len(points)} sentences, coloured by {colour_by}.",
        zooms=True,
    )
    if colour_by == "template" and splitting.OTHER_TEMPLATES in set(points["template"]):
        st.caption(
            f"The {splitting.MAX_NAMED_TEMPLATES} most frequent templates have their own colours; a "
            "translation has its original's."
        )
    draw_downloads(panels, points, colour_by, frozenset(), "emu-split")
    table = points.drop(columns="row")
    for name, places in panels.items():
        table[[f"{name} x", f"{name} y"]] = places
    draw_csv_button(table, "emu-split-map.csv", key="map-csv")


def parts_of(vectors: FloatArray) -> tuple[Part, ...]:
    """Return the names of embeddings (P, N, dim): all, or those of an encoder without template and residual."""
    return tuple(Part) if len(vectors) == len(Part) else _WITHOUT_TEMPLATE


def _encoded_parts(spec: str, data_sha: str, texts: Sequence[str]) -> FloatArray | None:
    """Return a run's embeddings (P, N, dim) of N texts; None, with progress drawn, until they are there."""
    vectors_by_spec = encoded({spec: spec}, data_sha, texts, parts=True)
    return None if vectors_by_spec is None else vectors_by_spec[spec]


if __name__ == "__main__":  # not where a test imports this file
    page()
