"""Texts to train on: uploaded files, the boxes that take them, and what a session holds of them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from app.cache import read_in_limits
from app.panels.widgets import draw_note
from app.users import check_upload
from app.wording import literal, sentence
from emu_core.data.languages import is_known, language_code
from emu_core.data.parallel.files import read_parallel
from emu_core.data.parallel.text import ParallelText
from emu_core.data.readers.limits import MAX_BYTES
from emu_core.data.texts.dialogues import Dialogues, read_dialogues
from emu_core.data.texts.nli import Nli, read_nli
from emu_core.data.texts.running_text import RunningText, read_running_text
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError

Text = ParallelText | Dialogues | RunningText | Nli
LONGEST = 120  # characters of a file's name
_HARMLESS = re.compile(r"[^\w.+() -]")


class Kind(StrEnum):
    """The kind of text in a file."""

    PARALLEL = "parallel"
    RUNNING = "running-text"
    DIALOGUES = "dialogues"
    NLI = "nli"


@dataclass(frozen=True, eq=False)
class Read:
    """Texts as read; their files' bytes are gone."""

    key: str  # tells these from every other
    title: str  # what a person calls them
    texts: tuple[Text, ...]  # one or more, all of one kind

    @property
    def parallel(self) -> tuple[ParallelText, ...]:
        """The texts that are parallel."""
        return tuple(text for text in self.texts if isinstance(text, ParallelText))

    @property
    def notes(self) -> list[str]:
        """Notes on what is odd about them, each once."""
        return list(dict.fromkeys(note for text in self.texts for note in text.notes))


def read_files(
    kind: Kind,
    key: str,
    files: Sequence[tuple[str, bytes]],
    languages: Sequence[str],
    drop_empty: bool = False,
) -> Read:
    """Read uploaded files, each a name as it came, which may be anybody's, and its bytes.

    The languages are those of parallel text that says none; a pair with an empty side is an error, or is dropped.

    Raises:
        DataError: a file can't be read; it names file and line.
    """
    with TemporaryDirectory() as folder:
        paths = []
        for name, payload in files:
            path = Path(folder) / safe_name(name)
            if path.exists():
                raise DataError(f"two files are called {shown(path.name)}; rename one of them")
            path.write_bytes(payload)
            paths.append(path)
        readers: dict[Kind, Callable[[], Sequence[Text]]] = {
            Kind.PARALLEL: lambda: read_parallel(paths, languages or None, drop_empty=drop_empty),
            Kind.RUNNING: lambda: read_running_text(paths),
            Kind.DIALOGUES: lambda: read_dialogues(paths),
            Kind.NLI: lambda: read_nli(paths),
        }
        texts = tuple(readers[kind]())
    for text in texts:
        for code in text.languages if isinstance(text, ParallelText) else (text.language,):
            if not is_known(code):
                raise DataError(f"'{shown(code)}' is not a language that is known by name; give another code")
    return Read(key, listed((path.name for path in paths), 4), texts)


def safe_name(name: str) -> str:
    """Return a file's name that stays in its folder; its end, which says language and kind, stays."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    harmless = _HARMLESS.sub("_", last)[-LONGEST:].lstrip(". ")
    while len(harmless.encode()) > 2 * LONGEST:  # as bytes: a file system counts them
        harmless = harmless[1:]
    return harmless or "file"


def typed_languages(typed: str) -> list[str]:
    """Return the codes of languages typed with commas or spaces between them; none for an empty line.

    Raises:
        DataError: one is no language.
    """
    words = [word for word in re.split(r"[,;\s]+", typed) if word]
    codes = [language_code(word) for word in words]
    for word, code in zip(words, codes, strict=True):
        if code is None or not is_known(code):
            raise DataError(
                f"'{shown(word, 40)}' is not a language; give a code such as en, or the language's name"
            )
    return [code for code in codes if code is not None]


# What is over each box, and its help.
_BOXES = {
    Kind.PARALLEL: (
        "Files of parallel text",
        "Two files with a sentence a line, such as talks.en and talks.de, or more for more languages; a table (TSV, "
        "CSV, JSON Lines, Parquet, Excel) with a language over each column; or a translation memory (TMX). Text may be "
        "gzipped. Nothing leaves this machine.",
    ),
    Kind.RUNNING: (
        "Running text",
        "A sentence a line in the order they were written, an empty line between documents; the file's name says the "
        "language, as in news.en.txt. It teaches which sentences stand next to each other.",
    ),
    Kind.DIALOGUES: (
        "Dialogues",
        "Tables with the columns comment and response; the file's name says the language, as in forum.en.tsv. They "
        "teach what answers what.",
    ),
    Kind.NLI: (
        "Inference pairs",
        "JSON Lines as SNLI, MultiNLI and XNLI have them. They teach which sentences follow from each other or "
        "contradict each other.",
    ),
}


def texts_of(place: str, kind: Kind) -> Read | None:
    """Return what this session holds of a kind of text; `place` is the page's name."""
    read = st.session_state.get(f"{place}-{kind}-read")
    return read if isinstance(read, Read) else None


def keep_texts(place: str, kind: Kind, read: Read | None) -> None:
    """Have the session hold texts, or none, of a kind."""
    st.session_state[f"{place}-{kind}-read"] = read


def draw_box(place: str, kind: Kind) -> None:
    """Take files, read them at once, and let go of their bytes; those that can't be read stay in the box."""
    (label, explanation), name = _BOXES[kind], f"{place}-{kind}"
    number = st.session_state.setdefault(f"{name}-number", 0)
    files = st.file_uploader(
        label,
        accept_multiple_files=True,
        max_upload_size=MAX_BYTES // 2**20,
        key=f"{name}-files-{number}",  # a new key empties the box, and with it the server's copy of the bytes
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
        languages = typed_languages(typed)
        read = read_in_limits(f"{name}:{asked}", named, read_files, kind, key, named, languages, drop_empty)
        if read is not None:
            check_upload(sum(map(len, read.texts)))
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
        draw_note(literal(note))
