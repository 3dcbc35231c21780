"""Prediction: the intents of new sentences by each encoder, from their nearest labelled sentences."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from emu_app.data.boxes import ask_sentences, read_box
from emu_app.data.tables import NOTES, read_sentences
from emu_app.panels.context import A, B, Context
from emu_app.panels.labelling import LABELLING
from emu_app.shell.address import draw_link
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.model_name import RUN_PREFIX
from emu_app.shell.widgets import KEPT, choose, draw_note, draw_table, errors_shown, roomy_columns
from emu_app.shell.wording import literal
from emu_app.work import tasks
from emu_app.work.cache import computed, encoded, vectors_file
from emu_app.work.tasks import NEIGHBOURS, Answer, Answerer
from emu_app.work.vectors import digest, weights_of
from emu_core.api.compare import ALL, choose_rows
from emu_core.api.inputs import without_heads
from emu_core.charts.style import short
from emu_core.data.languages import language_name
from emu_core.data.sets import LabelledSet
from emu_core.data.wording import counted
from emu_core.encoders.specs import is_run
from emu_core.intents.answers import NO_INTENT
from emu_core.intents.model import LEAST_UNLABELLED
from emu_core.reports.prediction_notes import prediction_notes
from emu_core.runs.intents import has_intents, load_intents
from emu_core.runs.run import Run
from emu_core.runs.trained_on import trained_rows

MOST_TYPED, MOST_OF_A_FILE = 200, 5_000
_BOTH = f"{A} and {B}"


def answers(
    now: Context,
    texts: list[str],
    specs: Mapping[str, str],
    *,
    languages: list[str] | None = None,
    adapts: bool = False,
    with_vectors: bool = False,
) -> dict[str, Answer] | None:
    """Return the answers to N texts by each of some encoders; None, with progress drawn, until they are there.

    A run answers with its own intent model. Any other encoder answers with one that is fitted on the labelled sentences
    of the run beside it, if that keeps them, or else on those of the data, or a sample of them. The other arguments are
    those of `tasks.answers`.
    """
    with errors_shown():
        answerers, pool = _own_models(now, specs), _NO_POOL
        if rest := {name: spec for name, spec in specs.items() if name not in answerers}:
            pool = _pool_of(now)
            if encoded(rest, pool.sha256, pool.texts) is None:
                return None
            answerers |= {name: _fitted(spec, pool) for name, spec in rest.items()}
        in_order = {name: answerers[name] for name in specs}
        key = digest([str(in_order), languages, adapts, with_vectors, *texts])
        by_encoder: dict[str, Answer] | None = computed(
            f"answers:{key}",
            f"Naming the intents of {counted(len(texts), 'sentence')}",
            tasks.answers,
            in_order,
            pool.labelled,
            pool.asked,
            texts,
            languages,
            adapts,
            with_vectors,
        )
        return by_encoder
    return None


def _own_models(now: Context, specs: Mapping[str, str]) -> dict[str, Answerer]:
    """Return what answers with the model of a run: its encoder, and the base that a head of it leaves as it is."""
    models = {name: run for name, run in _runs(now).items() if has_intents(run)}
    plain = {name: _plain(run) for name, run in models.items()}
    answerers = {}
    for name, spec in specs.items():
        owner = name if name in models else next((other for other in models if plain[other] == spec), None)
        if owner is not None:
            run = models[owner]
            model = f"{run.folder} {weights_of(f'{RUN_PREFIX}{run.folder}')}"
            weights = weights_of(spec), weights_of(plain[owner])
            answerers[name] = Answerer(
                spec, weights[0], plain[owner], weights[1], model, f"the run {run.name}", run=run.folder
            )
    return answerers


def _runs(now: Context) -> dict[str, Run]:
    """Return the runs among A and B by the encoder's name."""
    return {
        name: Run(Path(spec.removeprefix(RUN_PREFIX))) for name, spec in now.specs.items() if is_run(spec)
    }


def _plain(run: Run) -> str:
    """Return the encoder whose vectors a run's intent model takes: the base as it was, or else the run's own."""
    spec = f"{RUN_PREFIX}{run.folder}"
    bare = without_heads(spec)
    return bare if bare == run.plan().encoder else spec


@dataclass(frozen=True, eq=False)
class _Pool:
    """Labelled sentences for the encoders that have no model of their own."""

    sha256: str
    labelled: LabelledSet
    source: str  # whose they are, in words
    texts: list[str]  # of all rows
    asked: NDArray[np.intp]  # the rows that may be held out


_NO_POOL = _Pool("", LabelledSet.of_nothing(""), "", [], np.zeros(0, dtype=np.intp))


def _fitted(spec: str, pool: _Pool) -> Answerer:
    weights, path = weights_of(spec), vectors_file(spec, pool.sha256, pool.texts)
    model = f"{path} {digest(pool.asked.tolist())}"
    return Answerer(spec, weights, spec, weights, model, pool.source, pool_vectors=path)


def _pool_of(now: Context) -> _Pool:
    """Return the labelled sentences of the run that keeps some, so that both encoders know the same, or the data's.

    Raises RunError if the run is damaged.
    """
    models = {name: run for name, run in _runs(now).items() if has_intents(run)}
    rest = tuple(spec for name, spec in now.specs.items() if name not in models)
    weights = tuple(map(weights_of, rest))
    for run in models.values():  # one, or there would be no other encoder
        if run.plan().keep_examples:
            sha256 = weights_of(f"{RUN_PREFIX}{run.folder}")
            labelled, of_run = _labels_of_run(sha256, str(run.folder)), f"the run {run.name}"
            return _prepared(sha256, weights, rest, of_run, labelled)
    chosen = now.chosen
    pool = _prepared(chosen.sha256, weights, rest, "the data", chosen.labelled)
    if len(pool.labelled) < len(chosen.labelled):
        draw_note(
            f"The labelled sentences are a sample of {len(pool.labelled):,} of {len(chosen.labelled):,}, with every "
            "intent."
        )
    return pool


@st.cache_resource(max_entries=4, show_spinner=False)
def _labels_of_run(weights: str, folder: str) -> LabelledSet:
    return load_intents(Run(Path(folder))).labelled


@st.cache_resource(max_entries=4, show_spinner=False)
def _prepared(
    sha256: str, weights: tuple[str, ...], specs: tuple[str, ...], source: str, _labelled: LabelledSet
) -> _Pool:
    labelled, _ = choose_rows(_labelled, ALL, [])
    seen = np.logical_or.reduce([trained_rows(spec, labelled)[0] for spec in specs])
    return _Pool(sha256, labelled, source, labelled.all_rows()["text"].tolist(), np.flatnonzero(~seen))


def draw_predictions(now: Context) -> None:
    """Ask for sentences and draw both encoders' predictions, and the labelled sentences behind one of them."""
    st.caption(
        "Predicts the intents of sentences in any language, and shows their nearest labelled sentences.",
        help=help_on(Word.POOL, Word.NEIGHBOUR, Word.NONE_OF_THESE),
    )
    draw_link("data", "Label sentences, the most useful first", ":material/new_label:", part=LABELLING)
    sentences = _ask()
    texts, languages = (sentences[name].tolist() for name in ("text", "language"))
    adapts = len(texts) >= LEAST_UNLABELLED and st.toggle(
        "Adapt to these sentences",
        value=True,
        key="predict-adapts",
        help=f"{LEAST_UNLABELLED} or more sentences of a language show where those of an intent are, and how far "
        "confidence and threshold hold. The answer to a sentence then depends on the others; without, each is answered "
        "by itself.",
        **KEPT,
    )
    by_encoder = answers(now, texts, now.specs, languages=languages, adapts=adapts) if texts else None
    if by_encoder is None:
        return
    by_title = titled(dict(zip(by_encoder, now.titles, strict=True)), by_encoder)
    _draw_table(by_encoder, {title: answer for title, _, answer in by_title})
    for title, _, answer in by_title:
        notes = [_source(answer), *prediction_notes(answer.facts)]
        st.caption(f"{literal(title)}: {' '.join(map(literal, notes))}", help=_about_notes())
    row = 0
    if len(texts) > 1:
        rows, named = range(len(texts)), [short(text, 100) for text in texts]
        row = choose(
            "The nearest labelled sentences of",
            rows,
            f"predict-row-{hash(tuple(texts))}",
            format_func=named.__getitem__,
        )
    columns = roomy_columns(len(by_title), 340, "predicted")
    for column, (title, name, answer) in zip(columns, by_title, strict=True):
        with column:
            draw_answer(title, answer, f"predicted-{name}", row=row, with_notes=False)


def titled(titles: Mapping[str, str], by_encoder: Mapping[str, Answer]) -> list[tuple[str, str, Answer]]:
    """Return the title of each answer in figures, the encoder's name and the answer; one for two by the same model.

    That is so, and said, of a base encoder and one with a head on it.
    """
    first = next(iter(by_encoder))
    if len(by_encoder) == 1 or len({answer.model for answer in by_encoder.values()}) > 1:
        return [(titles[name], name, answer) for name, answer in by_encoder.items()]
    st.caption(
        f"{_BOTH} name the same intents: they differ by a head, which moves vectors for maps and searches, and intents "
        "are named from the vectors before it."
    )
    return [(_BOTH, first, by_encoder[first])]


def _source(answer: Answer) -> str:
    """Return, in a sentence, whose labelled sentences an answer is from."""
    return f"From {counted(answer.facts['pool'], 'labelled sentence')} of {answer.source}."


def _ask() -> pd.DataFrame:
    """Return the sentences to predict with their languages, "" for unknown ones; none while there are none."""
    example = "Where is the pool?\nWo ist das Schwimmbad?"
    name, payload = ask_sentences("predict", placeholder=example, label_visibility="collapsed")
    read = read_box(read_sentences, name, payload) if name else read_sentences("", payload)
    sentences = pd.DataFrame({"text": [], "language": []}) if read is None else read
    if notes := sentences.attrs.get(NOTES):
        draw_note("\n\n".join(map(literal, notes)))
    if sentences.empty and not name:
        draw_note("Type or upload sentences, in any language that the encoder knows.")
    limit = MOST_OF_A_FILE if name else MOST_TYPED
    if len(sentences) > limit:
        draw_note(
            f"Only the first {limit:,} of {len(sentences):,} sentences are predicted here; `emu predict` takes any "
            "number."
        )
    return sentences.iloc[:limit]


def _draw_table(by_encoder: Mapping[str, Answer], by_title: Mapping[str, Answer]) -> None:
    """Draw the encoders' predictions side by side, with a download of all details.

    In the table, a title is the name of its encoder, or of both.
    """
    names = [_BOTH] if _BOTH in by_title else [*by_encoder]
    shown = dict(zip(names, (answer.table for answer in by_title.values()), strict=True))
    tables = {name: answer.table for name, answer in by_encoder.items()}
    texts = tables[A][["text"]]
    intents = {f"{name}: intent": table["intent"] for name, table in shown.items()}
    confidences = {f"{name}: confidence": 100 * table["confidence"] for name, table in shown.items()}
    percent = st.column_config.NumberColumn(format="%.0f %%", width="small")
    others = ["text", "repeats"]
    parts = [table.drop(columns=others).add_prefix(f"{name.lower()}_") for name, table in tables.items()]
    draw_table(
        pd.DataFrame({"Sentence": texts["text"], **intents, **confidences}),
        "predictions",
        "emu-predictions.csv",
        dict.fromkeys(confidences, percent),
        download=pd.concat([texts, *parts], axis=1),
        most=MOST_OF_A_FILE,
        placeholder="–",
    )


def draw_answer(title: str, answer: Answer, key: str, *, row: int = 0, with_notes: bool = True) -> None:
    """Draw a row of an answer: the intent, the labelled sentences behind it, and how reliable it is."""
    of_row = answer.table.iloc[row]
    confidence = "" if pd.isna(of_row["confidence"]) else f" ({100 * of_row['confidence']:.0f} %)"
    st.markdown(f"{literal(title)}: **{literal(of_row['intent'], 60)}**{confidence}")
    neighbours = [f"nearest_{rank}" for rank in range(1, NEIGHBOURS + 1) if f"nearest_{rank}" in of_row]
    columns = {"text": "", "intent": "_intent", "language": "_language", "cosine": "_cosine"}
    table = pd.DataFrame(
        {name: [of_row[f"{neighbour}{end}"] for neighbour in neighbours] for name, end in columns.items()}
    )
    draw_neighbours(table, of_row["intent"], key)
    notes = [_source(answer), *prediction_notes(answer.facts)] if with_notes else []
    about = _about_notes() if notes else None
    if of_row["repeats"]:
        notes = ["The set has this sentence itself, which is left out.", *notes]
    st.caption(" ".join(["✓ has the predicted intent.", *map(literal, notes)]), help=about)


def _about_notes() -> str:
    """Return a help on the terms of `prediction_notes`, which the command prints, too."""
    return help_on(Word.NONE_OF_THESE, Word.COSINE, Word.NEIGHBOUR)


def draw_neighbours(table: pd.DataFrame, intent: str, key: str) -> None:
    """Draw neighbours (text, intent, language, cosine) and mark those that have the intent."""
    draw_near(
        table.assign(right=np.where(table["intent"] == intent, "✓", "" if intent == NO_INTENT else "✗")), key
    )


def draw_near(table: pd.DataFrame, key: str) -> None:
    """Draw sentences (text, intent, language, cosine) that are near another one, `right` or not if that is known."""
    column = st.column_config
    shown = ["right", "text", "cosine", "intent", "language"]
    st.dataframe(
        table.assign(language=table["language"].map(language_name)),
        hide_index=True,
        column_order=[name for name in shown if name in table],
        column_config={
            "right": column.TextColumn("✓", width=25, help="✓ if it has the intent."),
            "text": column.TextColumn("Sentence", width=175 if "right" in table else 500),
            "cosine": column.NumberColumn("Similarity", format="%.2f", width=75, help=help_on(Word.COSINE)),
            "intent": column.TextColumn("Intent", width=110),
            "language": column.TextColumn("Language", width=80),
        },
        key=key,
        row_height=28,
    )
