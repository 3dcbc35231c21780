"""Data: the demo set or a file of one's own, and what an audit finds in it."""

from collections.abc import Sequence

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from app.cache import start_helpers
from app.panels.audit import draw_set
from app.run_in_background import done_or_shown
from app.state import chosen_data, set_data, set_demo
from app.uploads.tables import (
    Upload,
    labelled_from_upload,
    missing_roles,
    read_upload,
    text_size,
    translations_of_upload,
)
from app.wording import literal, sentence
from emu_core.data.labelled.columns import ColumnMapping
from emu_core.data.readers.limits import MAX_BYTES
from emu_core.errors import DataError

UPLOAD, UPLOADS, REFUSED, AUDITED = "upload", "upload_number", "upload_refused", "upload_audited"
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


def draw_demo() -> None:
    """Describe the demo set, and offer it."""
    st.subheader("Demo set")
    st.markdown(
        "What a hotel's guests ask: 28 intents in English, German, Spanish, French, Japanese and Chinese, each "
        "sentence in all six. Many are traps: the same words with another intent (when does the *pool* open, when "
        "does the *shop* open), or other words with the same one."
    )
    if st.button("Use the demo set", icon=":material/hotel:", disabled=chosen_data().is_demo):
        set_demo()
        for key in (UPLOAD, REFUSED):
            st.session_state.pop(key, None)
        st.rerun()


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
        st.error(sentence(refused), icon=":material/error:")


def take(files: Sequence[UploadedFile]) -> bool:
    """Keep the files' tables, or the sentence that says why not: the set in use stays. False while they are read."""
    st.session_state.pop(REFUSED, None)
    key = "-".join(file.file_id for file in files)
    named = [(file.name, file.getvalue()) for file in files]
    try:
        upload = done_or_shown(key, text_size(named), "Reading ...", read_upload, key, named)
    except DataError as error:
        st.session_state[REFUSED] = str(error)
        return True
    if upload is None:
        return False
    st.session_state[UPLOAD] = upload
    return True


def draw_upload(upload: Upload) -> None:
    """Map the columns of what was uploaded and, when all are known, make it the chosen set."""
    guess = upload.guess()
    unsure = bool(missing_roles(upload, guess, None))
    with st.expander(f"Columns of {literal(upload.title)}", expanded=unsure, icon=":material/view_column:"):
        mapping, language = draw_mapping(upload, guess)
        st.caption("The first rows, as they were read:")
        st.dataframe(upload.tables[0].head(5), hide_index=True)
    for note in upload.notes:
        st.info(literal(note), icon=":material/info:")
    if missing := missing_roles(upload, mapping, language):
        labels = ", ".join(ROLES[role][0] for role in missing)
        st.warning(
            f"Still to choose above: {labels}. Until then the set in use stays.", icon=":material/help:"
        )
        return
    asked = (upload.key, mapping, language)
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
        )
    except DataError as error:
        st.error(sentence(error), icon=":material/error:")
        return
    if audited is None:
        return
    labelled, audit = audited
    set_data(labelled, audit, translations_of_upload(upload, mapping))
    st.session_state[AUDITED] = asked
    st.rerun()


def draw_mapping(upload: Upload, guess: ColumnMapping) -> tuple[ColumnMapping, str | None]:
    """Ask which column plays which role, the guess filled in; and the language where no column holds it."""
    st.markdown("Which column is what? The guess comes from the columns' names.")
    columns = upload.columns
    chosen: dict[str, str | None] = {}
    for place, (role, (label, explanation)) in zip(st.columns(3) * 2, ROLES.items(), strict=True):
        guessed = getattr(guess, role)
        chosen[role] = place.selectbox(
            label,
            columns,
            index=columns.index(guessed) if guessed in columns else None,
            placeholder="no column",
            help=explanation,
            key=f"column-{upload.key}-{role}",
            persist_state="session",
        )
    language = None
    if chosen["language"] is None:
        language = st.text_input(
            "Language of the sentences",
            placeholder="en, German, ...",
            help="For files without a language column. A name such as hotel.de.csv says it by itself.",
            key=f"language-{upload.key}",
            persist_state="session",
        ).strip()
    return ColumnMapping(**chosen), language or None


page()
