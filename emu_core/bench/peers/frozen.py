"""Peers that leave the encoder as it is: a classifier over its vectors, read as a space too."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from emu_core.bench.costs import now, since
from emu_core.bench.peers.system import LDA_SHRINKAGE, Encode, Peer, System
from emu_core.data.labelled import LabelledSet
from emu_core.errors import TrainingError
from emu_core.threads import one_thread_for_small_products

C_VALUES = (0.1, 1.0, 10.0, 100.0, 1000.0)
FOLDS = 5


def frozen_peer(peer: Peer, encode: Encode, labelled: LabelledSet) -> System:
    """Fit a peer on labelled sentences.

    As retrieval, a sentence's vector is its class probabilities (logistic regression) or its discriminant scores
    (LDA).

    Args:
        peer: logistic regression or LDA.
        encode: the base encoder.
        labelled: sentences of the training languages.

    Raises:
        TrainingError: there is a single intent.
    """
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression, LogisticRegressionCV

    intents = labelled.frame["intent"].to_numpy(dtype=str)
    counts = Counter(intents)
    if len(counts) < 2:
        raise TrainingError(
            "the training sentences have a single intent; add sentences of another, or choose another language"
        )
    start = now()
    vectors = encode(labelled.frame["text"].tolist())
    facts: dict[str, object] = {}
    if peer is Peer.LDA:
        # With as many sentences as intents there is no spread within an intent, which LDA divides by.
        if len(intents) <= len(counts):
            raise TrainingError("LDA needs more sentences than intents; add a second sentence to some")
        model = LinearDiscriminantAnalysis(solver="eigen", shrinkage=LDA_SHRINKAGE)
        space = model.fit(vectors.astype(np.float64), intents).transform
    else:
        folds = min(FOLDS, *counts.values())
        # One sentence of an intent can't be in two folds; the library's default strength is taken then.
        model = (
            LogisticRegressionCV(
                Cs=list(C_VALUES), cv=folds, max_iter=1000, scoring="accuracy", l1_ratios=(0,),
                use_legacy_attributes=False,
            )
            if folds > 1
            else LogisticRegression(max_iter=1000)
        )  # fmt: skip
        with one_thread_for_small_products():
            space = model.fit(vectors, intents).predict_proba
        facts = {"C": float(np.ravel(model.C_)[0] if folds > 1 else 1.0)}
    took = since(start)

    def project(texts: list[str]) -> NDArray[np.floating]:
        return np.asarray(space(encode(texts)))

    return System(
        encode=lambda texts: project(list(texts)),
        classify=lambda texts: [str(intent) for intent in model.predict(encode(texts))],
        took=took,
        facts={**facts, "sentence_passes": len(intents)},
    )
