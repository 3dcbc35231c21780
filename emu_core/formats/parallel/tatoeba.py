"""Tatoeba's export: sentences with numbers and languages, and links between the numbers of translations."""

import re
from collections.abc import Sequence
from pathlib import Path

from emu_core.data.cleaning import cleaned
from emu_core.data.languages import is_known, language_code, ordered
from emu_core.data.wording import counted, listed
from emu_core.errors import DataError
from emu_core.formats.encodings import read_lines
from emu_core.formats.limits import check_rows
from emu_core.formats.lines import lines_of
from emu_core.formats.parallel.rows import ParallelRows, pivot_of

_SENTENCE = re.compile(r"([0-9]{1,15})\t([a-z]{2,4}|[a-z]+_[a-z]+|\\N)\t([^\t]+)(?:\t.*)?")
_LINK = re.compile(r"([0-9]{1,15})\t([0-9]{1,15})")


def is_tatoeba(head: str) -> bool:
    """Return whether a file begins with lines "number, language, sentence" or "number, number", with tabs between."""
    lines = lines_of(head)
    lines = [line for line in (lines[:-1] if len(lines) > 1 else lines) if line]
    return bool(lines) and (all(map(_LINK.fullmatch, lines)) or all(map(_is_sentence, lines)))


def _is_sentence(line: str) -> bool:
    match = _SENTENCE.fullmatch(line)
    return match is not None and (match[2] == r"\N" or _code(match[2]) is not None)


def _code(stated: str) -> str | None:
    code = language_code(stated)
    return code if code and is_known(code) else None


def read_tatoeba(paths: Sequence[Path], _: Sequence[str] | None = None) -> list[ParallelRows]:
    """Join sentences with their translations by the links, for each language with English, or else with the first.

    Args:
        paths: one or more files of sentences, such as `sentences.csv` or `deu_sentences.tsv`, and `links.csv`.

    Raises:
        DataError: there are no sentences or no links, a file can't be read, or no link is between two languages.
    """
    names = listed((path.name for path in paths), 4)
    sentences: dict[int, tuple[str, str]] = {}
    links: set[tuple[int, int]] = set()
    notes: tuple[str, ...] = ()
    for path in paths:
        lines, line_notes = read_lines(path, path.name, are_aligned=True)
        check_rows(len(lines), path.name)
        notes += line_notes
        for line in lines:
            if match := _LINK.fullmatch(line):
                first, second = int(match[1]), int(match[2])
                links.add((min(first, second), max(first, second)))
            elif (match := _SENTENCE.fullmatch(line)) and (code := _code(match[2])):
                sentences[int(match[1])] = code, cleaned(match[3])
    for part, usual_name in ((sentences, "sentences.csv"), (links, "links.csv")):
        if not part:
            raise DataError(
                f"{names}: Tatoeba's {usual_name} is missing, which belongs with it; name it, too"
            )

    pairs: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for numbers in sorted(links):
        sides = sorted(sentences[number] for number in numbers if number in sentences)
        if len(sides) == 2 and sides[0][0] != sides[1][0] and all(text for _, text in sides):
            pairs.setdefault((sides[0][0], sides[1][0]), []).append((sides[0][1], sides[1][1]))
    if not pairs:
        raise DataError(
            f"{names}: no link is between sentences of two languages; name the sentences of both languages"
        )
    pivot = pivot_of(ordered(code for codes in pairs for code in codes))
    left = sum(len(rows) for codes, rows in pairs.items() if pivot not in codes)
    if left:
        notes += (f"{names}: {counted(left, 'pair')} without a sentence in {pivot} left out.",)
    every_text = []
    for codes in sorted(pairs):
        if pivot in codes:
            texts = dict(zip(codes, zip(*pairs[codes], strict=True), strict=True))
            lines_of = range(1, len(pairs[codes]) + 1)
            every_text.append(ParallelRows(texts, dict.fromkeys(codes, names), lines_of, "pair", notes))
            notes = ()
    return every_text
