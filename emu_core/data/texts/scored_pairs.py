"""Files of sentence pairs: STS scores, and translations line by line."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from emu_core.data.languages import is_known, language_code, language_of_file
from emu_core.data.readers import read_text
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError

MOST_PAIRS = 20_000  # of a file; each translation is compared with every other
_HEADER = ["sentence1", "sentence2", "score"]


@dataclass(frozen=True)
class ScoredPairs:
    """Sentence pairs of one language and how alike people find them."""

    first: list[str]
    second: list[str]
    scores: list[float]


@dataclass(frozen=True)
class Translations:
    """Sentences of two languages, line by line translations of each other."""

    source: str
    target: str
    sentences: list[str]
    translations: list[str]


def read_scored_pairs(folder: Path) -> dict[str, ScoredPairs]:
    """Read `LANGUAGE.csv` or `LANGUAGE.anything.csv` files of two sentences and a score, without a header, by language.

    Files of one language count as one.

    Raises:
        DataError: there is no such file, or a row is not two sentences and a number; it names file and row.
    """
    found: dict[str, ScoredPairs] = {}
    for path in _files(folder, ".csv"):
        language = _language(path)
        pairs = found.setdefault(language, ScoredPairs([], [], []))
        for number, row in enumerate(csv.reader(io.StringIO(read_text(path, path.name)[0], newline="")), 1):
            if not row or (number == 1 and [cell.strip().lower() for cell in row] == _HEADER):
                continue
            first, second, score = _scored(row, f"{path.name}, row {number}")
            pairs.first.append(first)
            pairs.second.append(second)
            pairs.scores.append(score)
        _check_count(len(pairs.scores), path.name)
    return dict(sorted(found.items(), key=lambda item: (item[0] != "en", item[0])))


def read_translations(folder: Path) -> list[Translations]:
    """Read pairs of files NAME.A-B.A and NAME.A-B.B, one sentence a line, such as tatoeba.deu-eng.deu and .eng.

    Raises:
        DataError: there is no such file, one of a pair is missing, a line is empty, or the two differ in length; it
            names file and row.
    """
    found = []
    for path in _files(folder, ""):
        stem, _, own = path.name.rpartition(".")
        first, dash, second = stem.rpartition(".")[2].partition("-")
        if not dash or own not in (first, second):
            continue
        other = path.with_name(f"{stem}.{second if own == first else first}")
        if not other.is_file():
            raise DataError(
                f"{path.name} has no {other.name} beside it; translations stand in two files, line by line"
            )
        if own != first:  # its pair was read with the first of the two
            continue
        sentences, translations = _lines(path), _lines(other)
        if len(sentences) != len(translations):
            raise DataError(
                f"{path.name} has {counted(len(sentences), 'line')} and {other.name} {len(translations):,}; give each "
                "sentence its translation in the same line"
            )
        source, target = (language_code(code) or code for code in (first, second))
        found.append(Translations(source, target, sentences, translations))
    if not found:
        raise DataError(
            f"no translations in {folder}; name them like tatoeba.deu-eng.deu and tatoeba.deu-eng.eng"
        )
    return found


def _files(folder: Path, ending: str) -> list[Path]:
    if not folder.is_dir():
        raise DataError(f"no folder {folder}; name one with files of sentence pairs")
    files = sorted(path for path in folder.iterdir() if path.name.endswith(ending) and path.is_file())
    if not files:
        raise DataError(f"no {ending or 'file'} in {folder}; name a folder with files of sentence pairs")
    return files


def _language(path: Path) -> str:
    code = language_code(path.name.split(".")[0])
    language = code if code and is_known(code) else language_of_file(path.name)
    if language is None:
        raise DataError(f"{path.name} does not begin with a language; name it like de.csv or de.dev.csv")
    return language


def _scored(row: Sequence[str], where: str) -> tuple[str, str, float]:
    if len(row) != len(_HEADER):
        raise DataError(
            f"{where}: two sentences and a score are {len(_HEADER)} cells, not {len(row)}: {listed(row, 4)}"
        )
    first, second = row[0].strip(), row[1].strip()
    if not first or not second:
        raise DataError(f"{where}: a sentence is empty; fill it in, or take the row out")
    try:
        score = float(row[2])
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise DataError(
            f"{where}: the score '{shown(row[2], 40)}' is not a number; mend it, or take the row out"
        )
    return first, second, score


def _lines(path: Path) -> list[str]:
    # str.splitlines would break a sentence at characters that are no line ends to other programs.
    text = read_text(path, path.name)[0].replace("\r\n", "\n").removesuffix("\n")
    lines = [line.strip() for line in text.split("\n")]
    if "" in lines:
        raise DataError(
            f"{path.name}, row {lines.index('') + 1}: the line is empty; fill it in, or take it out of both"
        )
    _check_count(len(lines), path.name)
    return lines


def _check_count(count: int, name: str) -> None:
    if count > MOST_PAIRS:
        raise DataError(f"{name} brings {count:,} pairs, and {MOST_PAIRS:,} are the most; give fewer")
    if not count:
        raise DataError(f"{name} has no sentence pair; give some")
