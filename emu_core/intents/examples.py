"""What an intent model learns from: labelled sentences, names of intents, and sentences with none of the intents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu_core.evaluation.arrays import Vectors, check_dimensions, check_length, codes, unit_vectors
from emu_core.intents.space import as_stored

_SORTED_BY = 3  # numbers of a vector
Units = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Examples:
    """P labelled sentences, n names and M sentences with none of the k intents, as vectors of length 1.

    Attributes:
        intents: the k intents, by number.
        units: (P, d), sorted, so that what is drawn of them does not depend on their order.
        labels: (P,), the numbers of their intents.
        order: (P,), where each was before.
        names: (n, d).
        name_labels: (n,), the numbers of their intents.
        none: (M, d).
        is_compact: whether vectors are rounded to two bytes a number, in which they are then stored.
    """

    intents: tuple[str, ...]
    units: Units
    labels: NDArray[np.int64]
    order: NDArray[np.int64]
    names: Units
    name_labels: NDArray[np.int64]
    none: Units
    is_compact: bool

    @classmethod
    def of(
        cls,
        vectors: Vectors,
        intents: Sequence[str],
        names: Mapping[str, Vectors],
        none: Vectors | None,
        *,
        is_compact: bool,
    ) -> "Examples":
        """Take vectors (P, d) of sentences with these intents, (d,) of names by intent, and (M, d) of none of these.

        Raises:
            DataError: a vector is zero or not finite, or the lengths differ.
        """
        units = rounded(unit_vectors(vectors), is_compact=is_compact)
        check_length(intents, len(units), "intents")
        order = np.lexsort((*units.T[:_SORTED_BY], np.asarray(intents, dtype=object).astype(str)))
        units, intents = units[order], [intents[row] for row in order]
        names = dict(sorted(names.items()))
        known = tuple(dict.fromkeys([*intents, *names]))

        def others(given: Vectors | None) -> Units:
            if given is None or not len(given):
                return np.zeros((0, units.shape[1]), dtype=np.float32)
            found = rounded(unit_vectors(given), is_compact=is_compact)
            check_dimensions(found, units)
            return found

        return cls(
            known,
            units,
            codes(intents, len(units), "intents"),
            order,
            others(np.stack(list(names.values())) if names else None),
            np.array([known.index(name) for name in names], dtype=np.int64),
            others(none),
            is_compact,
        )

    @property
    def dim(self) -> int:
        """The length of the vectors, d."""
        return self.units.shape[1]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what `from_arrays` takes beside the intents."""
        kind = np.float16 if self.is_compact else np.float32
        return {
            "units": self.units.astype(kind),
            "labels": self.labels,
            "order": self.order,
            "names": self.names.astype(kind),
            "name_labels": self.name_labels,
            "none": self.none.astype(kind),
        }

    @classmethod
    def from_arrays(
        cls, intents: Sequence[str], arrays: Mapping[str, NDArray[Any]], *, is_compact: bool
    ) -> "Examples":
        """Return the examples whose `arrays` these are. Raises KeyError or ValueError."""
        stored = [arrays[name] for name in ("units", "names", "none")]
        units, names, none = (array.astype(np.float32) for array in stored)
        labels, name_labels, order = (arrays[name] for name in ("labels", "name_labels", "order"))
        size, dim = units.shape
        numbers = np.concatenate([labels, name_labels])
        are_whole = (
            size > 0
            and all(array.dtype == (np.float16 if is_compact else np.float32) for array in stored)
            and names.shape == (len(names), dim)
            and none.shape == (len(none), dim)
            and all(np.isfinite(array).all() for array in (units, names, none))
            and all(array.dtype == np.int64 for array in (labels, name_labels, order))
            and labels.shape == (size,)
            and name_labels.shape == (len(names),)
            and np.array_equal(np.sort(order), np.arange(size))
            and numbers.min() >= 0
            and numbers.max() < len(intents)
            and len(set(intents)) == len(intents)
            and all(isinstance(intent, str) for intent in intents)
        )
        if not are_whole:
            raise ValueError("no examples of intents")
        return cls(tuple(intents), units, labels, order, names, name_labels, none, is_compact)


def rounded(units: Units, *, is_compact: bool) -> Units:
    """Return vectors (N, d) as they are stored, rounded to two bytes a number or not."""
    return as_stored(units) if is_compact else units
