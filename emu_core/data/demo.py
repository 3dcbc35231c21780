"""The demo set in the package: questions of hotel guests, in six languages."""

from functools import cache
from importlib.resources import files as package_files
from pathlib import Path

import pandas as pd

from emu_core.data.audit import labelled_from_frame
from emu_core.data.sets import LabelledSet

DEMO = "demo"
"""The word for the demo set wherever files are named."""
REFERENCE = 96
"""Parallel sentences that represent a language; twice as many give the same results."""


def demo_paths() -> list[Path]:
    """Return the demo set's files, English first."""
    folder = Path(str(package_files("emu_core.data") / "demo"))
    return [folder / f"{language}.csv" for language in ("en", "de", "es", "fr", "ja", "zh")]


def load_demo() -> LabelledSet:
    """Return the demo set: 28 intents in six languages, all sentences parallel by id, split into train and test.

    Examples:
        >>> import emu_core
        >>> emu_core.load_demo().languages
        ('en', 'de', 'es', 'fr', 'ja', 'zh')
    """
    tables = [pd.read_csv(path, dtype="str", keep_default_na=False) for path in demo_paths()]
    return labelled_from_frame(pd.concat(tables, ignore_index=True), DEMO)[0]


@cache
def reference_texts() -> dict[str, list[str]]:
    """Return the same `REFERENCE` training sentences in each of the demo set's languages.

    With equal content, the means of their vectors differ by language alone.
    """
    demo = load_demo()
    frame = demo.train_part().frame
    by_id = frame.pivot(index="id", columns="language", values="text").dropna()
    step = len(by_id) // REFERENCE  # ids begin with the intent and are sorted, so every intent is represented
    texts_by_language = by_id.iloc[: step * REFERENCE : step]
    return {language: texts_by_language[language].tolist() for language in demo.languages}
