"""Data: the demo set or a file of one's own, and what an audit finds in it."""

from collections.abc import Sequence

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from app.address import keep, kept_tab
from app.cache import done_or_shown, read_in_limits, start_helpers
from app.context import context
from app.library import (
    ChosenData,
    add,
    changes_of,
    chosen_data,
    delete,
    deleted,
    discard,
    library,
    library_table,
    rename,
    rows_to_label,
    undelete,
)
from app.panels.findings import draw_findings, draw_left_out, draw_table, draw_unread_languages
from app.panels.labelling import LABELLING, draw_labelling
from app.panels.widgets import choose, draw_note, warn_of_strangers
from app.upload.tables import (
    DETECT,
    Upload,
    labelled_from_upload,
    missing_roles,
    read_upload,
    translations_of_upload,
    unread_languages,
)
from app.users import check_upload
from app.wording import literal, sentence
from emu_core import charts
from emu_core.data.demo import DEMO
from emu_core.data.labelled import LabelledSet
from emu_core.data.labelled.audit import Audit
from emu_core.data.labelled.columns import ColumnMapping
from emu_core.data.languages import language_name
from emu_core.data.readers.limits import MAX_BYTES
from emu_core.data.wording import counted
from emu_core.encoders.registry import available_encoders
from emu_core.errors import DataError

UPLOAD, UPLOADS, REFUSED, AUDITED = "upload", "upload_number", "upload_refused", "upload_audited"
ADDED = "upload_added"  # the upload and the name of the set that was made of it
ENDINGS = ["csv", "tsv", "txt", "jsonl", "json", "parquet", "xlsx", "gz"]
ROLES = {
    "text": ("Sentence", "The column that holds what people write."),
    "intent": ("Intent", "The column that holds the label: what the sentence is about."),
    "language": ("Language", "A code such as `de`, a locale such as `de-DE`, or a name such as German."),
    "id": ("Id (optional)", "The same id in two languages means: translations of each other."),
    "split": ("Split (optional)", "train, dev or test. Emu learns from train and is measured on test."),
    "annotated": (
        "Annotated (optional)",
        "The sentence with its slots in brackets: wake me at [time : five am].",
    ),
}
HELD_OUT = 20  # percent, where no column is the split
PARTS = ("What is in it", LABELLING)
TALLEST = 700  # pixels; a taller picture scrolls


def page() -> None:
    """Draw the page."""
    start_helpers()
    st.title("Data")
    st.caption(
        "Emu learns from sentences that are labelled with an intent, and with the language they are written in."
    )
    demo, own = st.columns(2)
    with demo.container(border=True, height="stretch"):
        draw_demo()
    with own.container(border=True, height="stretch"):
        draw_uploader()
    upload = st.session_state.get(UPLOAD)
    if isinstance(upload, Upload):
        draw_upload(upload)
    draw_set(chosen_data())
    draw_library()


def draw_demo() -> None:
    """Describe the demo set, and offer it."""
    st.subheader("Demo set")
    st.markdown(
        "What a hotel's guests ask: 28 intents in English, German, Spanish, French, Japanese and Chinese, each "
        "sentence in all six. Many are traps: the same words with another intent (when does the *pool* open, when "
        "does the *shop* open), or other words with the same one."
    )
    if st.button("Use the demo set", icon=":material/hotel:", disabled=chosen_data().is_demo):
        keep("data", DEMO)
        _forget_upload()
        st.rerun()


def draw_library() -> None:
    """Draw a list of the uploaded sets."""
    table = library_table()
    if table.empty:
        return
    st.subheader("Your data sets")
    st.caption(
        "The first field over the page chooses one; the name in the address of this page opens it again."
    )
    st.dataframe(
        table,
        hide_index=True,
        key="library",
        column_config={
            "Size, MB": st.column_config.NumberColumn(format="%.1f"),
            "Stored": st.column_config.DatetimeColumn(format="distance"),
        },
    )


def draw_uploader() -> None:
    """Take files, read them at once, and let go of their bytes."""
    st.subheader("Your own file")
    number = st.session_state.setdefault(UPLOADS, 0)
    files = st.file_uploader(
        "A table with a row for each sentence: CSV, TSV, JSON Lines, Parquet or Excel (XLSX)",
        type=ENDINGS,
        accept_multiple_files=True,
        max_upload_size=MAX_BYTES // 2**20,
        key=f"files-{number}",  # a new key empties the box, and with it the server's copy of the bytes
        help="Several files, such as one for each language, become one set. Nothing leaves this machine.",
    )
    if files and take(files):
        st.session_state[UPLOADS] = number + 1
        st.rerun()
    if refused := st.session_state.get(REFUSED):
        st.error(refused, icon=":material/error:")


def take(files: Sequence[UploadedFile]) -> bool:
    """Keep the files' tables, or the sentence that says why not: the set in use stays. False while they are read."""
    st.session_state.pop(REFUSED, None)
    key = "-".join(file.file_id for file in files)
    named = [(file.name, file.getvalue()) for file in files]
    try:
        upload = read_in_limits(key, named, read_upload, key, named)
        if upload is not None:
            check_upload(sum(map(len, upload.tables)))
    except DataError as error:
        st.session_state[REFUSED] = sentence(error, [file.name for file in files])
        return True
    if upload is None:
        return False
    st.session_state[UPLOAD] = upload
    return True


def draw_upload(upload: Upload) -> None:
    """Map the columns of what was uploaded and, when all are known, make it the chosen set."""
    guess = upload.guess()
    unsure = bool(missing_roles(upload, guess, None)) or bool(unread_languages(upload, guess.language))
    with st.expander(f"Columns of {literal(upload.title)}", expanded=unsure, icon=":material/view_column:"):
        mapping, language = draw_mapping(upload, guess)
        languages = draw_unread_languages(unread_languages(upload, mapping.language), upload.key)
        hold_out, seed = draw_hold_out(upload.key) if mapping.split is None else (0.0, 0)
        st.caption("The first rows, as they were read:")
        st.dataframe(upload.tables[0].head(5), hide_index=True)
    for note in upload.notes:
        draw_note(literal(note))
    if missing := missing_roles(upload, mapping, language):
        labels = ", ".join(ROLES[role][0] for role in missing)
        st.warning(
            f"Still to choose above: {labels}. Until then the set in use stays.", icon=":material/help:"
        )
        return
    if hold_out:
        draw_note(
            f"No column says what is trained on and what is measured, so {hold_out:.0%} of every intent's sentences "
            f"are held out as split test, translations together (drawn with seed {seed}). Change it under the columns."
        )
    asked = (upload.key, mapping, language, hold_out, seed, tuple(languages.items()))
    if st.session_state.get(AUDITED) == asked:
        return
    try:
        audited = done_or_shown(
            repr(asked),
            upload.size,
            "Looking through the sentences ...",
            labelled_from_upload,
            upload,
            mapping,
            language,
            hold_out,
            seed,
            languages,
        )
        if audited is None:
            return
        labelled, audit, rows = audited
        translations = translations_of_upload(upload, mapping)
        there = library()
        name = add(ChosenData(labelled, audit, ""), rows, hold_out, seed, translations)
    except DataError as error:
        st.error(sentence(error, upload.names), icon=":material/error:")
        return
    before = st.session_state.get(ADDED)
    if before and before[0] == upload.key and before[1] != name:  # of the same files, read otherwise
        discard(before[1])
    st.session_state[ADDED] = None if name in there else (upload.key, name)
    st.session_state[AUDITED] = asked
    st.rerun()


def draw_mapping(upload: Upload, guess: ColumnMapping) -> tuple[ColumnMapping, str | None]:
    """Ask which column plays which role, the guess filled in; and the language where no column holds it."""
    st.markdown("Which column is what? The guess comes from the columns' names.")
    columns = upload.columns
    chosen: dict[str, str | None] = {}
    for place, (role, (label, explanation)) in zip(st.columns(3) * 2, ROLES.items(), strict=True):
        guessed = getattr(guess, role)
        chosen[role] = choose(
            label,
            columns,
            f"column-{upload.key}-{role}",
            place=place,
            index=columns.index(guessed) if guessed in columns else None,
            placeholder="no column",
            help=explanation,
        )
    language = None
    if chosen["language"] is None and st.toggle(
        "Detect the language of each sentence",
        key=f"detect-{upload.key}",
        persist_state="session",
        help="From its letters; for files with several languages and no column that says which.",
    ):
        language = DETECT
    elif chosen["language"] is None:
        language = st.text_input(
            "Language of the sentences",
            placeholder="en, German, ...",
            help="For files without a language column. A name such as hotel.de.csv says it by itself.",
            key=f"language-{upload.key}",
            persist_state="session",
        ).strip()
    return ColumnMapping(**chosen), language or None


def draw_hold_out(key: str) -> tuple[float, int]:
    """Ask which share of the sentences is measured and not trained on, and return it with the seed of the draw."""
    share, seed = st.columns(2)
    percent = share.number_input(
        "Held out, percent",
        0,
        50,
        HELD_OUT,
        step=5,
        key=f"held-out-{key}",
        persist_state="session",
        help="The share of every intent's sentences that is measured and never trained on. With 0 every sentence is "
        "trained on, and what a run has learnt can't be told from what it remembers.",
    )
    drawn = seed.number_input(
        "Seed", 0, 2**31 - 1, 0, key=f"held-out-seed-{key}", persist_state="session", help="Of the draw."
    )
    return percent / 100, drawn


def draw_set(chosen: ChosenData) -> None:
    """Draw everything there is to know about the chosen set."""
    labelled, audit = chosen.labelled, chosen.audit
    st.header(f"In use: {literal(chosen.title, 80)}", divider="gray")
    draw_keeping(chosen)
    if changes := changes_of(chosen):
        st.caption(f"Changed in this version: {literal(changes[-1])}.")
    waiting = len(rows_to_label(chosen))
    draw_left_out(audit, waiting)
    draw_size(labelled, audit, waiting)
    tabs = st.tabs(PARTS, **kept_tab("data-part", PARTS, "part"))
    for place, draw in zip(tabs, (draw_sentences, draw_more), strict=True):
        with place:
            if place.open:
                draw(chosen)


def draw_more(_: ChosenData) -> None:
    """Draw what to label next."""
    draw_labelling(context())


def draw_sentences(chosen: ChosenData) -> None:
    """Draw what the audit found, how the sentences are spread, and the sentences."""
    labelled, audit = chosen.labelled, chosen.audit
    draw_findings(chosen)
    st.subheader("Sentences by intent and language")
    with st.container(height=TALLEST if len(audit.counts) > TALLEST // 20 else "content", border=False):
        st.plotly_chart(charts.class_balance(audit.counts), key="balance")
    st.subheader("Sentences")
    used = [column for column in labelled.frame if (labelled.frame[column] != "").any()]
    draw_table(labelled.frame[used], "sentences", chosen.token)


def draw_keeping(chosen: ChosenData) -> None:
    """Draw the name of an uploaded set, to change, and ways to delete it and to bring it back."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if not chosen.is_demo:
            new = st.text_input("Name", chosen.name, max_chars=80, key=f"data-name-{chosen.name}", width=260)
            if st.button("Rename", icon=":material/edit:", disabled=new == chosen.name):
                try:
                    rename(chosen.name, new)
                except DataError as error:
                    st.error(sentence(error), icon=":material/error:")
                else:
                    st.rerun()
            if st.button("Delete", icon=":material/delete:", help="From this machine. It can be undone."):
                delete(chosen.name)
                _forget_upload()
                st.rerun()
        if (name := deleted()) and st.button(f"Undo: bring back {name}", icon=":material/undo:"):
            undelete()
            st.rerun()


def _forget_upload() -> None:
    for key in (UPLOAD, REFUSED):
        st.session_state.pop(key, None)


def draw_size(labelled: LabelledSet, audit: Audit, waiting: int) -> None:
    """Draw the numbers that matter most; `waiting` rows have no intent yet."""
    sentences, intents, languages, splits = st.columns(4, border=True)
    left_out = audit.rows_read - audit.rows_kept - waiting
    notes = [f"{waiting:,} without an intent"] * bool(waiting)
    notes += [f"{counted(left_out, 'row')} left out"] * bool(left_out)
    sentences.metric(
        "Sentences",
        f"{audit.rows_kept:,}",
        delta=", ".join(notes) or None,
        delta_color="off",
        delta_arrow="off",
    )
    intents.metric("Intents", f"{len(labelled.intents):,}")
    names = literal(", ".join(language_name(code) for code in labelled.languages))
    languages.metric("Languages", f"{len(labelled.languages)}", help=names)
    for encoder in available_encoders():
        if encoder.spec in context().specs.values():
            warn_of_strangers(encoder, labelled.languages)
    sizes = labelled.frame["split"].value_counts()
    splits.metric(
        "Test sentences",
        f"{int(sizes.get('test', sizes.get('dev', 0))):,}",
        help="Rows of split test (or else dev): what a run is measured on. Without any, a run is trained and not "
        "measured.",
    )


page()
