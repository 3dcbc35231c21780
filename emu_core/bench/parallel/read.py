"""The texts of a benchmark from a person's files."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from emu_core.api.inputs import Data, labelled_set
from emu_core.api.pretrain import read_each
from emu_core.bench.parallel.texts import BenchTexts, Documents
from emu_core.data.labelled import LabelledSet
from emu_core.data.parallel.files import read_parallel
from emu_core.data.parallel.held_out import hold_out
from emu_core.data.parallel.text import ParallelText
from emu_core.data.texts.dialogues import Dialogues, read_dialogues
from emu_core.data.texts.documents import read_documents
from emu_core.data.texts.nli import Nli, read_nli
from emu_core.data.texts.running_text import RunningText, read_running_text
from emu_core.data.texts.scored_pairs import ScoredPairs, read_scored_pairs
from emu_core.data.texts.tasks import Tasks
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError
from emu_core.evaluation.arrays import pair_name

File = str | Path
Parallel = Sequence[File] | Sequence[ParallelText]
QUICK_PAIRS = 3_000
HELD_OUT = 1_000  # pairs, at most, that are measured where no file of them is named
HELD_OUT_SHARE = 10
TEST_SHARE = 3  # of labelled sentences without splits, one of so many is tested
_NAMED = re.compile(r"([A-Za-z_-]+)=(.+)")


def read_texts(
    files: Parallel,
    *,
    test: Parallel = (),
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
    train = _merged(_parallel(files, languages, drop_empty))
    if test:
        measured = _of_the_same_pairs(_merged(_parallel(test, languages, drop_empty)), train)
    else:
        count = max(1, min(HELD_OUT, min(map(len, train)) // HELD_OUT_SHARE))
        train, measured = hold_out(train, count, 0)
    if quick:
        train = [text.take(range(min(QUICK_PAIRS, len(text)))) for text in train]
    codes = list(dict.fromkeys(code for text in train for code in text.languages))
    if labelled is not None and documents:
        raise DataError("documents come from a labelled set or from folders; name one of the two")
    found: dict[str, tuple[Documents, Documents]] = {}
    if labelled is not None:
        found = _of_labelled(labelled_set(labelled)[0], codes)
    elif documents:
        found = _of_folders(documents, test_documents or {}, codes)
    return BenchTexts(
        Tasks(
            tuple(replace(text, documents=(), notes=()) for text in train),
            tuple(replace(text, notes=()) for text in read_each(dialogues, Dialogues, read_dialogues)),
            tuple(
                replace(text, notes=()) for text in read_each(running_text, RunningText, read_running_text)
            ),
            tuple(replace(text, notes=()) for text in read_each(nli, Nli, read_nli)),
        ),
        tuple(replace(text, documents=(), notes=()) for text in measured),
        _with_common_classes(found),
        _scored(sts, codes),
    )


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


def _parallel(files: Parallel, languages: Sequence[str] | None, drop_empty: bool) -> list[ParallelText]:
    texts = [one for one in files if isinstance(one, ParallelText)]
    named = [one for one in files if not isinstance(one, ParallelText)]
    return texts + (read_parallel(named, languages, drop_empty=drop_empty) if named or not texts else [])


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
    if missing := [text for text in train if frozenset(text.languages) not in by_pair]:
        raise DataError(
            f"the test files have no pairs of {pair_name(*missing[0].languages)}, which is trained on; name a file of "
            "them with --test, or none"
        )
    found = [by_pair[frozenset(text.languages)] for text in train]
    return [
        one if one.source == text.source else one.turned() for one, text in zip(found, train, strict=True)
    ]


def _of_labelled(labelled: LabelledSet, codes: Sequence[str]) -> dict[str, tuple[Documents, Documents]]:
    there = [code for code in codes if code in labelled.languages]
    _check_two(there, codes, labelled.name)
    part = labelled.select(languages=there)
    train, test = part.train_part(), part.held_out_part()
    if test is None:
        rows = part.frame
        keys = rows["id"].where(rows["id"] != "", rows["text"])  # translations of each other go the same way
        distinct = np.array(sorted(set(keys)), dtype=object)
        out = set(np.random.default_rng(0).permutation(distinct)[: len(distinct) // TEST_SHARE])
        is_out = keys.isin(out)
        if is_out.all() or not is_out.any():
            raise DataError(
                f"{shown(labelled.name)} has too few sentences to divide; give it splits train and test"
            )
        train, test = (
            LabelledSet(rows[mask].reset_index(drop=True), part.name) for mask in (~is_out, is_out)
        )
    found = {}
    for code in there:
        both = [one.frame[one.frame["language"] == code] for one in (train, test)]
        if any(own.empty for own in both):
            raise DataError(
                f"{shown(labelled.name)} has no sentence in {code} to train on or to test; add some"
            )
        made = [Documents(tuple(own["text"]), tuple(own["intent"])) for own in both]
        found[code] = (made[0], made[1])
    return found


def _of_folders(
    documents: Mapping[str, File], test: Mapping[str, File], codes: Sequence[str]
) -> dict[str, tuple[Documents, Documents]]:
    found = {}
    for name, path in documents.items():
        own = read_documents(path, language=name)
        whole = Documents(tuple("\n".join(document) for document in own.documents), own.labels)
        if test:
            if name not in test:
                raise DataError(
                    f"no documents in {shown(name)} to test on; name them with --test-documents {name}=PATH"
                )
            other = read_documents(test[name], language=name)
            part = Documents(tuple("\n".join(document) for document in other.documents), other.labels)
            found[own.language] = (whole, part)
        else:
            found[own.language] = _divided(whole)
    _check_two([code for code in codes if code in found], codes, "the documents")
    return {code: found[code] for code in codes if code in found}


def _divided(documents: Documents) -> tuple[Documents, Documents]:
    order = np.random.default_rng(0).permutation(len(documents.texts))
    at = len(order) // TEST_SHARE
    made = [
        Documents(
            tuple(documents.texts[row] for row in sorted(rows)),
            tuple(documents.labels[row] for row in sorted(rows)),
        )
        for rows in (order[at:].tolist(), order[:at].tolist())
    ]
    return made[0], made[1]


def _check_two(there: Sequence[str], codes: Sequence[str], name: str) -> None:
    if len(there) < 2:
        raise DataError(
            f"{shown(name)} has labels in {listed(there) or 'none'} of the languages trained on ({listed(codes)}); to "
            "train a classifier in one and test it in another, give labels in two"
        )


def _with_common_classes(
    found: dict[str, tuple[Documents, Documents]],
) -> dict[str, tuple[Documents, Documents]]:
    """Keep the classes that every language has documents of to train on: others can't be found across languages."""
    if not found:
        return found
    common = set.intersection(*(set(train.labels) for train, _ in found.values()))
    made = {
        code: (_of_classes(both[0], common), _of_classes(both[1], common)) for code, both in found.items()
    }
    if len(common) < 2 or any(not part.texts for both in made.values() for part in both):
        raise DataError(
            "the languages' documents have fewer than two classes in common; give labels of the same kind"
        )
    return made


def _of_classes(documents: Documents, classes: set[str]) -> Documents:
    kept = [row for row, label in enumerate(documents.labels) if label in classes]
    return Documents(
        tuple(documents.texts[row] for row in kept), tuple(documents.labels[row] for row in kept)
    )


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
