"""The demo set that ships with the package: what a hotel's guests ask, in six languages."""

from functools import cache
from importlib.resources import files
from pathlib import Path

from emu_core.data.labelled.audit import audit_rows
from emu_core.data.labelled.rows import read_rows
from emu_core.data.labelled.sets import LabelledSet

DEMO = "demo"
"""The word that stands for the demo set wherever files are named."""
REFERENCE = 96
"""Parallel sentences that stand for a language; with twice as many, results are the same."""
_LANGUAGES = ("en", "de", "es", "fr", "ja", "zh")


def demo_paths() -> list[Path]:
    """Return the demo set's files, English first."""
    folder = Path(str(files("emu_core.data") / "demo"))
    return [folder / f"{language}.csv" for language in _LANGUAGES]


def load_demo() -> LabelledSet:
    """Return the demo set: 28 intents in six languages, fully parallel by id, split into train and test."""
    rows, _ = read_rows(demo_paths(), mapping=None, language=None)
    return LabelledSet(audit_rows(rows)[0], DEMO)


@cache
def reference_texts() -> dict[str, list[str]]:
    """Return the same `REFERENCE` sentences in each of the demo set's languages, from its train rows.

    What differs between their means by an encoder is the languages alone, since the content is the same.
    """
    frame = load_demo().train_part().frame
    by_id = frame.pivot(index="id", columns="language", values="text").dropna()
    step = len(by_id) // REFERENCE  # ids are sorted, and begin with the intent: some of each
    some = by_id.iloc[: step * REFERENCE : step]
    return {language: some[language].tolist() for language in _LANGUAGES}
