"""Annotated translations in the words of the tiny transformer, and one made of two made-up languages."""

import pandas as pd

from emu_core.data.sets import LabelledSet

PLACES = ("pool", "hotel", "the", "?")
SHAPES = {  # no word is in two of them, so that each has negatives in the others
    "where": ("where is [place : {}]", "[place : {}] is where"),
    "open": ("when does [place : {}] open", "[place : {}] open when"),
    "find": ("find [place : {}]", "[place : {}] find"),
    "intent": ("intent : [place : {}]", "[place : {}] : intent"),
}


def slot_set(split: bool = True) -> LabelledSet:
    """Sixteen meanings in en and de; each fourth is dev and each eighth test where there are splits."""
    rows = []
    number = 0
    for turn, (intent, shapes) in enumerate(SHAPES.items()):
        for place in (*PLACES[turn:], *PLACES[:turn]):  # so that every split has every value
            part = "train" if not split or number % 4 < 2 else "dev" if number % 4 == 2 else "test"
            for language, shape in zip(("en", "de"), shapes, strict=True):
                annotated = shape.format(place)
                plain = annotated.replace("[place : ", "").replace("]", "")
                rows.append((f"{intent}-{place}", plain, intent, language, part if split else "", annotated))
            number += 1
    columns = ["id", "text", "intent", "language", "split", "annotated"]
    return LabelledSet(pd.DataFrame(rows, columns=columns), "slots")
