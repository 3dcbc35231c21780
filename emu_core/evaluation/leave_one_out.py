"""Nearest-neighbour accuracy: leave-one-out (Emu, "Evaluation Metric"), and queries against a labelled pool."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from emu_core.data.wording import counted, listed
from emu_core.errors import DataError
from emu_core.evaluation.arrays import (
    Vectors,
    check_length,
    codes,
    id_keys,
    pair_name,
    rows_by_language,
    unit_vectors,
)
from emu_core.evaluation.retrieval import TIE, nearest_rows

PIVOT = "en"  # the paper's mean is over the directions with this language on a side
_Rows = Mapping[str, NDArray[np.int64]]
"""Row numbers by language."""


@dataclass(frozen=True, eq=False)
class NeighbourAccuracy:
    """Acc@1 of every pair "s-t" of languages: queries in s, labelled pool in t.

    Attributes:
        queries: row numbers of each language's queries, in their order.
        pools: the languages of the pool.
        correct: whether each query's nearest neighbour has its intent, by pair, in the order of `queries[s]`.
        nearest: row number in the pool of that neighbour, by pair, in the same order.
        cosines: cosine of each query and that neighbour, by pair.
    """

    queries: _Rows
    pools: tuple[str, ...]
    correct: dict[str, NDArray[np.bool_]]
    nearest: dict[str, NDArray[np.int64]]
    cosines: dict[str, NDArray[np.float32]]

    @cached_property
    def accuracy(self) -> dict[str, float]:
        """Percent of queries that are right, by pair."""
        return {pair: 100 * float(right.mean()) for pair, right in self.correct.items()}

    @property
    def counts(self) -> dict[str, int]:
        """Number of queries, by pair."""
        return {pair: len(right) for pair, right in self.correct.items()}

    @property
    def mean(self) -> float:
        """The mean accuracy over all pairs, in percent, each pair counting once."""
        return float(np.mean(list(self.accuracy.values())))

    def outcomes(self, source: str) -> list[NDArray[np.bool_]]:
        """Return for each language of the pool whether each query of a language is right."""
        return [self.correct[pair_name(source, target)] for target in self.pools]

    def best(
        self, source: str, pools: Sequence[str] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.bool_]]:
        """Return the nearest neighbours of a language's Q queries in several languages of the pool taken together.

        Args:
            source: the language of the queries.
            pools: languages of the pool; None takes all.

        Returns:
            Row numbers in the pool, cosines, and whether each is right, (Q,) each; of equal cosines the row that comes
            first.
        """
        pairs = [pair_name(source, target) for target in pools or self.pools]
        rows, cosines, correct = (
            np.stack([by_pair[pair] for pair in pairs])
            for by_pair in (self.nearest, self.cosines, self.correct)
        )
        equal = cosines >= cosines.max(axis=0) - TIE
        first = np.where(equal, rows, np.iinfo(np.int64).max).argmin(axis=0)[None]
        rows, cosines, correct = (np.take_along_axis(a, first, axis=0)[0] for a in (rows, cosines, correct))
        return rows, cosines, correct


class LeaveOneOut(NeighbourAccuracy):
    """Acc@1 of sentences among each other: queries and pool are the same rows."""

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages measured."""
        return self.pools

    @property
    def has_pivot(self) -> bool:
        """Whether English is one of several languages, so that the paper's mean is over its directions alone."""
        return PIVOT in self.pools and len(self.pools) > 1

    def outcomes(self, source: str) -> list[NDArray[np.bool_]]:
        """Return whether each query of a language is right, for each direction that the `paper_mean` is over.

        If there is English, the queries of another language are looked up among English sentences, and English ones
        among those of every language.
        """
        targets = (PIVOT,) if self.has_pivot and source != PIVOT else self.pools
        return [self.correct[pair_name(source, target)] for target in targets]

    @property
    def paper_mean(self) -> float:
        """The mean accuracy over the directions with English on a side, if there is English, else over all."""
        return self.mean_with(PIVOT) if self.has_pivot else self.mean

    @property
    def mean_over(self) -> str:
        """The directions of the `paper_mean` in words."""
        if self.has_pivot:
            return f"{2 * len(self.pools) - 1} language pairs with English on a side"
        return counted(len(self.correct), "language pair")

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


class PoolAccuracy(NeighbourAccuracy):
    """Acc@1 of queries against a pool, by pair and against the whole pool."""

    @property
    def by_language(self) -> dict[str, float]:
        """Percent of each language's queries that are right against the whole pool."""
        return {source: 100 * float(self.best(source)[2].mean()) for source in self.queries}

    def outcomes(self, source: str) -> list[NDArray[np.bool_]]:
        """Return whether each query of a language is right against the whole pool, which counts as one."""
        return [self.best(source)[2]]


def leave_one_out(
    vectors: Vectors,
    intents: Sequence[str],
    languages: Sequence[str],
    ids: Sequence[str],
    *,
    languages_asked: Sequence[str] | None = None,
) -> LeaveOneOut:
    """Measure how often a sentence's nearest neighbour by cosine has its intent, for every ordered pair of languages.

    A query's own id is left out of the pool in every language, so that it meets neither itself nor its
    translations; a row whose id is "" leaves out itself only. Repeats are left out as well where the ids are
    `sentence_groups`. Among pool rows whose cosines are equal (within
    1e-6), the one that comes first is the nearest. An intent that the pool does not have counts as wrong.

    Args:
        vectors: (N, d), of the test data only; they need not have length 1.
        intents: N intents.
        languages: N language codes.
        ids: N ids; the same id means translations of each other.
        languages_asked: measure the pairs of these only; None takes every language, English first.

    Raises:
        DataError: a vector is zero or not finite, a requested language is missing or has fewer than 2 sentences, a
            query's pool is empty without its own id, or the lengths differ.
    """
    units = unit_vectors(vectors)
    labels, keys = codes(intents, len(units), "intents"), id_keys(ids, len(units))
    rows = rows_by_language(languages, len(units))
    wanted = tuple(rows) if languages_asked is None else tuple(dict.fromkeys(languages_asked))
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
    sentences = _Labelled(units, labels, keys, {language: rows[language] for language in wanted})
    return _neighbour_accuracy(LeaveOneOut, sentences, sentences, "language")


def pool_accuracy(
    query_vectors: Vectors,
    query_intents: Sequence[str],
    query_languages: Sequence[str],
    pool_vectors: Vectors,
    pool_intents: Sequence[str],
    pool_languages: Sequence[str],
    *,
    query_ids: Sequence[str] | None = None,
    pool_ids: Sequence[str] | None = None,
) -> PoolAccuracy:
    """Measure how often a query's nearest neighbour in a labelled pool has its intent.

    A query never meets a pool row of its own id; "" is no id. Among pool rows whose cosines are equal (within
    1e-6), the one that comes first is the nearest. An intent that the pool does not have counts as wrong.

    Args:
        query_vectors: (Q, d).
        query_intents: Q intents.
        query_languages: Q language codes.
        pool_vectors: (P, d).
        pool_intents: P intents.
        pool_languages: P language codes.
        query_ids: Q ids; None means that no query has one.
        pool_ids: P ids; None means that no pool row has one.

    Raises:
        DataError: a vector is zero or not finite, a query may meet no pool row of a language, or the lengths
            differ.
    """
    units, pool_units = unit_vectors(query_vectors), unit_vectors(pool_vectors)
    q, p = len(units), len(pool_units)
    query_ids = [""] * q if query_ids is None else query_ids
    pool_ids = [""] * p if pool_ids is None else pool_ids
    for what, of_queries, of_pool in (("intents", query_intents, pool_intents), ("ids", query_ids, pool_ids)):
        check_length(of_queries, q, f"{what} of queries")
        check_length(of_pool, p, f"{what} of the pool")
    labels = codes([*query_intents, *pool_intents], q + p, "intents")
    keys = id_keys([*query_ids, *pool_ids], q + p)
    asked = _Labelled(units, labels[:q], keys[:q], rows_by_language(query_languages, q))
    pool = _Labelled(pool_units, labels[q:], keys[q:], rows_by_language(pool_languages, p))
    return _neighbour_accuracy(PoolAccuracy, asked, pool, "the pool's language")


class _Labelled(NamedTuple):
    """Labelled sentences to search among."""

    units: NDArray[np.float32]  # (N, d), unit vectors
    labels: NDArray[np.int64]  # (N,), the intents' numbers
    keys: NDArray[np.int64]  # (N,), see `nearest_rows`
    rows: _Rows  # each language that takes part, with its rows


_Kind = TypeVar("_Kind", bound=NeighbourAccuracy)


def _neighbour_accuracy(kind: type[_Kind], asked: _Labelled, pool: _Labelled, title: str) -> _Kind:
    """Find the nearest neighbour of each query in each language of the pool; `title` names a language in errors."""
    parts = {language: pool.units[rows] for language, rows in pool.rows.items()}
    accuracies = kind(asked.rows, tuple(pool.rows), {}, {}, {})
    for source, queries in asked.rows.items():
        part = asked.units[queries]
        for target, rows in pool.rows.items():
            pair = pair_name(source, target)
            near, cosines = nearest_rows(part, asked.keys[queries], parts[target], pool.keys[rows])
            if len(alone := queries[near[:, 0] < 0]):
                raise DataError(
                    f"the sentence of row {alone[0]} (from 0) has no other sentence in {title} '{target}' to be "
                    "compared with, not counting its repeats and translations; add some, or leave that language out"
                )
            accuracies.nearest[pair] = rows[near[:, 0]]
            accuracies.cosines[pair] = cosines[:, 0]
            accuracies.correct[pair] = pool.labels[accuracies.nearest[pair]] == asked.labels[queries]
    return accuracies
