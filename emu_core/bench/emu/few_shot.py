"""Few labelled sentences of each intent, drawn from many."""

from collections.abc import Sequence

import numpy as np

from emu_core.data.repeats import sentence_groups
from emu_core.data.sets import LabelledSet

FEW_SHOT_LABELS = (2, 4, 8, 16, 32, 64)  # an intent


def numbers_of_labels(train: LabelledSet, languages: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of `FEW_SHOT_LABELS` that leave something to draw: below those of the largest intent.

    At least the first is returned.
    """
    most = max(map(len, _sentences_by_intent(train, languages).values()))
    return tuple(count for count in FEW_SHOT_LABELS if count < most) or FEW_SHOT_LABELS[:1]


def drawn_labels(train: LabelledSet, languages: Sequence[str], labels: int, seed: int) -> LabelledSet:
    """Return a set with at most `labels` sentences of each intent in some languages.

    Translations and repeats are drawn together, as one sentence. The rows of other languages, which only serve as
    unlabelled sentences, are kept.
    """
    draws = np.random.default_rng(seed)
    keep = ~train.frame["language"].isin(languages).to_numpy()
    for sentences in _sentences_by_intent(train, languages).values():
        for name in draws.permutation(list(sentences))[:labels].tolist():
            keep[sentences[name]] = True
    return LabelledSet(train.frame[keep].reset_index(drop=True), train.name)


def _sentences_by_intent(train: LabelledSet, languages: Sequence[str]) -> dict[str, dict[str, list[int]]]:
    """Return the rows of each sentence of each intent; translations and repeats are one sentence."""
    rows = np.flatnonzero(train.frame["language"].isin(languages))
    labelled = train.frame.iloc[rows]
    sentences: dict[str, dict[str, list[int]]] = {
        intent: {} for intent in sorted(labelled["intent"].unique())
    }
    for row, intent, group in zip(rows.tolist(), labelled["intent"], sentence_groups(labelled), strict=True):
        sentences[intent].setdefault(group or f"row {row}", []).append(row)
    return sentences
