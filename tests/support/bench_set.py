"""A labelled set so small that a tiny transformer is trained on it in moments."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from emu_core.data.sets import LabelledSet

WORDS = {
    "pool": ("where is the pool ?", "find the pool", "the pool", "is the pool open ?", "pool ?", "find pool"),
    "hotel": ("where is the hotel ?", "find the hotel", "the hotel", "hotel", "hotel ?", "find hotel"),
    "hours": ("when does open", "when is open ?", "does open ?", "when ?", "when open", "does the open"),
}


MORE_WORDS = {"door": ("the door", "door ?", "where is the door ?", "find door", "open the door", "door")}


def four_intents(languages: tuple[str, ...] = ("en", "de")) -> LabelledSet:
    """The set with a fourth intent, so that two have labels and two have none."""
    return bench_set(languages, words={**WORDS, **MORE_WORDS})


def bench_set(
    languages: tuple[str, ...] = ("en", "de"),
    names: Mapping[str, str] | None = None,
    words: Mapping[str, tuple[str, ...]] = MappingProxyType(WORDS),
) -> LabelledSet:
    """Three intents, four sentences to train on and two to measure, the same in every language."""
    rows = [
        {
            "id": f"{intent}{i}",
            "text": text,
            "intent": (names or {}).get(intent, intent),
            "language": language,
            "split": "train" if i < 4 else "test",
            "annotated": "",
        }
        for language in languages
        for intent, texts in words.items()
        for i, text in enumerate(texts)
    ]
    return LabelledSet(pd.DataFrame(rows).astype("str"), "tiny")


def bench_file(folder: Path, **columns: str) -> Path:
    """The set as a CSV file, with further columns of one value."""
    path = folder / "tiny.csv"
    bench_set().frame.assign(**columns).to_csv(path, index=False)
    return path
