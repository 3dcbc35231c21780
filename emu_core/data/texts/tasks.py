"""Collections of texts: those of a pre-training by task, and any stored in a folder."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pandas as pd

from emu_core.data.texts.dialogues import Dialogues
from emu_core.data.texts.nli import Nli
from emu_core.data.texts.parallel import ParallelText
from emu_core.data.texts.running_text import RunningText
from emu_core.data.texts.text import TrainingText
from emu_core.errors import DataError
from emu_core.files import write_json

TEXTS_FILE = "texts.json"
# in the order of the fields of `Tasks`
TEXT_KINDS: Mapping[str, type[TrainingText]] = {
    kind.kind: kind for kind in (ParallelText, Dialogues, RunningText, Nli)
}


@dataclass(frozen=True)
class Tasks:
    """Texts by task (Chidambaram et al. 2019, section 2.2); each text is a task of its own."""

    translation: Sequence[ParallelText] = ()
    dialogues: Sequence[Dialogues] = ()
    running_text: Sequence[RunningText] = ()
    nli: Sequence[Nli] = ()

    @classmethod
    def of(cls, texts: Sequence[TrainingText]) -> Self:
        """Sort texts by their kind."""
        sorted_texts: list[Any] = [
            tuple(text for text in texts if isinstance(text, kind)) for kind in TEXT_KINDS.values()
        ]
        return cls(*sorted_texts)

    @property
    def all(self) -> list[TrainingText]:
        """Every text, translation first."""
        return [*self.translation, *self.dialogues, *self.running_text, *self.nli]

    @property
    def sizes(self) -> list[int]:
        """The number of examples of each text, in the order of `all`; of running text those of quick thought."""
        return [len(text) for text in self.all]

    @property
    def notes(self) -> list[str]:
        """The readers' notes, each once."""
        return list(dict.fromkeys(note for text in self.all for note in text.notes))


def store_texts(folder: Path, parts: Mapping[str, Sequence[TrainingText]]) -> None:
    """Write texts by part, such as "train", to an existing folder: a Parquet file each, and finally `TEXTS_FILE`."""
    facts = []
    for part, texts in parts.items():
        for text in texts:
            facts.append({**text.facts(), "part": part})
            text.to_frame().to_parquet(_file(folder, len(facts)))
    write_json(folder / TEXTS_FILE, facts)


def read_stored_texts(folder: Path) -> dict[str, list[TrainingText]]:
    """Return what `store_texts` wrote, by part. Raises DataError if a file is missing or damaged."""
    parts: dict[str, list[TrainingText]] = {}
    try:
        for number, facts in enumerate(json.loads((folder / TEXTS_FILE).read_text("utf-8")), 1):
            text = TEXT_KINDS[facts["kind"]].from_frame(pd.read_parquet(_file(folder, number)), facts)
            parts.setdefault(facts.get("part", "train"), []).append(text)
    except (OSError, ValueError, KeyError, TypeError, DataError):
        raise DataError(
            f"the texts in {folder} are damaged; write them again from the files they were read from"
        ) from None
    return parts


def _file(folder: Path, number: int) -> Path:
    return folder / f"texts-{number}.parquet"
