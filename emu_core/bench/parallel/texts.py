"""All that a benchmark trains on and measures, and its one file."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
import pandas as pd

from emu_core.data.dialogues import Dialogues
from emu_core.data.nli import Nli
from emu_core.data.pairs import ScoredPairs
from emu_core.data.parallel_text import ParallelText
from emu_core.data.running_text import RunningText

COLUMNS = ("kind", "number", "source", "target", "name", "first", "second", "value")


@dataclass(frozen=True)
class Documents:
    """Documents of one language with a class each: N texts and N labels, to train on or to test on."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class BenchTexts:
    """What a benchmark reads.

    Attributes:
        train: parallel text to train on, one of each language pair.
        test: the same pairs' text to measure on.
        documents: by language, documents to train a classifier on and others to test it on; empty where there are none.
        sts: by language, sentence pairs with a score.
        dialogues: comments with their responses.
        running: sentences in their order.
        nli: premises and hypotheses.
    """

    train: tuple[ParallelText, ...]
    test: tuple[ParallelText, ...]
    documents: Mapping[str, tuple[Documents, Documents]] = field(default_factory=dict)
    sts: Mapping[str, ScoredPairs] = field(default_factory=dict)
    dialogues: tuple[Dialogues, ...] = ()
    running: tuple[RunningText, ...] = ()
    nli: tuple[Nli, ...] = ()

    def frame(self) -> pd.DataFrame:
        """A row for each sentence, pair or document."""
        parts = [part for part in self._parts() if len(part)]
        return pd.concat(parts, ignore_index=True)[list(COLUMNS)]

    def _parts(self) -> Iterable[pd.DataFrame]:
        for kind, texts in (("train", self.train), ("test", self.test)):
            for number, text in enumerate(texts):
                yield _part(kind, number, text.source, text.name, text.first, text.second, target=text.target)
        for code, both in self.documents.items():
            for number, documents in enumerate(both):
                yield _part("documents", number, code, "", documents.texts, documents.labels)
        for code, pairs in self.sts.items():
            yield _part(
                "sts", 0, code, "", pairs.first, pairs.second, [repr(score) for score in pairs.scores]
            )
        for number, talk in enumerate(self.dialogues):
            yield _part("dialogues", number, talk.language, talk.name, talk.comments, talk.responses)
        for number, text_ in enumerate(self.running):
            rows = [(one, str(i)) for i, document in enumerate(text_.documents) for one in document]
            sentences, places = zip(*rows, strict=True)
            yield _part("running", number, text_.language, text_.name, sentences, [""] * len(rows), places)
        for number, nli in enumerate(self.nli):
            labels = [str(int(label)) for label in nli.labels]
            yield _part("nli", number, nli.language, nli.name, nli.premises, nli.hypotheses, labels)

    @classmethod
    def of(cls, frame: pd.DataFrame) -> "BenchTexts":
        """Read what `frame` made."""
        parallel: dict[str, list[ParallelText]] = {"train": [], "test": []}
        documents: dict[str, list[Documents]] = {}
        sts: dict[str, ScoredPairs] = {}
        dialogues, running, nli = list[Dialogues](), list[RunningText](), list[Nli]()
        for (kind, _, source, target, name), part in frame.groupby(list(COLUMNS[:5]), sort=False):
            first, second, values = tuple(part["first"]), tuple(part["second"]), part["value"].tolist()
            match kind:
                case "train" | "test":
                    parallel[kind].append(ParallelText(source, target, first, second, name))
                case "documents":
                    documents.setdefault(source, []).append(Documents(first, second))
                case "sts":
                    sts[source] = ScoredPairs(list(first), list(second), [float(value) for value in values])
                case "dialogues":
                    dialogues.append(Dialogues(source, first, second, name))
                case "running":
                    rows = zip(values, first, strict=True)
                    whole = tuple(
                        tuple(one for _, one in own) for _, own in groupby(rows, key=lambda row: row[0])
                    )
                    running.append(RunningText(source, whole, name))
                case "nli":
                    nli.append(Nli(first, second, np.array([int(v) for v in values], np.int64), source, name))
        return cls(
            tuple(parallel["train"]),
            tuple(parallel["test"]),
            {code: (both[0], both[1]) for code, both in documents.items()},
            sts,
            tuple(dialogues),
            tuple(running),
            tuple(nli),
        )

    def of_pairs(self, pairs: Sequence[tuple[str, str]]) -> tuple[list[ParallelText], list[ParallelText]]:
        """The text of some language pairs to train on, and to measure on."""
        chosen = set(pairs)
        train, test = (
            [text for text in part if text.languages in chosen] for part in (self.train, self.test)
        )
        return train, test


def sha256(frame: pd.DataFrame) -> str:
    """A checksum of a frame of texts, the same on every machine; file names don't count."""
    digest = hashlib.sha256()
    for column in COLUMNS:
        if column == "name":
            continue
        values = [str(value) for value in frame[column]]
        # With the lengths, no two different sets join to the same bytes.
        digest.update(np.fromiter(map(len, values), dtype="<i8", count=len(values)).tobytes())
        digest.update("".join(values).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _part(
    kind: str,
    number: int,
    source: str,
    name: str,
    first: Sequence[str],
    second: Sequence[str],
    value: Sequence[str] = (),
    target: str = "",
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "kind": kind,
            "number": number,
            "source": source,
            "target": target,
            "name": name,
            "first": list(first),
            "second": list(second),
            "value": list(value) or "",
        }
    )
