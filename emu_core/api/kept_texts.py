"""The texts a run trains on from nothing, kept in its folder until it is finished, so that it can be resumed."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from emu_core.data.parallel.text import ParallelText
from emu_core.data.texts.dialogues import Dialogues
from emu_core.data.texts.nli import Nli
from emu_core.data.texts.running_text import RunningText
from emu_core.errors import DataError, RunError
from emu_core.runs.run import TEXTS, Run
from emu_core.trainers.dual_tasks import Tasks

_DEV, _TEST = "dev", "test"


def keep_texts(run: Run, tasks: Tasks, dev: Sequence[ParallelText], test: Sequence[ParallelText]) -> None:
    """Write everything that training and measuring read into the run's training folder."""
    folder = run.training_folder
    folder.mkdir(exist_ok=True)
    facts: list[dict[str, Any]] = []
    for part, texts in (("train", tasks.translation), (_DEV, dev), (_TEST, test)):
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
    for talk in tasks.dialogues:
        facts.append(
            {"kind": "dialogues", "language": talk.language, "name": talk.name, "notes": list(talk.notes)}
        )
        _write(folder, len(facts), {"comment": talk.comments, "response": talk.responses})
    for running in tasks.running_text:
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
    for nli in tasks.nli:
        facts.append({"kind": "nli", "language": nli.language, "name": nli.name, "notes": list(nli.notes)})
        _write(
            folder,
            len(facts),
            {"premise": nli.premises, "hypothesis": nli.hypotheses, "label": nli.labels},
        )
    partial = folder / f".{TEXTS}"
    partial.write_text(json.dumps(facts, ensure_ascii=False), "utf-8")
    partial.replace(folder / TEXTS)  # last and whole: it says that all is there


def kept_texts(run: Run) -> tuple[Tasks, list[ParallelText], list[ParallelText]]:
    """Read what `keep_texts` wrote: to train on, dev, test. Raises RunError where that is damaged."""
    folder = run.training_folder
    parallel: dict[str, list[ParallelText]] = {"train": [], _DEV: [], _TEST: []}
    dialogues: list[Dialogues] = []
    running: list[RunningText] = []
    nli: list[Nli] = []
    try:
        for number, fact in enumerate(json.loads((folder / TEXTS).read_text("utf-8")), 1):
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
    except (OSError, ValueError, KeyError, TypeError, DataError):
        raise RunError(f"the texts in {folder} are damaged; train the run again") from None
    tasks = Tasks(tuple(parallel["train"]), tuple(dialogues), tuple(running), tuple(nli))
    return tasks, parallel[_DEV], parallel[_TEST]


def _write(folder: Path, number: int, columns: dict[str, Any]) -> None:
    pd.DataFrame(columns).to_parquet(folder / _file(number))


def _file(number: int) -> str:
    return f"texts-{number}.parquet"
