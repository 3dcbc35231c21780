"""The language and the split of sentences, as the names of files and folders state them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import PurePosixPath

from emu_core.data.languages import checked_language, is_known, stated_code
from emu_core.data.splits import SPLIT_NAMES
from emu_core.data.wording import shown
from emu_core.errors import DataError, Fix
from emu_core.formats.tables.formats import without_endings

_WORD = re.compile(r"[^\W_]+")
_SPLIT_AT_END = re.compile(rf"[._\-\s]+({'|'.join(SPLIT_NAMES)})(-\d+-of-\d+|[_-]?\d+)?$", re.IGNORECASE)
_LAST_WORD = re.compile(r"(?:^|(?P<before>[._\-\s]))(?P<word>[^\W\d_]+(?:[-_][^\W\d_]{2,4})?)$")
_LOCALE = re.compile(r"[a-z]{2,3}[-_]([A-Z][a-z]{3}|[A-Z]{2})|[a-z]{2}-[a-z]{2}")
ALSO_WORDS = frozenset(
    (
        *("am", "an", "as", "be", "he", "hi", "id", "in", "is", "it", "la", "lo"),
        *("ml", "my", "no", "or", "pa", "se", "si", "so", "ta", "to", "uk"),
    )
)
"""Codes that are words or abbreviations at the end of a name: support_it.csv, tickets-uk.csv."""

LANGUAGE = Fix("language", "en")
_OF_INPUTS = "in"  # in "seq.in", and not Indonesian, whose code it was until 1989


LANGUAGE_ORDER = ("name", "sibling", "folder", "project", "given", "around", "archive")
"""The sources that state the language of a file's sentences, the most trusted first; each is a field of `Statement`.
The language in a row's own cell comes before all of them."""

TEXT_LANGUAGE_ORDER = ("given", "name")
"""The same for texts that are read in one language each, such as dialogues: one that is given is that of all."""


@dataclass(frozen=True)
class Statement:
    """The language and split that hold for all sentences of a file, known without reading them.

    Attributes:
        name: the language at the end of the file's name: `tickets.de.csv`.
        sibling: that of a word in the name that may mean something else, if a file of the same name states another:
            `nlu_it.yml` beside `nlu_de.yml`.
        folder: that of the nearest folder within what was named.
        project: that of the project's settings. They count only where no name may mean a language.
        given: that of the whole data, as its user says.
        around: that of the folder around what was named.
        archive: that of the archive or folder of an export whose files are one table.
        doubtful: the code of a word in the name that may also mean something else, and that nothing confirms.
        split: train, dev or test, or "".
    """

    name: str | None = None
    sibling: str | None = None
    folder: str | None = None
    project: str | None = None
    given: str | None = None
    around: str | None = None
    archive: str | None = None
    doubtful: str | None = None
    split: str = ""

    @property
    def by_names(self) -> str | None:
        """The language that the names of the file and of the folders within what was named state, or None."""
        return self.name or self.sibling or self.folder

    def believed(
        self, given: str | None = None, order: Sequence[str] = LANGUAGE_ORDER
    ) -> tuple[str, str | None]:
        """Return what states the language, and its code; "" and None if nothing does."""
        known = replace(self, given=given or self.given, project=None if self.doubtful else self.project)
        return next(((rule, code) for rule in order if (code := getattr(known, rule))), ("", None))

    def language(self, given: str | None = None) -> str | None:
        """Return the code of the language that is believed, or None."""
        return self.believed(given)[1]


def language_of_file(name: str) -> str | None:
    """Return the language that the name of a file states, or None.

    It is the last word, not counting splits: `de.csv`, `sib.de.csv`, `train_DE.tsv`, `de.valid.conll`,
    `massive de-DE.jsonl`. Only known languages count, and after a blank, a hyphen or an underscore no code that is
    also a word: `support_it.csv` is not Italian.
    """
    return _ending_of(name).language


@dataclass(frozen=True)
class _Ending:
    """The end of a file's name: a certain or doubtful language, and the rest of the name before it."""

    language: str | None
    doubtful: str | None
    rest: str


def _ending_of(name: str) -> _Ending:
    stem = without_endings(PurePosixPath(name).name)
    while match := _SPLIT_AT_END.search(stem):
        stem = stem[: match.start()]
    match = _LAST_WORD.search(stem)
    if match is None:
        return _Ending(None, None, stem)
    word, before = match["word"], match["before"]
    for part in (word, *re.split(r"[-_]", word)[-1:]):
        code = stated_code(part)
        if code is None or not is_known(code) or part == _OF_INPUTS:
            continue
        rest = stem.removesuffix(part)
        is_whole = before in (None, ".") and part == word and not re.search("[-_]", word)
        if is_whole or part.isupper() or _is_telling(part):
            return _Ending(code, None, rest)
        if len(part) == 2:
            is_word = part.casefold() in ALSO_WORDS
            return _Ending(None, code, rest) if is_word else _Ending(code, None, rest)
    return _Ending(None, None, stem)


def _language_of_folder(name: str) -> str | None:
    code = stated_code(name)
    if code is None or not is_known(code) or name in ALSO_WORDS:
        return None
    return code if len(name) == 2 or _is_telling(name) else None


def _is_telling(word: str) -> bool:
    """Return whether a word that states a language is a whole locale, or the language's name."""
    base, *regions = re.split(r"[-_]", word)
    if regions:
        return bool(_LOCALE.fullmatch(word)) and not (word.islower() and base in ALSO_WORDS)
    return len(word) > 3


def _split_in(words: Iterable[str]) -> str:
    splits = {SPLIT_NAMES[word] for word in words if word in SPLIT_NAMES}
    return splits.pop() if len(splits) == 1 else ""


def statements(paths: Sequence[str], around: Sequence[str], within: Sequence[str] = ()) -> list[Statement]:
    """Return what the names of files that are read together state.

    A split counts only where the files state two or more: `test.csv` alone is no test set, but a set. Beside those of
    dev and test, the others are train. A doubtful code counts where a file of the same name states another language:
    `nlu_it.yml` beside `nlu_de.yml`.

    Args:
        paths: of the files that hold data, with the folders within what was named.
        around: the folder around each file that was named, or that was named itself; "" if it is unknown.
        within: the split that a name within each file states, which is believed rather than that of its path; none
            for files without such names.
    """
    splits, endings = [], []
    for path, inner in zip_longest(paths, within):
        parts = PurePosixPath(path).parts
        words = (_WORD.findall(without_endings(part).casefold()) for part in reversed(parts))
        splits.append(inner or next(filter(None, map(_split_in, words)), ""))
        endings.append(_ending_of(path))
    if len(set(splits) - {""}) < 2:
        splits = [""] * len(paths)
    elif "train" not in splits:
        splits = [split or "train" for split in splits]
    certain = {end.rest for end in endings if end.language}
    stated = []
    for path, outside, split, end in zip(paths, around, splits, endings, strict=True):
        folders = map(_language_of_folder, reversed(PurePosixPath(path).parts[:-1]))
        states = Statement(
            name=end.language,
            sibling=end.doubtful if end.rest in certain else None,
            folder=next(filter(None, folders), None),
            around=_language_of_folder(outside),
            split=split,
        )
        stated.append(states if states.by_names else replace(states, doubtful=end.doubtful))
    return stated


def stated_language(given: str | None, name: str) -> str:
    """Return the code of the language of a file of texts. Raises DataError if nothing states it, or it is none."""
    code = checked_language(given) if given is not None else None
    _, code = Statement(name=language_of_file(name)).believed(code, TEXT_LANGUAGE_ORDER)
    if code is None:
        raise unstated_language(name, None)
    return code


def unstated_language(name: str, fix: Fix | None = LANGUAGE) -> DataError:
    """Return the error for a file of whose language nothing is known; `fix` is the option that gives one, if any."""
    file = PurePosixPath(name).name
    stem = without_endings(file)
    return DataError(
        f"{shown(name)} does not say its language; name it",
        *((" (", fix, ")") if fix else ()),
        f", or put it into the file's name, as in {shown(stem, 30)}.en{file[len(stem) :]}",
    )
