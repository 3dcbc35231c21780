"""A model that is adapted to unlabelled sentences."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.data.languages import UNDETERMINED
from emu_core.data.repeats import repeat_keys
from emu_core.evaluation.arrays import Vectors
from emu_core.intents.model import LEAST_UNLABELLED, IntentModel
from emu_core.intents.names import have_letters

MOST_UNLABELLED = 2_000  # sentences of a language that it is adapted to
MOST_OF_RUN = 100  # of those that a run is trained with, which are encoded before and after training


def rows_to_adapt_to(
    texts: Sequence[str], languages: Sequence[str], most: int = MOST_UNLABELLED
) -> dict[str, NDArray[np.intp]]:
    """Return the rows of distinct sentences of each language that has `LEAST_UNLABELLED` of them or more.

    A sentence without a letter is none.

    Args:
        texts: N sentences.
        languages: the code of each, "" for an unknown one; none if all are unknown.
        most: sentences of a language; of more, so many are drawn.
    """
    if not len(languages):
        return {}
    spoken = np.array(languages, dtype=object)
    repeats = repeat_keys(pd.DataFrame({"text": texts, "language": languages})).duplicated().to_numpy()
    counts = ~repeats & have_letters(texts)
    draw, rows = np.random.default_rng(0), dict[str, NDArray[np.intp]]()
    for code in sorted(set(languages) - {"", UNDETERMINED}):
        distinct = np.flatnonzero(counts & (spoken == code))
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
    """Return a model adapted to unlabelled sentences, see `IntentModel.adapted`.

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
