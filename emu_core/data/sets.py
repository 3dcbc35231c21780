"""Sets of sentences, labelled with intents or not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.data.cleaning import normal_form, texts_hash
from emu_core.data.intent_names import seen_names
from emu_core.data.languages import language_code, ordered
from emu_core.data.none_of_these import usual_names
from emu_core.data.repeats import is_repeat, sentence_groups, without_repeats
from emu_core.data.splits import split_code
from emu_core.data.wording import counted, kind_of, listed, shown
from emu_core.errors import DataError, InputError

LABELLED_COLUMNS = ("id", "text", "intent", "language", "split", "annotated")
"""The columns of a labelled set, all of strings."""


@dataclass(frozen=True, eq=False, repr=False)
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
        self._check(self.frame)

    def _check(self, frame: pd.DataFrame) -> None:
        if list(frame.columns) != list(self.columns):
            raise DataError(
                f"a set has the columns {listed(self.columns)}, this has {listed(frame.columns)}; make "
                "it with read_labelled or labelled_from_frame"
            )
        if not frame.index.equals(pd.RangeIndex(len(frame))):
            raise DataError("a set's rows are numbered from 0 on; call reset_index(drop=True) first")
        for column in self.columns:
            values = frame[column]
            if not pd.api.types.is_string_dtype(values):
                raise DataError(f"a set's column '{column}' is not of strings; convert it with astype('str')")
            if values.isna().any() or (column in self.never_empty and (values == "").any()):
                raise DataError(
                    f"a set's column '{column}' has an empty cell; labelled_from_frame drops such rows"
                )

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        """Return name and counts, and not the rows."""
        what = f"{counted(len(self), 'sentence')} in {listed(self.languages)}"
        return f"<{type(self).__name__} {shown(self.name)}: {what}>"

    @property
    def languages(self) -> tuple[str, ...]:
        """The language codes, sorted, English first."""
        return ordered(self.frame["language"].unique())


class UnlabelledSet(SentenceSet):
    """Sentences without labels: columns text and language, never empty, and id, "" for none."""

    columns = ("text", "language", "id")
    never_empty = ("text", "language")

    @classmethod
    def learnable(cls, sentences: pd.DataFrame, labelled: "LabelledSet") -> Self:
        """Return sentences to learn from, each once, without those that a labelled set holds out, under its name."""
        frame = without_repeats(sentences[list(cls.columns)])
        if (held_out := labelled.held_out_part()) is not None:
            frame = frame[~is_repeat(frame, held_out.all_rows())].reset_index(drop=True)
        return cls(frame, labelled.name)


def _no_rows() -> pd.DataFrame:
    return pd.DataFrame({column: pd.Series(dtype="str") for column in LABELLED_COLUMNS})


@dataclass(frozen=True, eq=False, repr=False)
class LabelledSet(SentenceSet):
    """Sentences with an intent: the columns of LABELLED_COLUMNS.

    Text, intent and language are never empty; id, split and annotated are "" for none. Sentences with the same id in
    two languages are translations of each other.

    Attributes:
        none_of_these: sentences with none of the intents, in the same columns: their intent is the name under which
            they were labelled, such as out_of_scope. Length, intents, languages and splits are those of `frame`.
        descriptions: what some intents are about, in words of any language, which count instead of their names; ""
            for one whose name counts. Of intents without a sentence they are all that is known.
    """

    columns = LABELLED_COLUMNS
    never_empty = ("text", "intent", "language")
    none_of_these: pd.DataFrame = field(default_factory=_no_rows)
    descriptions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(self.none_of_these)

    @classmethod
    def of_nothing(cls, name: str) -> Self:
        """Return a set without rows, for sentences that have no labels."""
        return cls(_no_rows(), name)

    @classmethod
    def divided(cls, rows: pd.DataFrame, name: str, none_of_these: Sequence[str]) -> Self:
        """Return a set of rows, of which those with an intent in `none_of_these` have none."""
        is_none = rows["intent"].isin(none_of_these)
        return cls(rows[~is_none].reset_index(drop=True), name, rows[is_none].reset_index(drop=True))

    def described(self, descriptions: Mapping[str, str]) -> "LabelledSet":
        """Return the set with descriptions of intents, instead of those that it has of the same ones.

        They are found by name, whatever its case. Those of what stands for "none of these" are left out: it is no
        intent.

        Raises:
            DataError: two names are spellings of one intent, and their descriptions differ.
        """
        known = self.intents
        spelt, seen = {normal_form(name): name for name in known}, seen_names(descriptions)
        none = {*map(normal_form, self.none_of_these["intent"]), *map(normal_form, usual_names(descriptions))}
        texts: dict[str, str] = {}
        for given, text in descriptions.items():
            name = seen[given] if seen[given] in known else spelt.get(normal_form(given), seen[given])
            if name not in known and normal_form(name) in none:
                continue
            if texts.setdefault(name, text) != text:
                raise DataError(f"the intent '{shown(name)}' has two descriptions; keep one")
        return replace(self, descriptions={**self.descriptions, **texts})

    def with_no_intents(self, no_intents: Sequence[str], real_intents: Sequence[str] = ()) -> "LabelledSet":
        """Return the set with some intents standing for "none of these", and others no longer.

        Raises:
            DataError: no row has such an intent, or a single intent is left.
        """
        if not (no_intents or real_intents):
            return self
        rows = self.all_rows()
        known = {normal_form(name): name for name in rows["intent"].unique()}
        spelt = seen_names([*known.values(), *no_intents, *real_intents])
        no_intents, real_intents = ([spelt[name] for name in names] for names in (no_intents, real_intents))
        if absent := [name for name in (*no_intents, *real_intents) if normal_form(name) not in known]:
            raise DataError(
                f"no row has the intent '{shown(absent[0])}'; there are: {listed(known.values(), 8)}"
            )
        named, real = ({known[normal_form(name)] for name in names} for names in (no_intents, real_intents))
        names = {*self.none_of_these["intent"], *named} - real
        divided = LabelledSet.divided(rows, self.name, sorted(names))
        return divided._revised(divided.frame)

    def all_rows(self) -> pd.DataFrame:
        """Return the rows with an intent, followed by those with none of them."""
        return pd.concat([self.frame, self.none_of_these], ignore_index=True)

    def with_every_row(self) -> "LabelledSet":
        """Return the set with all rows as labelled ones, for methods that do not learn intents."""
        return replace(self, frame=self.all_rows(), none_of_these=_no_rows())

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
        of_none = self.none_of_these
        keep = pd.Series(True, index=of_none.index)
        for column, wanted in _codes(languages, splits):
            if wanted is not None:
                keep &= of_none[column].isin(wanted)
        return replace(
            self, frame=frame.reset_index(drop=True), none_of_these=of_none[keep].reset_index(drop=True)
        )

    def selected(
        self, *, languages: Sequence[str] | None = None, splits: Sequence[str] | None = None
    ) -> NDArray[np.bool_]:
        """Return whether each row is in the given languages and splits, as `select` takes them, (N,).

        Raises:
            DataError: as `select`.
        """
        keep = pd.Series(True, index=self.frame.index)
        available_by_column = {"language": self.languages, "split": self.splits}
        for column, wanted in _codes(languages, splits):
            available = available_by_column[column]
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

    @property
    def has_train_part(self) -> bool:
        """Whether there are rows to train on."""
        return len(self) > 0 and (not self.splits or "train" in self.splits)

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
        rows = self.all_rows()
        named = pd.Series(sentence_groups(rows), index=rows.index, dtype="str")
        group = named.where(named != "", " row " + rows.index.astype("str"))
        # Groups without an id are drawn for each language separately, so that each has some.
        bare = ~group.isin(rows["id"])
        stratum = rows["intent"] + "\0" + rows["language"].where(bare, "")
        firsts = pd.DataFrame({"group": group, "stratum": stratum}).drop_duplicates("group")
        rng = np.random.default_rng(seed)
        chosen: set[str] = set()
        for _, groups in firsts.groupby("stratum", sort=True)["group"]:
            count = max(1, round(share * len(groups))) if len(groups) > 1 else 0
            chosen.update(groups.to_numpy()[rng.permutation(len(groups))[:count]])
        # A sentence with several intents may take the only one of an intent along.
        is_lost = ~rows["intent"].isin(rows["intent"][~group.isin(chosen)])
        chosen.difference_update(group[is_lost])
        rows["split"] = np.where(group.isin(chosen), "test", "train")
        of_none = rows.iloc[len(self) :].reset_index(drop=True)
        return replace(self, frame=rows.iloc[: len(self)], none_of_these=of_none)

    def relabel(self, rows: Sequence[int], intent: str) -> "LabelledSet":
        """Return the set with another intent for some rows, counted from 0.

        Raises:
            DataError: there is no such row, the intent has no name, or a single intent is left.
        """
        if not (intent := seen_names([*self.intents, intent])[intent]):
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
        return replace(self, frame=frame)

    def counts(self) -> pd.DataFrame:
        """Return `count_table` of the sentences."""
        return count_table(self.frame)

    def sha256(self) -> str:
        """Return a hash of the six columns of all rows, the same on every machine."""
        rows = self.all_rows()
        columns = (rows[column].tolist() for column in LABELLED_COLUMNS)
        return texts_hash(len(self).to_bytes(8, "little"), *columns)


def _codes(
    languages: Sequence[str] | None, splits: Sequence[str] | None
) -> tuple[tuple[str, list[str] | None], ...]:
    """Return the columns to select by, each with its values as codes; None for all."""
    codes = None if languages is None else [language_code(name) or name for name in languages]
    parts = None if splits is None else [split_code(name) for name in splits]
    return ("language", codes), ("split", parts)


def unlabelled_from(labelled: LabelledSet, languages: Sequence[str]) -> UnlabelledSet:
    """Return a labelled set's sentences in the given languages. Raises DataError if a language is not in the set.

    Examples:
        >>> import emu_core
        >>> emu_core.unlabelled_from(emu_core.load_demo(), ["de", "fr"]).languages
        ('de', 'fr')
    """
    if not isinstance(labelled, LabelledSet):
        raise InputError(f"{kind_of(labelled)} is no labelled set; emu_core.read_labelled makes one of it")
    frame = labelled.select(languages=languages).frame
    return UnlabelledSet(frame[["text", "language", "id"]], labelled.name)


def count_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the number of rows of each intent (rows, sorted) in each language (columns, English first)."""
    table = frame.groupby(["intent", "language"]).size().unstack(fill_value=0)
    return table.reindex(columns=list(ordered(table.columns))).astype("int64")
