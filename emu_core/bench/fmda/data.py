"""The data of FMDA's benchmark: one parallel set, what is learnt from and what is measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pandas as pd

from emu_core.bench.cells import Pair
from emu_core.data.labelled import LabelledSet
from emu_core.data.languages import language_code
from emu_core.data.slots.template_pairs import TemplatePairs, template_pairs
from emu_core.data.slots.utterances import SlotPairs, slot_pairs, utterances
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError, RunError
from emu_core.runs.config import RunConfig

_SENTENCES = "sentences.parquet"
TEMPLATE_SEED = 0  # of the slot values in template retrieval: every cell has the same queries


@dataclass(frozen=True, eq=False)
class FmdaData:
    """A set with splits.

    Attributes:
        whole: rows of split train, dev (where there is one) and test, in the languages of the pairs.
    """

    whole: LabelledSet

    def facts(self, config: RunConfig) -> dict[str, Any]:
        """Return the checksum and counts, the contents of data.json."""
        counts = self.whole.frame.groupby(["language", "split"]).size()
        return {
            "name": self.whole.name,
            "sha256": self.whole.sha256(),
            "rows": len(self.whole),
            "counts": {f"{language} {split}": int(n) for (language, split), n in counts.items()},
        }

    def store(self, folder: Path) -> None:
        """Write all of it into an empty folder."""
        self.whole.frame.to_parquet(folder / _SENTENCES)

    @classmethod
    def load(cls, folder: Path, name: str) -> Self:
        """Read what `store` wrote. Raises RunError where it is damaged."""
        try:
            return cls(LabelledSet(pd.read_parquet(folder / _SENTENCES), name))
        except (OSError, ValueError, DataError):
            raise RunError(f"the data stored in {folder} is damaged; run the benchmark again") from None

    @property
    def learnt(self) -> LabelledSet:
        """The rows that a system is given: train, and dev to choose its epoch by."""
        return self.whole.select(splits=[split for split in ("train", "dev") if split in self.whole.splits])

    @property
    def test(self) -> LabelledSet:
        """The rows that are measured."""
        return self.whole.select(splits=["test"])

    def test_pairs(self, pairs: Sequence[Pair]) -> list[SlotPairs]:
        """Return the test utterances of some language pairs, position by position with one meaning."""
        codes = dict.fromkeys(code for pair in pairs for code in pair)
        by_id = {code: {one.id: one for one in utterances(self.test, code)} for code in codes}
        # Which ids each language has was checked when the set was read.
        return [
            SlotPairs(a, b, tuple(by_id[a].values()), tuple(by_id[b][key] for key in by_id[a]))
            for a, b in pairs
        ]

    def templates(self, language: str, each: int) -> TemplatePairs:
        """Return the queries of template retrieval: each template of the test split once, with `each` targets.

        Raises:
            DataError: no test utterance of the language has slots that can be filled so often.
        """
        try:
            return template_pairs(
                utterances(self.test, language), each=each, seed=TEMPLATE_SEED, distinct_templates=True
            )
        except DataError as error:
            raise DataError(f"template retrieval in {language}: {error}") from None

    @property
    def note(self) -> str:
        """A sentence that says how the sentences are used."""
        chosen = (
            "its best epoch is chosen on split dev"
            if "dev" in self.whole.splits
            else "its best epoch is chosen on a tenth of train's ids, for there is no split dev"
        )
        return f"a system learns from split train, {chosen}, and is measured on split test"


def fmda_data(labelled: LabelledSet, pairs: Sequence[Pair]) -> FmdaData:
    """Keep what the benchmark uses of a set, after checking that it can be used.

    Raises:
        DataError: a language is not there; there is no split train or test; translations stand in different splits;
            what `slot_pairs` says of sentences that don't pair.
    """
    codes = list(dict.fromkeys(code for pair in pairs for code in pair))
    part = labelled.select(languages=codes)
    if not {"train", "test"} <= set(part.splits):
        raise DataError(
            "the benchmark learns from split train, chooses the epoch on dev and measures test, and "
            f"{shown(labelled.name)} has {listed(part.splits) if part.splits else 'no splits'}; add a column 'split' "
            "with train, dev and test, the same for translations of each other"
        )
    used = part.frame[part.frame["split"].isin(("train", "dev", "test"))].reset_index(drop=True)
    splits = used[used["id"] != ""].groupby("id", sort=False)["split"].nunique()
    if len(torn := splits[splits > 1]):
        raise DataError(
            f"the id '{shown(torn.index[0])}' stands in two splits, so that its meaning would be learnt before it is "
            "measured; give translations of each other the same split"
        )
    data = FmdaData(LabelledSet(used, labelled.name))
    slot_pairs(data.whole, pairs)
    return data


def read_pairs(pairs: Sequence[Pair | str] | None, languages: Sequence[str]) -> tuple[Pair, ...]:
    """Return the language pairs asked for; None pairs the first language with each other one.

    Raises:
        DataError: a pair does not name two languages of the set, or there is none.
    """
    if pairs is None:
        found = [(languages[0], other) for other in languages[1:]]
    else:
        found = [_read_pair(pair, languages) for pair in pairs]
    if not found:
        raise DataError(
            f"a language pair takes two languages, and there is: {listed(languages)}; add translations in another, "
            "with the same ids"
        )
    return tuple(dict.fromkeys(found))


def _read_pair(pair: Pair | str, languages: Sequence[str]) -> Pair:
    if isinstance(pair, str):
        words = pair.split("-")
        ways = [("-".join(words[:at]), "-".join(words[at:])) for at in range(1, len(words))]
    else:
        ways = [(pair[0], pair[1])]
    for way in ways:
        source, target = (language_code(code) or code for code in way)
        if source in languages and target in languages and source != target:
            return source, target
    name = pair if isinstance(pair, str) else "-".join(pair)
    raise DataError(
        f"'{shown(name)}' is no pair of languages of the set; there are: {listed(languages)}; write it as en-de"
    )
