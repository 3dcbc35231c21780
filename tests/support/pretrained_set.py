"""Tiny parallel text in three languages, labels and STS for it."""

import random
from pathlib import Path

import pandas as pd

from emu_core.data.sets import LabelledSet
from emu_core.data.texts.parallel import ParallelText

WORDS = {
    "en": "dogs cats reds blue runs sleeps house tree boys girl",
    "de": "hunde katze rote blau rennt schlaeft haus baum junge maid",
    "fr": "chien chats rouge bleu court dort maison arbre gars fille",
}
ROWS = 60


def sentences(code: str, count: int, seed: int) -> tuple[str, ...]:
    """Sentences of four words of ten; the same rows mean the same in every language."""
    draws, words = random.Random(seed), WORDS[code].split()
    rows = [draws.sample(range(10), 4) for _ in range(count)]
    return tuple(" ".join(words[word] for word in row) for row in rows)


def parallel(*pairs: tuple[str, str], count: int = ROWS, seed: int = 0) -> list[ParallelText]:
    """A text of each pair."""
    return [
        ParallelText(a, b, sentences(a, count, seed), sentences(b, count, seed), f"{a}-{b}.tsv")
        for a, b in pairs
    ]


def labelled(name: str = "labels") -> LabelledSet:
    """Forty sentences a language, with dogs in them or without; thirty train, ten test."""
    rows = []
    for code in WORDS:
        english = sentences("en", 40, 5)
        for i, text in enumerate(sentences(code, 40, 5)):
            kind = "dogs" if "dogs" in english[i] else "other"
            rows.append([str(i), text, kind, code, "train" if i < 30 else "test", ""])
    return LabelledSet(
        pd.DataFrame(rows, columns=["id", "text", "intent", "language", "split", "annotated"]).astype("str"),
        name,
    )


def sts_folder(folder: Path) -> Path:
    """Ten scored pairs in en and de, the same ones."""
    folder.mkdir(exist_ok=True)
    for code in ("en", "de"):
        pairs = zip(sentences(code, 10, 7), sentences(code, 10, 8), strict=True)
        lines = [f"{first},{second},{i % 6}" for i, (first, second) in enumerate(pairs)]
        (folder / f"{code}.csv").write_text("\n".join(lines) + "\n", "utf-8")
    return folder
