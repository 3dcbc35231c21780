"""Sentences written again, with other ids, in ways that are the same sentence."""

import pandas as pd

from emu_core.data.sets import LabelledSet

_WAYS = (
    str.upper,
    lambda text: f"{text}\u200b",
    lambda text: "\u202b" + text.replace(" ", "\u00a0 "),
    lambda text: text.translate(
        {ord(letter): ord(letter) + 0xFEE0 for letter in "abcdefghijklmnopqrstuvwxyz"}
    ),
    str,
)


def written_again(text: str, way: int) -> str:
    """The same sentence as people, spreadsheets and web pages write it."""
    return _WAYS[way % len(_WAYS)](text)


def with_repeats(labelled: LabelledSet, *, disguised: bool = True) -> LabelledSet:
    """A set twice: the second time each row has another id and, if disguised, another spelling."""
    frame = labelled.frame
    texts = [written_again(text, row if disguised else -1) for row, text in enumerate(frame["text"])]
    again = frame.assign(id=[f"again-{row}" for row in range(len(frame))], text=texts, annotated="")
    return LabelledSet(pd.concat([frame, again], ignore_index=True).astype("str"), "twice")
