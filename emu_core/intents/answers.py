"""What an intent model answers, and the choices and measurements behind its answers."""

from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

NO_INTENT = "no known intent"
"""What is predicted for a sentence that is like none of the labelled ones."""


class PredictionFacts(TypedDict):
    """The choices and measurements that were made on labelled sentences."""

    pool: int  # number of labelled sentences
    names: int  # number of intents whose names or descriptions count
    rule: str  # what decides, a value of `Rule`
    accuracy: float | None  # percent of right predictions of held-out sentences
    threshold: float | None  # no intent is known below it
    threshold_is_cosine: bool  # of the nearest sentence; otherwise a score from 0 to 1
    threshold_is_given: bool  # and not learnt
    new_found: float | None  # percent of the sentences of left-out intents that are below
    none_of_these: int  # number of sentences that are labelled as none of the intents
    none_found: float | None  # percent of those that are below
    adapted: list[str]  # languages that unlabelled sentences calibrate
    unlabelled: list[str]  # languages in which unlabelled sentences also decide
    notes: list[str]


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers to Q sentences.

    Attributes:
        labels: (Q,) numbers of the most probable intents, see `IntentModel.intents_`.
        margins: (Q,) the highest cosine to a sentence of that intent, minus the highest to one of another; NaN where
            there is no other.
        rows: (Q, n) the nearest labelled sentences, the nearest first; -1 where there are fewer.
        cosines: (Q, n), NaN there.
        confidence: (Q,) probability that the label is right, if the sentence has one of the intents; NaN if it can't be
            calibrated.
        is_known: (Q,) whether the sentence is like those of the known intents.
        sets: the numbers of the intents that each sentence may have, as `IntentModel.sets` returns them; None if no
            coverage was asked for.
    """

    labels: NDArray[np.int64]
    margins: NDArray[np.float32]
    rows: NDArray[np.int64]
    cosines: NDArray[np.float32]
    confidence: NDArray[np.float64]
    is_known: NDArray[np.bool_]
    sets: list[NDArray[np.int64]] | None = None
