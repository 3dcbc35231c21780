"""Tatoeba's export: sentences with numbers and languages, and links between the numbers of translations."""

import re
from collections.abc import Sequence
from pathlib import Path

from emu_core.data.cleaning import cleaned
from emu_core.data.languages import is_known, language_code, ordered
from emu_core.data.parallel.text import ParallelRows, check_languages
from emu_core.data.readers.formats import unpacked_name
from emu_core.data.readers.limits import check_rows, opened
from emu_core.data.readers.text import read_lines
from emu_core.data.wording import listed
from emu_core.errors import DataError

_SENTENCE = re.compile(r"[0-9]+\t[a-z_-]{2,10}\t[^\t]+(\t.*)?")
_LINK = re.compile(r"[0-9]+\t[0-9]+")
_ENDINGS = (".csv", ".tsv", ".txt")
_HEAD_BYTES = 4096


def is_tatoeba(path: Path) -> bool:
    """Return whether a file begins with sentences `number, language, text` or links `number, number`, by tabs."""
    return bool(_kind(path))


def read_tatoeba(paths: Sequence[Path]) -> ParallelRows:
    """Join sentences with their translations by the links.

    Args:
        paths: one or more files of sentences, such as `sentences.csv` or `deu_sentences.tsv`, and `links.csv`.

    Raises:
        DataError: there are no sentences or no links, a file can't be read, or the links join no two languages.
    """
    kinds = {path: _kind(path) for path in paths}
    names = listed((path.name for path in paths), 4)
    for wanted_kind, wanted in ((_SENTENCE, "sentences.csv"), (_LINK, "links.csv")):
        if wanted_kind not in kinds.values():
            raise DataError(f"{names}: Tatoeba's {wanted} is missing, which belongs with it; name it, too")
    sentences: dict[str, tuple[str, str]] = {}
    links: list[tuple[str, str]] = []
    notes: tuple[str, ...] = ()
    for path, kind in kinds.items():
        lines, line_notes = read_lines(path, path.name)
        check_rows(len(lines), path.name)
        notes += line_notes
        for line in lines:
            if kind is _SENTENCE and _SENTENCE.fullmatch(line):
                number, stated, text = line.split("\t")[:3]
                if (code := language_code(stated)) and is_known(code):
                    sentences[number] = code, cleaned(text)
            elif kind is _LINK and _LINK.fullmatch(line):
                first, _, second = line.partition("\t")
                links.append((first, second))
    joined = {
        tuple(sorted((first, second)))
        for first, second in links
        if first in sentences and second in sentences and sentences[first][0] != sentences[second][0]
    }
    pairs = sorted(joined, key=lambda pair: tuple(map(int, pair)))
    codes = ordered({sentences[number][0] for pair in pairs for number in pair})
    if not pairs:
        raise DataError(f"{names}: no link joins sentences of two languages; name files of both languages")
    check_languages(codes, names)
    texts: dict[str, list[str | None]] = {code: [None] * len(pairs) for code in codes}
    for row, pair in enumerate(pairs):
        for number in pair:
            code, text = sentences[number]
            texts[code][row] = text
    return ParallelRows(texts, dict.fromkeys(codes, names), range(1, len(pairs) + 1), "link", notes)


def _kind(path: Path) -> re.Pattern[str] | None:
    """Return what the first lines of a file all are; None if they are something else."""
    if not unpacked_name(path.name).lower().endswith(_ENDINGS):
        return None
    with opened(path, path.name) as file:
        head = file.read(_HEAD_BYTES).decode("utf-8-sig", "replace")
    lines = [line.rstrip("\r") for line in head.split("\n")]
    lines = [line for line in (lines[:-1] if len(lines) > 1 and len(head) > 1000 else lines) if line]
    return next((kind for kind in (_SENTENCE, _LINK) if lines and all(map(kind.fullmatch, lines))), None)
