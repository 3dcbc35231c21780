"""The boxes for files of text to train on, and the texts of a session."""

import re
from collections.abc import Sequence

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from app.cache import read_in_limits
from app.panels.widgets import draw_note
from app.upload.text_files import Kind, Read, read_files
from app.users import check_upload
from app.wording import literal, sentence
from emu_core.data.languages import is_known, language_code
from emu_core.data.readers.limits import MAX_BYTES
from emu_core.data.wording import shown
from emu_core.errors import DataError

# The label of each box, and its help.
_BOXES = {
    Kind.PARALLEL: (
        "Files of parallel text",
        "Two or more files with one sentence a line, such as talks.en and talks.de; a table (TSV, CSV, JSON Lines, "
        "Parquet, Excel) with a column for each language; or a translation memory (TMX). Text may be gzipped. Nothing "
        "leaves this machine.",
    ),
    Kind.RUNNING: (
        "Running text",
        "One sentence a line in the original order, with an empty line between documents; the file's name states the "
        "language, as in news.en.txt. It teaches which sentences follow each other.",
    ),
    Kind.DIALOGUES: (
        "Dialogues",
        "Tables with the columns comment and response; the file's name states the language, as in forum.en.tsv. They "
        "teach which response belongs to which comment.",
    ),
    Kind.NLI: (
        "Inference pairs",
        "JSON Lines in the format of SNLI, MultiNLI and XNLI. They teach which sentences entail or contradict each "
        "other.",
    ),
}


def typed_languages(typed: str) -> list[str]:
    """Return the codes of languages typed with commas or spaces between them. Raises DataError if one is unknown."""
    codes = []
    for word in filter(None, re.split(r"[,;\s]+", typed)):
        if (code := language_code(word)) is None or not is_known(code):
            raise DataError(
                f"'{shown(word, 40)}' is not a language; give a code such as en, or the language's name"
            )
        codes.append(code)
    return codes


def texts_of(place: str, kind: Kind) -> Read | None:
    """Return this session's texts of a kind; `place` is the page's name."""
    read = st.session_state.get(f"{place}-{kind}-read")
    return read if isinstance(read, Read) else None


def keep_texts(place: str, kind: Kind, read: Read | None) -> None:
    """Set this session's texts of a kind, or remove them."""
    st.session_state[f"{place}-{kind}-read"] = read


def draw_box(place: str, kind: Kind) -> None:
    """Ask for files, read them at once and drop their bytes; files that can't be read stay in the box."""
    (label, explanation), name = _BOXES[kind], f"{place}-{kind}"
    number = st.session_state.setdefault(f"{name}-number", 0)
    files = st.file_uploader(
        label,
        accept_multiple_files=True,
        max_upload_size=MAX_BYTES // 2**20,
        key=f"{name}-files-{number}",  # a new key empties the box and frees the bytes
        help=explanation,
    )
    if not files:
        st.session_state.pop(f"{name}-refused", None)
    refused = st.session_state.get(f"{name}-refused")
    typed, drop_empty = "", False
    if kind is Kind.PARALLEL and files and refused:
        typed, drop_empty = _draw_fixes(name, number)
    if files:
        asked = ("-".join(file.file_id for file in files), typed, drop_empty)
        if (refused is None or refused[0] != asked) and _take(place, kind, files, asked):
            st.rerun()
        refused = st.session_state.get(f"{name}-refused")
    if files and refused and refused[0] == asked:
        st.error(sentence(refused[1]), icon=":material/error:")


def _draw_fixes(name: str, number: int) -> tuple[str, bool]:
    """Ask for possible fixes of files that can't be read: their languages, and leaving out incomplete pairs."""
    typed = st.text_input(
        "Languages of files that don't state theirs",
        placeholder="en, de",
        max_chars=200,
        key=f"{name}-languages-{number}",
        help="Codes or English names, in the order of the files or of a table's columns.",
    )
    drop_empty = st.checkbox(
        "Leave out pairs with an empty side", key=f"{name}-drop-{number}", help="Otherwise one is an error."
    )
    return typed.strip(), drop_empty


def _take(place: str, kind: Kind, files: Sequence[UploadedFile], asked: tuple[str, str, bool]) -> bool:
    """Keep the files' texts, or the error if they can't be read; return whether to run the page again."""
    name = f"{place}-{kind}"
    key, typed, drop_empty = asked
    named = [(file.name, file.getvalue()) for file in files]
    try:
        languages = typed_languages(typed)
        read = read_in_limits(f"{name}:{asked}", named, read_files, kind, key, named, languages, drop_empty)
        if read is not None:
            check_upload(sum(map(len, read.texts)))
    except DataError as error:
        first = f"{name}-refused" not in st.session_state
        st.session_state[f"{name}-refused"] = (asked, str(error))
        return first  # so that the possible fixes are drawn
    if read is None:
        return False
    st.session_state.pop(f"{name}-refused", None)
    keep_texts(place, kind, read)
    st.session_state[f"{name}-number"] += 1
    return True


def draw_notes(read: Read) -> None:
    """Draw the notes on texts."""
    for note in read.notes:
        draw_note(literal(note))
