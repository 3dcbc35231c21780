"""The texts that a benchmark trains on and measures, read from a user's files."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import pandas as pd

from emu_core.api.inputs import is_given, labelled_set
from emu_core.api.pretrain import Texts, parallel_texts, read_each
from emu_core.bench.results import pair_names
from emu_core.data.texts.dialogues import Dialogues
from emu_core.data.texts.held_out import hold_out, matching_test_texts, merged, usual_count
from emu_core.data.texts.nli import Nli
from emu_core.data.texts.parallel import ParallelText, languages_of, names_of
from emu_core.data.texts.running_text import RunningText
from emu_core.data.texts.tasks import Tasks, read_stored_texts, store_texts
from emu_core.data.wording import listed
from emu_core.errors import DataError, Fix
from emu_core.evaluation.arrays import pair_name
from emu_core.formats.in_memory import Sources
from emu_core.formats.texts.dialogues import read_dialogues
from emu_core.formats.texts.documents import (
    Documents,
    documents_by_language,
    documents_of_folders,
    documents_of_labelled,
)
from emu_core.formats.texts.nli import read_nli
from emu_core.formats.texts.running_text import read_running_text
from emu_core.formats.texts.scored_pairs import ScoredPairs, scored_pairs_in
from emu_core.runs.config import RunConfig
from emu_core.runs.data_facts import DataFacts
from emu_core.runs.stored_data import ParallelData

QUICK_PAIRS = 3_000
_DOCUMENTS, _STS, _NLI = "documents.parquet", "sts.parquet", "nli"
_DOCUMENT = ["language", "part", "text", "label"]  # part 0 is to train on, and part 1 to test on


@dataclass(frozen=True)
class BenchTextsFacts(DataFacts):
    """The facts of a benchmark's texts: the number of pairs by language pair, and of documents by language."""

    pairs: Mapping[str, int] = field(default_factory=dict)
    test: Mapping[str, int] = field(default_factory=dict)
    documents: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class BenchTexts:
    """The texts of a benchmark."""

    tasks: Tasks  # to train on: a parallel text for each language pair, dialogues, running text and NLI
    test: tuple[ParallelText, ...]  # parallel text of the same pairs to measure on
    # Documents to train and to test on, by language.
    documents: Mapping[str, tuple[Documents, Documents]] = field(default_factory=dict)
    sts: Mapping[str, ScoredPairs] = field(default_factory=dict)  # by language
    test_nli: tuple[Nli, ...] = ()  # to measure on, in each language

    @property
    def train(self) -> Sequence[ParallelText]:
        """The parallel text to train on."""
        return self.tasks.translation

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The language pairs."""
        return tuple(text.languages for text in self.train)

    def of_pairs(self, names: Sequence[str]) -> tuple[list[ParallelText], list[ParallelText]]:
        """Return the parallel text of language pairs such as "en-de", to train on and to measure on."""
        train, test = (
            [text for text in part if pair_name(*text.languages) in names] for part in (self.train, self.test)
        )
        return train, test

    def facts(self, config: RunConfig) -> BenchTextsFacts:
        """Return the checksum and counts, as in data.json."""
        return BenchTextsFacts(
            name=names_of(self.train),
            sha256=self._sha256(),
            pairs=dict(zip(pair_names(self.pairs), map(len, self.train), strict=True)),
            test=dict(zip(pair_names(self.pairs), map(len, self.test), strict=True)),
            documents={code: len(train.texts) for code, (train, _) in self.documents.items()},
        )

    def _sha256(self) -> str:
        """Return a checksum of all texts, but not of file names."""
        parts: list[Any] = [[len(self.train), len(self.test)]]
        parts += [
            [pairs.languages, pairs.first, pairs.second]
            for texts in (self.train, self.test)
            for pairs in texts
        ]
        parts += [
            [code, part.texts, part.labels]
            for code, train_and_test in self.documents.items()
            for part in train_and_test
        ]
        parts += [[code, pairs.first, pairs.second, pairs.scores] for code, pairs in self.sts.items()]
        parts += [[talk.language, talk.comments, talk.responses] for talk in self.tasks.dialogues]
        parts += [[text.language, text.documents] for text in self.tasks.running_text]
        parts += [
            [nli.language, nli.premises, nli.hypotheses, list(map(int, nli.labels))]
            for nli in (*self.tasks.nli, *self.test_nli)
        ]
        return hashlib.sha256("".join(map(json.dumps, parts)).encode()).hexdigest()

    def store(self, folder: Path) -> None:
        """Write the texts into an empty folder."""
        ParallelData(self.tasks, (), self.test).store(folder)
        documents = [
            (code, part, text, label)
            for code, train_and_test in self.documents.items()
            for part, stored in enumerate(train_and_test)
            for text, label in zip(stored.texts, stored.labels, strict=True)
        ]
        pd.DataFrame(documents, columns=_DOCUMENT).to_parquet(folder / _DOCUMENTS)
        pairs = [
            (code, *row)
            for code, stored in self.sts.items()
            for row in zip(stored.first, stored.second, stored.scores, strict=True)
        ]
        pd.DataFrame(pairs, columns=["language", "first", "second", "score"]).to_parquet(folder / _STS)
        (folder / _NLI).mkdir()
        store_texts(folder / _NLI, {"test": self.test_nli})

    @classmethod
    def load(cls, folder: Path, name: str) -> Self:
        """Read what `store` wrote."""
        texts = ParallelData.load(folder, name)
        pairs = pd.read_parquet(folder / _STS).groupby("language", sort=False)
        sts = {
            str(code): ScoredPairs(list(rows["first"]), list(rows["second"]), list(rows["score"]))
            for code, rows in pairs
        }
        documents = documents_by_language(pd.read_parquet(folder / _DOCUMENTS))
        nli = read_stored_texts(folder / _NLI).get("test", []) if (folder / _NLI).is_dir() else []
        return cls(
            texts.tasks, tuple(texts.test), documents, sts, tuple(n for n in nli if isinstance(n, Nli))
        )


def read_bench_texts(
    files: Texts,
    *,
    test: Texts = (),
    languages: Sequence[str] | None = None,
    drop_empty: bool = False,
    labelled: Sources | None = None,
    documents: Mapping[str, Sources] | None = None,
    test_documents: Mapping[str, Sources] | None = None,
    sts: Sources | None = None,
    dialogues: Sources | Sequence[Dialogues] = (),
    running_text: Sources | Sequence[RunningText] = (),
    nli: Sources | Sequence[Nli] = (),
    test_nli: Sources | Sequence[Nli] = (),
    quick: bool = False,
) -> BenchTexts:
    """Read all texts to train on and to measure.

    Args:
        files: parallel text, as `read_parallel` takes it.
        test: parallel text of the same pairs to measure on; by default, up to 1,000 pairs of each (a tenth at most).
        languages: of files that do not name theirs.
        drop_empty: leave out pairs with an empty side instead of raising an error.
        labelled: a labelled set whose texts are the documents: split train to train on, test or else dev to test on; a
            set without splits is divided.
        documents: folder or table of documents, by language (see `read_documents`), instead of a labelled set.
        test_documents: documents to test on; by default, a third of `documents`.
        sts: folder of files such as de.dev.csv, or a table, see `read_scored_pairs`.
        dialogues: files, tables or texts, see `read_dialogues`.
        running_text: files, tables or texts, see `read_running_text`.
        nli: files, tables or texts, see `read_nli`.
        test_nli: NLI pairs to measure on; those in languages not trained on are left out.
        quick: train on the first 3,000 pairs only.

    Raises:
        DataError: the texts can't be read, or do not fit together.
    """
    # First divide the parallel text into pairs to train on and pairs to measure.
    train = merged(parallel_texts(files, languages, drop_empty))
    if is_given(test):
        measured = matching_test_texts(merged(parallel_texts(test, languages, drop_empty)), train)
    else:
        train, measured = hold_out(train, usual_count(train), 0)
    if quick:
        train = [text.take(range(min(QUICK_PAIRS, len(text)))) for text in train]
    train, measured = ([replace(text, documents=(), notes=()) for text in part] for part in (train, measured))
    # Then read the texts of the other tasks to train on, without the notes on how they were read.
    tasks = Tasks(
        tuple(train),
        tuple(replace(text, notes=()) for text in read_each(dialogues, Dialogues, read_dialogues)),
        tuple(replace(text, notes=()) for text in read_each(running_text, RunningText, read_running_text)),
        _inference(nli),
    )
    # Then read what else is measured, in the languages trained on.
    codes = languages_of(train)
    classified = _documents(labelled, documents, test_documents or {}, codes)
    judged = _judged(test_nli, codes)
    return BenchTexts(tasks, tuple(measured), classified, scored_pairs_in(sts, codes), judged)


def _documents(
    labelled: Sources | None,
    folders: Mapping[str, Sources] | None,
    test_folders: Mapping[str, Sources],
    codes: Sequence[str],
) -> dict[str, tuple[Documents, Documents]]:
    """Return the documents to train on and to test on, by language; none if there is no source of them."""
    if labelled is not None and folders:
        raise DataError("documents come from a labelled set or from folders; name one of the two")
    if labelled is not None:
        return documents_of_labelled(labelled_set(labelled)[0], codes)
    return documents_of_folders(folders, test_folders, codes) if folders else {}


def _judged(files: Sources | Sequence[Nli], codes: Sequence[str]) -> tuple[Nli, ...]:
    """Return the NLI pairs to measure on in these languages. Raises DataError if there are files, but no such pair."""
    judged = tuple(text for text in _inference(files) if text.language in codes)
    if is_given(files) and not judged:
        raise DataError(
            "no inference pairs of ",
            Fix("test_nli"),
            f" are in {listed(codes)}; XNLI's rows name their language",
        )
    return judged


def _inference(files: Sources | Sequence[Nli]) -> tuple[Nli, ...]:
    return tuple(replace(text, notes=()) for text in read_each(files, Nli, read_nli))
