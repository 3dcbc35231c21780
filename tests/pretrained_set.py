"""Tiny parallel text in three languages, labels and STS for it, and drawn results, for the tests of the benchmarks."""

import random
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from emu_core.bench.pretrained.cells import PretrainedCell
from emu_core.bench.pretrained.result import PretrainedResult, WordView
from emu_core.data.labelled import LabelledSet
from emu_core.data.parallel.text import ParallelText

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


def drawn(
    cell: PretrainedCell, measures: tuple[str, ...], test: int = 20, *, view: bool = False
) -> PretrainedResult:
    """A result with drawn numbers, the same for the same cell."""
    draws = np.random.default_rng(zlib.crc32(cell.key.encode()))
    ways = [f"{a}-{b}" for pair in cell.pairs for a, b in (pair, pair[::-1])]
    if len(cell.pairs) > 1:
        a, b = cell.pairs[0][1], cell.pairs[1][1]
        ways += [f"{a}-{b}", f"{b}-{a}"]
    pairs = [f"{a}-{b}" for a, b in cell.pairs]
    points = tuple((float(x), float(y)) for x, y in draws.normal(size=(2, 2)))
    shares = tuple(
        {"share": s, "few_shot": 50.0 + s / 10, "monolingual": 40.0 if s else None} for s in (0, 50, 100)
    )
    words = WordView(("en", "de"), ("<b>$x$", "wort"), points, "weekdays", {"en-de": (1, 2)})
    scored = (*cell.languages, *ways)
    return PretrainedResult(
        ranks={m: {way: draws.integers(1, 15, size=test) for way in ways} for m in measures},
        candidates=dict.fromkeys(ways, test),
        documents=tuple(
            {
                "source": way.split("-")[0], "target": way.split("-")[1], "size": size,
                "accuracy": float(draws.uniform(30, 90)), "deviation": 1.0, "draws": 3, "majority": 40.0,
            }
            for way in ways
            for size in (100, 1000, 5000)
        ),
        sts={name: {"pearson": float(draws.uniform(0, 1)), "spearman": 0.5, "count": 9} for name in scored},
        zero_shot={way: float(draws.uniform(30, 90)) for way in ("en-en", *ways)},
        few_shot={pairs[0]: shares},
        eigen={
            name: {"mean": float(draws.uniform(0, 2)), "variance": float(draws.uniform(0, 1)), "standard_error": 0.01}
            for name in pairs
        },
        views={"left": words} if view else {},
        speed={"seconds": float(draws.uniform(10, 20)), "cpu_seconds": float(draws.uniform(10, 20))},
        seconds=1.0,
        cpu_seconds=1.0,
        seconds_whole=2.0,
        peak_mb=100.0,
        facts={"selected_epoch": 1},
    )  # fmt: skip
