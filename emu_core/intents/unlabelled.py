"""A model that is calibrated for languages by unlabelled sentences in them."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from emu_core.data.languages import UNDETERMINED
from emu_core.evaluation.arrays import Vectors
from emu_core.intents.model import LEAST_UNLABELLED, IntentModel

MOST_UNLABELLED = 500  # sentences of a language from which it is calibrated
MOST_OF_RUN = 100  # of those that a run is trained with, which are encoded before and after training


def rows_to_adapt_to(
    texts: Sequence[str], languages: Sequence[str], most: int = MOST_UNLABELLED
) -> dict[str, NDArray[np.intp]]:
    """Return the rows of distinct sentences of each language that has `LEAST_UNLABELLED` of them or more.

    Args:
        texts: N sentences.
        languages: the code of each, "" for an unknown one; none if all are unknown.
        most: sentences of a language; of more, so many are drawn.
    """
    all_texts, spoken = np.array(texts, dtype=object), np.array(languages, dtype=object)
    draw, rows = np.random.default_rng(0), dict[str, NDArray[np.intp]]()
    for code in sorted(set(languages) - {"", UNDETERMINED}):
        of_language = np.flatnonzero(spoken == code)
        distinct = of_language[np.unique(all_texts[of_language], return_index=True)[1]]
        if len(distinct) >= LEAST_UNLABELLED:
            rows[code] = distinct[draw.permutation(len(distinct))[:most]]
    return rows


def adapted_to(
    model: IntentModel,
    texts: Sequence[str],
    languages: Sequence[str],
    vectors_of: Callable[[NDArray[np.intp]], Vectors],
    most: int = MOST_UNLABELLED,
) -> IntentModel:
    """Return a model calibrated for the languages of unlabelled sentences, see `IntentModel.adapted`.

    No vectors are asked for that would change nothing.

    Args:
        model: the model.
        texts: N sentences.
        languages: as for `rows_to_adapt_to`.
        vectors_of: returns the vectors (M, d) of some rows (M,).
        most: as for `rows_to_adapt_to`.

    Raises:
        DataError: a vector is zero or not finite, or of another length.
    """
    if not model.can_adapt:
        return model
    rows = rows_to_adapt_to(texts, languages, most)
    return model.adapted(
        {code: vectors_of(of) for code, of in rows.items() if code not in model.calibrated_languages}
    )
