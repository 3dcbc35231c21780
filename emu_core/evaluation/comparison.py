"""The comparison of two encoders on the same labelled sentences: accuracy, gains, leakage, neighbours and triples."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.data.cleaning import normal_form
from emu_core.data.repeats import group_numbers, sentence_groups
from emu_core.data.wording import counted, shown
from emu_core.errors import DataError
from emu_core.evaluation.arrays import Vectors, pair_name
from emu_core.evaluation.asked import known_rows, nearest_by_language, translated_rows
from emu_core.evaluation.changes import Changes, similar_changes
from emu_core.evaluation.leakage import Leakage, LeakageChange, language_leakage
from emu_core.evaluation.leave_one_out import LeaveOneOut, leave_one_out
from emu_core.evaluation.neighbour_changes import Change, changes_of
from emu_core.evaluation.prediction import RightIntents
from emu_core.evaluation.significance import (
    SignedRank,
    accuracy_interval,
    paired_test,
    wilcoxon,
)
from emu_core.evaluation.similarity import cosine_matrix, heat_map_order
from emu_core.evaluation.triples import PAIRS, suggest_triples, triple

SIGNIFICANT = 0.05
POINTS = 0.05  # smaller differences are zero to the first decimal
TRIPLES = 12  # suggested of each kind
EXAMPLE_LANGUAGES = 3  # how many languages `Comparison.example_rows` shows
COMPARED_COLUMNS = ("text", "intent", "language", "id")
_SLOW = ("measured", "suggested", "accuracy", "similar", "wilcoxon")  # properties of `Comparison`


@dataclass(frozen=True, eq=False)
class Measured:
    """One encoder's leave-one-out accuracy, and its leakage, None with too few sentences or languages."""

    accuracy: LeaveOneOut
    leakage: Leakage | None


def measure_encoder(sentences: pd.DataFrame, vectors: Vectors) -> Measured:
    """Measure accuracy and language leakage of vectors (N, d) of N rows with the `COMPARED_COLUMNS`.

    No sentence is compared with its repeats or translations, see `sentence_groups`.

    Raises:
        DataError: a language has too few sentences to be measured, or a vector is zero or not finite.
    """
    intents, languages = (sentences[column].tolist() for column in ("intent", "language"))
    groups = sentence_groups(sentences)
    accuracy = leave_one_out(vectors, intents, languages, groups)
    try:
        leakage = language_leakage(vectors, languages, groups)
    except DataError:  # one language, or too few sentences of one
        leakage = None
    return Measured(accuracy, leakage)


def leakage_change(base: Measured, other: Measured) -> LeakageChange | None:
    """Return the leakage of both encoders; None if that of one could not be measured."""
    if base.leakage is None or other.leakage is None:
        return None
    return LeakageChange(base.leakage, other.leakage)


@dataclass(frozen=True)
class Trained:
    """The cost of the training that made one encoder of another, and its warnings.

    Attributes:
        seconds: how long it took.
        warnings: one sentence each.
        peak_memory_mb: the most memory that its process held, in MiB; 0 if that is unknown.
    """

    seconds: float
    warnings: tuple[str, ...] = ()
    peak_memory_mb: float = 0.0


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two encoders on the same labelled sentences; each figure is computed once, when it is first used.

    Attributes:
        sentences: N rows with the columns `text`, `intent`, `language` and `id` ("" is no id; the same id in two
            languages means translations of each other).
        base: (N, d) vectors of the reference encoder.
        other: (N, e) vectors of the encoder whose gain is measured.
        names: the names of the two.
        forgetting: the results of `emu_core.forgetting`, as `read_forgetting` returns them; None if it was not run.
        notes: remarks for readers of the figures, such as that the sentences were trained on.
        intents: how many of the sentences' intents are named right with each encoder; None if that was not measured.
        trained: the run that made the other encoder of the base one; None if these are any two encoders.
    """

    sentences: pd.DataFrame
    base: Vectors
    other: Vectors
    names: tuple[str, str] = ("Base", "Specialised")
    forgetting: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()
    intents: RightIntents | None = None
    trained: Trained | None = None

    def __post_init__(self) -> None:
        """Check the arguments.

        Raises:
            DataError: a column is missing, the numbers of rows differ, or both encoders have one name.
        """
        if missing := [column for column in COMPARED_COLUMNS if column not in self.sentences]:
            raise DataError(
                f"the sentences have no column '{missing[0]}'; give {', '.join(COMPARED_COLUMNS)}"
            )
        if not len(self.sentences) == len(self.base) == len(self.other):
            raise DataError(
                f"{len(self.base):,} and {len(self.other):,} vectors can't be paired over {len(self.sentences):,} "
                "sentences; encode the same sentences with both encoders"
            )
        if self.names[0] == self.names[1]:
            raise DataError(f"both encoders are called '{self.names[0]}'; give them two names")
        object.__setattr__(self, "sentences", self.sentences.reset_index(drop=True))

    def computed(self) -> dict[str, object]:
        """Compute everything that takes time, and return it without the vectors, to be sent from another process."""
        return {name: getattr(self, name) for name in _SLOW}

    def with_computed(self, figures: dict[str, object]) -> "Comparison":
        """Take over the result of `computed` for the same comparison, and return self."""
        self.__dict__.update(figures)
        return self

    @cached_property
    def measured(self) -> tuple[Measured, Measured]:
        """The measures of the base encoder and of the other one."""
        return measure_encoder(self.sentences, self.base), measure_encoder(self.sentences, self.other)

    @cached_property
    def suggested(self) -> dict[bool, NDArray[np.int64]]:
        """Rows (k, 3) of the triples that `triples` scores, by whether S3 is in another language."""
        texts, intents, languages = (
            self.sentences[column].tolist() for column in ("text", "intent", "language")
        )
        given = (self.base, intents, texts, languages, sentence_groups(self.sentences), TRIPLES)
        return {
            across: suggest_triples(*given, np.random.default_rng(0), across_languages=across)
            for across in (False, True)
        }

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages measured, English first."""
        return self.measured[0].accuracy.languages

    @cached_property
    def accuracy(self) -> pd.DataFrame:
        """Leave-one-out Acc@1 of each direction.

        Columns: `pair`, `queries`, `pool`, `n` (queries); percent with the 95 % binomial interval (`base`, `base_low`,
        `base_high`, and the same for `other`); `difference` in points with its interval (`difference_low`,
        `difference_high`), `fixed` and `broken` (sentences that only one encoder has right) and `p_value`, all of the
        paired test (exact McNemar).
        """
        accuracies = [measured.accuracy for measured in self.measured]
        rows = []
        for source, target in product(self.languages, repeat=2):
            pair = pair_name(source, target)
            row: dict[str, object] = {
                "pair": pair,
                "queries": source,
                "pool": target,
                "n": accuracies[0].counts[pair],
            }
            for name, measured_accuracy in zip(("base", "other"), accuracies, strict=True):
                low, high = accuracy_interval(measured_accuracy.correct[pair])
                row |= {name: measured_accuracy.accuracy[pair], f"{name}_low": low, f"{name}_high": high}
            test = paired_test(accuracies[0].correct[pair], accuracies[1].correct[pair])
            row |= {"difference": test.difference, "difference_low": test.low, "difference_high": test.high}
            rows.append(row | {"fixed": test.gained, "broken": test.lost, "p_value": test.p_value})
        return pd.DataFrame(rows)

    @cached_property
    def means(self) -> pd.DataFrame:
        """The mean accuracy: over the directions with English if English is one of several languages, else over all.

        Columns: `over` (such as "11 directions with English on a side"), `base`, `other` (percent), `difference`
        (points).
        """
        base, other = (measured.accuracy for measured in self.measured)
        rows = [(base.mean_over, base.paper_mean, other.paper_mean, other.paper_mean - base.paper_mean)]
        return pd.DataFrame(rows, columns=["over", "base", "other", "difference"])

    @cached_property
    def wilcoxon(self) -> SignedRank:
        """The signed-rank test over the directions' differences."""
        return wilcoxon(self.accuracy["difference"].to_numpy())

    @property
    def fallen(self) -> pd.DataFrame:
        """The rows of `accuracy` of directions that got worse, the largest fall first."""
        return self.accuracy[self.accuracy["difference"] < -POINTS].sort_values("difference")

    @property
    def risen(self) -> pd.DataFrame:
        """The rows of `accuracy` of directions that got better, the largest gain first."""
        better = self.accuracy[self.accuracy["difference"] > POINTS]
        return better.sort_values("difference", ascending=False)

    def matrix(self, column: str) -> pd.DataFrame:
        """Return a column of `accuracy` as a matrix, with languages of queries as rows and of pools as columns."""
        order = list(self.languages)
        table = self.accuracy.pivot_table(index="queries", columns="pool", values=column)
        return table.reindex(index=order, columns=order)

    @cached_property
    def similar(self) -> Changes:
        """How similar sentences are found over the directions of `means`: overall, and by the language of the query."""
        before, after = self.measured
        return similar_changes(before.accuracy, after.accuracy, group_numbers(self.sentences))

    @property
    def leakage_change(self) -> LeakageChange | None:
        """The leakage of both encoders; None if that can't be measured."""
        return leakage_change(*self.measured)

    @property
    def gains(self) -> pd.DataFrame:
        """How similar sentences are found by language, over the directions of `means`.

        Columns: `language`, `base`, `other` (percent), `difference`, `low`, `high` (points, 95 %), `verdict`,
        `queries`.
        """
        return self.similar.frame.rename(columns={"specialised": "other"})

    @property
    def leakage(self) -> pd.DataFrame | None:
        """How well the vectors predict the language of a sentence; None if that can't be measured.

        Columns: `measure` ("probe" or "neighbours", see `Leakage`), `base`, `other`, `chance` (percent), `sentences`,
        `languages` (their numbers).
        """
        if self.leakage_change is None:
            return None
        base, other = self.leakage_change.base, self.leakage_change.specialised
        rows = [
            ("probe", base.probe, other.probe, base.probe_chance),
            ("neighbours", base.neighbours, other.neighbours, base.neighbours_chance),
        ]
        table = pd.DataFrame(rows, columns=["measure", "base", "other", "chance"])
        return table.assign(sentences=base.sentences, languages=base.languages)

    def changes(self, pool: str | None = None) -> pd.DataFrame:
        """Return a row for each sentence: its nearest neighbour by both encoders, and whether it changed.

        A neighbour is never a repeat or translation of the sentence. Columns: `change` (see `Change`), `sentence`,
        `language`, `intent`, and for the neighbour by each encoder, prefixed with `base_` and `other_`: `neighbour`,
        `language`, `intent`, `cosine` and `row`.

        Args:
            pool: the language of the neighbours; None for all languages together.
        """
        intents = self.sentences["intent"].to_numpy()
        (old, _), (new, _) = nearest_by_encoder = [
            self._nearest(measured.accuracy, pool) for measured in self.measured
        ]
        table = self.sentences[["text", "language", "intent"]].rename(columns={"text": "sentence"})
        table.insert(0, "change", changes_of(intents, old, new))
        for name, (rows, cosines) in zip(("base", "other"), nearest_by_encoder, strict=True):
            for column, title in (("text", "neighbour"), ("language", "language"), ("intent", "intent")):
                table[f"{name}_{title}"] = self.sentences[column].to_numpy()[rows]
            table[f"{name}_cosine"] = cosines
            table[f"{name}_row"] = rows
        return table

    def ask(self, text: str) -> pd.DataFrame:
        """Return what both encoders find for one of the sentences and its translations, a row for each language.

        The columns are those of `nearest_by_language`, with the encoders' names `base` and `other`.

        Args:
            text: one of the sentences, in any of their languages.

        Raises:
            DataError: it is none of them.

        Examples:
            >>> import emu_core
            >>> comparison = emu_core.compare("demo", "runs/hotel")
            >>> table = comparison.ask("Can I have my poodle washed by 6 pm?")
            >>> table["language"].tolist()
            ['en', 'de', 'es', 'fr', 'ja', 'zh']
        """
        row = known_rows(self.sentences).get(normal_form(text))
        if row is None:
            raise DataError(
                f"'{shown(text, 60)}' is none of the {counted(len(self.sentences), 'sentence')} that are compared, so "
                "its translations aren't known; take one of `sentences['text']`"
            )
        vectors = {"base": self.base, "other": self.other}
        return nearest_by_language(self.sentences, vectors, translated_rows(self.sentences, row))

    def change_counts(self, pool: str | None = None) -> pd.DataFrame:
        """Return the number of sentences of each `language` with each `Change`; see `changes`."""
        table = self.changes(pool)
        counts = pd.crosstab(table["language"], table["change"])
        counts = counts.reindex(
            index=list(self.languages), columns=[str(kind) for kind in Change], fill_value=0
        )
        return counts.rename_axis(columns=None).reset_index()

    def confusion(self, pool: str | None = None) -> pd.DataFrame:
        """Return how often a sentence of one intent has a nearest neighbour of another, by both encoders.

        Columns: `intent`, `neighbour` (the neighbour's intent), `base`, `other` (sentences), `difference`. There is a
        row for each pair of intents that occurs, including an intent with itself.

        Args:
            pool: the language of the neighbours; None for all languages together.
        """
        table = self.changes(pool)
        counts = pd.concat(
            {side: table.groupby(["intent", f"{side}_intent"]).size() for side in ("base", "other")}, axis=1
        )
        counts = counts.fillna(0).astype(int).rename_axis(["intent", "neighbour"]).sort_index().reset_index()
        return counts.assign(difference=counts["other"] - counts["base"])

    def _nearest(
        self, accuracy: LeaveOneOut, pool: str | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return each sentence's nearest row and the cosine, (N,) each; of equal cosines the row that comes first."""
        nearest = np.empty(len(self.sentences), dtype=np.int64)
        cosines = np.empty(len(self.sentences), dtype=np.float32)
        for source, queries in accuracy.queries.items():
            nearest[queries], cosines[queries], _ = accuracy.best(source, None if pool is None else (pool,))
        return nearest, cosines

    def triples(self, *, across_languages: bool = False) -> pd.DataFrame:
        """Return triples of the data that show the base encoder's textual similarity bias, scored by both encoders.

        S3 means what S1 means and S2 only looks like S1, but the base encoder puts S2 nearer to S1. Columns: `s1`,
        `s2`, `s3` (texts); `intent`, `intent_s2`, `language`, `language_s3`; the rows `row1`, `row2`,
        `row3`; and for both encoders (`base_`, `other_`) the cosines `s12`, `s13`, `s23` and `closest`, such as "1-3".

        Args:
            across_languages: S3 in another language than S1 and S2.
        """
        triple_rows = self.suggested[across_languages]
        text, intent, language = (
            self.sentences[column].to_numpy() for column in ("text", "intent", "language")
        )
        table = {f"s{number}": text[triple_rows[:, number - 1]] for number in (1, 2, 3)}
        table |= {"intent": intent[triple_rows[:, 0]], "intent_s2": intent[triple_rows[:, 1]]}
        table |= {"language": language[triple_rows[:, 0]], "language_s3": language[triple_rows[:, 2]]}
        table |= {f"row{number}": triple_rows[:, number - 1] for number in (1, 2, 3)}
        for name, vectors in (("base", self.base), ("other", self.other)):
            scored = [triple(vectors[rows]) for rows in triple_rows]
            for number, (i, j) in enumerate(PAIRS):
                table[f"{name}_s{i}{j}"] = np.array(
                    [scored_triple.cosines[number] for scored_triple in scored]
                )
            table[f"{name}_closest"] = np.array(
                ["-".join(map(str, scored_triple.closest)) for scored_triple in scored], dtype=object
            )
        return pd.DataFrame(table)

    def example_rows(self) -> list[int]:
        """Return the rows of a triple that the base encoder gets wrong, with its translations, if there is one."""
        if not len(self.suggested[False]):
            return []
        rows = self.suggested[False][0].tolist()
        language = self.sentences["language"].iloc[rows[0]]
        spoken = [language, *(code for code in self.languages if code != language)][:EXAMPLE_LANGUAGES]
        ids = set(self.sentences["id"].iloc[rows]) - {""}
        translated = self.sentences["id"].isin(ids) & self.sentences["language"].isin(spoken)
        return list(dict.fromkeys([*rows, *np.flatnonzero(translated).tolist()]))

    def similarity(self, rows: Sequence[int]) -> dict[str, pd.DataFrame]:
        """Return the matrix of cosines of some sentences by each encoder, by the encoders' names.

        Args:
            rows: row numbers; sorted by intent and language they are index and columns of the matrices.
        """
        part = self.sentences.iloc[list(rows)]
        order = part.index[heat_map_order(part["intent"].tolist(), part["language"].tolist())]
        return {
            name: pd.DataFrame(cosine_matrix(vectors[order]), index=order, columns=order)
            for name, vectors in zip(self.names, (self.base, self.other), strict=True)
        }
