"""All texts that a benchmark trains on and measures, from a person's files."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from emu_core.api.inputs import Data, labelled_set
from emu_core.api.pretrain import File, Texts, parallel_texts, read_each
from emu_core.bench.cells import pair_names
from emu_core.data.labelled import LabelledSet
from emu_core.data.parallel.held_out import hold_out, usual_count
from emu_core.data.parallel.text import ParallelText, names_of
from emu_core.data.texts.dialogues import Dialogues, read_dialogues
from emu_core.data.texts.documents import read_documents
from emu_core.data.texts.nli import Nli, read_nli
from emu_core.data.texts.running_text import RunningText, read_running_text
from emu_core.data.texts.scored_pairs import ScoredPairs, read_scored_pairs
from emu_core.data.texts.tasks import Tasks
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError
from emu_core.evaluation.arrays import pair_name
from emu_core.runs.config import RunConfig
from emu_core.runs.stored_data import ParallelData

QUICK_PAIRS = 3_000
TEST_SHARE = 3  # of labelled sentences without splits, one of so many is tested
_NAMED = re.compile(r"([A-Za-z_-]+)=(.+)")
_DOCUMENTS, _STS = "documents.parquet", "sts.parquet"
_DOCUMENT = ["language", "part", "text", "label"]  # part 0 is trained on, and part 1 tested


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
        """Return the parallel text of language pairs such as "en-de" to train on, and to measure on."""
        train, test = (
            [text for text in part if pair_name(*text.languages) in names] for part in (self.train, self.test)
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
        parts: list[Any] = [[len(self.train), len(self.test)]]
        parts += [
            [one.languages, one.first, one.second] for texts in (self.train, self.test) for one in texts
        ]
        parts += [[code, both.texts, both.labels] for code, own in self.documents.items() for both in own]
        parts += [[code, one.first, one.second, one.scores] for code, one in self.sts.items()]
        parts += [[talk.language, talk.comments, talk.responses] for talk in self.tasks.dialogues]
        parts += [[text.language, text.documents] for text in self.tasks.running_text]
        parts += [
            [nli.language, nli.premises, nli.hypotheses, list(map(int, nli.labels))] for nli in self.tasks.nli
        ]
        return hashlib.sha256("".join(map(json.dumps, parts)).encode()).hexdigest()

    def store(self, folder: Path) -> None:
        """Write all of it into an empty folder."""
        ParallelData(self.tasks, (), self.test).store(folder)
        documents = [
            (code, part, text, label)
            for code, both in self.documents.items()
            for part, own in enumerate(both)
            for text, label in zip(own.texts, own.labels, strict=True)
        ]
        pd.DataFrame(documents, columns=_DOCUMENT).to_parquet(folder / _DOCUMENTS)
        pairs = [
            (code, *row)
            for code, own in self.sts.items()
            for row in zip(own.first, own.second, own.scores, strict=True)
        ]
        pd.DataFrame(pairs, columns=["language", "first", "second", "score"]).to_parquet(folder / _STS)

    @classmethod
    def load(cls, folder: Path, name: str) -> Self:
        """Read what `store` wrote."""
        texts = ParallelData.load(folder, name)
        pairs = pd.read_parquet(folder / _STS).groupby("language", sort=False)
        sts = {
            str(code): ScoredPairs(list(own["first"]), list(own["second"]), list(own["score"]))
            for code, own in pairs
        }
        documents = _by_language(pd.read_parquet(folder / _DOCUMENTS))
        return cls(texts.tasks, tuple(texts.test), documents, sts)


def read_texts(
    files: Texts,
    *,
    test: Texts = (),
    languages: Sequence[str] | None = None,
    drop_empty: bool = False,
    labelled: Data | None = None,
    documents: Mapping[str, File] | None = None,
    test_documents: Mapping[str, File] | None = None,
    sts: File | None = None,
    dialogues: Sequence[File | Dialogues] = (),
    running_text: Sequence[File | RunningText] = (),
    nli: Sequence[File | Nli] = (),
    quick: bool = False,
) -> BenchTexts:
    """Read everything that is trained on and measured.

    Args:
        files: parallel text, as `read_parallel` takes it.
        test: parallel text of the same pairs to measure on; without it, up to 1,000 pairs of each (a tenth at most).
        languages: of files that don't say theirs.
        drop_empty: leave out pairs with an empty side, which are an error otherwise.
        labelled: a labelled set whose texts are the documents: split train to train on, test (or else dev) to test; a
            set without splits is divided.
        documents: folder or table of documents, by language (see `read_documents`), instead of a labelled set.
        test_documents: those to test on; without them, a third of `documents`.
        sts: folder of files such as de.dev.csv.
        dialogues: see `read_dialogues`; texts as they were read will do, and so for the next two.
        running_text: see `read_running_text`.
        nli: see `read_nli`.
        quick: train on the first 3,000 pairs only.

    Raises:
        DataError: what can't be read, or doesn't fit together.
    """
    train = _merged(parallel_texts(files, languages, drop_empty))
    if test:
        measured = _of_the_same_pairs(_merged(parallel_texts(test, languages, drop_empty)), train)
    else:
        train, measured = hold_out(train, usual_count(train), 0)
    if quick:
        train = [text.take(range(min(QUICK_PAIRS, len(text)))) for text in train]
    train, measured = ([replace(text, documents=(), notes=()) for text in part] for part in (train, measured))
    tasks = Tasks(
        tuple(train),
        tuple(replace(text, notes=()) for text in read_each(dialogues, Dialogues, read_dialogues)),
        tuple(replace(text, notes=()) for text in read_each(running_text, RunningText, read_running_text)),
        tuple(replace(text, notes=()) for text in read_each(nli, Nli, read_nli)),
    )
    codes = list(dict.fromkeys(code for text in train for code in text.languages))
    if labelled is not None and documents:
        raise DataError("documents come from a labelled set or from folders; name one of the two")
    found: dict[str, tuple[Documents, Documents]] = {}
    if labelled is not None:
        found = _of_labelled(labelled_set(labelled)[0], codes)
    elif documents:
        found = _of_folders(documents, test_documents or {}, codes)
    return BenchTexts(tasks, tuple(measured), found, _scored(sts, codes))


def named_files(given: Sequence[str]) -> dict[str, str]:
    """Return files by language, of what was written as en=PATH.

    Raises:
        DataError: one is written otherwise, or a language is there twice.
    """
    found: dict[str, str] = {}
    for one in given:
        match = _NAMED.fullmatch(one)
        if match is None or match[1] in found:
            raise DataError(
                f"'{shown(one)}' does not name documents of a language of their own; write en=PATH de=PATH"
            )
        found[match[1]] = match[2]
    return found


def _merged(texts: Sequence[ParallelText]) -> list[ParallelText]:
    """Return one text of each two languages."""
    found: dict[frozenset[str], ParallelText] = {}
    for text in texts:
        key = frozenset(text.languages)
        if key not in found:
            found[key] = text
            continue
        old = found[key]
        new = text if text.source == old.source else text.turned()
        found[key] = ParallelText(
            old.source, old.target, old.first + new.first, old.second + new.second, f"{old.name}, {new.name}"
        )
    return list(found.values())


def _of_the_same_pairs(test: Sequence[ParallelText], train: Sequence[ParallelText]) -> list[ParallelText]:
    by_pair = {frozenset(text.languages): text for text in test}
    found = []
    for text in train:
        own = by_pair.get(frozenset(text.languages))
        if own is None:
            raise DataError(
                f"the test files have no pairs of {pair_name(*text.languages)}, which is trained on; name a file of "
                "them with --test, or none"
            )
        found.append(own if own.source == text.source else own.turned())
    return found


def _of_labelled(labelled: LabelledSet, codes: Sequence[str]) -> dict[str, tuple[Documents, Documents]]:
    there = _two_of(labelled.languages, codes, labelled.name)
    part = labelled.select(languages=there)
    test = part.held_out_part()
    if test is not None:
        train, test_rows = part.train_part().frame, test.frame
    else:
        rows = part.frame
        keys = rows["id"].where(rows["id"] != "", rows["text"])  # translations of each other go the same way
        distinct = np.array(sorted(set(keys)), dtype=object)
        is_out = keys.isin(np.random.default_rng(0).permutation(distinct)[: len(distinct) // TEST_SHARE])
        train, test_rows = rows[~is_out], rows[is_out]
    both = pd.concat([train.assign(part=0), test_rows.assign(part=1)]).rename(columns={"intent": "label"})
    return _checked(both, there, shown(labelled.name))


def _of_folders(
    documents: Mapping[str, File], test: Mapping[str, File], codes: Sequence[str]
) -> dict[str, tuple[Documents, Documents]]:
    frames = []
    for name, path in documents.items():
        own = _read(path, name)
        if not test:
            order = np.random.default_rng(0).permutation(len(own))
            own.loc[order[: len(order) // TEST_SHARE], "part"] = 1
        elif name not in test:
            raise DataError(
                f"no documents in {shown(name)} to test on; name them with --test-documents {name}=PATH"
            )
        else:
            own = pd.concat([own, _read(test[name], name).assign(part=1)])
        frames.append(own)
    both = pd.concat(frames)
    return _checked(
        both, _two_of(both["language"].unique(), codes, "the documents"), "the documents' folders"
    )


def _read(path: File, language: str) -> pd.DataFrame:
    own = read_documents(path, language=language)
    texts = ["\n".join(document) for document in own.documents]
    return pd.DataFrame({"language": own.language, "part": 0, "text": texts, "label": own.labels})


def _two_of(there: Sequence[str], codes: Sequence[str], name: str) -> list[str]:
    """Return the languages trained on that there are labels in, which must be two or more."""
    found = [code for code in codes if code in there]
    if len(found) < 2:
        raise DataError(
            f"{shown(name)} has labels in {listed(found) or 'none'} of the languages trained on ({listed(codes)}); to "
            "train a classifier in one and test it in another, give labels in two"
        )
    return found


def _checked(both: pd.DataFrame, codes: Sequence[str], name: str) -> dict[str, tuple[Documents, Documents]]:
    """Keep the classes that every language has documents of to train on: others can't be found across languages."""
    parts = {
        (code, part): both[(both["language"] == code) & (both["part"] == part)]
        for code in codes
        for part in (0, 1)
    }
    if empty := [code for (code, _), rows in parts.items() if rows.empty]:
        raise DataError(f"{name} has nothing in {empty[0]} to train on or to test; add some")
    common = set.intersection(*(set(parts[code, 0]["label"]) for code in codes))
    kept = [rows[rows["label"].isin(common)] for rows in parts.values()]
    if len(common) < 2 or any(rows.empty for rows in kept):
        raise DataError(
            "the languages' documents have fewer than two classes in common; give labels of the same kind"
        )
    return _by_language(pd.concat(kept))


def _by_language(both: pd.DataFrame) -> dict[str, tuple[Documents, Documents]]:
    """Return the documents in rows of language, part, text and label; of each language part 0 comes first."""
    found: dict[str, list[Documents]] = {}
    for (code, _), own in both.groupby(["language", "part"], sort=False):
        found.setdefault(code, []).append(Documents(tuple(own["text"]), tuple(own["label"])))
    return {code: (parts[0], parts[1]) for code, parts in found.items()}


def _scored(folder: File | None, codes: Sequence[str]) -> dict[str, ScoredPairs]:
    if folder is None:
        return {}
    found = read_scored_pairs(Path(folder))
    own = {code: found[code] for code in codes if code in found}
    if not own:
        raise DataError(
            f"the STS files are in {listed(found)}, and trained are {listed(codes)}; name a folder with files in these"
        )
    return own
