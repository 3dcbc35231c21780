"""A small parallel set with slots, of words that the tiny transformer knows, and FMDA's cells made by hand."""

from itertools import permutations

import numpy as np
import pandas as pd

from emu_core.bench.fmda.cells import FmdaCell, Pair, System
from emu_core.bench.fmda.result import FmdaResult, View
from emu_core.data.labelled import LabelledSet
from emu_core.models.parts import Part

PLACES = ("hotel", "pool", "intent", "find")
VALUES = (*PLACES, *(f"{a} {b}" for a, b in permutations(PLACES, 2)))
TEMPLATES = {
    "en": ("where is the {}", "is the {} open ?", "when does the {} open ?", "the {} ?"),
    "de": ("the {} is where", "open is the {} ?", "does the {} open when", "? the {}"),
    "es": ("is where {} the", "open ? {} is the", "{} open when does the", "the ? {}"),
}
# Sentences without slots: to each of the others some of these are strangers, for the negatives.
PLAIN = ("when", "when open", "open", "does open", "does", "where", "where is", "is", "where where", "is is")
TEST_FROM = 9  # of 16 values; 6 are for train, 3 for dev


def fmda_set(languages: tuple[str, ...] = ("en", "de", "es"), name: str = "tiny") -> LabelledSet:
    """Four templates with sixteen values each, and ten sentences without slots to learn from."""
    rows = []
    for language in languages:
        for t, template in enumerate(TEMPLATES[language]):
            for v, value in enumerate(VALUES):
                split = "train" if v < 6 else "dev" if v < TEST_FROM else "test"
                rows.append(
                    {
                        "id": f"{t}-{v}",
                        "text": template.format(value),
                        "intent": f"intent{t // 2}",
                        "language": language,
                        "split": split,
                        "annotated": template.format(f"[place : {value}]"),
                    }
                )
        rows += [
            {
                "id": f"plain{i}",
                "text": text,
                "intent": "none",
                "language": language,
                "split": "train",
                "annotated": "",
            }
            for i, text in enumerate(PLAIN)
        ]
    return LabelledSet(pd.DataFrame(rows).astype("str"), name)


def drawn_cell(cell: FmdaCell, pairs: tuple[Pair, ...], n: int = 28, views: bool = True) -> FmdaResult:
    """Numbers that are the cell's own, without training anything."""
    draws = np.random.default_rng([cell.seed, *cell.key.encode()])
    own = cell.pairs or pairs
    meant = [part for part in cell.system.parts if part is not Part.LANGUAGE]
    ways = [f"{a}-{b}" for pair in own for a, b in (pair, pair[::-1])]
    codes = list(dict.fromkeys(code for pair in own for code in pair))
    points = tuple((float(x), float(y)) for x, y in draws.normal(size=(8, 2)).round(3))
    shown = {letter: View(("en", "de") * 4, points) for letter in "abc"}
    return FmdaResult(
        translations={part: {way: draws.random(n) < 0.6 for way in ways} for part in meant},
        templates={part: {code: draws.random(4) < 0.6 for code in codes} for part in meant},
        precisions={part: {code: draws.random(4).round(6) for code in codes} for part in meant},
        probes={
            part: {f"{a}-{b}": {"probe": float(draws.uniform(50, 100)), "neighbours": 60.0} for a, b in own}
            for part in cell.system.parts
        },
        views=shown if views and cell.system in (System.FMDA, System.TWO_STAGE) else {},
        seconds=2.0 + cell.seed,
        peak_mb=300.0,
    )
