"""Texts of every kind stored in a folder and read from it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from emu_core.data.parallel.text import ParallelText
from emu_core.data.texts.dialogues import Dialogues
from emu_core.data.texts.nli import Nli
from emu_core.data.texts.running_text import RunningText
from emu_core.data.texts.text import Text
from emu_core.errors import DataError
from emu_core.files import write_json

FACTS = "texts.json"
KINDS: Mapping[str, type[Text]] = {kind.kind: kind for kind in (ParallelText, Dialogues, RunningText, Nli)}


def text_from_frame(frame: pd.DataFrame, facts: Mapping[str, Any]) -> Text:
    """Return the text, of any kind, whose `to_frame()` and `facts()` these are."""
    return KINDS[facts["kind"]].from_frame(frame, facts)


def write_texts(folder: Path, parts: Mapping[str, Sequence[Text]]) -> None:
    """Write texts to a folder that exists: a Parquet file each and `FACTS`, which is written last.

    Args:
        folder: where to write.
        parts: "train", "dev" or any other name -> its texts.
    """
    facts = []
    for part, texts in parts.items():
        for text in texts:
            facts.append({**text.facts(), "part": part})
            text.to_frame().to_parquet(_file(folder, len(facts)))
    write_json(folder / FACTS, facts)


def read_texts(folder: Path) -> dict[str, list[Text]]:
    """Return what `write_texts` wrote, by part.

    Raises:
        DataError: a file is missing or damaged.
    """
    parts: dict[str, list[Text]] = {}
    try:
        for number, facts in enumerate(json.loads((folder / FACTS).read_text("utf-8")), 1):
            text = text_from_frame(pd.read_parquet(_file(folder, number)), facts)
            parts.setdefault(facts.get("part", "train"), []).append(text)
    except (OSError, ValueError, KeyError, TypeError, DataError):
        raise DataError(
            f"the texts in {folder} are damaged; write them again from the files they were read from"
        ) from None
    return parts


def _file(folder: Path, number: int) -> Path:
    return folder / f"texts-{number}.parquet"
