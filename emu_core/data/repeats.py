"""Sentences that repeat each other, or translate each other, as groups."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.data.cleaning import normalised


def sentence_numbers(sentences: pd.DataFrame) -> NDArray[np.intp]:
    """Return a number for each row with the columns text and language, equal for the same sentence of a language.

    See `normal_form` for what is the same.
    """
    return pd.factorize(np.array(_keys(sentences), dtype=object))[0]


def repeat_keys(sentences: pd.DataFrame) -> "pd.Series[str]":
    """Return a text for each row, equal where `sentence_numbers` are, also among several tables."""
    return pd.Series(_keys(sentences), index=sentences.index, dtype="str")


def _keys(sentences: pd.DataFrame) -> list[str]:
    texts = normalised(sentences["text"].tolist())
    return [
        f"{language}\0{text}" for language, text in zip(sentences["language"].tolist(), texts, strict=True)
    ]


def without_repeats(sentences: pd.DataFrame) -> pd.DataFrame:
    """Return the first row of each sentence in a language, in their order, with a new index."""
    _, first = np.unique(sentence_numbers(sentences), return_index=True)
    return sentences.iloc[np.sort(first)].reset_index(drop=True)


def is_repeat(sentences: pd.DataFrame, known: pd.DataFrame) -> NDArray[np.bool_]:
    """Return whether each row is a sentence among the `known` ones, in its language, (N,)."""
    return repeat_keys(sentences).isin(repeat_keys(known)).to_numpy()


def sentence_groups(sentences: pd.DataFrame) -> list[str]:
    """Return the group of each of N sentences, for the measures' `ids`; "" for a sentence that is alone.

    Rows with one id (translations) and rows that are the same sentence in a language, whatever their ids, are in one
    group, directly or through others. No sentence may answer for another of its group, or be held out without it. A
    group is named by its first id, so that without repeats the groups are the ids.

    Args:
        sentences: with the columns text, language and id, "" for none.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ids = sentences["id"].to_numpy(dtype=object)
    texts, (keys, distinct_ids) = sentence_numbers(sentences), pd.factorize(ids)
    first_id = int(texts.max(initial=-1)) + 1
    # An id and a sentence are connected by a row that has both; each row is in the component of its sentence.
    has_id = np.flatnonzero(ids != "")
    ends = texts[has_id], first_id + keys[has_id]
    size = first_id + len(distinct_ids)
    edges = coo_array((np.ones(len(has_id), dtype=bool), ends), shape=(size, size))
    component = connected_components(edges, directed=False)[1][texts]
    names: list[str] = [""] * size
    count = np.bincount(component, minlength=size)
    for row in reversed(has_id.tolist()):
        names[component[row]] = ids[row]
    # An id never begins with a blank.
    return [
        names[group] or (f" sentence {group}" if count[group] > 1 else "") for group in component.tolist()
    ]


def group_numbers(sentences: pd.DataFrame) -> NDArray[np.intp]:
    """Return the number (N,) of each sentence's group, from 0; a sentence that is alone has one of its own."""
    groups = [group or f"\0{row}" for row, group in enumerate(sentence_groups(sentences))]
    return np.unique(groups, return_inverse=True)[1]
