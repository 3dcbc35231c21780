"""The unlabelled sentences by which a model is calibrated for their languages."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from emu_core.intents.model import LEAST_UNLABELLED

MOST_UNLABELLED = 500  # sentences of a language from which it is calibrated


def rows_to_adapt_to(texts: Sequence[str], languages: Sequence[str]) -> dict[str, NDArray[np.intp]]:
    """Return the rows of distinct sentences of each language that has `LEAST_UNLABELLED` of them or more.

    Of more than `MOST_UNLABELLED`, so many are drawn.

    Args:
        texts: N sentences.
        languages: the code of each, "" for an unknown one; none if all are unknown.
    """
    all_texts, spoken = np.array(texts, dtype=object), np.array(languages, dtype=object)
    draw, rows = np.random.default_rng(0), dict[str, NDArray[np.intp]]()
    for code in sorted(set(languages) - {""}):
        of_language = np.flatnonzero(spoken == code)
        distinct = of_language[np.unique(all_texts[of_language], return_index=True)[1]]
        if len(distinct) >= LEAST_UNLABELLED:
            rows[code] = distinct[draw.permutation(len(distinct))[:MOST_UNLABELLED]]
    return rows
