"""The sentences to label next: rank those without an intent, and label them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from emu_app.data.boxes import ask_sentences, read_box
from emu_app.data.library import ChosenData, add_version, all_rows, can_undo, rows_to_label, scores
from emu_app.data.tables import DETECT, NOTES, unlabelled_from_upload
from emu_app.panels.context import USUAL_ENCODER, A, Context, base_of, stay
from emu_app.panels.findings import intent_column
from emu_app.panels.label_score import draw_score
from emu_app.panels.undo import draw_undo
from emu_app.shell.address import draw_link
from emu_app.shell.model_name import RUN_PREFIX
from emu_app.shell.session import Remembered
from emu_app.shell.widgets import KEPT, choose, draw_note, errors_shown, then_rerun
from emu_app.shell.wording import literal
from emu_app.work.cache import computed, encoded
from emu_app.work.tasks import gains_of_labels, suggestions
from emu_app.work.vectors import digest, weights_of
from emu_core.api.suggest import Suggester
from emu_core.data.intent_names import spelt_as
from emu_core.data.languages import UNDETERMINED, language_name
from emu_core.data.repeats import is_repeat, repeat_keys
from emu_core.data.sets import UnlabelledSet
from emu_core.data.wording import counted, listed
from emu_core.encoders.base import FloatArray
from emu_core.encoders.specs import is_run
from emu_core.runs.run import Run

LABELLING = "Label more sentences"  # the tab of the Data page
FIRST, MOST = 10, 100
_SURE = 0.5  # the probability from which on a guess is ticked, where nothing is held out to tell
_SKIPPED = Remembered[frozenset[str]](
    "label-skipped", frozenset()
)  # `repeat_keys` of sentences left out of rounds
_ADDITIONS = Remembered("label-additions", 0)
_INTENT = Remembered("label-intent", "")  # of the box
_BY_KEYS = Remembered("label-by-keys", False)
_LABELLED_IN = Remembered[dict[str, frozenset[str]]]("labelled-in", {})  # languages by the version's name
_UNDO = "undo-labels"  # the key of the button that takes back a round
LINE = 55  # characters of a sentence in a line of the table


def draw_labelling(now: Context) -> None:
    """Draw the sentences that are most worth labelling, and the score after each round."""
    chosen = now.chosen
    st.markdown(
        "The sentences without an intent whose labels would teach the default method most: it is unsure about them, "
        "they differ from each other, and every language has its share. After each round the method is fitted again."
    )
    rows = rows_to_label(chosen)
    with st.expander("Add sentences without an intent", expanded=rows.empty, icon=":material/playlist_add:"):
        _draw_adding(chosen)
    is_skipped = repeat_keys(rows).isin(_SKIPPED.get())
    rows = rows[~is_skipped]
    if rows.empty and not (is_skipped.any() or chosen.changes or scores(chosen)):
        return
    left, right = st.columns([7, 3], gap="medium")
    with left:
        count = FIRST
        if rows.empty:
            _draw_all_labelled(int(is_skipped.sum()))
        else:
            count = st.number_input(
                "Sentences per round", 1, MOST, FIRST, key="label-count", width=160, **KEPT
            )
        suggestions = _suggested(now, rows, count)
        if suggestions is not None and not rows.empty:
            st.fragment(_draw_round)(chosen, rows, suggestions[0], suggestions[1].get("sure_from", _SURE))
        else:
            draw_undo(chosen, _UNDO)
    with right:
        curve = st.container()
        score = None if suggestions is None else suggestions[1]
        if score and not rows.empty and (forecast := _forecast(now, count)):
            score = score | {"forecast": forecast}
        with curve:
            draw_score(chosen, score, _measured_on(now))
        _choose_train_languages(chosen)
        draw_link("train", "Train a run on these labels", ":material/model_training:")


def labels_in(chosen: ChosenData) -> Remembered[list[str]]:
    """Return the choice of the languages whose labels a run learns from."""
    return Remembered(f"train-{chosen.sha256[:12]}", [])


def _choose_train_languages(chosen: ChosenData) -> None:
    """Choose the languages of the labels that were given here, too, for the Train page."""
    new = _LABELLED_IN.get().get(chosen.name, frozenset())
    choice = labels_in(chosen)
    if new and not choice.is_set:
        wanted = {*chosen.usual_train_languages, *new}
        choice.set([code for code in chosen.train_languages if code in wanted])


def _draw_all_labelled(skipped: int) -> None:
    """Say that no sentence is left to label, and offer those that were left out of earlier rounds."""
    if not skipped:
        st.success("Every sentence has a label.", icon=":material/task_alt:")
        return
    draw_note(f"Every other sentence has a label; you left out {counted(skipped, 'sentence')}.")
    if st.button("Offer them again", icon=":material/replay:"):
        _SKIPPED.forget()
        st.rerun()


def _draw_adding(chosen: ChosenData) -> None:
    """Ask for sentences, and add them to the set as rows without an intent."""
    number = _ADDITIONS.get()  # a new key empties the boxes
    how, language = st.columns(2, vertical_alignment="bottom")
    options = [DETECT, *chosen.labelled.languages]
    stated = choose(
        "Language, unless the file states it",
        options if len(options) > 2 else options[::-1],
        f"label-language-{chosen.sha256[:12]}",
        container=language,
        format_func=lambda code: "Detect that of each sentence" if code == DETECT else language_name(code),
    )
    name, payload = ask_sentences("label", number, container=how)
    if not payload.strip():
        return
    with errors_shown():
        table = read_box(unlabelled_from_upload, name, payload, stated)
        if table is None:
            return
        if notes := table.attrs[NOTES]:
            draw_note("\n\n".join(map(literal, notes)))
        rows, table = all_rows(chosen), _with_languages(chosen, table)
        new = table[~is_repeat(table, rows)]
        counts = new["language"].value_counts()
        languages = listed((f"{language_name(code)} {count:,}" for code, count in counts.items()), 8)
        known_words = f"; {len(table) - len(new):,} in the set already" if len(new) < len(table) else ""
        st.caption(literal(f"{counted(len(new), 'new sentence')} ({languages or 'none'}){known_words}."))
        if st.button("Add them to the set", icon=":material/save:", disabled=new.empty):
            rows = pd.concat([rows, new], ignore_index=True).fillna("").astype("str")
            add_version(chosen, rows, f"{counted(len(new), 'sentence')} without an intent added")
            stay()
            _ADDITIONS.set(number + 1)
            st.rerun()


def _with_languages(chosen: ChosenData, table: pd.DataFrame) -> pd.DataFrame:
    """Ask for the language of sentences whose letters don't tell it; without an answer, they are left out."""
    is_unknown = table["language"] == UNDETERMINED
    if not is_unknown.any():
        return table
    code = choose(
        f"Language of {counted(int(is_unknown.sum()), 'sentence')} whose letters don't tell it",
        chosen.labelled.languages,
        f"label-undetermined-{chosen.sha256[:12]}",
        index=None,
        placeholder="left out",
        format_func=language_name,
    )
    return table.assign(language=table["language"].mask(is_unknown, code)) if code else table[~is_unknown]


def _suggested(now: Context, rows: pd.DataFrame, count: int) -> tuple[pd.DataFrame, dict[str, Any]] | None:
    """Return what to label next and the score so far; None, with progress drawn, until they are there."""
    labelled, spec = now.chosen.labelled, _encoder(now)
    if (encodings := _vectors(now)) is None:
        return None
    unlabelled = UnlabelledSet(rows[list(UnlabelledSet.columns)].reset_index(drop=True), labelled.name)
    wanted = digest([*rows["text"], *rows["language"]])
    computed_suggestions: tuple[pd.DataFrame, dict[str, Any]] | None = computed(
        f"label:{now.chosen.sha256}:{weights_of(spec)}:{wanted}:{count}",
        f"Fitting the default method on {counted(len(labelled.train_part()), 'sentence')}",
        suggestions, spec, labelled, unlabelled, count, *encodings,
    )  # fmt: skip
    if computed_suggestions is not None and computed_suggestions[1]:
        labels = len(labelled.train_part())
        return computed_suggestions[0], {"labels": labels, **computed_suggestions[1], "of": _measured_on(now)}
    return computed_suggestions


def _vectors(now: Context) -> tuple[list[str], FloatArray] | None:
    """Return all N sentences that the method needs and their vectors (N, dim); None while they are encoded."""
    spec = _encoder(now)
    reference = (text for texts in Suggester(spec).reference().values() for text in texts)
    # Sorted, they are the same in each round, and are encoded once.
    texts = sorted({*now.chosen.labelled.frame["text"], *rows_to_label(now.chosen)["text"], *reference})
    vectors = encoded({A: spec}, "", texts)
    return None if vectors is None else (texts, vectors[A])


def _forecast(now: Context, more: int) -> dict[str, Any] | None:
    """Offer to forecast what more labels would add; None unless that is wanted and there."""
    about = (
        "Leaves as many of the labels out at random, eight times, and measures what they added; a learning curve "
        "that flattens with the logarithm of the number of labels carries this on. In four of five rounds the gain "
        "should lie in the interval, if the next sentences are like those labelled so far; with few labels it is less "
        "certain than that."
    )
    if not st.toggle(
        f"What would {counted(more, 'more label')} buy?", key="label-forecast", help=about, **KEPT
    ):
        return None
    if (encodings := _vectors(now)) is None:
        return None
    spec = _encoder(now)
    gains: dict[str, tuple[float, float, float]] | None = computed(
        f"gains:{now.chosen.sha256}:{weights_of(spec)}:{more}",
        f"Fitting without {counted(more, 'label')}, eight times",
        gains_of_labels, spec, now.chosen.labelled, more, *encodings,
    )  # fmt: skip
    if gains is None:
        return None
    return {"more": more, "gains": {language: list(gain) for language, gain in gains.items()}}


def _measured_on(now: Context) -> str:
    """Return the encoder and the held-out sentences, of which scores can be compared."""
    held_out = now.chosen.labelled.held_out_part()
    return f"{_encoder(now)}:{'' if held_out is None else held_out.sha256()}"


def _encoder(now: Context) -> str:
    """Return encoder A or, if that is a run, the encoder that it was trained from."""
    spec = now.specs[A]
    base = base_of(Run(Path(spec.removeprefix(RUN_PREFIX)))) if is_run(spec) else spec
    return base if base and RUN_PREFIX not in base else USUAL_ENCODER


@dataclass
class _Keyed:
    """The labels that were given one by one in a round."""

    round: str
    at: int = 0  # the sentence that is asked for
    intents: dict[int, str] = field(default_factory=dict)  # by sentence
    # Each sentence that was labelled, and its intent before.
    steps: list[tuple[int, str | None]] = field(default_factory=list)

    def label(self, intent: str, count: int) -> None:
        """Label the sentence, and go on to the next one of `count`."""
        self.steps.append((self.at, self.intents.get(self.at)))
        self.intents[self.at] = intent
        self.move(1, count)

    def move(self, by: int, count: int) -> None:
        """Go on or back."""
        self.at = min(max(self.at + by, 0), count - 1)

    def undo(self) -> None:
        """Take back the last label, and go to its sentence."""
        self.at, before = self.steps.pop()
        if before is None:
            del self.intents[self.at]
        else:
            self.intents[self.at] = before


_KEYED = Remembered[_Keyed | None]("label-keyed", None)


def _draw_round(chosen: ChosenData, rows: pd.DataFrame, suggested: pd.DataFrame, sure_from: float) -> None:
    """Draw sentences to label that `Suggester.suggest` chose of `rows`, and save the labels as a new version.

    In a table, guesses of a probability of `sure_from` or more are ticked.
    """
    by_keys = _BY_KEYS.get()
    # A button, since a choice would take the arrows for itself while it has the focus.
    label = "Label in a table" if by_keys else "Label one by one, with keys"
    icon = ":material/table_rows:" if by_keys else ":material/keyboard:"
    st.button(label, icon=icon, key="label-way", on_click=_BY_KEYS.set, args=(not by_keys,))
    if by_keys:
        _draw_one_by_one(chosen, rows, suggested)
    else:
        _draw_table(chosen, rows, suggested, sure_from)
        draw_undo(chosen, _UNDO)


def _draw_one_by_one(chosen: ChosenData, rows: pd.DataFrame, suggested: pd.DataFrame) -> None:
    """Ask for the intent of one sentence after the other, with a key for each intent."""
    key, count = f"{chosen.token}-{len(rows)}-{len(suggested)}", len(suggested)
    labels = _KEYED.get()
    if labels is None or labels.round != key:
        _KEYED.set(labels := _Keyed(key))
    row = suggested.iloc[labels.at]
    st.caption(f"Sentence {labels.at + 1} of {count}, {language_name(row['language'])}")
    st.markdown(f"**{literal(row['text'], 600)}**")
    st.caption(f"The method guesses {literal(row['intent'], 60)} ({row['probability']:.0%}).")
    # A key keeps its intent where there are no more intents than keys.
    intents = row["intents"] if len(chosen.labelled.intents) > len(row["intents"]) else sorted(row["intents"])
    with st.container(horizontal=True, key="label-intents"):
        for number, intent in enumerate(intents, 1):
            is_given = labels.intents.get(labels.at) == intent
            st.button(
                literal(intent, 40),
                key=f"label-{number}",
                shortcut=str(number),
                type="primary" if is_given else "secondary",
                on_click=labels.label,
                args=(intent, count),
            )
    others = sorted({*chosen.labelled.intents, *chosen.audit.none_of_these} - {*intents})
    box = Remembered[str | None](f"label-other-{key}-{labels.at}-{len(labels.steps)}", None)

    def take() -> None:
        if typed := (box.get() or "").strip():
            labels.label(spelt_as(pd.Series([typed]), chosen.labelled.intents).iloc[0], count)

    st.selectbox(
        "Another intent",
        others,
        index=None,
        accept_new_options=True,
        key=box.key,
        on_change=take,
        placeholder="Another intent: choose or type it",
        label_visibility="collapsed",
        width=300,
    )
    last = labels.at == count - 1
    with st.container(horizontal=True, key="label-moves"):
        st.button("Back", shortcut="Left", disabled=labels.at == 0, on_click=labels.move, args=(-1, count))
        st.button("Next", shortcut="Right", disabled=last, on_click=labels.move, args=(1, count))
        if labels.steps or not can_undo(chosen):
            st.button(
                "Undo", shortcut="Ctrl+Z", disabled=not labels.steps, on_click=labels.undo, key="label-undo"
            )
        else:  # nothing is labelled in this round yet: one button takes back what came last
            draw_undo(chosen, _UNDO)
    wanted = np.isin(np.arange(count), list(labels.intents))
    if _draw_save(int(wanted.sum())):
        given = pd.Series([labels.intents.get(place, "") for place in range(count)])
        _save(chosen, rows, suggested, given, wanted)


def _draw_save(count: int) -> bool:
    return st.button(
        f"Save {counted(count, 'label')}",
        type="primary",
        icon=":material/save:",
        disabled=not count,
        help="As a new version of the set; this version is kept.",
    )


def _save(
    chosen: ChosenData,
    rows: pd.DataFrame,
    suggested: pd.DataFrame,
    intents: pd.Series,
    wanted: NDArray[np.bool_],
    skipped: frozenset[str] = frozenset(),
) -> None:
    """Save the intents of the wanted ones of N suggested sentences; the skipped ones are not suggested again."""
    with then_rerun():
        changed, places = all_rows(chosen), rows.index[suggested["row"]]
        changed.loc[places[wanted], "intent"] = intents[wanted].to_numpy()
        changed.loc[places[wanted], "language"] = suggested["language"][wanted].to_numpy()
        changed.loc[places[wanted], "split"] = "train" if chosen.labelled.splits else ""
        _SKIPPED.set(_SKIPPED.get() | skipped)
        name = add_version(chosen, changed, f"{counted(int(wanted.sum()), 'sentence')} labelled")
        languages = _LABELLED_IN.get_or_make(dict)
        languages[name] = languages.get(chosen.name, frozenset()) | {*suggested["language"][wanted]}
        stay()


def _draw_table(chosen: ChosenData, rows: pd.DataFrame, suggested: pd.DataFrame, sure_from: float) -> None:
    """Draw sentences to label in a table, with their intents as the method guesses them; sure ones are ticked."""
    is_sure = (suggested["probability"] >= sure_from).to_numpy()
    table = suggested[["text", "intent", "probability", "language"]]
    table = table.assign(probability=100 * table["probability"])
    table.insert(0, "label", is_sure)
    another = _INTENT.get().strip()
    column = st.column_config
    edited = st.data_editor(
        table,
        hide_index=True,
        disabled=["text", "language", "probability"],
        key=f"label-{chosen.token}-{len(rows)}-{len(table)}",
        height="content" if len(table) <= FIRST else "auto",
        row_height=18 * min(4, -(-int(table["text"].str.len().quantile(0.9)) // LINE)) + 14,
        column_config={
            # So wide that the sentence is in view on a phone.
            "label": column.CheckboxColumn("Label", width=50),
            "text": column.TextColumn("Sentence", width=270),
            "intent": intent_column(
                {*chosen.labelled.intents, *chosen.audit.none_of_these, *([another] if another else [])}
            ),
            "language": column.TextColumn("Language", width="small"),
            "probability": column.NumberColumn("Probability", format="%.0f %%", width="small"),
        },
    )
    given = spelt_as(edited["intent"].fillna("").astype("str").str.strip(), chosen.labelled.intents)
    is_ticked = edited["label"].astype(bool).to_numpy()
    is_corrected = (given.to_numpy(object) != suggested["intent"].to_numpy(object)) & ~is_sure
    wanted = (is_ticked | is_corrected) & (given != "").to_numpy()
    about = "The method guesses the intents: correct those that are wrong, and untick sentences you are unsure about."
    if not is_sure.all():
        below = f"of less than {sure_from:.0%}" if sure_from <= 1 else "about such sentences"
        about += (
            f" Guesses {below} are mostly wrong, so they are not ticked; a corrected one is labelled, too."
        )
    st.caption(about)
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = _draw_save(int(wanted.sum()))
        st.text_input(
            "Another intent",
            max_chars=200,
            key=_INTENT.key,
            label_visibility="collapsed",
            placeholder="Another intent, for the table",
            width=240,
        )
    if pressed:
        _save(chosen, rows, suggested, given, wanted, frozenset(repeat_keys(suggested)[is_sure & ~wanted]))
