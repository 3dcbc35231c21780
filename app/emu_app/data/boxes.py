"""Boxes that ask for a table or for sentences, and reading what they hold."""

import hashlib
from collections.abc import Callable
from typing import Any

import streamlit as st

from emu_app.shell.widgets import KEPT, choose_one, errors_shown
from emu_app.work.cache import read_in_limits
from emu_core.formats.tables.formats import FILE_ENDINGS, FORMAT_TITLES

FILE_MB = 20
TYPED, FILE = "Type sentences", "From a file"


def ask_file(label: str, key: str) -> tuple[str, bytes]:
    """Ask for a table and return its name and bytes; both are empty while there is none."""
    file = st.file_uploader(label, type=FILE_ENDINGS, max_upload_size=FILE_MB, key=key)
    return ("", b"") if file is None else (file.name, file.getvalue())


def ask_sentences(prefix: str, number: int = 0, *, placeholder: str = "", **about: Any) -> tuple[str, bytes]:
    """Ask for typed sentences or a table; return its name, "" for typed lines, and the bytes.

    `prefix` and `number` make up the keys of the widgets; the other options are those of `choose_one`.
    """
    if choose_one("Sentences", [TYPED, FILE], f"{prefix}-how", **about) == FILE:
        label = f"A table with a column of sentences ({FORMAT_TITLES}), or text with a sentence a line"
        return ask_file(label, f"{prefix}-file-{number}")
    key = f"{prefix}-typed-{number}"
    typed = st.text_area("One sentence a line", placeholder=placeholder, max_chars=200_000, key=key, **KEPT)
    return "", typed.encode()


def read_box(read: Callable[..., Any], name: str, payload: bytes, *args: Any) -> Any | None:
    """Return `read(name, payload, *args)`; None, with progress or error drawn, if it takes long or fails."""
    key = f"{read.__name__}:{args}:{name}:{hashlib.sha256(payload).hexdigest()}"
    with errors_shown():
        return read_in_limits(key, [(name, payload)], read, name, payload, *args)
    return None
