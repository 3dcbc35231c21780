"""A small parallel set with slots, of words that the tiny transformer knows."""

from itertools import permutations

import pandas as pd

from emu_core.data.sets import LabelledSet

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
                "intent": "plain",
                "language": language,
                "split": "train",
                "annotated": "",
            }
            for i, text in enumerate(PLAIN)
        ]
    return LabelledSet(pd.DataFrame(rows).astype("str"), name)
