"""One set cut in two for every system alike: what is trained on, and what is measured."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from emu_core.data.labelled import LabelledSet
from emu_core.errors import DataError

TEST_SHARE = 0.3


@dataclass(frozen=True, eq=False)
class BenchData:
    """The two parts.

    Attributes:
        train: rows of split train, in every language.
        test: rows of split test, of the same languages.
        note: how they were told apart, as a sentence.
    """

    train: LabelledSet
    test: LabelledSet
    note: str

    @property
    def whole(self) -> LabelledSet:
        """Both parts in one set, whose checksum names them."""
        return LabelledSet(pd.concat([self.train.frame, self.test.frame], ignore_index=True), self.train.name)

    @classmethod
    def of(cls, whole: LabelledSet, note: str = "") -> "BenchData":
        """Take apart what `whole` joined."""
        return cls(whole.select(splits=["train"]), whole.select(splits=["test"]), note)


def bench_data(labelled: LabelledSet) -> BenchData:
    """Cut a labelled set.

    Split train is trained on, and test is measured, or dev where there is no test. No system chooses its epoch on
    sentences: where dev is not measured it is left out. A set without splits is cut by id, so that translations stay
    together, with a share `TEST_SHARE` of every intent measured.

    Raises:
        DataError: there are splits, but none to train on or none to measure.
    """
    frame = labelled.frame
    if labelled.splits:
        measured = next((name for name in ("test", "dev") if name in labelled.splits), None)
        if measured is None or "train" not in labelled.splits:
            raise DataError(
                f"a benchmark trains on split train and measures split test or dev, and there are: "
                f"{', '.join(labelled.splits)}; name them so, or leave the column out"
            )
        is_test = (frame["split"] == measured).to_numpy()
        kept = is_test | (frame["split"] == "train").to_numpy()
        note = f"trained on split train, measured on split {measured}"
    else:
        is_test, kept = _held_out(frame), np.ones(len(frame), dtype=bool)
        note = (
            f"the set has no splits: {TEST_SHARE:.0%} of every intent, translations together, drawn with seed 0, "
            "are measured and the rest is trained on"
        )
    train, test = frame[kept & ~is_test].assign(split="train"), frame[is_test].assign(split="test")
    both = set(train["language"]) & set(test["language"])
    if not both:
        raise DataError("no language has both sentences to train on and sentences to measure; add some")
    return BenchData(_part(train, both, labelled.name), _part(test, both, labelled.name), note)


def _part(frame: pd.DataFrame, languages: set[str], name: str) -> LabelledSet:
    return LabelledSet(frame[frame["language"].isin(languages)].reset_index(drop=True), name)


def _held_out(frame: pd.DataFrame) -> np.ndarray:
    """A share of each intent's groups; a group is the rows of one id, or one row without an id."""
    bare = frame["id"] == ""
    group = frame["id"].where(~bare, "\0" + frame.index.astype(str).to_series(index=frame.index))
    # Rows without an id are drawn for each language by itself, so that each has some.
    stratum = frame["intent"] + "\0" + frame["language"].where(bare, "")
    firsts = pd.DataFrame({"group": group, "stratum": stratum}).drop_duplicates("group")
    rng = np.random.default_rng(0)
    chosen: set[str] = set()
    for _, groups in firsts.groupby("stratum", sort=True)["group"]:
        count = max(1, round(TEST_SHARE * len(groups))) if len(groups) > 1 else 0
        chosen.update(groups.to_numpy()[rng.permutation(len(groups))[:count]])
    return group.isin(chosen).to_numpy()
