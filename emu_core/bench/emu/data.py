"""The data of Emu's benchmark: a set divided into training and test rows, and machine translations."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pandas as pd

from emu_core.data.labelled import LabelledSet
from emu_core.errors import DataError
from emu_core.runs.config import RunConfig
from emu_core.runs.stored_data import LabelledData

TEST_SHARE = 0.3
_TRANSLATIONS, _NOTE = "translations.parquet", "note.json"


@dataclass(frozen=True, eq=False)
class BenchData(LabelledData):
    """Rows of split train followed by rows of split test, in the same languages."""

    note: str = ""  # how they were divided, as a sentence
    translations: Mapping[int, str] = field(default_factory=dict)  # by machine, by row of the test part
    file = "sentences.parquet"

    @cached_property
    def train(self) -> LabelledSet:
        """The rows to train on."""
        return self.labelled.select(splits=["train"])

    @cached_property
    def test(self) -> LabelledSet:
        """The rows to measure."""
        return self.labelled.select(splits=["test"])

    def facts(self, config: RunConfig) -> dict[str, Any]:
        """Return checksums and counts, as in data.json."""
        texts = json.dumps(sorted(self.translations.items())).encode()
        translated = hashlib.sha256(texts).hexdigest() if self.translations else ""
        return {**super().facts(config), "translations_sha256": translated}

    def store(self, folder: Path) -> None:
        """Write the data into an empty folder."""
        super().store(folder)
        rows = {"row": list(self.translations), "text": list(self.translations.values())}
        pd.DataFrame(rows).to_parquet(folder / _TRANSLATIONS)
        (folder / _NOTE).write_text(json.dumps(self.note), "utf-8")

    @classmethod
    def load(cls, folder: Path, name: str) -> Self:
        """Read what `store` wrote."""
        rows = pd.read_parquet(folder / _TRANSLATIONS)
        return replace(
            super().load(folder, name),
            note=str(json.loads((folder / _NOTE).read_text("utf-8"))),
            translations=dict(zip(rows["row"].tolist(), rows["text"].tolist(), strict=True)),
        )

    def translated(self, language: str, of_text: Mapping[str, str]) -> Self:
        """Return the data with translations, by text, of all test sentences that are not in `language`.

        If any sentence has none, all are left out: a baseline that translates only some sentences is not one.
        """
        frame = self.test.frame
        rows = frame.index[frame["language"] != language]
        found = {int(row): of_text.get(str(frame.at[row, "text"]), "") for row in rows}
        return replace(self, translations=found if found and all(found.values()) else {})


def bench_data(labelled: LabelledSet) -> BenchData:
    """Divide a labelled set into training and test rows.

    The test rows are split test, or dev if there is no test; no system needs dev to choose its epoch. A set without
    splits is divided by id, so that translations stay together, with a share `TEST_SHARE` of every intent for testing.

    Raises:
        DataError: a set with splits has none to train on or none to measure.
    """
    if labelled.splits:
        measured = next((name for name in ("test", "dev") if name in labelled.splits), None)
        if measured is None or "train" not in labelled.splits:
            raise DataError(
                f"a benchmark trains on split train and measures split test or dev, and there are: "
                f"{', '.join(labelled.splits)}; name them so, or leave the column out"
            )
        train, test = (labelled.select(splits=[split]).frame for split in ("train", measured))
        note = f"trained on split train, measured on split {measured}"
    else:
        divided = labelled.hold_out(TEST_SHARE)
        if "test" not in divided.splits:
            raise DataError("no intent has two sentences, one of which could be measured; add some")
        train, test = (divided.select(splits=[split]).frame for split in ("train", "test"))
        note = (
            f"the set has no splits: {TEST_SHARE:.0%} of every intent, translations together, drawn with seed 0, "
            "are measured and the rest is trained on"
        )
    both = set(train["language"]) & set(test["language"])
    if not both:
        raise DataError("no language has both sentences to train on and sentences to measure; add some")
    parts = (train.assign(split="train"), test.assign(split="test"))
    cut = pd.concat([part[part["language"].isin(both)] for part in parts], ignore_index=True)
    return BenchData(LabelledSet(cut, labelled.name), note=note)
