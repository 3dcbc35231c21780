"""Data: the demo set or an uploaded file, and what the audit finds in it."""

from itertools import cycle

import streamlit as st

from emu_app.data import library, tables
from emu_app.data.library import ChosenData, chosen_data
from emu_app.data.tables import DETECT, Upload
from emu_app.data.uploaded import Uploaded, forget_upload, remember, uploaded
from emu_app.panels import maps
from emu_app.panels.context import context
from emu_app.panels.differences import draw_differences
from emu_app.panels.findings import draw_findings, draw_left_out, draw_unread_languages
from emu_app.panels.first_labels import draw_first_labels
from emu_app.panels.labelling import LABELLING, draw_labelling
from emu_app.panels.none_of_these import draw_none_of_these
from emu_app.shell.address import draw_tabs, keep, page_file, parameters
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.widgets import (
    KEPT,
    choose,
    draw_chart,
    draw_note,
    draw_rows_to_tick,
    draw_table,
    errors_shown,
)
from emu_app.shell.wording import literal, sentence
from emu_app.work.cache import done_or_shown, read_in_limits
from emu_core import charts
from emu_core.data.demo import DEMO
from emu_core.data.languages import UNDETERMINED, language_name
from emu_core.data.reading import ColumnMapping
from emu_core.data.wording import counted
from emu_core.errors import DataError
from emu_core.formats.limits import MAX_FILE_BYTES
from emu_core.formats.tables.formats import FILE_ENDINGS, FORMAT_TITLES

_ROLES = {
    "text": ("Sentence", "The column of what people write."),
    "intent": ("Intent", "The column of labels: what the sentence is about."),
    "language": ("Language", "A code such as `de`, a locale such as `de-DE`, or a name such as German."),
    "id": ("Id (optional)", "Sentences with the same id are translations of each other."),
    "split": ("Split (optional)", "train, dev or test. Emu is trained on train and evaluated on test."),
    "annotated": (
        "Annotated (optional)",
        "The sentence with its slots in brackets: wake me at [time : five am].",
    ),
    "description": (
        "Description (optional)",
        "What the intent is about, in words, which count as its name does.",
    ),
}
_ABOUT_DEMO = (
    "Questions of hotel guests: 28 intents, each sentence in English, German, Spanish, French, Japanese and "
    "Chinese. Many are traps: the same words with another intent (when does the *pool* open, when does the "
    "*shop* open), or other words with the same intent."
)
HELD_OUT = 20  # percent, if no column is the split
TALLEST = 700  # pixels; a taller picture scrolls


def page() -> None:
    """Draw the page: from the file to its columns, to what was found in it, to training."""
    st.caption("Emu learns from sentences labelled with an intent and a language.")
    now = uploaded()
    _draw_uploader(now)
    if now.upload is None or _draw_upload(now.upload, now):
        _draw_set(chosen_data())
    _draw_library()


def _draw_library() -> None:
    """Draw the table of the uploaded sets, and what differs between the ticked ones."""
    if (table := library.library_table()).empty:
        return
    st.header("Your data sets")
    st.caption("Click one to use it. Tick two or more to see what differs between them.")
    column = st.column_config
    columns = {
        **dict.fromkeys(("Sentences", "Intents"), column.NumberColumn(format="localized")),
        "Size, MB": column.NumberColumn(format="%.1f"),
        "Stored": column.DatetimeColumn(format="distance"),
    }
    names = table["Name"].tolist()
    ticked = draw_rows_to_tick(
        table, names, "library", lambda name: keep("data", name), column_config=columns
    )
    if len(ticked) > 1:
        draw_differences({name: library.facts_of_set(name) for name in ticked}, "library")


def _draw_uploader(now: Uploaded) -> None:
    st.header("Your file")
    files = st.file_uploader(
        f"A table with a row for each sentence ({FORMAT_TITLES}), or the export of another tool, also zipped",
        type=FILE_ENDINGS,
        accept_multiple_files=True,
        max_upload_size=MAX_FILE_BYTES // 2**20,
        key=f"files-{now.count}",  # a new key empties the box and frees the bytes
        help="Several files, such as one for each language, become one set. Nothing leaves this machine.",
    )
    if files:
        key = "-".join(file.file_id for file in files)
        named = [(file.name, file.getvalue()) for file in files]
        try:
            upload = read_in_limits(key, named, tables.read_upload, key, named)
            if upload is None:
                remember(refused="")
                return
            remember(upload=upload, beside=chosen_data().name, refused="")
        except DataError as error:
            if not now.is_audited:
                forget_upload()
            remember(refused=sentence(error, [name for name, _ in named]))
        remember(count=now.count + 1)
        st.rerun()
    if now.refused:
        st.error(now.refused, icon=":material/error:")
    in_use = chosen_data().is_demo and (now.upload is None or now.is_audited)
    if st.button("Use the demo set", icon=":material/hotel:", disabled=in_use, help=_ABOUT_DEMO):
        keep("data", DEMO)
        forget_upload()
        st.rerun()


def _draw_upload(upload: Upload, now: Uploaded) -> bool:
    """Ask for the columns of an upload and, when all are known, make it the chosen set.

    Returns:
        Whether it is the chosen set, so that what was found in that belongs below the columns.
    """
    guess = upload.guess()
    unsure = bool(
        tables.missing_roles(upload, guess, None)
        or tables.unread_languages(upload, guess.language)
        or upload.mappings(guess)[1]
    )
    with st.expander(f"Columns of {literal(upload.title)}", expanded=unsure, icon=":material/view_column:"):
        mapping, language = _draw_mapping(upload, guess)
        unread = tables.unread_languages(upload, mapping.language)
        languages = draw_unread_languages([UNDETERMINED] if language == DETECT else unread, upload.key)
        hold_out, seed = (0.0, 0) if mapping.split or upload.states_splits else _draw_hold_out(upload.key)
        st.caption("The first rows:")
        st.dataframe(upload.tables[0].frame.head(5), hide_index=True)
    if missing := tables.missing_roles(upload, mapping, language):
        if notes := (*upload.notes, *upload.mappings(mapping)[1]):
            draw_note("\n\n".join(map(literal, notes)))
        labels = ", ".join(_ROLES[role][0] for role in missing)
        text = f"Still to choose above: {labels}. Until then, the set in use does not change."
        st.warning(text, icon=":material/help:")
        if set(missing) <= {"intent", "language"} and "intent" in missing:
            detected = DETECT if "language" in missing else language
            if draw_first_labels(upload, mapping, detected):
                forget_upload()
                st.rerun()
        _draw_leaving_out()
        return False
    if hold_out:
        draw_note(
            f"No column is the split, so {hold_out:.0%} of every intent's sentences are held out as split test, "
            f"translations together (drawn with seed {seed}). Change this under the columns."
        )
    read = (mapping, language, hold_out, seed, tuple(languages.items()))
    asked, label = (upload.key, *read), "Auditing the sentences ..."
    if now.audited == asked:
        if now.is_known:
            draw_note(
                f"The library has the sentences of {literal(upload.title)} already, as "
                f"**{literal(chosen_data().name)}**: that set is in use, under its own name. Nothing was stored twice."
            )
        return True
    remember(audited=None)
    try:
        audited = done_or_shown(repr(asked), upload.size, label, tables.labelled_from_upload, upload, *read)
        if audited is None:
            return False
        labelled, audit, rows = audited
        known, translations = library.library(), tables.translations_of_upload(upload, mapping)
        name = library.add(ChosenData(labelled, audit, "", translations, hold_out, seed), rows)
    except DataError as error:
        st.error(sentence(error, upload.names), icon=":material/error:")
        _draw_leaving_out()
        return False
    before = now.added
    if before and before[0] == upload.key and before[1] != name:  # the same files, read differently
        library.discard(before[1])
    is_known = name in known and before != (upload.key, name)
    if is_known:
        st.toast(f"The library has these sentences already: {literal(name)}.", icon=":material/content_copy:")
    added = None if is_known else (upload.key, name)
    remember(audited=asked, beside=name, added=added, is_known=is_known)
    st.rerun()


def _draw_leaving_out() -> None:
    """Offer to go back to the set in use."""
    back = literal(chosen_data().title, 60)
    if st.button("Leave this file out", icon=":material/close:", help=f"Back to: {back}."):
        forget_upload()
        st.rerun()


def _draw_mapping(upload: Upload, guess: ColumnMapping) -> tuple[ColumnMapping, str | None]:
    """Ask for the role of each column, with the guess filled in, and for the language if no column states it."""
    st.markdown("Which column is what? The guess is based on the columns' names and contents.")
    columns = upload.columns
    chosen: dict[str, str | None] = {}
    for column, (role, (label, explanation)) in zip(cycle(st.columns(3)), _ROLES.items(), strict=False):
        guessed = getattr(guess, role)
        chosen[role] = choose(
            label,
            columns,
            f"column-{upload.key}-{role}",
            container=column,
            index=columns.index(guessed) if guessed in columns else None,
            placeholder="no column",
            help=explanation,
        )
    mapping = ColumnMapping(**chosen)
    if mapping.language is not None and "language" not in tables.missing_roles(upload, mapping, None):
        return mapping, None
    if mapping.language is None and st.toggle(
        "Detect the language of each sentence",
        key=f"detect-{upload.key}",
        help="From its letters; for files with several languages and no language column.",
        **KEPT,
    ):
        return mapping, DETECT
    language = st.text_input(
        "Language of the sentences",
        placeholder="en, German, ...",
        help="For files without a language column, unless their names state it, as in hotel.de.csv.",
        key=f"language-{upload.key}",
        **KEPT,
    )
    return mapping, language.strip() or None


def _draw_hold_out(key: str) -> tuple[float, int]:
    """Ask which share of the sentences to hold out, and return it with the seed of the draw."""
    share, seed = st.columns(2)
    percent = share.number_input(
        "Held out, percent",
        0,
        50,
        HELD_OUT,
        step=5,
        key=f"held-out-{key}",
        help=help_on(
            Word.HELD_OUT,
            text="A share of every intent's sentences. With 0, every sentence is trained on, and nothing tells whether "
            "new sentences gain, too.",
        ),
        **KEPT,
    )
    key = f"held-out-seed-{key}"
    return percent / 100, seed.number_input("Seed", 0, 2**31 - 1, 0, key=key, help="Of the draw.", **KEPT)


def _draw_set(chosen: ChosenData) -> None:
    st.header(f"In use: {literal(chosen.title, 80)}", divider="gray")
    _draw_keeping(chosen)
    if chosen.changes:
        st.caption(f"Changed in this version: {literal(chosen.changes[-1])}.")
    waiting = len(library.rows_to_label(chosen))
    draw_left_out(chosen.audit, waiting)
    _draw_size(chosen, waiting)
    tabs = {"What is in it": lambda: _draw_sentences(chosen), LABELLING: lambda: draw_labelling(context())}
    draw_tabs(tabs, "data-part", "part")


def _draw_sentences(chosen: ChosenData) -> None:
    frame, counts = chosen.labelled.all_rows(), chosen.audit.counts
    st.header("Findings")
    draw_findings(chosen)
    if st.button("Train on these sentences", type="primary", icon=":material/model_training:"):
        st.switch_page(page_file("train"), query_params=parameters())
    draw_none_of_these(chosen)
    st.header("Sentences by intent and language")
    with st.container(height=TALLEST if len(counts) > TALLEST // 20 else "content", border=False):
        about = "Heat map of the number of sentences of each intent in each language."
        draw_chart(charts.class_balance(counts, maps.theme().ink), "balance", about)
    st.header("Sentences")
    used = frame.columns[(frame != "").any()]
    draw_table(frame[used], "table-sentences", "sentences.csv")


def _draw_keeping(chosen: ChosenData) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if not chosen.is_demo:
            new = st.text_input("Name", chosen.name, max_chars=80, key=f"data-name-{chosen.name}", width=260)
            if st.button("Rename", icon=":material/edit:", disabled=new == chosen.name):
                with errors_shown():
                    library.rename(chosen.name, new)
                    remember(beside=new)
                    st.rerun()
            if st.button("Delete", icon=":material/delete:", help="From this machine. This can be undone."):
                library.delete(chosen.name)
                forget_upload()
                st.rerun()
        if (name := library.deleted()) and st.button(f"Undo: restore {name}", icon=":material/undo:"):
            library.undelete()
            st.rerun()


def _draw_size(chosen: ChosenData, waiting: int) -> None:
    """Draw the counts of sentences, intents, languages and test sentences; `waiting` rows have no intent yet."""
    labelled, audit = chosen.labelled, chosen.audit
    sentences, intents, languages, splits = st.columns(4, border=True)
    left_out = audit.rows_read - audit.rows_kept - waiting
    notes = [f"{waiting:,} without an intent"] * bool(waiting)
    notes += [f"{counted(left_out, 'row')} left out"] * bool(left_out)
    notes += [f"{len(labelled.none_of_these):,} of none of the intents"] * bool(len(labelled.none_of_these))
    delta = ", ".join(notes) or None
    sentences.metric("Sentences", f"{audit.rows_kept:,}", delta, delta_color="off", delta_arrow="off")
    intents.metric("Intents", f"{len(labelled.intents):,}", help=help_on(Word.INTENT))
    names = literal(", ".join(map(language_name, labelled.languages)))
    languages.metric("Languages", f"{len(labelled.languages)}", help=names)
    for note in context().reading_notes:
        draw_note(literal(note))
    sizes = labelled.frame["split"].value_counts()
    splits.metric(
        "Test sentences",
        f"{int(sizes.get('test', sizes.get('dev', 0))):,}",
        help=help_on(
            Word.HELD_OUT,
            text="Rows of split test, or else dev, on which a run is evaluated. Without any, it is only trained.",
        ),
    )


page()
