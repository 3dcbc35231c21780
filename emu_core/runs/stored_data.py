"""The data a run trains on, stored in its folder until it is finished, so that it can be started and resumed there."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pandas as pd

from emu_core.data.dialogues import Dialogues
from emu_core.data.labelled import LabelledSet
from emu_core.data.nli import Nli
from emu_core.data.parallel_text import ParallelText, names_of
from emu_core.data.running_text import RunningText
from emu_core.data.tasks import Tasks
from emu_core.data.unlabelled import UnlabelledSet
from emu_core.errors import DataError, RunError
from emu_core.runs.config import RunConfig

_LABELLED, _UNLABELLED, _TEXTS = "labelled.parquet", "unlabelled.parquet", "texts.json"


@dataclass(frozen=True, eq=False)
class LabelledData:
    """Sentences with intents.

    Attributes:
        labelled: every row, those of all splits.
        unlabelled: sentences whose labels are not read; None where the method reads none.
        audit: what the audit found, a sentence each.
    """

    labelled: LabelledSet
    unlabelled: UnlabelledSet | None = None
    audit: tuple[str, ...] = ()

    def facts(self, config: RunConfig) -> dict[str, Any]:
        """Return hash and counts, the contents of data.json."""
        counts = self.labelled.frame.groupby(["language", "split"]).size()
        return {
            "name": self.labelled.name,
            "sha256": self.labelled.sha256(),
            "rows": len(self.labelled),
            "labelled": len(self.labelled.train_part().select(languages=config.train_languages)),
            "intents": len(self.labelled.intents),
            "counts": {f"{language} {split}".strip(): int(n) for (language, split), n in counts.items()},
            "audit": list(self.audit),
        }

    def store(self, folder: Path) -> None:
        """Write both sets."""
        if self.unlabelled is not None:
            self.unlabelled.frame.to_parquet(folder / _UNLABELLED)
        self.labelled.frame.to_parquet(folder / _LABELLED)

    @classmethod
    def load(cls, folder: Path, name: str) -> Self:
        """Read what `store` wrote."""
        unlabelled = folder / _UNLABELLED
        return cls(
            LabelledSet(pd.read_parquet(folder / _LABELLED), name),
            UnlabelledSet(pd.read_parquet(unlabelled), name) if unlabelled.exists() else None,
        )


@dataclass(frozen=True, eq=False)
class ParallelData:
    """Texts to train an encoder on from scratch.

    Attributes:
        tasks: what is trained on.
        dev: pairs that choose the epoch.
        test: pairs that the encoder is measured on; none takes those of `dev`.
    """

    tasks: Tasks
    dev: Sequence[ParallelText]
    test: Sequence[ParallelText] = ()

    def facts(self, config: RunConfig) -> dict[str, Any]:
        """Return hash and counts, the contents of data.json."""
        digest = hashlib.sha256()
        for text in self.tasks.translation:
            for side in (text.first, text.second):
                digest.update("\n".join(side).encode())
        return {
            "name": names_of(self.tasks.translation),
            "sha256": digest.hexdigest(),
            "pairs": {"-".join(text.languages): len(text) for text in self.tasks.translation},
            "dev": {"-".join(text.languages): len(text) for text in self.dev},
            "test": {"-".join(text.languages): len(text) for text in self.test},
            "dialogues": sum(map(len, self.tasks.dialogues)),
            "running_text": sum(map(len, self.tasks.running_text)),
            "nli": sum(map(len, self.tasks.nli)),
        }

    def store(self, folder: Path) -> None:
        """Write every text, and then what each is."""
        facts: list[dict[str, Any]] = []
        for part, texts in (("train", self.tasks.translation), ("dev", self.dev), ("test", self.test)):
            for text in texts:
                facts.append(
                    {
                        "kind": "parallel",
                        "part": part,
                        "source": text.source,
                        "target": text.target,
                        "name": text.name,
                        "documents": list(text.documents),
                        "notes": list(text.notes),
                    }
                )
                _write(folder, len(facts), {"first": text.first, "second": text.second})
        for talk in self.tasks.dialogues:
            facts.append(
                {"kind": "dialogues", "language": talk.language, "name": talk.name, "notes": list(talk.notes)}
            )
            _write(folder, len(facts), {"comment": talk.comments, "response": talk.responses})
        for running in self.tasks.running_text:
            facts.append(
                {
                    "kind": "running",
                    "language": running.language,
                    "name": running.name,
                    "notes": list(running.notes),
                }
            )
            rows = [(number, text) for number, document in enumerate(running.documents) for text in document]
            numbers, sentences = zip(*rows, strict=True)
            _write(folder, len(facts), {"document": numbers, "text": sentences})
        for nli in self.tasks.nli:
            facts.append({"kind": "nli", "language": nli.language, "name": nli.name, "notes": list(nli.notes)})
            _write(
                folder,
                len(facts),
                {"premise": nli.premises, "hypothesis": nli.hypotheses, "label": nli.labels},
            )
        (folder / _TEXTS).write_text(json.dumps(facts, ensure_ascii=False), "utf-8")

    @classmethod
    def load(cls, folder: Path, name: str) -> Self:
        """Read what `store` wrote."""
        parallel: dict[str, list[ParallelText]] = {"train": [], "dev": [], "test": []}
        dialogues: list[Dialogues] = []
        running: list[RunningText] = []
        nli: list[Nli] = []
        for number, fact in enumerate(json.loads((folder / _TEXTS).read_text("utf-8")), 1):
            frame = pd.read_parquet(folder / _file(number))
            name, notes = fact["name"], tuple(fact["notes"])
            match fact["kind"]:
                case "parallel":
                    sides = tuple(frame["first"]), tuple(frame["second"])
                    parallel[fact["part"]].append(
                        ParallelText(
                            fact["source"], fact["target"], *sides, name, tuple(fact["documents"]), notes
                        )
                    )
                case "dialogues":
                    sides = tuple(frame["comment"]), tuple(frame["response"])
                    dialogues.append(Dialogues(fact["language"], *sides, name, notes))
                case "running":
                    documents = tuple(tuple(part["text"]) for _, part in frame.groupby("document", sort=True))
                    running.append(RunningText(fact["language"], documents, name, notes))
                case "nli":
                    sides = tuple(frame["premise"]), tuple(frame["hypothesis"])
                    nli.append(Nli(*sides, frame["label"].to_numpy(), fact["language"], name, notes))
        tasks = Tasks(tuple(parallel["train"]), tuple(dialogues), tuple(running), tuple(nli))
        return cls(tasks, parallel["dev"], parallel["test"])


Data = LabelledData | ParallelData


def load_data(folder: Path, name: str) -> Data:
    """Read the data of a run from its training folder.

    Args:
        folder: where `store` wrote it.
        name: of the data, for people.

    Raises:
        RunError: it is damaged.
    """
    kind = LabelledData if (folder / _LABELLED).is_file() else ParallelData
    try:
        return kind.load(folder, name)
    except (OSError, ValueError, KeyError, TypeError, DataError):
        raise RunError(f"the data stored in {folder} is damaged; train the run again") from None


def _write(folder: Path, number: int, columns: dict[str, Any]) -> None:
    pd.DataFrame(columns).to_parquet(folder / _file(number))


def _file(number: int) -> str:
    return f"texts-{number}.parquet"
