"""How an embedding space changes: the same sentences' vectors at several times on one map, and their accuracy."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.data.repeats import sentence_groups
from emu_core.errors import DataError, Fix
from emu_core.evaluation.arrays import Vectors, pair_name, unit_vectors
from emu_core.evaluation.leave_one_out import leave_one_out
from emu_core.evaluation.projection import principal_axes, turned_onto, with_a_sign
from emu_core.threads import one_thread_for_small_products

ACCURACY, TRANSLATIONS = "Acc@1", "P@1 of translations"
PLAIN_MEASURES = {ACCURACY: "similar sentences", TRANSLATIONS: "translations found"}  # on a figure


@dataclass(frozen=True, eq=False)
class Film:
    """Sentences on a map at several times.

    The accuracy has a column for each language: percent of its sentences whose nearest neighbour is right, over the
    directions of `LeaveOneOut.outcomes`, or of translations over all others. It has no columns where there are too few
    sentences.
    """

    sentences: pd.DataFrame  # N rows with the columns `text`, `intent`, `language` and `id`
    titles: tuple[str, ...]  # a title for each of the F frames, in temporal order
    places: NDArray[np.float32]  # (F, N, 2)
    accuracy: pd.DataFrame  # F rows
    measure: str  # `ACCURACY`, leave-one-out, or `TRANSLATIONS`, where no sentence has an intent


def film(sentences: pd.DataFrame, frames: Sequence[Vectors], titles: Sequence[str]) -> Film:
    """Lay out F frames, vectors (N, d) of the same sentences, on one map, and measure each.

    The map is the PCA of all frames together. First each frame is centred and rotated onto the next one (orthogonal
    Procrustes, Schönemann 1966), from the last back to the first. A rotation changes no cosine, so the map shows
    sentences that move relative to each other, not a movement of the whole space. Shorter vectors are padded with
    zeros, which changes no cosine either.

    The N sentences have the columns of `Film.sentences`. If all their intents are "", the accuracy is that of finding
    translations, which share an id.

    Raises:
        DataError: there is no frame, or a vector is zero or not finite.
    """
    if not frames:
        raise DataError("there are no snapshots to draw; train with ", Fix("snapshots", True))
    dim = max(frame.shape[1] for frame in frames)
    units = [np.pad(unit_vectors(frame), ((0, 0), (0, dim - frame.shape[1]))) for frame in frames]
    translations = bool((sentences["intent"] == "").all())
    return Film(
        sentences,
        tuple(titles),
        _places(units),
        _accuracy(sentences, units, translations),
        TRANSLATIONS if translations else ACCURACY,
    )


def frame_on_axes(
    sentences: pd.DataFrame, axes_of: Vectors, vectors: Vectors
) -> tuple[NDArray[np.float32], dict[str, float]]:
    """Lay out one frame on the axes of another, while others are not known; return places and accuracy.

    The places (N, 2) are those of `vectors` (N, d), centred, on the two directions in which the intents' means differ
    most by `axes_of` (N, e), or in which sentences do that have no intents. The accuracy in percent is by language, as
    a row of `Film.accuracy`; the N sentences are those of `film`.

    Raises:
        DataError: a vector is zero or not finite.
    """
    dim = max(axes_of.shape[1], vectors.shape[1])
    other, now = (
        np.pad(unit_vectors(frame), ((0, 0), (0, dim - frame.shape[1]))) for frame in (axes_of, vectors)
    )
    is_bare, intents = bool((sentences["intent"] == "").all()), sentences["intent"].to_numpy(object)
    if not is_bare:
        other = np.stack([other[intents == intent].mean(axis=0) for intent in np.unique(intents)])
    spread = other - other.mean(axis=0, keepdims=True)
    with one_thread_for_small_products():  # and so every frame gets the same axes, to the bit
        axes = principal_axes((spread.T @ spread).astype(np.float64))
        accuracy = _accuracy(sentences, [now], is_bare)
    places: NDArray[np.float32] = ((now - now.mean(axis=0, keepdims=True)) @ axes).astype(np.float32)
    return places, {str(code): float(percent) for code, percent in accuracy.iloc[0].items()}


def _places(units: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return the points (F, N, 2) of F arrays (N, d)."""
    turned: list[NDArray[np.float32]] = []
    for frame in reversed(units):
        centred = frame - frame.mean(axis=0, keepdims=True)
        if turned and not np.array_equal(centred, turned[-1]):
            centred = turned_onto(centred, turned[-1])
        turned.append(centred)
    turned.reverse()
    axes = principal_axes(np.sum([(frame.T @ frame).astype(np.float64) for frame in turned], axis=0))
    places = np.stack([frame @ axes for frame in turned]).astype(np.float32)
    return with_a_sign(places)


def _accuracy(
    sentences: pd.DataFrame, units: Sequence[NDArray[np.float32]], translations: bool
) -> pd.DataFrame:
    intents, languages = (sentences[column].tolist() for column in ("intent", "language"))
    groups = sentence_groups(sentences)
    if translations:  # each group becomes an intent, to be found in the other language
        intents, groups = groups, [""] * len(groups)
    rows = []
    try:
        for frame in units:
            accuracies = leave_one_out(frame, intents, languages, groups)
            means = {}
            for source in accuracies.languages:
                others = [pool for pool in accuracies.languages if pool != source]
                asked = accuracies.outcomes(source)
                if translations:
                    asked = [accuracies.correct[pair_name(source, pool)] for pool in others]
                means[source] = 100 * float(np.mean(asked))
            rows.append(means)
    except DataError:  # a language has too few sentences
        return pd.DataFrame(index=range(len(units)))
    return pd.DataFrame(rows)
