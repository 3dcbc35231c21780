"""All intents that a sentence may have, so that the right one is among them as often as asked: conformal prediction."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NAME, _ABROAD = (
    "surprise ",
    "as ",
)  # of arrays, and before a language whose sentences were asked as if translated
MOST_EXPECTED = 1_000
Surprises = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Surprise:
    """How surprising the right intents of held-out sentences are: the negative logs of their probabilities, sorted.

    Split conformal prediction (Vovk et al. 2005): a new sentence's right intent is at most as surprising as that of a
    share of the held-out ones about as often as this share says.

    Attributes:
        by_language: of the held-out sentences of a language; "" for all.
        abroad: of those asked as if translated into a language; "" for all of these.
    """

    by_language: dict[str, Surprises] = field(default_factory=dict)
    abroad: dict[str, Surprises] = field(default_factory=dict)

    def bound(self, coverage: float, code: str, *, is_labelled: bool) -> float:
        """Return how surprising an intent may be to be one that a sentence may have; infinite with too few sentences.

        Args:
            coverage: the share of sentences, above 0 and below 1.
            code: their language, "" for an unknown one.
            is_labelled: whether there are labels in it.
        """
        of_all = self.by_language.get("", np.zeros(0, np.float32))
        known = self.by_language.get(code)
        if known is None:
            known = of_all if is_labelled else self.abroad.get(code, self.abroad.get("", of_all))
        rank = int(np.ceil((len(known) + 1) * coverage))
        return float(known[rank - 1]) if rank <= len(known) else np.inf

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what `from_arrays` takes."""
        at_home = {f"{_NAME}{code}": array for code, array in self.by_language.items()}
        return at_home | {f"{_NAME}{_ABROAD}{code}": array for code, array in self.abroad.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Surprise":
        """Return what has these `arrays`. Raises ValueError if they are none."""
        self = cls()
        for name, array in arrays.items():
            if name.startswith(_NAME):
                if array.dtype != np.float32 or array.ndim != 1 or not (np.diff(array) >= 0).all():
                    raise ValueError("no sorted numbers")
                code = name.removeprefix(_NAME)
                of_kind = self.abroad if code.startswith(_ABROAD) else self.by_language
                of_kind[code.removeprefix(_ABROAD)] = array
        return self


def expected_surprise(log_p: NDArray[np.float64]) -> Surprises:
    """Return how surprising the right intents of Q sentences would be if their probabilities (Q, k) were right, sorted.

    Each intent of each sentence counts as often as it is probable. Q quantiles are returned, at most `MOST_EXPECTED`.
    """
    all_of_them = -log_p.ravel()
    order = np.argsort(all_of_them)
    shares = np.cumsum(np.exp(-all_of_them[order])) / len(log_p)
    count = min(len(log_p), MOST_EXPECTED)
    places = np.searchsorted(shares, (np.arange(count) + 0.5) / count)
    return all_of_them[order][np.minimum(places, len(order) - 1)].astype(np.float32)


def surprise(log_p: NDArray[np.float64], labels: NDArray[np.int64]) -> Surprises:
    """Return the sorted surprise (Q,) of intents (Q,), given log-probabilities (Q, k)."""
    return np.sort(-log_p[np.arange(len(log_p)), labels]).astype(np.float32)
