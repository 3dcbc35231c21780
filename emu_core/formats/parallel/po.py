"""Translations of programs in gettext's PO files.

Babel, which reads them too, reserves as much memory as a header asks for, and refuses files with an unusual date.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from emu_core.data.cleaning import cleaned
from emu_core.data.languages import is_known, language_code, stated_code
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError, Fix
from emu_core.formats.encodings import checked_text, encoding_notes
from emu_core.formats.file_names import language_of_file
from emu_core.formats.limits import check_lengths, check_rows, opened
from emu_core.formats.lines import lines_of
from emu_core.formats.parallel.rows import ParallelRows
from emu_core.formats.tables.formats import GZIP_ENDING, STRUCTURED_ENDINGS, without_endings

_MESSAGES_FOLDER = "LC_MESSAGES"
_ORIGINAL = "en"  # gettext's convention
# Of encodings before UTF-8, the one that the header states is more certain than what the bytes look like.
_CHARSET = re.compile(
    rb"charset=(iso-?8859-\d{1,2}|windows-\d{3,4}|cp\d{3,4}|koi8-[ru]|euc-[a-z]{2}|gb\w{1,6}|big5|shift[_-]jis|tis-620)\b",
    re.IGNORECASE,
)
_HEAD_BYTES = 65_536
_LINE = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[\d{1,3}\])?)?\s*"((?:[^"\\]|\\.)*)"')
_OBSOLETE = re.compile(r'#~\s*msgid\s*"')
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_LANGUAGE = re.compile(r"^Language:[ \t]*(\S+)", re.MULTILINE | re.IGNORECASE)
# menu.open, BUTTON_OK, error:not-found, loginTitle; a sentence of one word has neither marks nor capitals inside.
_KEY = re.compile(r"[^\W_]+([._:/-]+[^\W_]+)+|[a-z]+([A-Z][a-z0-9]*)+")

_Key = tuple[str, str]  # context and original


@dataclass
class _Entry:
    """An entry: the strings after each of its keywords."""

    line: int
    is_left_out: bool = False  # fuzzy or obsolete
    strings: dict[str, list[str]] = field(default_factory=dict)

    def text(self, keyword: str) -> str:
        """Return the text after a keyword, "" if there is none."""
        return _ESCAPED.sub(
            lambda match: _ESCAPES.get(match[1], match[1]), "".join(self.strings.get(keyword, ()))
        )

    def pair(self) -> tuple[str, str]:
        """Return the original and its translation, each "" if there is none.

        Of a plural with two to four forms, the first is that of the singular; otherwise the last is that of the plural.
        """
        forms = [keyword for keyword in self.strings if keyword.startswith("msgstr")] or [""]
        if "msgid_plural" in self.strings and not 2 <= len(forms) <= 4:
            original, translation = self.text("msgid_plural"), self.text(forms[-1])
        else:
            original, translation = self.text("msgid"), self.text(forms[0])
        return cleaned(" ".join(original.split())), cleaned(" ".join(translation.split()))


@dataclass(frozen=True)
class _Catalog:
    """The translated entries of a file, and the rest of it."""

    name: str
    language: str | None
    entries: Mapping[_Key, tuple[str, str, int]]  # -> original, translation, line
    notes: tuple[str, ...]


def read_po(paths: Sequence[Path], languages: Sequence[str] | None = None) -> list[ParallelRows]:
    """Read originals and translations, of a plural those of one form.

    Entries without a translation, fuzzy and obsolete ones are left out and counted. Translations are in the language of
    the header or of the file's name, originals in English. If there is a file of translations into the originals' own
    language, its translations replace them. If the originals are keys such as `menu.open`, the files of two or more
    languages are joined by them.

    Args:
        paths: the files.
        languages: those of the translations of files that state none, in order; or that of the originals and then those
            of each file's translations.

    Raises:
        DataError: a file can't be read or is damaged, its language is not known, no entry has a translation, or the
            originals are keys and there is no other file.
    """
    catalogs = [_read_catalog(path) for path in paths]
    names = listed((catalog.name for catalog in catalogs), 4)
    if not any(catalog.entries for catalog in catalogs):
        raise DataError(f"{names}: no entry is translated; export the PO file with its translations")
    source, targets = _languages(catalogs, languages)
    translated = [pair for pair in zip(catalogs, targets, strict=True) if pair[0].entries]
    originals = [original for catalog, _ in translated for original, _, _ in catalog.entries.values()]
    are_keys = sum(map(bool, map(_KEY.fullmatch, originals))) > len(originals) / 2
    is_translated = any(target == source for _, target in translated)
    pivot = translated[0][1] if are_keys and not is_translated else source
    into_pivot = [catalog for catalog, target in translated if target == pivot]
    texts_of_pivot = {key: text for catalog in into_pivot for key, (_, text, _) in catalog.entries.items()}
    unpaired = (
        catalog
        for catalog, target in zip(catalogs, targets, strict=True)
        if target == pivot or not catalog.entries
    )
    notes = tuple(note for catalog in unpaired for note in catalog.notes)
    every_text = []
    for catalog, target in translated:
        if target != pivot:
            texts: dict[str, list[str | None]] = {pivot: [], target: []}
            for key, (original, translation, _) in catalog.entries.items():
                texts[pivot].append(texts_of_pivot.get(key, None if are_keys else original))
                texts[target].append(translation)
            lines = [line for _, _, line in catalog.entries.values()]
            files = dict.fromkeys(texts, catalog.name)
            every_text.append(ParallelRows(texts, files, lines, notes=notes + catalog.notes))
            notes = ()
    if not every_text:
        fault = "the originals are keys and no sentences" if are_keys else f"both sides are in {pivot}"
        raise DataError(f"{names}: {fault}; name the PO file of another language, too")
    return every_text


def _languages(catalogs: Sequence[_Catalog], given: Sequence[str] | None) -> tuple[str, list[str]]:
    """Return the language of the originals, and that of each file's translations."""
    targets = list(given or ())
    source = targets.pop(0) if len(targets) == len(catalogs) + 1 else _ORIGINAL
    unstated = [catalog.name for catalog in catalogs if catalog.language is None]
    if unstated and len(targets) not in (len(catalogs), len(unstated)):
        raise DataError(
            f"{listed(unstated, 4)}: the header states no Language; add it, or name the languages of the originals and "
            "of the translations (",
            Fix("languages", (_ORIGINAL, "de")),
            ")",
        )
    if len(targets) != len(catalogs):  # those that are given are of the files that state none
        rest = iter(targets)
        targets = [catalog.language or next(rest) for catalog in catalogs]
    for catalog, target in zip(catalogs, targets, strict=True):
        if catalog.language not in (None, target):
            raise DataError(
                f"{shown(catalog.name)} is in {catalog.language} by its header or name, and not in {target}; name that "
                "language, or none"
            )
    return source, targets


def _read_catalog(path: Path) -> _Catalog:
    text, encoding = _read_text(path)
    header, left = "", 0
    entries: dict[_Key, tuple[str, str, int]] = {}
    for number, entry in enumerate(_entries(text, path.name), 1):
        check_rows(number, path.name)
        original, translation = entry.pair()
        if not entry.text("msgid"):
            header = header or entry.text("msgstr")
        elif original and translation and not entry.is_left_out:
            key = entry.text("msgctxt"), entry.text("msgid")
            entries.setdefault(key, (original, translation, entry.line))
        else:
            left += 1
    for side in (0, 1):
        check_lengths([str(entry[side]) for entry in entries.values()], path.name, "entry")
    notes = encoding_notes(path.name, encoding)
    if left:
        what = counted(left, "entry", "entries")
        notes += (f"{shown(path.name)}: {what} untranslated, fuzzy or obsolete, left out.",)
    stated = _LANGUAGE.search(header)
    # A modifier such as @latin is no part of a code.
    code = language_code(stated[1].partition("@")[0]) if stated else None
    return _Catalog(path.name, code or _language_of_path(path), entries, notes)


def _language_of_path(path: Path) -> str | None:
    """Return the language in the file's name, or else in gettext's folders, such as `de/LC_MESSAGES/app.po`."""
    stated = language_of_file(without_endings(path.name, (GZIP_ENDING, *STRUCTURED_ENDINGS)))
    folder = path.parent.parent.name if path.parent.name == _MESSAGES_FOLDER else ""
    code = stated or stated_code(folder.partition("@")[0])
    return code if code and is_known(code) else None


def _read_text(path: Path) -> tuple[str, str]:
    """Return the text of a file, and its encoding."""
    with opened(path, path.name) as file:
        payload = file.read()
    if charset := _CHARSET.search(payload[:_HEAD_BYTES]):
        with suppress(LookupError, UnicodeDecodeError):  # the header may be older than the file
            payload = payload.decode(charset[1].decode()).encode()
    return checked_text(payload, path.name)


def _entries(text: str, name: str) -> Iterator[_Entry]:
    """Yield the entries of a file; of an obsolete one, only that there is one."""
    entry, keyword, is_fuzzy = None, "", False
    for number, line in enumerate(lines_of(text), 1):
        if not line or line.startswith("#"):
            is_fuzzy |= line.startswith("#,") and "fuzzy" in line
            if _OBSOLETE.match(line):
                yield _Entry(number, is_left_out=True, strings={"msgid": ["obsolete"]})
                is_fuzzy = False
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise DataError(f"{shown(name)}: line {number} is no line of a PO file; check it with msgfmt")
        if match[1] == "msgctxt" or (match[1] == "msgid" and (entry is None or "msgid" in entry.strings)):
            if entry is not None:
                yield entry
            entry, is_fuzzy = _Entry(number, is_fuzzy), False
        keyword = match[1] or keyword
        if entry is None or (match[1] in entry.strings):
            raise DataError(f"{shown(name)}: line {number} is not where it belongs; check it with msgfmt")
        entry.strings.setdefault(keyword, []).append(match[2])
    if entry is not None:
        yield entry
