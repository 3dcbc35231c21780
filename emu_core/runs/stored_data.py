"""The training data of a run, stored in its folder until it is finished, to start and resume the run from."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Self

import pandas as pd

from emu_core.data.repeats import is_repeat
from emu_core.data.sets import LabelledSet, UnlabelledSet
from emu_core.data.texts.parallel import ParallelText
from emu_core.data.texts.tasks import Tasks, read_stored_texts, store_texts
from emu_core.data.wording import counted
from emu_core.errors import DataError, RunError
from emu_core.files import read_json, write_json
from emu_core.runs.config import RunConfig
from emu_core.runs.data_facts import LabelledFacts, ParallelFacts

_LABELLED, _UNLABELLED = "labelled.parquet", "unlabelled.parquet"
_NONE_OF_THESE = "none_of_these.parquet"
_DESCRIPTIONS = "descriptions.json"


@dataclass(frozen=True, eq=False)
class LabelledData:
    """Sentences with intents."""

    labelled: LabelledSet  # the rows of all splits
    unlabelled: UnlabelledSet | None = None  # sentences used without labels, if the method uses any
    audit: tuple[str, ...] = ()  # the findings of the audit, a sentence each
    hold_out: float = 0.0  # the share drawn as split test, with the run's seed, where the data had no splits
    file: ClassVar[str] = _LABELLED  # the name of the file of labelled rows

    @property
    def has_foreign_sentences(self) -> bool:
        """Whether sentences are used without labels that are no rows of the labelled set."""
        return self.unlabelled is not None and not bool(
            is_repeat(self.unlabelled.frame, self.labelled.all_rows()).all()
        )

    def facts(self, config: RunConfig) -> LabelledFacts:
        """Return hash and counts, the contents of data.json."""
        counts = self.labelled.frame.groupby(["language", "split"]).size()
        return LabelledFacts(
            name=self.labelled.name,
            sha256=self.labelled.sha256(),
            rows=len(self.labelled),
            labelled=len(self.learnt_rows(config)) if self._reads_labels(config) else 0,
            intents=len(self.labelled.intents),
            counts={f"{language} {split}".strip(): int(n) for (language, split), n in counts.items()},
            audit=self.audit,
            hold_out=self.hold_out,
        )

    def size(self, config: RunConfig) -> str:
        """Return the amount of training data in words."""
        if not self._reads_labels(config):
            return counted(len(self.learnt_sentences(config)), "sentence")
        if config.pairs:  # translations, whose intents are not read
            languages = counted(len(set().union(*config.pairs)), "language")
            return f"{counted(len(self.learnt_rows(config)), 'sentence')} in {languages}"
        learnt = self.learnt_rows(config)
        return f"{counted(len(learnt), 'labelled sentence')} of {counted(len(learnt.intents), 'intent')}"

    def learnt_rows(self, config: RunConfig) -> LabelledSet:
        """Return the rows whose labels are learnt, or could be by another method; none where there are no such rows."""
        if not self.labelled.has_train_part:
            return LabelledSet.of_nothing(self.labelled.name)
        return self.labelled.train_part().select(languages=config.train_languages or None)

    def learnt_sentences(self, config: RunConfig) -> pd.DataFrame:
        """Return the rows of `learnt_rows`, or by a method that reads no labels, all sentences that it learns from."""
        if self.unlabelled is None or self._reads_labels(config):
            return self.learnt_rows(config).frame
        return self.unlabelled.frame

    def for_student(self, config: RunConfig) -> "LabelledData":
        """Return the data of a student: what its teacher learns from in the same run, and the sentences without labels.

        The labels are the teacher's alone.
        """
        learnt = [self.learnt_rows(config).all_rows()]
        if self.unlabelled is not None:
            learnt.append(self.unlabelled.frame)
        return replace(
            self, unlabelled=UnlabelledSet.learnable(pd.concat(learnt, ignore_index=True), self.labelled)
        )

    def _reads_labels(self, config: RunConfig) -> bool:
        return self.unlabelled is None or bool(config.train_languages)

    def store(self, folder: Path) -> None:
        """Write both sets."""
        if self.unlabelled is not None:
            self.unlabelled.frame.to_parquet(folder / _UNLABELLED)
        if len(self.labelled.none_of_these):
            self.labelled.none_of_these.to_parquet(folder / _NONE_OF_THESE)
        if self.labelled.descriptions:
            write_json(folder / _DESCRIPTIONS, dict(self.labelled.descriptions))
        self.labelled.frame.to_parquet(folder / self.file)

    @classmethod
    def load(cls, folder: Path, name: str) -> Self:
        """Read what `store` wrote."""
        unlabelled, of_none = folder / _UNLABELLED, folder / _NONE_OF_THESE
        labelled = LabelledSet(pd.read_parquet(folder / cls.file), name)
        if of_none.exists():
            labelled = replace(labelled, none_of_these=pd.read_parquet(of_none))
        if (described := folder / _DESCRIPTIONS).exists():
            labelled = replace(labelled, descriptions=read_json(described))
        return cls(
            labelled,
            UnlabelledSet(pd.read_parquet(unlabelled), name) if unlabelled.exists() else None,
        )


@dataclass(frozen=True, eq=False)
class ParallelData:
    """Texts to train an encoder on from scratch."""

    tasks: Tasks  # the training texts
    dev: Sequence[ParallelText]  # pairs on which the epoch is selected
    test: Sequence[ParallelText] = ()  # pairs on which the encoder is measured; if empty, those of `dev`

    def facts(self, config: RunConfig) -> ParallelFacts:
        """Return hash and counts, the contents of data.json."""
        pairs, dev, test = (
            {"-".join(text.languages): len(text) for text in texts}
            for texts in (self.tasks.translation, self.dev, self.test)
        )
        return ParallelFacts(
            name=config.data,
            sha256=texts_digest(self.tasks.translation),
            pairs=pairs,
            dev=dev,
            test=test,
            dialogues=sum(map(len, self.tasks.dialogues)),
            running_text=sum(map(len, self.tasks.running_text)),
            nli=sum(map(len, self.tasks.nli)),
        )

    def size(self, config: RunConfig) -> str:
        """Return the amount of training data in words, and how many pairs are held out of it."""
        others = len(self.tasks.all) > len(self.tasks.translation)
        held_out = sum(map(len, (*self.dev, *self.test)))
        learnt = counted(sum(self.tasks.sizes), "example" if others else "pair")
        return f"{learnt} to learn from, {counted(held_out, 'pair')} held out"

    def store(self, folder: Path) -> None:
        """Write every text."""
        store_texts(folder, {"train": self.tasks.all, "dev": self.dev, "test": self.test})

    @classmethod
    def load(cls, folder: Path, name: str) -> Self:
        """Read what `store` wrote."""
        parts = read_stored_texts(folder)
        dev, test = (
            [text for text in parts.get(part, []) if isinstance(text, ParallelText)]
            for part in ("dev", "test")
        )
        return cls(Tasks.of(parts.get("train", [])), dev, test)


def texts_digest(texts: Sequence[ParallelText]) -> str:
    """Return a checksum of parallel texts in their order."""
    return hashlib.sha256("".join(text.sha256() for text in texts).encode()).hexdigest()


StoredData = LabelledData | ParallelData


def load_data(folder: Path, name: str) -> StoredData:
    """Read the data of a run from its training folder, where `store` wrote it; `name` is the data's name.

    Raises:
        RunError: the data is damaged.
    """
    kind = LabelledData if (folder / _LABELLED).is_file() else ParallelData
    try:
        return kind.load(folder, name)
    except (OSError, ValueError, KeyError, TypeError, DataError):
        raise RunError(f"the data stored in {folder} is damaged; train the run again") from None
