"""The demo set in the package: questions of hotel guests, in six languages."""

from functools import cache

from emu_core.data.labelled.load import DEMO, demo_paths, read_labelled
from emu_core.data.labelled.sets import LabelledSet

__all__ = ["DEMO", "REFERENCE", "demo_paths", "load_demo", "reference_texts"]
REFERENCE = 96
"""Parallel sentences that represent a language; twice as many give the same results."""


def load_demo() -> LabelledSet:
    """Return the demo set: 28 intents in six languages, all sentences parallel by id, split into train and test.

    Examples:
        >>> import emu_core
        >>> emu_core.load_demo().languages
        ('en', 'de', 'es', 'fr', 'ja', 'zh')
    """
    return read_labelled(DEMO)[0]


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
