"""What the names of files and folders state: the language and the split of their sentences."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from emu_core.data.languages import checked_language, is_known, stated_code
from emu_core.data.readers.formats import without_endings
from emu_core.data.wording import shown
from emu_core.errors import DataError, Fix

SPLIT_WORDS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("dev", "val", "valid", "validation", "development", "eval"), "dev"),
    **dict.fromkeys(("test", "testing", "holdout", "heldout"), "test"),
}
"""Words in names that state a split -> train, dev, test."""

_ENDING = re.compile(
    r"\.(csv|tsv|tab|jsonl?|ndjson|parquet|pq|arrow|xlsx|ya?ml|md|lu|conllu?|iob2?|txt|gz|zip)$", re.I
)
_WORD = re.compile(r"[^\W_]+")
_SPLIT_AT_END = re.compile(rf"[._\-\s]+({'|'.join(SPLIT_WORDS)})(-\d+-of-\d+|[_-]?\d+)?$", re.IGNORECASE)
_LAST_WORD = re.compile(r"(?:^|(?P<before>[._\-\s]))(?P<word>[^\W\d_]+(?:[-_][^\W\d_]{2,4})?)$")
_LOCALE = re.compile(r"[a-z]{2,3}[-_]([A-Z][a-z]{3}|[A-Z]{2})|[a-z]{2}-[a-z]{2}")
# Codes that are words or abbreviations at the end of a name: support_it.csv, tickets-uk.csv.
_ALSO_WORDS = frozenset(
    (
        "am",
        "an",
        "as",
        "be",
        "he",
        "hi",
        "id",
        "in",
        "is",
        "it",
        "la",
        "lo",
        "ml",
        "my",
        "no",
        "or",
        "pa",
        "se",
        "si",
    )
    + ("so", "ta", "to", "uk")
)


@dataclass(frozen=True)
class Statement:
    """What a name states about all sentences of a file.

    Attributes:
        language: a code, or None.
        split: train, dev or test, or "".
        doubtful: a code that may also be a word, or is the name of a folder around a file that was named; a language
            that is given is believed instead.
    """

    language: str | None = None
    split: str = ""
    doubtful: str | None = None


def language_of_file(name: str) -> str | None:
    """Return the language that the name of a file states, or None.

    It is the last word, not counting splits: `de.csv`, `sib.de.csv`, `train_DE.tsv`, `de.valid.conll`,
    `massive de-DE.jsonl`. Only known languages count, and after a blank, a hyphen or an underscore no code that is
    also a word: `support_it.csv` is not Italian.
    """
    return _language_at_end(name)[0]


def _language_at_end(name: str) -> tuple[str | None, str | None]:
    """Return the language of a file's name, and otherwise the one that it may mean."""
    stem = _stem(PurePosixPath(name).name)
    while match := _SPLIT_AT_END.search(stem):
        stem = stem[: match.start()]
    match = _LAST_WORD.search(stem)
    if match is None:
        return None, None
    word, before = match["word"], match["before"]
    for part in (word, *re.split(r"[-_]", word)[-1:]):
        code = stated_code(part)
        if code is None or not is_known(code):
            continue
        is_whole = before in (None, ".") and part == word and not re.search("[-_]", word)
        if is_whole or part.isupper() or _is_telling(part):
            return code, None
        if len(part) == 2:
            return (None, code) if part.casefold() in _ALSO_WORDS else (code, None)
    return None, None


def _language_of_folder(name: str) -> str | None:
    code = stated_code(name)
    if code is None or not is_known(code) or name in _ALSO_WORDS:
        return None
    return code if len(name) == 2 or _is_telling(name) else None


def _is_telling(word: str) -> bool:
    """Return whether a word that states a language is a whole locale, or the language's name."""
    base, *regions = re.split(r"[-_]", word)
    if regions:
        return bool(_LOCALE.fullmatch(word)) and not (word.islower() and base in _ALSO_WORDS)
    return len(word) > 3


def _split_in(words: Iterable[str]) -> str:
    splits = {SPLIT_WORDS[word] for word in words if word in SPLIT_WORDS}
    return splits.pop() if len(splits) == 1 else ""


def statements(paths: Sequence[str], around: Sequence[str]) -> list[Statement]:
    """Return what the names of files that are read together state.

    A split counts only where the files state two or more: `test.csv` alone is no test set, but a set. A doubtful code
    counts where a file of the same name states another language: `nlu_it.yml` beside `nlu_de.yml`.

    Args:
        paths: of the files, with the folders within what was named.
        around: the folder around each file that was named, or that was named itself; "" if it is unknown.
    """
    splits, languages, stems = [], [], []
    for path in paths:
        parts = PurePosixPath(path).parts
        words = (_WORD.findall(_stem(part).casefold()) for part in reversed(parts))
        splits.append(next(filter(None, map(_split_in, words)), ""))
        languages.append(_language_at_end(parts[-1]))
        stems.append(_language_free(parts[-1]))
    if len(set(splits) - {""}) < 2:
        splits = [""] * len(paths)
    certain = {stem for stem, (code, _) in zip(stems, languages, strict=True) if code}
    stated = []
    for path, outside, split, stem, (by_name, doubtful) in zip(
        paths, around, splits, stems, languages, strict=True
    ):
        folders = map(_language_of_folder, reversed(PurePosixPath(path).parts[:-1]))
        code = by_name or (doubtful if stem in certain else None) or next(filter(None, folders), None)
        stated.append(Statement(code, split, None if code else doubtful or _language_of_folder(outside)))
    return stated


def _stem(name: str) -> str:
    while _ENDING.search(name):
        name = _ENDING.sub("", name)
    return without_endings(name)


def _language_free(name: str) -> str:
    """Return a name without its last word."""
    return _LAST_WORD.sub("", _SPLIT_AT_END.sub("", _stem(name)))


def stated_language(language: str | None, name: str) -> str:
    """Return the code of a language that is given, or else stated by a file's name. Raises DataError if it is none."""
    if language is not None:
        return checked_language(language)
    code = language_of_file(name)
    if code is None:
        stem, dot, ending = PurePosixPath(name).name.partition(".")
        raise DataError(
            f"{shown(name)} does not say its language; name it (",
            Fix("language", "en"),
            f"), or put it into the file's name, as in {shown(stem, 30)}.en{dot}{ending}",
        )
    return code
