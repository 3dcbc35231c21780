"""Intents by their names alone, which move towards the unlabelled sentences that seem to be about them."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import softmax

from emu_core.data.repeats import repeat_keys
from emu_core.evaluation.arrays import Vectors
from emu_core.evaluation.retrieval import blocks
from emu_core.intents.kernel import KERNEL_TEMPERATURE
from emu_core.intents.model import IntentModel
from emu_core.intents.names import have_letters
from emu_core.intents.space import LEAST_OF_LANGUAGE, SentenceSpace, centred, centred_by_language

LEAST_MET = 3.0  # sentences of an intent that move its name half as far as many do


def fit_names(
    names: Mapping[str, Vectors],
    sentences: Vectors,
    texts: Sequence[str],
    languages: Sequence[str],
    dims: Sequence[int] = (),
) -> tuple[IntentModel, Vectors]:
    """Fit a model on the names of intents, for the sentences that it will be asked about.

    The sentences of a language lose their mean, and the names theirs, so that what differs between a name and a
    sentence of it, or between languages, counts for less. Then the names move, see `moved`. For both, each distinct
    sentence counts once, and one without a letter does not.

    Args:
        names: by intent, the vector (d,) of its name or description.
        sentences: (N, d).
        texts: the N sentences.
        languages: N language codes, "" for an unknown one.
        dims: the lengths of the parts of a joined encoder's vectors; none for a single encoder.

    Returns:
        The model, which is not calibrated, and what it is to be asked: the sentences (N, d) without the means.
    """
    repeats = repeat_keys(pd.DataFrame({"text": texts, "language": languages})).duplicated()
    counts = ~repeats.to_numpy() & have_letters(texts)
    of_names = centred(np.stack(list(names.values())))
    asked = centred_by_language(sentences, languages, counts)
    if counts.sum() >= LEAST_OF_LANGUAGE:
        space = SentenceSpace.fit(of_names.shape[1], dims=dims)
        of_names = moved(space.neutral(of_names), space.neutral(asked[counts]))
    model = IntentModel().fit(
        of_names,
        list(names),
        [""] * len(names),
        names=dict(zip(names, of_names, strict=True)),
        asked=np.arange(0),
        dims=dims,
    )
    return model, asked


def moved(names: Vectors, sentences: Vectors) -> Vectors:
    """Return the vectors of names (k, d), each moved towards the sentences (N, d) that seem to be about it.

    With p the probability of an intent by the cosines of a sentence to the names, at the temperature of the `Kernel`,
    and s the sum of p over the sentences, name c becomes

        n_c + s_c / (s_c + LEAST_MET) * m_c / |m_c|,  where m_c is the sum of p_c x over the sentences x

    a step of k-means with soft borders that starts at the names. All vectors have length 1 but the result.
    """
    sums, counts = np.zeros(names.shape), np.zeros((len(names), 1))
    for block in blocks(len(sentences), len(names)):
        x = sentences[block].astype(np.float64)
        p = softmax(x @ names.T / KERNEL_TEMPERATURE, axis=1)
        sums += p.T @ x
        counts += p.sum(axis=0)[:, None]
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    steps = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)
    nearer: Vectors = (names + counts / (counts + LEAST_MET) * steps).astype(np.float32)
    return nearer
