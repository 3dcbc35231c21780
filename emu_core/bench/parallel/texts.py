"""All texts that a benchmark trains on and measures."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pandas as pd

from emu_core.bench.cells import pair_names
from emu_core.data.parallel.text import ParallelText, names_of
from emu_core.data.texts.scored_pairs import ScoredPairs
from emu_core.data.texts.tasks import Tasks
from emu_core.errors import RunError
from emu_core.evaluation.arrays import pair_name
from emu_core.runs.config import RunConfig
from emu_core.runs.stored_data import ParallelData

_DOCUMENTS, _STS = "documents.parquet", "sts.parquet"


@dataclass(frozen=True)
class Documents:
    """Documents of one language with a class each: N texts and N labels, to train on or to test on."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class BenchTexts:
    """The texts of a benchmark.

    Attributes:
        tasks: what is trained on: parallel text, one of each language pair, and beside it dialogues, running text and
            NLI.
        test: the same pairs' parallel text to measure on.
        documents: by language, documents to train a classifier on and others to test it on; empty where there are none.
        sts: by language, sentence pairs with a score.
    """

    tasks: Tasks
    test: tuple[ParallelText, ...]
    documents: Mapping[str, tuple[Documents, Documents]] = field(default_factory=dict)
    sts: Mapping[str, ScoredPairs] = field(default_factory=dict)

    @property
    def train(self) -> Sequence[ParallelText]:
        """The parallel text to train on."""
        return self.tasks.translation

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The language pairs."""
        return tuple(text.languages for text in self.train)

    def of_pairs(self, names: Sequence[str]) -> tuple[list[ParallelText], list[ParallelText]]:
        """Return the parallel text of some language pairs to train on, and to measure on.

        Args:
            names: such as "en-de".
        """
        chosen = set(names)
        train, test = (
            [text for text in part if pair_name(*text.languages) in chosen]
            for part in (self.train, self.test)
        )
        return train, test

    def facts(self, config: RunConfig) -> dict[str, Any]:
        """Return the checksum and counts, the contents of data.json."""
        return {
            "name": names_of(self.train),
            "sha256": self._sha256(),
            "pairs": dict(zip(pair_names(self.pairs), map(len, self.train), strict=True)),
            "test": dict(zip(pair_names(self.pairs), map(len, self.test), strict=True)),
            "documents": {code: len(train.texts) for code, (train, _) in self.documents.items()},
        }

    def _sha256(self) -> str:
        """Return a checksum of all texts, the same on every machine; file names don't count."""
        digest = hashlib.sha256()
        parts: list[Any] = [
            [one.languages, one.first, one.second] for texts in (self.train, self.test) for one in texts
        ]
        parts += [[code, both.texts, both.labels] for code, own in self.documents.items() for both in own]
        parts += [[code, one.first, one.second, one.scores] for code, one in self.sts.items()]
        parts += [[talk.language, talk.comments, talk.responses] for talk in self.tasks.dialogues]
        parts += [[text.language, text.documents] for text in self.tasks.running_text]
        parts += [
            [nli.language, nli.premises, nli.hypotheses, list(map(int, nli.labels))] for nli in self.tasks.nli
        ]
        for part in [[len(self.train), len(self.test)], *parts]:
            digest.update(json.dumps(part).encode())
        return digest.hexdigest()

    def store(self, folder: Path) -> None:
        """Write all of it into an empty folder."""
        ParallelData(self.tasks, (), self.test).store(folder)
        documents = [
            (code, part, text, label)
            for code, both in self.documents.items()
            for part, own in enumerate(both)
            for text, label in zip(own.texts, own.labels, strict=True)
        ]
        frame = pd.DataFrame(documents, columns=["language", "part", "text", "label"])
        frame.to_parquet(folder / _DOCUMENTS)
        pairs = [
            (code, *row)
            for code, own in self.sts.items()
            for row in zip(own.first, own.second, own.scores, strict=True)
        ]
        pd.DataFrame(pairs, columns=["language", "first", "second", "score"]).to_parquet(folder / _STS)

    @classmethod
    def load(cls, folder: Path, name: str) -> Self:
        """Read what `store` wrote. Raises RunError where it is damaged."""
        try:
            texts = ParallelData.load(folder, name)
            rows, pairs = pd.read_parquet(folder / _DOCUMENTS), pd.read_parquet(folder / _STS)
            documents: dict[str, list[Documents]] = {}
            for (code, _), own in rows.groupby(["language", "part"], sort=False):
                documents.setdefault(code, []).append(Documents(tuple(own["text"]), tuple(own["label"])))
            sts = {
                str(code): ScoredPairs(list(own["first"]), list(own["second"]), list(own["score"]))
                for code, own in pairs.groupby("language", sort=False)
            }
            both = {code: (parts[0], parts[1]) for code, parts in documents.items()}
            return cls(texts.tasks, tuple(texts.test), both, sts)
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            raise RunError(f"the data stored in {folder} is damaged; run the benchmark again") from None
