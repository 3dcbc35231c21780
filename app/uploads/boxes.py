"""Boxes for files of text, read at once, and the texts that a session holds."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from app.run_in_background import done_or_shown
from app.uploads.texts import Kind, Read, read_files, typed_languages
from app.uploads.tables import text_size
from app.wording import literal, sentence
from emu_core.data.readers.limits import MAX_BYTES
from emu_core.errors import DataError


@dataclass(frozen=True)
class _Box:
    label: str
    help: str


_BOXES = {
    Kind.PARALLEL: _Box(
        "Files of parallel text",
        "Two files with a sentence a line, such as talks.en and talks.de, or more for more languages; a table (TSV, "
        "CSV, JSON Lines, Parquet, Excel) with a language over each column; or a translation memory (TMX). Text may be "
        "gzipped. Nothing leaves this machine.",
    ),
    Kind.RUNNING: _Box(
        "Running text",
        "A sentence a line in the order they were written, an empty line between documents; the file's name says the "
        "language, as in news.en.txt. It teaches which sentences stand next to each other.",
    ),
    Kind.DIALOGUES: _Box(
        "Dialogues",
        "Tables with the columns comment and response; the file's name says the language, as in forum.en.tsv. They "
        "teach what answers what.",
    ),
    Kind.NLI: _Box(
        "Inference pairs",
        "JSON Lines as SNLI, MultiNLI and XNLI have them. They teach which sentences follow from each other or "
        "contradict each other.",
    ),
}


def texts_of(place: str, kind: Kind) -> Read | None:
    """Return what this session holds of a kind.

    Args:
        place: which page's.
        kind: of text.
    """
    read = st.session_state.get(_kept(place, kind))
    return read if isinstance(read, Read) else None


def keep_texts(place: str, kind: Kind, read: Read | None) -> None:
    """Have the session hold texts, or none, of a kind."""
    st.session_state[_kept(place, kind)] = read


def draw_box(place: str, kind: Kind) -> None:
    """Take files, read them at once, and let go of their bytes; those that can't be read stay in the box."""
    box, name = _BOXES[kind], f"{place}-{kind}"
    number = st.session_state.setdefault(f"{name}-number", 0)
    files = st.file_uploader(
        box.label,
        accept_multiple_files=True,
        max_upload_size=MAX_BYTES // 2**20,
        key=f"{name}-files-{number}",  # a new key empties the box, and with it the server's copy of the bytes
        help=box.help,
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
    """Ask for what may fix files that can't be read: their languages, and whether odd pairs are left out."""
    typed = st.text_input(
        "Languages of files that don't say theirs",
        placeholder="en, de",
        max_chars=200,
        key=f"{name}-languages-{number}",
        help="In the order of the files, or of a table's columns: codes or English names.",
    )
    drop_empty = st.checkbox(
        "Leave out pairs with an empty side", key=f"{name}-drop-{number}", help="Otherwise one is an error."
    )
    return typed.strip(), drop_empty


def _take(place: str, kind: Kind, files: Sequence[UploadedFile], asked: tuple[str, str, bool]) -> bool:
    """Keep the files' texts, or the sentence that says why not; whether the page is to be drawn anew."""
    name = f"{place}-{kind}"
    key, typed, drop_empty = asked
    named = [(file.name, file.getvalue()) for file in files]
    try:
        read = done_or_shown(
            f"{name}:{asked}", text_size(named), "Reading ...",
            read_files, kind, key, named, typed_languages(typed), drop_empty,
        )  # fmt: skip
    except DataError as error:
        first = f"{name}-refused" not in st.session_state
        st.session_state[f"{name}-refused"] = (asked, str(error))
        return first  # so that what may fix it is drawn
    if read is None:
        return False
    st.session_state.pop(f"{name}-refused", None)
    keep_texts(place, kind, read)
    st.session_state[f"{name}-number"] += 1
    return True


def draw_notes(read: Read) -> None:
    """Draw what is odd about texts."""
    for note in read.notes:
        st.info(literal(note), icon=":material/info:")


def _kept(place: str, kind: Kind) -> str:
    return f"{place}-{kind}-read"
