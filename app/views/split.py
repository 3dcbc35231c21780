"""Split: one utterance taken apart into language, template, residual and meaning, and what each part finds."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import cast

import numpy as np
import streamlit as st

from app.cache import computed, encoded
from app.context import choose_run, context
from app.library import chosen_data
from app.maps import draw_downloads, draw_progress, laid_out
from app.panels.run_table import run_facts
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
from app.state import finished_runs
from app.tasks import split
from app.vectors import weights_of
from app.wording import literal, sentence
from emu_core import charts
from emu_core.api.compare import ALL
from emu_core.api.split import (
    MOST_PAIRS,
    NAMED,
    OTHERS,
    PROBE,
    TEMPLATES,
    Pool,
    SplitSentence,
    Token,
    direction,
    intents_with_templates,
    language_pairs,
    neighbours,
    pairs_of,
    part_table,
    points_of,
    read_pool,
    template_sample,
)
from emu_core.charts.attention import Bar, TokenKind
from emu_core.charts.marks import ColourBy
from emu_core.data.labelled import LabelledSet
from emu_core.data.languages import language_name, ordered
from emu_core.data.slots.utterances import Utterance, parse_annotated
from emu_core.data.wording import counted, listed
from emu_core.encoders.base import FloatArray
from emu_core.encoders.disentangled import DisentangledEncoder
from emu_core.encoders.saved import read_config
from emu_core.errors import DataError, EncoderError
from emu_core.evaluation.projection import FEWEST, Projection
from emu_core.models.parts import Part
from emu_core.runs.run import Run

NO_RUN = (
    "No finished run splits sentences yet. Train one by the method FMDA, or by its baseline: with the demo set it "
    "takes three to five minutes on two idle cores, and longer where others work on them."
)
FROM_DATA, TYPED = "From the data", "Typed"
EXAMPLE = "wake me up at [time : five am]"
MOST_TOKENS = 80  # drawn
MOST_NAMED = 3
ON_WORDS = 0.05  # of the attention; with less the words are not looked at
MUCH = 1.3  # times an even share
TRANSLATIONS, FEW_TEMPLATES = "Translations of two languages", "A few templates of one intent"
MOST_MAPS = 3  # more would be too narrow
NAMES = {
    Part.CLS: "[CLS]",
    Part.MEAN: "Mean",
    Part.LANGUAGE: "Language",
    Part.TEMPLATE: "Template",
    Part.RESIDUAL: "Residual",
    Part.MEANING: "Meaning",
}
MEANINGS = {
    Part.CLS: "The frozen encoder's vector of its first token.",
    Part.MEAN: "The mean of the frozen encoder's tokens.",
    Part.LANGUAGE: "The language-specific part.",
    Part.TEMPLATE: "The sentence without its slots.",
    Part.RESIDUAL: "The rest of the sentence beside its template: the slots.",
    Part.MEANING: "The meaning of the sentence, in any language.",
}
_WITHOUT_TEMPLATE = (Part.CLS, Part.MEAN, Part.LANGUAGE, Part.MEANING)


def page() -> None:
    """Draw the page."""
    st.title("Split")
    st.caption("A sentence taken apart into its language, its template, the rest of it, and its meaning.")
    run = choose_run(
        {name: run for name, run in finished_runs().items() if splits(run)}, NO_RUN, method="fmda"
    )
    if run is None:
        return
    with errors_shown():  # of a damaged run folder
        draw_run(run)


def draw_run(run: Run) -> None:
    """Draw everything about one run."""
    st.caption(run_facts(run))
    utterance, numbers, maps = st.tabs(
        ["One utterance", "Evaluation of the parts", "Maps"], key="split-tab", on_change="rerun"
    )
    spec = f"run:{run.folder}"
    with utterance:
        if utterance.open:
            draw_utterance(run, spec)
    with numbers:
        if numbers.open:
            draw_numbers(run)
    with maps:
        if maps.open:
            left, right = st.columns(2, vertical_alignment="top")
            with left:
                pool = choose_pool()
            with right:
                kind = choose_one("Maps of", [TRANSLATIONS, FEW_TEMPLATES], "split-map-kind")
            vectors = encoded_parts(spec, pool.key, pool.texts)
            if vectors is not None:
                draw_maps(spec, kind, pool, vectors)


def draw_utterance(run: Run, spec: str) -> None:
    """Draw the choice of an utterance, its parts and its neighbours."""
    left, right = st.columns(2, vertical_alignment="top")
    with left:
        pool = choose_pool()
    with right:
        typed = choose_one("The utterance", [FROM_DATA, TYPED], "split-source") == TYPED
    trained_on = run.config().train_languages
    one = _typed() if typed else _of_data(pool, trained_on[0] if trained_on else "")
    if one is None:
        return
    st.caption(_utterance_facts(one))
    if one.language and one.language not in trained_on:
        draw_note(
            f"The run was not trained on {literal(language_name(one.language))}, only on "
            f"{literal(listed(map(language_name, trained_on)))}."
        )
    weights = weights_of(spec)
    label = "Opening the run's encoder and splitting the sentence"
    found = computed(f"split:{weights}:{one.text}", label, split, spec, weights, one.text)
    if found is None:
        return
    draw_parts(one, found)
    draw_attention(one, found)
    vectors = encoded_parts(spec, pool.key, pool.texts)
    if vectors is not None:
        draw_neighbours(one, found.parts, pool, vectors, weights)


def choose_pool() -> Pool:
    """Return the rows that the bar names: neighbours are looked for among them, and the maps show them."""
    chosen = chosen_data()
    split = context().on
    pool = _pool(chosen.sha256, chosen.labelled, split)
    if len(pool.frame) < pool.total:
        st.info(
            f"{len(pool.frame):,} of {counted(pool.total, 'sentence')} are used, translations together.",
            icon=":material/filter_list:",
        )
    if pool.unread:
        st.warning(
            f"{counted(pool.unread, 'annotation')} can't be read, or is not its sentence's; such a sentence is taken "
            "to have no slots.",
            icon=":material/data_object:",
        )
    return pool


@st.cache_resource(max_entries=8, show_spinner="Reading the slots ...")
def _pool(sha256: str, _labelled: LabelledSet, split: str) -> Pool:
    """Read the slots; a resource and not data, since it is large and nobody changes it."""
    part = _labelled if split == ALL else _labelled.select(splits=[split])
    return read_pool(f"{sha256}:{split}", part.frame)


def _of_data(pool: Pool, first_language: str) -> Utterance:
    languages = ordered(pool.frame["language"])
    where, which = st.columns([1, 4])
    language = choose(
        "Language",
        languages,
        f"split-language-{pool.key}",
        place=where,
        index=languages.index(first_language) if first_language in languages else 0,
        format_func=language_name,
    )
    row = choose(
        "Sentence",
        pool.rows(language),
        f"split-sentence-{pool.key}-{language}",
        place=which,
        format_func=lambda row: pool.utterances[row].text,
    )
    return pool.utterances[row]


def _typed() -> Utterance | None:
    typed = st.text_input(
        "Sentence",
        placeholder=EXAMPLE,
        max_chars=500,
        key="split-typed",
        persist_state="session",
        help=f"Slots may stand in brackets, as in {literal(EXAMPLE)}.",
    )
    try:
        text, slots = parse_annotated(typed.strip())
    except DataError as error:
        st.error(sentence(error), icon=":material/error:")
        return None
    return Utterance(text, slots, "", "", "") if text.strip() else None


def _utterance_facts(one: Utterance) -> str:
    """Language, intent and template, as markdown."""
    known = [language_name(one.language), one.intent and f"intent {one.intent}"] if one.language else []
    slots = f"template: {one.template}" if one.slots else "no slots are marked"
    return literal("; ".join([*filter(None, known), slots]), 600)


def splits(run: Run) -> bool:
    """Whether a finished run's encoder gives several embeddings of a sentence."""
    with suppress(EncoderError):
        return read_config(run.encoder_folder)["encoder"] == DisentangledEncoder.spec
    return False


def draw_parts(one: Utterance, found: SplitSentence) -> None:
    """Draw each part in words."""
    texts = {Part.LANGUAGE: _language(found)}
    if found.tokens:
        texts |= {
            Part.TEMPLATE: looks_at(one, found, [token.template for token in found.tokens]),
            Part.RESIDUAL: looks_at(one, found, [token.residual for token in found.tokens]),
            Part.MEANING: "Made of template and residual together, no language in it.",
        }
    else:
        texts[Part.MEANING] = "Made of the encoder's first token by one layer, which takes the language out."
    for place, (part, says) in zip(roomy_columns(len(texts), 230, "parts"), texts.items(), strict=True):
        with place.container(border=True, height="stretch"):
            st.markdown(f"**{NAMES[part]}**")
            st.caption(MEANINGS[part])
            st.markdown(says)


def draw_attention(one: Utterance, found: SplitSentence) -> None:
    """Draw which tokens template and residual are made of."""
    if not found.tokens:
        draw_note(
            "This is a run of the baseline. It reads the encoder's first token alone and has no attention over words, "
            "no template and no residual; a run of FMDA has them."
        )
        return
    tokens = found.tokens[:MOST_TOKENS]
    draw_chart(
        charts.attention_bars(
            [Bar(token.word, kind_of(token, one)) for token in tokens],
            {
                NAMES[Part.TEMPLATE]: [token.template for token in tokens],
                NAMES[Part.RESIDUAL]: [token.residual for token in tokens],
            },
        ),
        "split-attention",
        f"Attention over {len(tokens)} tokens, for template and residual.",
    )
    added = [token for token in found.tokens if token.is_added]
    template, residual = (
        100 * sum(shares) for shares in zip(*((t.template, t.residual) for t in added), strict=True)
    )
    cut = (
        f"The first {MOST_TOKENS} of {len(found.tokens)} tokens are drawn. "
        if len(tokens) < len(found.tokens)
        else ""
    )
    st.caption(
        f"{cut}Shares of the attention, in percent; the dotted line is an even share. Faint: what the encoder itself "
        f"puts around every sentence ({literal(' '.join(token.word for token in added))}), which takes "
        f"{template:.0f} % of the template's attention and {residual:.0f} % of the residual's. The residual looks "
        "where the template does not, and by its formula, softmax(1 - attention), is always close to even."
    )


def kind_of(token: Token, one: Utterance) -> TokenKind:
    """Return what a token of an utterance is."""
    if token.is_added:
        return TokenKind.ADDED
    if not one.slots:
        return TokenKind.WORD
    spans = [(slot.start, slot.end) for slot in one.slots]
    return TokenKind.SLOT if token.touches(spans) else TokenKind.TEMPLATE


def _language(found: SplitSentence) -> str:
    sure = sorted(found.languages.items(), key=lambda item: -item[1])[:MOST_NAMED]
    return "Says: " + ", ".join(f"{literal(language_name(code))} {100 * share:.0f} %" for code, share in sure)


def looks_at(one: Utterance, found: SplitSentence, shares: list[float]) -> str:
    """Where an embedding looks: at its slots or beside them where they are known, and at which words most."""
    own = [(share, token) for share, token in zip(shares, found.tokens, strict=True) if not token.is_added]
    total = sum(share for share, _ in own)
    if total < ON_WORDS:  # then the shares among the words say nothing
        return (
            "Looks at no word: nearly all of its attention is on what the encoder puts around the sentence."
        )
    looks = _looks(own, total / max(1, len(own)))
    if not one.slots:
        return looks
    in_slots = [(share, token) for share, token in own if kind_of(token, one) is TokenKind.SLOT]
    return (
        f"{looks} Slots get {100 * sum(share for share, _ in in_slots) / total:.0f} % of its attention to words, and "
        f"are {len(in_slots)} of {len(own)} tokens."
    )


def _looks(own: list[tuple[float, Token]], even: float) -> str:
    """Which words have clearly more than an even share, or else which have clearly less."""
    more = [(share, token) for share, token in own if share > MUCH * even]
    if more:
        return f"Looks most at: {_named(sorted(more, key=lambda item: -item[0]))}."
    less = [(share, token) for share, token in own if share < even / MUCH]
    return f"Looks evenly at all words{f' but {_named(less)}' if less else ''}."


def _named(words: list[tuple[float, Token]]) -> str:
    return ", ".join(f"*{literal(token.word, 30)}*" for _, token in words[:MOST_NAMED])


def draw_neighbours(
    one: Utterance, parts: Mapping[Part, FloatArray], pool: Pool, vectors: FloatArray, key: str
) -> None:
    """Draw a column for each embedding of an utterance (dim,), by N sentences' (P, N, dim); `key` is the run's."""
    st.subheader("Nearest neighbours")
    languages = choose_languages(
        "Neighbours in",
        ordered(pool.frame["language"]),
        f"split-near-{pool.key}",
        placeholder="All languages",
    )
    # Of a typed one the language is unknown; it may be in the data.
    itself = [other.text == one.text and one.language in ("", other.language) for other in pool.utterances]
    allowed = ~np.array(itself)
    if languages:
        allowed &= pool.frame["language"].isin(languages).to_numpy()
    table = neighbours(one, parts, pool, vectors, allowed)
    if table.empty:
        st.info("No other sentence is left; choose more languages.", icon=":material/filter_alt_off:")
        return
    for place, part in zip(roomy_columns(len(parts), 190, "near"), parts, strict=True):
        with place.container(border=True, height="stretch"):
            st.markdown(f"**{literal(NAMES[part])}**", help=MEANINGS[part])
            for row in table[table["embedding"] == part].to_dict("records"):
                shares = f"  \n:blue[{literal(row['what it shares'], 120)}]" if row["what it shares"] else ""
                st.markdown(
                    f"{literal(row['sentence'], 160)}  \n:gray[{row['cosine']:.3f} · "
                    f"{literal(language_name(row['language']))}]{shares}"
                )
    st.caption(
        "By cosine, among the sentences chosen above. The cosines of two embeddings can't be compared: look at which "
        "sentences come first."
    )
    draw_csv_button(
        table.assign(embedding=table["embedding"].map(NAMES)),
        (key, pool.key, one.text, one.language, tuple(languages)),
        "emu-split-neighbours.csv",
        key="near-csv",
    )


def draw_numbers(run: Run) -> None:
    """Draw a row for each embedding."""
    metrics = run.metrics()
    measured = metrics.get("parts")
    if not measured:
        draw_note("Nothing was measured: the run's data had no rows of split test or dev.")
        return
    table = part_table(measured)
    table["Embedding"] = table["Embedding"].map(NAMES)
    columns = {
        name: st.column_config.NumberColumn(format="%.1f", help=_help(name)) for name in table.columns[1:]
    }
    st.dataframe(table, hide_index=True, column_config=columns, key="split-numbers")
    counts = measured["counts"]
    asked = [
        f"{direction(pair)}: {counted(count, 'query', 'queries')}"
        for pair, count in counts["translation"].items()
    ] + [
        f"templates {code}: {counted(count, 'query', 'queries')}"
        for code, count in counts["template"].items()
    ]
    st.caption(
        "Percent. A direction: how often the nearest sentence in the other language is the translation (Acc@1). "
        "Templates: how often the nearest sentence, of those made by putting other values into the slots, is of the "
        f"same template (Acc@1). {PROBE}: how well a linear layer identifies the language: high is right for "
        "the language part, low for the meaning."
    )
    if asked:
        st.caption(sentence(f"on split {metrics.get('split', 'test')}: {'; '.join(asked)}"))
    for note in measured.get("notes", []):
        draw_note(sentence(note))
    draw_csv_button(table, (run.name, str(measured)), "emu-split-numbers.csv", key="numbers-csv")


def _help(name: str) -> str:
    if name == PROBE:
        return "How well a linear layer identifies the language."
    if name.startswith("Templates "):
        return f"Template retrieval in {language_name(name.removeprefix('Templates '))}, Acc@1."
    source, target = name.split(" → ")
    return f"Queries in {language_name(source)}, translations in {language_name(target)}, Acc@1."


def draw_maps(spec: str, kind: str, pool: Pool, vectors: FloatArray) -> None:
    """Draw the choice of sentences and embeddings, and their maps, of N sentences with embeddings (P, N, dim)."""
    parts = parts_of(vectors)
    if kind == TRANSLATIONS:
        rows = _translations(pool)
        if rows:
            wanted, colour_by = _controls(parts, (Part.LANGUAGE, Part.MEANING), "language")
            _draw_maps(
                spec, parts, wanted, colour_by, [pool.utterances[row] for row in rows], vectors[:, rows]
            )
        return
    sentences = _templates(pool)
    if sentences:
        found = encoded_parts(spec, "", [one.text for one in sentences])
        if found is not None:
            wanted, colour_by = _controls(parts, (Part.MEAN, Part.TEMPLATE), "template")
            _draw_maps(spec, parts, wanted, colour_by, sentences, found)


def _translations(pool: Pool) -> list[int]:
    """Ask for two languages; the rows of their translations."""
    pairs = language_pairs(pool, FEWEST)
    if not pairs:
        st.info(
            f"No two languages have {FEWEST} translations here: translations are found by the column id.",
            icon=":material/link_off:",
        )
        return []
    first, second = choose(
        "Languages",
        pairs,
        f"split-map-pair-{pool.key}",
        format_func=lambda pair: " and ".join(map(language_name, pair)),
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
    language = choose(
        "Language", list(languages), f"split-few-{pool.key}", place=where, format_func=language_name
    )
    intent = choose("Intent", languages[language], f"split-few-{pool.key}-{language}", place=what)
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
    colour_by = choose_one(
        "Colour by",
        ["language", "intent", "template"],
        f"split-map-colour-{colour_first}",
        place=how,
        default=colour_first,
    )
    return wanted, cast(ColourBy, colour_by)


def _draw_maps(
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
    maps = laid_out(
        {NAMES[part]: np.ascontiguousarray(vectors[list(parts).index(part)]) for part in wanted},
        {NAMES[part]: f"split-map:{weights_of(spec)}:{part}:{digest}" for part in wanted},
        Projection.TSNE,
    )
    draw_progress(maps, "split-map")
    panels = {name: one.places for name, one in maps.items()}
    points = points_of(sentences)
    draw_chart(
        charts.sentence_maps(panels, points, colour_by),
        "split-map",
        f"t-SNE of {', '.join(panels)}: {len(points)} sentences, coloured by {colour_by}.",
        zooms=True,
    )
    if colour_by == "template" and OTHERS in set(points["template"]):
        st.caption(
            f"The {NAMED} most frequent templates have a colour of their own; a translation has its original's."
        )
    draw_downloads(panels, points, colour_by, frozenset(), "emu-split")
    table = points.drop(columns="row")
    for name, places in panels.items():
        table[[f"{name} x", f"{name} y"]] = places
    draw_csv_button(
        table,
        (digest, *((one.key, one.progress) for one in maps.values())),
        "emu-split-map.csv",
        key="map-csv",
    )


def parts_of(vectors: FloatArray) -> tuple[Part, ...]:
    """Return the names of embeddings (P, N, dim): all, or those of an encoder that has no template and residual."""
    return tuple(Part) if len(vectors) == len(Part) else _WITHOUT_TEMPLATE


def encoded_parts(spec: str, data_sha: str, texts: Sequence[str]) -> FloatArray | None:
    """Return the embeddings (P, N, dim) of N texts by a run, or None, and draw why, while they are being computed."""
    found = encoded({spec: spec}, data_sha, texts, parts=True)
    return None if found is None else found[spec]


if __name__ == "__main__":  # not where a test imports this file
    page()
