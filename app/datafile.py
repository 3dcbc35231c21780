"""A labelled set written where a training process finds it."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import MappingProxyType

import pandas as pd

from emu_core.data.labelled import LabelledSet

FOLDER = ".data"  # under the folder of runs; the dot keeps it apart from them


def save_data(
    root: Path, labelled: LabelledSet, sha256: str, translations: Mapping[str, str] = MappingProxyType({})
) -> Path:
    """Write a set to a file of its own under `root`, once, and return the file.

    JSON Lines and not CSV: it gives every character back as it was, and no spreadsheet runs it.

    Args:
        root: the folder of runs.
        labelled: the set; of its name only harmless letters go into the file's.
        sha256: `labelled.sha256()`.
        translations: by text, which become a column `translation`; without any there is no such column.
    """
    folder = root / FOLDER / (sha256[:16] + _digest(translations))
    path = folder / f"{_slug(labelled.name)}.jsonl"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=folder, encoding="ascii", newline="\n", delete=False) as file:
            _table(labelled, translations).to_json(file, orient="records", lines=True, force_ascii=True)
        Path(file.name).replace(path)
    return path


def _table(labelled: LabelledSet, translations: Mapping[str, str]) -> pd.DataFrame:
    if not translations:
        return labelled.frame
    return labelled.frame.assign(translation=[translations.get(text, "") for text in labelled.frame["text"]])


def _digest(translations: Mapping[str, str]) -> str:
    if not translations:
        return ""
    return "-" + hashlib.sha256(json.dumps(sorted(translations.items())).encode()).hexdigest()[:16]


def _slug(name: str) -> str:
    plain = (
        unicodedata.normalize("NFKD", Path(name.replace("\\", "/")).stem).encode("ascii", "ignore").decode()
    )
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:40].strip("-") or "data"
