"""Quora's question pairs, and the intents that Emu's paper derives from them (its section "Dataset")."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from emu_core.data.cleaning import cleaned
from emu_core.data.column_names import listed_names
from emu_core.data.sets import LABELLED_COLUMNS, LabelledSet
from emu_core.data.wording import shown
from emu_core.errors import DataError
from emu_core.formats.tables.read import read_table

QUORA = "quora:"
"""The prefix of the file where data are named."""
_MOST_INTENTS = 50
TOO_LARGE = 30  # questions: a clique of this size is too general
QUORA_TEST_SHARE = 0.25  # the paper's 353 of 1,412
_COLUMNS = ("question1", "question2", "is_duplicate")
_LABELS = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}


def read_quora(path: Path) -> LabelledSet:
    """Read pairs of questions and make the paper's selection: the 50 largest disjoint cliques of duplicates.

    A clique's intent is named by its first question in the file. A quarter of each is split test: the paper gives such
    sizes, but not how it split.

    Args:
        path: Quora's table, with the columns `question1`, `question2` and `is_duplicate`, in English.

    Raises:
        DataError: the file is no such table, or has fewer than two cliques.
    """
    frame = read_table(path, path.name)
    if missing := [name for name in _COLUMNS if name not in frame.columns]:
        raise DataError(
            f"{shown(path.name)} has no column '{missing[0]}'; found: {listed_names(frame.columns)}. "
            "Quora's own file has it"
        )
    labels = frame["is_duplicate"].str.strip().str.lower()
    if unknown := sorted(set(labels) - set(_LABELS)):
        raise DataError(
            f"{shown(path.name)} has '{shown(unknown[0])}' as is_duplicate; write 1 for duplicates, 0 otherwise"
        )
    pairs = frame.loc[labels.map(_LABELS), ["question1", "question2"]]
    chosen = largest(duplicate_cliques(pairs.itertuples(index=False, name=None)))
    if len(chosen) < 2:
        raise DataError(
            f"{shown(path.name)} has {len(chosen)} groups of questions that are all duplicates of each other; two or "
            "more are needed, and Quora's own file has them"
        )
    questions = [(text, clique[0]) for clique in chosen for text in clique]
    rows = pd.DataFrame(questions, columns=["text", "intent"], dtype="str")
    ids = [f"question-{number}" for number in range(1, len(rows) + 1)]
    whole = rows.assign(id=ids, language="en", split="", annotated="").astype("str")
    return LabelledSet(whole[list(LABELLED_COLUMNS)], path.name).hold_out(QUORA_TEST_SHARE)


def duplicate_cliques(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return the connected groups of questions in which every two are a pair, in the order of the pairs.

    Texts are stripped; a pair that is repeated, reversed, blank or of a question with itself adds nothing.

    Args:
        pairs: two questions each, which are duplicates.
    """
    group_of: dict[str, set[str]] = {}  # each question with its duplicates
    for first, second in ((cleaned(question), cleaned(other)) for question, other in pairs):
        if first and second and first != second:
            group_of.setdefault(first, {first}).add(second)
            group_of.setdefault(second, {second}).add(first)
    order = {text: rank for rank, text in enumerate(group_of)}
    return [
        tuple(sorted(group, key=order.__getitem__))
        for text, group in group_of.items()
        if text == min(group, key=order.__getitem__) and all(group_of[other] == group for other in group)
    ]


def largest(cliques: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the 50 largest cliques of fewer than 30 questions, the first among equals."""
    return sorted((clique for clique in cliques if len(clique) < TOO_LARGE), key=len, reverse=True)[
        :_MOST_INTENTS
    ]
