"""Uploaded files of text without labels, read without Streamlit in a process of their own."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

from emu_core.data.languages import is_known
from emu_core.data.reading import Reading
from emu_core.data.sets import UnlabelledSet
from emu_core.data.texts.dialogues import Dialogues
from emu_core.data.texts.nli import Nli
from emu_core.data.texts.parallel import ParallelText
from emu_core.data.texts.running_text import RunningText
from emu_core.data.texts.text import TrainingText
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError
from emu_core.formats.labelled import read_unlabelled
from emu_core.formats.parallel.files import read_parallel
from emu_core.formats.texts.dialogues import read_dialogues
from emu_core.formats.texts.nli import read_nli
from emu_core.formats.texts.running_text import read_running_text

Text = ParallelText | Dialogues | RunningText | Nli | UnlabelledSet
LONGEST = 120  # characters of a file's name
_HARMLESS = re.compile(r"[^\w.+() -]")


class TextKind(StrEnum):
    """The kind of text in a file."""

    PARALLEL = "parallel"
    RUNNING = "running-text"
    DIALOGUES = "dialogues"
    NLI = "nli"
    SENTENCES = "sentences"


_READERS: dict[TextKind, Callable[[list[Path]], Sequence[Text]]] = {
    TextKind.RUNNING: read_running_text,
    TextKind.DIALOGUES: read_dialogues,
    TextKind.NLI: read_nli,
}


@dataclass(frozen=True, eq=False)
class Read:
    """Texts as read; the bytes of their files are not kept."""

    key: str  # identifies them
    title: str  # their name on pages
    texts: tuple[Text, ...]  # all of one kind

    def __len__(self) -> int:
        return sum(map(len, self.texts))

    @property
    def parallel(self) -> tuple[ParallelText, ...]:
        """The texts that are parallel."""
        return tuple(text for text in self.texts if isinstance(text, ParallelText))

    @property
    def sentences(self) -> UnlabelledSet | None:
        """The sentences without labels, if they are such."""
        return next((text for text in self.texts if isinstance(text, UnlabelledSet)), None)

    @property
    def training_texts(self) -> list[TrainingText]:
        """The texts to train an encoder from scratch on."""
        return [text for text in self.texts if not isinstance(text, UnlabelledSet)]

    @property
    def notes(self) -> list[str]:
        """The distinct notes of the readers."""
        return list(dict.fromkeys(note for text in self.training_texts for note in text.notes))

    @property
    def languages(self) -> tuple[str, ...]:
        """The codes of their languages."""
        return tuple(dict.fromkeys(code for text in self.texts for code in languages_of(text)))


def read_files(
    kind: TextKind,
    key: str,
    files: Sequence[tuple[str, bytes]],
    languages: Sequence[str],
    drop_empty: bool = False,
) -> Read:
    """Read uploaded files, given as untrusted names and bytes.

    `languages` are those of parallel text that states none, or the one of sentences; a pair with an empty side is an
    error unless it is dropped.
    Raises DataError, with file and line, if a file can't be read.
    """
    with TemporaryDirectory() as folder:
        paths = []
        for name, payload in files:
            path = Path(folder) / safe_name(name)
            if path.exists():
                raise DataError(f"two files are called {shown(path.name)}; rename one of them")
            path.write_bytes(payload)
            paths.append(path)
        if kind is TextKind.PARALLEL:
            texts = tuple[Text, ...](read_parallel(paths, languages or None, drop_empty=drop_empty))
        elif kind is TextKind.SENTENCES:
            if len(languages) > 1:
                raise DataError("sentences that state no language are read in one; name that one")
            texts = (read_unlabelled(paths, reading=Reading(language=next(iter(languages), None))),)
        else:
            texts = tuple(_READERS[kind](paths))
    for code in (code for text in texts for code in languages_of(text)):
        if not is_known(code):
            raise DataError(f"'{shown(code)}' is not a known language; give another code")
    return Read(key, listed((path.name for path in paths), 4), texts)


def languages_of(text: Text) -> tuple[str, ...]:
    """Return the codes of a text's languages."""
    return text.languages if isinstance(text, ParallelText | UnlabelledSet) else (text.language,)


def safe_name(name: str) -> str:
    """Return a file name that can't leave its folder, and keeps its end, which states language and kind."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    harmless = _HARMLESS.sub("_", last)[-LONGEST:].lstrip(". ")
    while len(harmless.encode()) > 2 * LONGEST:  # file systems count bytes
        harmless = harmless[1:]
    return harmless or "file"
