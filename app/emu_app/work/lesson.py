"""The tasks of the class page: sentences to judge by eye, neighbours to explain, and labels to spoil."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.encoders.base import FloatArray
from emu_core.intents.model import IntentModel

ROUNDS = 5
_MISLED = 3  # of the rounds, whose nearest sentence by encoder A has another intent
_PLACES = (0, 1, 1, 0, 1)  # of the right answer, by round


@dataclass(frozen=True)
class Round:
    """A sentence and two others, of which one has its intent.

    Attributes:
        row: number of the sentence.
        others: the numbers of the two others.
        right: which of the two has the same intent, 0 or 1.
        cosines: the cosines of both to the sentence, by encoder.
    """

    row: int
    others: tuple[int, int]
    right: int
    cosines: Mapping[str, tuple[float, float]]

    def is_right(self, encoder: str) -> bool:
        """Return whether the sentence is nearer to the one with its intent."""
        return self.cosines[encoder][self.right] > self.cosines[encoder][1 - self.right]


def rounds(
    sentences: pd.DataFrame, vectors: Mapping[str, FloatArray], count: int = ROUNDS
) -> tuple[Round, ...]:
    """Return sentences to judge, each of another intent; the first encoder errs in most of them if it errs at all.

    Args:
        sentences: N sentences in one language, with intent and id.
        vectors: unit vectors (N, d) by encoder.
        count: the most rounds to return.
    """
    first = next(iter(vectors.values()))
    cosines = first @ first.T
    intents, ids = sentences["intent"].to_numpy(), sentences["id"].to_numpy()
    same = (intents[:, None] == intents) & (ids[:, None] != ids)
    other = intents[:, None] != intents
    able = same.any(axis=1) & other.any(axis=1)
    friend = np.where(same, cosines, -np.inf).argmax(axis=1)
    stranger = np.where(other, cosines, -np.inf).argmax(axis=1)
    rows = np.arange(len(intents))
    lead = cosines[rows, friend] - cosines[rows, stranger]
    order = [row for row in np.argsort(lead, kind="stable").tolist() if able[row]]
    misled = _of_different_intents([row for row in order if lead[row] < 0], intents, min(_MISLED, count), ())
    rest = [row for row in order if lead[row] > 0]
    rest = rest[len(rest) // 2 :]  # clearly right
    chosen = misled + _of_different_intents(rest, intents, count - len(misled), intents[misled])
    found = []
    for number, row in enumerate(sorted(chosen)):
        right = _PLACES[number % len(_PLACES)]
        others = (int(friend[row]), int(stranger[row]))[:: 1 if right == 0 else -1]
        nearness = {
            name: (float(of[row] @ of[others[0]]), float(of[row] @ of[others[1]]))
            for name, of in vectors.items()
        }
        found.append(Round(row, (others[0], others[1]), right, nearness))
    return tuple(found)


def _of_different_intents(
    rows: Sequence[int], intents: NDArray[np.object_], count: int, taken: Sequence[str]
) -> list[int]:
    seen, chosen = set(taken), list[int]()
    for row in rows:
        if len(chosen) == count:
            break
        if intents[row] not in seen:
            seen.add(intents[row])
            chosen.append(row)
    return chosen


@dataclass(frozen=True)
class Spoilt:
    """Labels that are made worse: wrong ones, or few.

    Attributes:
        wrong: percent of the labels that are exchanged among the sentences.
        each: labels an intent, 0 for all.
    """

    wrong: int
    each: int = 0


def right_intents_of(
    spoilt: Spoilt,
    vectors: FloatArray,
    sentences: pd.DataFrame,
    is_labelled: NDArray[np.bool_],
    is_asked: NDArray[np.bool_],
) -> dict[str, tuple[int, int]]:
    """Return, by language, how many of the sentences that are asked get their intent, and how many are asked.

    Args:
        spoilt: what is done to the labels.
        vectors: (N, d) of the sentences.
        sentences: N sentences with intent, language and id.
        is_labelled: (N,) which have labels.
        is_asked: (N,) which are asked; those of intents without a label are not.
    """
    random = np.random.default_rng(0)
    rows = np.flatnonzero(is_labelled)
    intents = sentences["intent"].to_numpy(dtype=object).copy()
    if spoilt.each:
        drawn = random.permutation(rows)
        place = pd.Series(intents[drawn]).groupby(intents[drawn]).cumcount().to_numpy()
        rows = np.sort(drawn[place < spoilt.each])
    exchanged = random.permutation(rows)[: round(len(rows) * spoilt.wrong / 100)]
    labels = intents.copy()
    labels[exchanged] = intents[random.permutation(exchanged)]
    ids = sentences["id"].to_numpy()[rows].tolist()
    nobody = np.zeros(0, dtype=np.intp)  # is held out, for a calibration that would take most of the time
    model = IntentModel().fit(vectors[rows], labels[rows].tolist(), ids, asked=nobody)
    asked = np.flatnonzero(is_asked & np.isin(intents, intents[is_labelled]))
    named = np.array(model.intents_, dtype=object)[model.predict(vectors[asked], k=1).labels]
    right = pd.Series(named == intents[asked]).groupby(sentences["language"].to_numpy()[asked], sort=False)
    return {str(code): (int(group.sum()), len(group)) for code, group in right}
