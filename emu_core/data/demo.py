"""The demo set in the package: questions of hotel guests, in six languages."""

from functools import cache
from importlib.resources import files
from pathlib import Path

from emu_core.data.labelled.audit import audit_rows
from emu_core.data.labelled.rows import read_rows
from emu_core.data.labelled.sets import LabelledSet

DEMO = "demo"
"""The word for the demo set wherever files are named."""
REFERENCE = 96
"""Parallel sentences that represent a language; twice as many give the same results."""
_LANGUAGES = ("en", "de", "es", "fr", "ja", "zh")


def demo_paths() -> list[Path]:
    """Return the demo set's files, English first."""
    folder = Path(str(files("emu_core.data") / "demo"))
    return [folder / f"{language}.csv" for language in _LANGUAGES]


def load_demo() -> LabelledSet:
    """Return the demo set: 28 intents in six languages, all sentences parallel by id, split into train and test."""
    rows, _ = read_rows(demo_paths(), mapping=None, language=None)
    return LabelledSet(audit_rows(rows)[0], DEMO)


@cache
def reference_texts() -> dict[str, list[str]]:
    """Return the same `REFERENCE` training sentences in each of the demo set's languages.

    With equal content, the means of their vectors differ by language alone.
    """
    frame = load_demo().train_part().frame
    by_id = frame.pivot(index="id", columns="language", values="text").dropna()
    step = len(by_id) // REFERENCE  # ids begin with the intent and are sorted, so every intent is represented
    some = by_id.iloc[: step * REFERENCE : step]
    return {language: some[language].tolist() for language in _LANGUAGES}
