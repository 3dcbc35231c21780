"""Sets of sentences, labelled with intents or not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.data.cleaning import as_seen, texts_hash
from emu_core.data.labelled.columns import LABELLED_COLUMNS
from emu_core.data.labelled.repeats import sentence_groups
from emu_core.data.languages import language_code, ordered
from emu_core.data.splits import split_code
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError


@dataclass(frozen=True, eq=False)
class SentenceSet:
    """A table of sentences, made by `read_labelled`, `labelled_from_frame` or `read_unlabelled`.

    Attributes:
        frame: the class's columns, all strings, and a fresh RangeIndex; anything else is a DataError.
        name: the set's name, such as its files' names.
    """

    columns: ClassVar[tuple[str, ...]]
    never_empty: ClassVar[tuple[str, ...]]
    frame: pd.DataFrame
    name: str

    def __post_init__(self) -> None:
        if list(self.frame.columns) != list(self.columns):
            raise DataError(
                f"a set has the columns {listed(self.columns)}, this has {listed(self.frame.columns)}; make "
                "it with read_labelled or labelled_from_frame"
            )
        if not self.frame.index.equals(pd.RangeIndex(len(self.frame))):
            raise DataError("a set's rows are numbered from 0 on; call reset_index(drop=True) first")
        for column in self.columns:
            values = self.frame[column]
            if not pd.api.types.is_string_dtype(values):
                raise DataError(f"a set's column '{column}' is not of strings; convert it with astype('str')")
            if values.isna().any() or (column in self.never_empty and (values == "").any()):
                raise DataError(
                    f"a set's column '{column}' has an empty cell; labelled_from_frame drops such rows"
                )

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def languages(self) -> tuple[str, ...]:
        """The language codes, sorted, English first."""
        return ordered(self.frame["language"].unique())


class UnlabelledSet(SentenceSet):
    """Sentences without labels: columns text and language, never empty, and id, "" for none."""

    columns = ("text", "language", "id")
    never_empty = ("text", "language")


class LabelledSet(SentenceSet):
    """Sentences with an intent: the columns of LABELLED_COLUMNS.

    Text, intent and language are never empty; id, split and annotated are "" for none. Sentences with the same id in
    two languages are translations of each other.
    """

    columns = LABELLED_COLUMNS
    never_empty = ("text", "intent", "language")

    @property
    def intents(self) -> tuple[str, ...]:
        """The intents, sorted."""
        return tuple(sorted(self.frame["intent"].unique()))

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits, sorted; empty if no row has one."""
        return tuple(sorted(set(self.frame["split"].unique()) - {""}))

    def select(
        self, *, languages: Sequence[str] | None = None, splits: Sequence[str] | None = None
    ) -> "LabelledSet":
        """Return the rows in the given languages and splits, in their order; None takes all.

        Raises:
            DataError: a language or split is not in the set, or no row is in both.
        """
        frame = self.frame[self.selected(languages=languages, splits=splits)]
        return LabelledSet(frame.reset_index(drop=True), self.name)

    def selected(
        self, *, languages: Sequence[str] | None = None, splits: Sequence[str] | None = None
    ) -> NDArray[np.bool_]:
        """Return whether each row is in the given languages and splits, as `select` takes them, (N,).

        Raises:
            DataError: as `select`.
        """
        codes = None if languages is None else [language_code(name) or name for name in languages]
        parts = None if splits is None else [split_code(name) for name in splits]
        keep = pd.Series(True, index=self.frame.index)
        for column, wanted, available in (("language", codes, self.languages), ("split", parts, self.splits)):
            if unknown := [value for value in wanted or () if value not in available]:
                raise DataError(
                    f"no {column} '{shown(unknown[0])}' in the data; there is: {listed(available, 30)}"
                )
            if wanted is not None:
                keep &= self.frame[column].isin(wanted)
        if not keep.any():
            raise DataError(
                f"no row in language {listed(languages or self.languages)} and split "
                f"{listed(splits or self.splits)}; choose others"
            )
        return keep.to_numpy(dtype=bool)

    def train_part(self) -> "LabelledSet":
        """Return the rows of split train, or all without splits. Raises DataError for splits without train."""
        if self.splits and "train" not in self.splits:
            raise DataError(
                f"no split 'train' in the data; there is: {listed(self.splits)}. Add the file of sentences to train "
                "on, or name one file alone, whose rows then have no split by its name"
            )
        return self.select(splits=["train"]) if self.splits else self

    def dev_part(self) -> "LabelledSet | None":
        """Return the rows of split dev; None if there are none."""
        return self.select(splits=["dev"]) if "dev" in self.splits else None

    def held_out_part(self) -> "LabelledSet | None":
        """Return the rows to measure on: those of split test, or else of dev; None if there are neither."""
        return self.select(splits=["test"]) if "test" in self.splits else self.dev_part()

    def hold_out(self, share: float, seed: int = 0) -> "LabelledSet":
        """Return the set with a share of each intent's sentences as split test, and the others as split train.

        Translations (rows of one id) and repeats of a sentence, whatever their ids, stay together. An intent's only
        sentence is in train.

        Args:
            share: above 0 and below 1.
            seed: of the draw.
        """
        named = pd.Series(sentence_groups(self.frame), index=self.frame.index, dtype="str")
        group = named.where(named != "", " row " + self.frame.index.astype("str"))
        # Groups without an id are drawn for each language separately, so that each has some.
        bare = ~group.isin(self.frame["id"])
        stratum = self.frame["intent"] + "\0" + self.frame["language"].where(bare, "")
        firsts = pd.DataFrame({"group": group, "stratum": stratum}).drop_duplicates("group")
        rng = np.random.default_rng(seed)
        chosen: set[str] = set()
        for _, groups in firsts.groupby("stratum", sort=True)["group"]:
            count = max(1, round(share * len(groups))) if len(groups) > 1 else 0
            chosen.update(groups.to_numpy()[rng.permutation(len(groups))[:count]])
        # A sentence with several intents may take the only one of an intent along.
        is_lost = ~self.frame["intent"].isin(self.frame["intent"][~group.isin(chosen)])
        chosen.difference_update(group[is_lost])
        split = np.where(group.isin(chosen), "test", "train")
        return LabelledSet(self.frame.assign(split=split), self.name)

    def relabel(self, rows: Sequence[int], intent: str) -> "LabelledSet":
        """Return the set with another intent for some rows, counted from 0.

        Raises:
            DataError: there is no such row, the intent has no name, or a single intent is left.
        """
        if not (intent := as_seen(intent)):
            raise DataError("the intent has no name; give it one")
        frame = self.frame.copy()
        frame.loc[self._checked(rows), "intent"] = intent
        return self._revised(frame)

    def drop(self, rows: Sequence[int]) -> "LabelledSet":
        """Return the set without some rows, counted from 0.

        Raises:
            DataError: there is no such row, or a single intent is left.
        """
        return self._revised(self.frame.drop(index=self._checked(rows)).reset_index(drop=True))

    def _checked(self, rows: Sequence[int]) -> list[int]:
        if strangers := [row for row in rows if not 0 <= row < len(self)]:
            raise DataError(f"there is no row {strangers[0]}; the {len(self):,} rows are counted from 0")
        return list(rows)

    def _revised(self, frame: pd.DataFrame) -> "LabelledSet":
        if frame["intent"].nunique() < 2:
            raise DataError("a set needs sentences of two intents; keep more of them")
        return LabelledSet(frame, self.name)

    def counts(self) -> pd.DataFrame:
        """Return `count_table` of the sentences."""
        return count_table(self.frame)

    def sha256(self) -> str:
        """Return a hash of the six columns, the same on every machine."""
        columns = (self.frame[column].tolist() for column in LABELLED_COLUMNS)
        return texts_hash(len(self).to_bytes(8, "little"), *columns)


def unlabelled_from(labelled: LabelledSet, languages: Sequence[str]) -> UnlabelledSet:
    """Return a labelled set's sentences in the given languages. Raises DataError if a language is not in the set."""
    frame = labelled.select(languages=languages).frame
    return UnlabelledSet(frame[["text", "language", "id"]], labelled.name)


def count_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the number of rows of each intent (rows, sorted) in each language (columns, English first)."""
    table = frame.groupby(["intent", "language"]).size().unstack(fill_value=0)
    return table.reindex(columns=list(ordered(table.columns))).astype("int64")
