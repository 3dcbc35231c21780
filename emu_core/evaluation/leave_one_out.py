"""Leave-one-out nearest-neighbour accuracy (Emu, "Evaluation Metric")."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emu_core.data.wording import listed
from emu_core.errors import DataError
from emu_core.evaluation.arrays import codes, id_keys, pair_name, rows_by_language, unit_vectors
from emu_core.evaluation.retrieval import met_rows, nearest_rows


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Acc@1 of every ordered pair "s-t" of languages: queries in s, labelled pool in t.

    Attributes:
        languages: the languages measured.
        accuracy: percent of queries whose nearest neighbour has their intent, by pair.
        correct: whether each query's has, by pair, in the order of `queries[s]`.
        nearest: row number of each query's nearest neighbour, by pair, in the same order.
        cosines: cosine of each query and that neighbour, by pair.
        counts: number of queries, by pair.
        queries: row numbers of each language's sentences, in their order.
    """

    languages: tuple[str, ...]
    accuracy: dict[str, float]
    correct: dict[str, NDArray[np.bool_]]
    nearest: dict[str, NDArray[np.int64]]
    cosines: dict[str, NDArray[np.float32]]
    counts: dict[str, int]
    queries: dict[str, NDArray[np.int64]]

    @property
    def mean(self) -> float:
        """The mean accuracy over all pairs, in percent, each pair counting once."""
        return float(np.mean(list(self.accuracy.values())))

    def mean_with(self, language: str) -> float:
        """Return the mean accuracy over the pairs with `language` on a side: 11 of 6 languages' 36, as in Table 2.

        Raises:
            DataError: the language was not measured.
        """
        if language not in self.languages:
            raise DataError(f"no language '{language}' was measured; there is: {listed(self.languages, 30)}")
        others = [other for other in self.languages if other != language]
        pairs = [(language, language), *((language, o) for o in others), *((o, language) for o in others)]
        return float(np.mean([self.accuracy[pair_name(*pair)] for pair in pairs]))


def leave_one_out(
    vectors: NDArray[np.floating],
    intents: Sequence[str],
    languages: Sequence[str],
    ids: Sequence[str],
    *,
    languages_asked: Sequence[str] | None = None,
) -> LeaveOneOut:
    """Measure how often a sentence's nearest neighbour by cosine has its intent, for every ordered pair of languages.

    A query's own id is left out of the pool in every language, so that it meets neither itself nor its
    translations; a row whose id is "" leaves out itself only. Among pool rows whose cosines are equal (within
    1e-6), the one that comes first is the nearest. An intent that the pool does not have counts as wrong.

    Args:
        vectors: (N, d), of the test data only; they need not have length 1.
        intents: N intents.
        languages: N language codes.
        ids: N ids; the same id means translations of each other.
        languages_asked: measure the pairs of these only; None takes every language, English first.

    Raises:
        DataError: a vector is zero or not finite, a language asked for is not there or has fewer than 2
            sentences, a query's pool is empty without its own id, or the lengths differ.
    """
    units = unit_vectors(vectors)
    labels = codes(intents, len(units), "intents")
    keys = id_keys(ids, len(units))
    rows = _asked_rows(rows_by_language(languages, len(units)), languages_asked)
    parts = {language: units[of_language] for language, of_language in rows.items()}
    correct: dict[str, NDArray[np.bool_]] = {}
    nearest: dict[str, NDArray[np.int64]] = {}
    cosines: dict[str, NDArray[np.float32]] = {}
    for source, queries in rows.items():
        for target, pool in rows.items():
            found, near = nearest_rows(parts[source], keys[queries], parts[target], keys[pool])
            pair = pair_name(source, target)
            cosines[pair] = near[:, 0]
            nearest[pair] = pool[met_rows(found[:, 0], queries, f"language '{target}'")]
            correct[pair] = labels[nearest[pair]] == labels[queries]
    return LeaveOneOut(
        languages=tuple(rows),
        accuracy={pair: 100 * float(right.mean()) for pair, right in correct.items()},
        correct=correct,
        nearest=nearest,
        cosines=cosines,
        counts={pair: len(right) for pair, right in correct.items()},
        queries=rows,
    )


def _asked_rows(
    rows: dict[str, NDArray[np.int64]], asked: Sequence[str] | None
) -> dict[str, NDArray[np.int64]]:
    """Return the rows of the languages asked for, in the order asked, each language once."""
    wanted = tuple(rows) if asked is None else tuple(dict.fromkeys(asked))
    if not wanted:
        raise DataError("no language was asked for; name one or more")
    for language in wanted:
        if language not in rows:
            raise DataError(f"no language '{language}' in the data; there is: {listed(rows, 30)}")
        if len(rows[language]) < 2:
            raise DataError(
                f"language '{language}' has one sentence, and leave-one-out needs two or more; add some, or "
                "leave the language out"
            )
    return {language: rows[language] for language in wanted}
