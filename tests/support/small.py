"""A slice of the demo set that trains in a second or two; to write it to small.csv: python -m tests.support.small."""

from functools import cache
from pathlib import Path

from emu_core.data.demo import load_demo
from emu_core.data.sets import LabelledSet

INTENTS = ("pool", "gym", "taxi", "wifi", "laundry", "pets")


def small_set(languages: tuple[str, ...] = ("en", "de", "ja")) -> LabelledSet:
    """Six intents of the demo set: 72 train and 36 test sentences a language."""
    demo = _demo().select(languages=languages)
    return LabelledSet(demo.frame[demo.frame["intent"].isin(INTENTS)].reset_index(drop=True), "small")


@cache
def _demo() -> LabelledSet:
    return load_demo()


def small_file(folder: Path, languages: tuple[str, ...] = ("en", "de", "ja"), test: str = "test") -> Path:
    """The slice as a CSV file; `test` renames the split of its test rows."""
    path = folder / "small.csv"
    small_set(languages).frame.replace({"split": {"test": test}}).to_csv(path, index=False)
    return path


if __name__ == "__main__":
    small_file(Path.cwd())
