"""Language leakage: how well sentence vectors predict the language of a sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emu_core.errors import DataError
from emu_core.evaluation.arrays import Vectors, codes, id_keys, rows_by_language, unit_vectors
from emu_core.evaluation.projection import stratified_sample
from emu_core.evaluation.retrieval import nearest_rows
from emu_core.threads import one_thread_for_small_products

LEAKAGE_MAX_SENTENCES = 3_000
LEAKAGE_NEIGHBOURS = 10
_FOLDS = 5
# Vectors of several hundred dimensions separate a few thousand sentences almost however they are labelled; this much
# regularisation lets the probe generalise, and keeps the fit fast.
INVERSE_REGULARISATION = 0.01


@dataclass(frozen=True)
class Leakage:
    """How much language identity vectors carry, in percent; at chance level they carry none.

    Attributes:
        probe: balanced accuracy of a linear probe on sentences of which it saw no translation in training.
        probe_chance: the accuracy of guessing: 100 / languages.
        neighbours: share of a sentence's nearest neighbours that are in its own language.
        neighbours_chance: the share if neighbours were drawn at random.
        sentences: the number of sentences measured.
        languages: the number of their languages.
    """

    probe: float
    probe_chance: float
    neighbours: float
    neighbours_chance: float
    sentences: int
    languages: int


@dataclass(frozen=True)
class LeakageChange:
    """The language leakage before and after specialising."""

    base: Leakage
    specialised: Leakage


def language_leakage(
    vectors: Vectors, languages: Sequence[str], ids: Sequence[str], *, seed: int = 0
) -> Leakage:
    """Measure on up to `LEAKAGE_MAX_SENTENCES`, drawn from each language in proportion.

    The probe is a logistic regression on standardised unit vectors, cross-validated. All sentences of one id are in
    the same fold, or else a probe could recognise a sentence by its translation. The neighbours are the
    `LEAKAGE_NEIGHBOURS` nearest by cosine, or all; a sentence's own translations are left out.

    Args:
        vectors: (N, d).
        languages: N language codes.
        ids: N ids; the same id means translations of each other, "" is no id.
        seed: of the sample and of the folds; the same one measures two encoders on the same sentences.

    Raises:
        DataError: there are fewer than two languages, a language has sentences of fewer than two ids, a vector is
            zero or not finite, or the lengths differ.
    """
    units = unit_vectors(vectors)
    labels, keys = codes(languages, len(units), "languages"), id_keys(ids, len(units))
    rows = stratified_sample(languages, [""] * len(units), LEAKAGE_MAX_SENTENCES, seed)
    units, labels, keys = units[rows], labels[rows], keys[rows]
    present = rows_by_language([languages[row] for row in rows], len(rows))
    if len(present) < 2:
        raise DataError("leakage can't be measured in one language; give sentences of two languages or more")
    for language, language_rows in present.items():
        if len(np.unique(keys[language_rows])) < 2:
            raise DataError(
                f"language '{language}' has sentences of one id only, and a probe needs others to be tested on; add "
                "some, or leave the language out"
            )
    same_language, expected = _neighbours(units, labels, keys)
    return Leakage(
        probe=_probe(units, labels, keys, seed),
        probe_chance=100 / len(present),
        neighbours=same_language,
        neighbours_chance=expected,
        sentences=len(rows),
        languages=len(present),
    )


def _probe(
    units: NDArray[np.float32], labels: NDArray[np.int64], keys: NDArray[np.int64], seed: int
) -> float:
    """Return the balanced accuracy of the probe, in percent."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import recall_score
    from sklearn.model_selection import StratifiedGroupKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    fewest = min(len(np.unique(keys[labels == label])) for label in np.unique(labels))
    folds = StratifiedGroupKFold(min(_FOLDS, fewest), shuffle=True, random_state=seed)
    guessed = np.empty_like(labels)
    for learnt, held in folds.split(units, labels, keys):
        if len(np.unique(labels[learnt])) == 1:
            guessed[held] = labels[learnt][0]
            continue
        # Balanced as the accuracy is, or else a rare language is never predicted and seems not to leak.
        probe = make_pipeline(
            StandardScaler(),
            LogisticRegression(C=INVERSE_REGULARISATION, class_weight="balanced", max_iter=300),
        )
        with one_thread_for_small_products():
            guessed[held] = probe.fit(units[learnt], labels[learnt]).predict(units[held])
    return 100 * float(recall_score(labels, guessed, average="macro"))


def _neighbours(
    units: NDArray[np.float32], labels: NDArray[np.int64], keys: NDArray[np.int64]
) -> tuple[float, float]:
    """Return the percent of neighbours in the sentence's own language, and the percent expected by chance."""
    k = min(LEAKAGE_NEIGHBOURS, len(units) - 1)
    rows, _ = nearest_rows(units, keys, units, keys, k)
    met = rows >= 0
    same = (labels[rows] == labels[:, None]) & met
    # Any sentence may be a neighbour except those of the sentence's own id.
    groups, group = np.unique(keys, return_inverse=True)
    sizes = np.bincount(group)[group]
    counts_by_group = np.zeros((len(groups), labels.max() + 1), dtype=np.int64)
    np.add.at(counts_by_group, (group, labels), 1)
    others = len(units) - sizes
    of_language = np.bincount(labels)[labels] - counts_by_group[group, labels]
    has_neighbours = met.any(axis=1)
    share = same[has_neighbours].sum(axis=1) / met[has_neighbours].sum(axis=1)
    return 100 * float(share.mean()), 100 * float(
        (of_language[has_neighbours] / others[has_neighbours]).mean()
    )
