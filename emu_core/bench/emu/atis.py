"""ATIS, as selected by Emu's paper (its section "Dataset"), for those who have the files."""

import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from emu_core.data.column_names import listed_names
from emu_core.data.languages import is_known, language_code
from emu_core.data.sets import LABELLED_COLUMNS, LabelledSet
from emu_core.data.wording import shown
from emu_core.errors import DataError
from emu_core.formats.collections.slot_lines import iob_line
from emu_core.formats.encodings import read_text
from emu_core.formats.limits import check_rows
from emu_core.formats.tables.columns import guess_columns
from emu_core.formats.tables.formats import FILE_ENDINGS, unpacked_name, without_endings
from emu_core.formats.tables.read import read_table

ATIS = "atis:"
"""The prefix of a folder where data are named."""
ATIS_NAME = "ATIS"
_LEAST = 5  # sentences of an intent, in train and in test
EXCLUDED = "flight"  # the paper's "flights" class, three quarters of the sentences
PAPER_COUNTS: Mapping[str, int] = {"classes": 13, "train": 1195, "test": 252}
_IOB = ".iob"
_SPLITS = ("train", "test")


def read_atis(folder: Path) -> LabelledSet:
    """Read ATIS and make the paper's selection.

    The folder holds a file for each split and language, named by both, such as `atis.train.csv` (English by default)
    and `atis.test.de.csv`: tables with a text and an intent column, tables of intent and text without column names, or
    lines of words, slots and intent (`.iob`). Each line of a translation belongs to the English line of its number.
    Intents lose their prefix "atis_"; two of one sentence are joined by "+".

    Selected are the intents other than flight with at least 5 English sentences in each split. The usual 4,978 training
    and 893 test sentences give the paper's 13 intents, 1,195 and 252. Repeated sentences stay.

    Raises:
        DataError: there are no such files, or their content does not fit.
    """
    files = _files(folder)
    whole = pd.concat([_rows(path, *key) for key, path in files.items()], ignore_index=True)
    english = whole[whole["language"] == "en"]
    sizes = english.groupby("split").size()
    for (language, split), rows in whole.groupby(["language", "split"]):
        if len(rows) != sizes[split]:
            raise DataError(
                f"the file of {split} in {language} has {len(rows)} sentences, and the English one {sizes[split]}; "
                "each line must be the translation of the English line of its number"
            )
    counts = [english.loc[english["split"] == split, "intent"].value_counts() for split in _SPLITS]
    kept = sorted(
        intent
        for intent in set(counts[0].index) & set(counts[1].index)
        if intent != EXCLUDED and min(count[intent] for count in counts) >= _LEAST
    )
    if len(kept) < 2:
        raise DataError(
            f"{folder} has {len(kept)} intents with {_LEAST} sentences or more in train and in test apart from "
            f"'{EXCLUDED}'; the paper's selection needs the whole of ATIS"
        )
    # By the English label: translations may have none, or an outdated one.
    intent_of = dict(zip(english["id"], english["intent"], strict=True))
    whole["intent"] = whole["id"].map(intent_of).astype("str")
    chosen = whole[whole["intent"].isin(kept)].reset_index(drop=True)
    return LabelledSet(chosen[list(LABELLED_COLUMNS)], ATIS_NAME)


def selection(labelled: LabelledSet) -> dict[str, int]:
    """Return the number of classes and of English sentences in train and test, as PAPER_COUNTS has the paper's."""
    english = labelled.frame[labelled.frame["language"] == "en"]
    sizes = {split: int((english["split"] == split).sum()) for split in _SPLITS}
    return {"classes": len(labelled.intents), **sizes}


def _files(folder: Path) -> dict[tuple[str, str], Path]:
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}; name the one that holds ATIS: {ATIS}FOLDER")
    files: dict[tuple[str, str], Path] = {}
    for path in sorted(folder.iterdir()):
        words = re.split("[^a-z0-9]+", without_endings(path.name, FILE_ENDINGS).lower())
        splits = [split for split in _SPLITS if split in words]
        if not path.name.lower().endswith(FILE_ENDINGS) or len(splits) != 1:
            continue
        codes = [
            code
            for word in words
            if word not in _SPLITS and (len(word) == 2 or len(word) > 4)
            if (code := language_code(word)) and is_known(code)
        ]
        key = (splits[0], codes[-1] if codes else "en")
        if key in files:
            raise DataError(
                f"{shown(files[key].name)} and {shown(path.name)} are both {key[0]} in {key[1]}; take one away"
            )
        files[key] = path
    if missing := [split for split in _SPLITS if (split, "en") not in files]:
        raise DataError(
            f"{folder} has no English file of split {missing[0]}; name it such as atis.{missing[0]}.csv"
        )
    return files


def _rows(path: Path, split: str, language: str) -> pd.DataFrame:
    texts, intents = _iob(path) if unpacked_name(path.name).lower().endswith(_IOB) else _table(path)
    check_rows(len(texts), path.name)
    names = [
        "+".join(part.strip().removeprefix("atis_") for part in re.split(r"[#+]", intent))
        for intent in intents
    ]
    frame = pd.DataFrame({"text": texts, "intent": names}, dtype="str")
    if empty := (frame["text"] == "").sum():
        raise DataError(
            f"{shown(path.name)} has {empty} lines without text; fill them, or leave the file out"
        )
    ids = [f"{split}-{number}" for number in range(len(frame))]
    return frame.assign(id=ids, language=language, split=split, annotated="")[list(LABELLED_COLUMNS)].astype(
        "str"
    )


def _table(path: Path) -> tuple[list[str], list[str]]:
    frame = read_table(path, path.name)
    if len(frame.columns) == 2 and str(frame.columns[0]).strip().startswith("atis_"):
        # Without column names, the first line was taken for them.
        rows = [list(frame.columns), *frame.itertuples(index=False, name=None)]
        return [str(row[1]).strip() for row in rows], [str(row[0]) for row in rows]
    columns = guess_columns(frame)
    if columns.text is not None and (columns.intent is not None or len(frame.columns) == 1):
        intents = frame[columns.intent] if columns.intent is not None else [""] * len(frame)
        return frame[columns.text].str.strip().tolist(), list(intents)
    raise DataError(
        f"{shown(path.name)} has no text and intent column; found: {listed_names(frame.columns)}. Name "
        "them text and intent"
    )


def _iob(path: Path) -> tuple[list[str], list[str]]:
    """Read lines such as "BOS show fares EOS<tab>O O B-x O atis_airfare"."""
    lines = [iob_line(line) for line in read_text(path, path.name)[0].splitlines() if line.strip()]
    if None in lines:
        number = lines.index(None) + 1
        raise DataError(f"{shown(path.name)}: line {number} has no slots and intent behind a tab; fix it")
    parsed = [line for line in lines if line]
    return [" ".join(words) for words, _, _ in parsed], [intent for _, _, intent in parsed]
