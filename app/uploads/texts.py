"""Uploaded files on their way to texts to train on."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

from emu_core.data.languages import is_known, language_code
from emu_core.data.parallel.files import read_parallel
from emu_core.data.parallel.text import ParallelText
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
    """Texts as read; their files' bytes are gone.

    Attributes:
        key: tells these from every other.
        title: what a person calls them.
        texts: one or more, all of one kind.
    """

    key: str
    title: str
    texts: tuple[Text, ...]

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
    """Read uploaded files, each a name and its bytes.

    Args:
        kind: what they hold.
        key: tells them from every other upload.
        files: names as they came, which may be anybody's, and bytes.
        languages: of parallel text that doesn't say its own.
        drop_empty: leave out pairs with an empty side, which is an error otherwise.

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
                f"'{shown(word, 40)}' is not a language; give a code such as en, or an English name"
            )
    return [code for code in codes if code is not None]
