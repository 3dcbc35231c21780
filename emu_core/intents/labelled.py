"""The intent model of a labelled set, and the intents that it names of held-out sentences."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.data.demo import reference_texts
from emu_core.data.languages import UNDETERMINED
from emu_core.data.repeats import group_numbers, sentence_groups
from emu_core.data.sets import LabelledSet
from emu_core.evaluation.arrays import Encode, Vectors
from emu_core.evaluation.comparison import measure_encoder
from emu_core.evaluation.prediction import Predicted, Share
from emu_core.evaluation.run_metrics import HeldOut
from emu_core.intents.answers import Answers
from emu_core.intents.fitting import Unseen
from emu_core.intents.model import IntentModel
from emu_core.intents.names import name_vectors
from emu_core.intents.regression import sampled_rows

_REFERENCE_STEP = 3  # of the built-in parallel sentences, every third; all of them give the same results


def fit_intents(
    labelled: LabelledSet,
    encode: Encode,
    *,
    vectors: Vectors | None = None,
    none_vectors: Vectors | None = None,
    asked: NDArray[np.intp] | None = None,
    threshold: float | None = None,
    dims: Sequence[int] = (),
    part_languages: Sequence[Sequence[str]] = (),
    languages: Sequence[str] = (),
    unseen: LabelledSet | None = None,
    unseen_vectors: Vectors | None = None,
    compact: bool = False,
    sample_weight: NDArray[np.float64] | None = None,
) -> IntentModel:
    """Fit an intent model on a labelled set, and on the names or descriptions of its intents.

    Args:
        labelled: P sentences with intents, and M with none of them.
        encode: encodes the sentences, the names, and the built-in parallel sentences.
        vectors: (P, d), if they are known already.
        none_vectors: (M, d), if they are known already.
        asked: see `IntentModel.fit`.
        threshold: see `IntentModel.fit`.
        dims: the lengths of the parts of a joined encoder's vectors.
        part_languages: see `IntentModel.fit`.
        languages: those that the encoder knows; none if that is not known.
        unseen: sentences to calibrate on where the encoder has learnt the labels, see `IntentModel.fit`; without those
            of which the labelled ones have a repeat or a translation.
        unseen_vectors: (Q, d), theirs.
        compact: see `IntentModel.fit`.
        sample_weight: see `IntentModel.fit`.

    Raises:
        DataError: a vector is zero or not finite.
    """
    frame, of_none = labelled.frame, labelled.none_of_these
    groups = sentence_groups(labelled.all_rows())
    if vectors is None:
        vectors = encode(frame["text"].tolist())
    if none_vectors is None and len(of_none):
        none_vectors = encode(of_none["text"].tolist())
    intents = list(dict.fromkeys([*labelled.intents, *labelled.descriptions]))
    return IntentModel().fit(
        vectors,
        frame["intent"].tolist(),
        groups[: len(frame)],
        names=name_vectors(encode, intents, labelled.descriptions),
        languages=_spoken(frame),
        asked=asked,
        threshold=threshold,
        none=none_vectors,
        none_ids=groups[len(frame) :],
        dims=dims,
        part_languages=part_languages,
        reference={
            code: encode(sentences[::_REFERENCE_STEP])
            for code, sentences in reference_texts().items()
            if not languages or code in languages
        },
        unseen=None
        if unseen is None or unseen_vectors is None
        else _unseen(unseen.frame, unseen_vectors, _is_new(labelled, unseen)),
        compact=compact,
        sample_weight=sample_weight,
    )


def _unseen(frame: pd.DataFrame, vectors: Vectors, is_asked: NDArray[np.bool_]) -> Unseen:
    asked = frame[is_asked]
    return Unseen(vectors[is_asked], asked["intent"].tolist(), _spoken(asked))


def _spoken(frame: pd.DataFrame) -> list[str]:
    return ["" if code == UNDETERMINED else code for code in frame["language"]]


def _is_new(labelled: LabelledSet, queries: LabelledSet) -> NDArray[np.bool_]:
    """Return of which of Q sentences the labelled ones have neither a repeat nor a translation, (Q,)."""
    groups = sentence_groups(pd.concat([labelled.frame, queries.frame], ignore_index=True))
    known = set(groups[: len(labelled)]) - {""}
    return np.array([group not in known for group in groups[len(labelled) :]], dtype=bool)


def drawn(labelled: LabelledSet) -> LabelledSet:
    """Return the set, or a draw from a larger one; see `sampled_rows`."""
    if not len(labelled):
        return labelled
    rows = sampled_rows(pd.factorize(labelled.frame["intent"])[0].tolist())
    return replace(labelled, frame=labelled.frame.iloc[rows].reset_index(drop=True))


def measure_all(
    held_out: LabelledSet,
    labelled: LabelledSet,
    vectors: Vectors,
    model: IntentModel | None,
    asked: Vectors | None = None,
) -> HeldOut:
    """Return all measures of held-out sentences.

    Args:
        held_out: Q sentences.
        labelled: those that the model is fitted on.
        vectors: (Q, d), of the encoder that is measured.
        model: the intent model; None without labelled sentences.
        asked: those that the model takes, if they are others.
    """
    right = (
        None if model is None else predicted(labelled, held_out, model, vectors if asked is None else asked)
    )
    return HeldOut(held_out, vectors, measure_encoder(held_out.frame, vectors), right)


def predicted(
    labelled: LabelledSet,
    queries: LabelledSet,
    model: IntentModel,
    query_vectors: Vectors,
    intents: Collection[str] | None = None,
) -> Predicted | None:
    """See which of the most probable intents are right, and which sentences look like those of a known intent.

    Sentences of which the labelled ones have a repeat or a translation are not asked. Those of another intent are
    unknown.

    Args:
        labelled: P sentences that are known already, such as those that the model is fitted on.
        queries: Q sentences with their intents.
        model: the intent model.
        query_vectors: (Q, d).
        intents: those that are asked for; None for all of the model.

    Returns:
        None if no sentence of the model's intents can be asked.
    """
    frame, is_new = queries.frame, _is_new(labelled, queries)
    has_intent = frame["intent"].isin(model.intents_ if intents is None else intents).to_numpy()
    if not (is_new & has_intent).any():
        return None
    asked = frame[is_new & has_intent]

    def answered(rows: NDArray[np.bool_]) -> Answers:
        return model.predict(query_vectors[rows], 1, _spoken(frame[rows]))

    answers, is_other = answered(is_new & has_intent), is_new & ~has_intent
    is_found = ~answered(is_other).is_known if is_other.any() else np.zeros(0, dtype=bool)
    left_out = None
    if model.new_found_ is not None:
        left_out = Share(round(model.new_found_ * model.new_asked_ / 100), model.new_asked_)
    return Predicted(
        model.shape[0],
        model.rule_.value,
        tuple(asked["language"]),
        group_numbers(asked.reset_index(drop=True)),
        np.array(model.intents_, dtype=object)[answers.labels] == asked["intent"].to_numpy(),
        answers.is_known,
        Share(int(is_found.sum()), len(is_found)),
        left_out,
    )
