"""Natural language inference pairs from the JSON Lines of SNLI, MultiNLI and XNLI, read as a stream."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from emu_core.data.cleaning import HALF, clean, cleaned
from emu_core.data.languages import checked_language, language_code
from emu_core.data.texts.nli import LABELS, Nli
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError
from emu_core.formats.in_memory import TABLES, Expected, Sources
from emu_core.formats.limits import check_rows, opened
from emu_core.formats.source_files import SourceFile
from emu_core.formats.tables.formats import JSON_LINES, unpacked_name
from emu_core.formats.texts.read import held_columns, left_out_note, read_training_texts

MAX_NLI_BYTES = 1024**3  # SNLI's training part, with all annotators' labels and parses, has 466 MB


_MAX_LINE = 2**20


_KEYS = ("sentence1", "sentence2", "gold_label")


_NAMES = {
    "premise": ("premise", "sentence1"),
    "hypothesis": ("hypothesis", "sentence2"),
    "label": ("label", "gold_label"),
    "language": ("language",),
}


_EXPECTED = Expected(
    f"name files of SNLI or MultiNLI, such as train.jsonl, or give {TABLES} with the columns premise, hypothesis and "
    "label"
)


def read_nli(files: Sources, language: str | None = None) -> list[Nli]:
    """Read `sentence1`, `sentence2` and `gold_label` of JSON Lines, gzipped or not, or of tables that Python holds.

    The columns of a table may also be `premise`, `hypothesis` and `label`, with names or numbers of `LABELS`, as the
    sets of the Hugging Face hub have them.

    Rows on which the annotators did not agree (label "-" or -1) and rows with an empty sentence are left out, and
    counted in `notes`.

    Args:
        files: files; a DataFrame, a pyarrow Table or a Hugging Face `Dataset`; or a list of several.
        language: the language of rows without a key or a column `language`, which XNLI has; English by default.

    Returns:
        A set for each file or table and language, in their order.

    Raises:
        DataError: a file can't be read, a line is no such object or has another label, or no row is left.

    Examples:
        >>> import emu_core
        >>> import pandas as pd
        >>> rows = {"premise": ["It rains."], "hypothesis": ["It is wet."], "label": ["entailment"]}
        >>> (pairs,) = emu_core.read_nli(pd.DataFrame(rows))
        >>> pairs.language, pairs.labels.tolist()
        ('en', [0])
    """
    default = checked_language(language or "en")
    return read_training_texts(
        files,
        _EXPECTED,
        lambda source: _read(
            source.name,
            _records_of_table(source) if isinstance(source, SourceFile) else _records(source),
            default,
        ),
        "inference pairs",
        lambda name: unpacked_name(name).lower().endswith(JSON_LINES.endings),
    )


def _read(name: str, records: Iterable[tuple[str, tuple[str, ...]]], default: str) -> list[Nli]:
    rows: dict[str, list[tuple[str, str, int]]] = {}
    count = undecided = empty = 0
    for count, (where, (premise, hypothesis, label, language)) in enumerate(records, 1):
        check_rows(count, name)
        if label == "-":
            undecided += 1
        elif not premise or not hypothesis:
            empty += 1
        elif label not in LABELS:
            raise DataError(
                f"{where} has the label '{shown(label)}'; labels are {listed(LABELS)}, and - for a row to leave "
                "out"
            )
        else:
            code = language_code(language) or default
            rows.setdefault(code, []).append((premise, hypothesis, LABELS.index(label)))
    if not rows:
        raise DataError(
            f"{shown(name)}: none of {counted(count, 'row')} has two sentences and a label; check the data"
        )
    notes = left_out_note(name, undecided, "row", "without a gold label (-)")
    notes += left_out_note(name, empty, "row", "with an empty sentence")
    columns = {code: zip(*part, strict=True) for code, part in rows.items()}
    return [
        Nli(premises, hypotheses, np.array(labels), code, name, notes)
        for code, (premises, hypotheses, labels) in columns.items()
    ]


def _records_of_table(table: SourceFile) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the two sentences, the label and the language of each row of a table, with its place in words."""
    frame = held_columns(table, _NAMES)
    codes = {str(number): label for number, label in enumerate(LABELS)} | dict.fromkeys(("", "-1"), "-")
    columns = [clean(frame[role]) if role in frame else [""] * len(frame) for role in _NAMES]
    for number, (premise, hypothesis, label, language) in enumerate(zip(*columns, strict=True), 1):
        record = (premise, hypothesis, codes.get(label, label), language)
        yield f"{shown(table.name)}: row {number}", record


def _records(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    return ((where, _record(line, where)) for where, line in _lines(path))


def _record(line: bytes, where: str) -> tuple[str, ...]:
    """Return the two sentences, the label and the language of a line, "" if it states no language."""
    try:
        value = json.loads(line.decode("utf-8-sig"))
        if b"\\u" in line:
            json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate (\ud800) is not UTF-8
    except UnicodeEncodeError as error:
        raise DataError(f"{where} holds {HALF}; fix it") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{where} is not UTF-8; save the file as UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{where} is not JSON; give JSON Lines as SNLI and MultiNLI have them (.jsonl)"
        ) from error
    missing = [key for key in _KEYS if not isinstance(value, dict) or not isinstance(value.get(key), str)]
    if missing:
        raise DataError(
            f"{where} has no text under {listed(missing)}; each line is an object with {listed(_KEYS)}"
        )
    language = value.get("language")
    return (*(cleaned(value[key]) for key in _KEYS), language if isinstance(language, str) else "")


def _lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the bytes of each line that is not blank, with its place in words."""
    with opened(path, path.name, MAX_NLI_BYTES) as stream:
        for number, line in enumerate(iter(lambda: stream.readline(_MAX_LINE + 1), b""), 1):
            where = f"{shown(path.name)}: line {number}"
            if len(line) > _MAX_LINE:
                raise DataError(f"{where} is longer than 1 MB; give JSON Lines, an object a line")
            if line.strip():
                yield where, line
