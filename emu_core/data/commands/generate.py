"""Slot-annotated commands in several languages, paired by meaning, reproducible by seed."""

import random
from collections.abc import Sequence

import pandas as pd

from emu_core.data.commands.fill import Filler, Sentence
from emu_core.data.commands.groups import language_groups
from emu_core.data.commands.holdout import Roles
from emu_core.data.commands.meanings import Meaning, shared_choices, take_evenly
from emu_core.data.commands.vocabulary import checked_languages
from emu_core.data.labelled.columns import COLUMNS
from emu_core.data.labelled.sets import LabelledSet
from emu_core.data.wording import counted, listed
from emu_core.errors import DataError

NAME = "commands"
_TRAIN, _DEV = 0.8, 0.9


def generate_commands(languages: Sequence[str], count: int, *, seed: int = 0) -> LabelledSet:
    """Return `count` commands, each once in every language, with their slots annotated.

    Args:
        languages: codes or names, at least one.
        count: how many meanings; the set has `count` rows for each language.
        seed: the same languages, count and seed give the same set, on any machine.

    An id is the meaning: intent, slots in use, and each slot's value in no language (`area=kitchen`). Which
    meanings there are depends on the languages asked together, since each must have wordings and words for
    them; how a language's templates expand, and which of them are held out for dev and test, depends on that
    language and the seed alone. Eight in ten meanings are train, one dev, one test, by id; a meaning without
    slots is always train. Some wordings are held out from train, see `Roles`. No two ids of a language have the
    same text.

    Raises:
        DataError: the package is missing, a language is unknown, `count` is less than 1 or more than the
            templates give in these languages.
    """
    if count < 1:
        raise DataError(f"{count} commands can't be generated; ask for 1 or more")
    codes = checked_languages(languages)
    groups = [language_groups(code) for code in codes]
    rows = _Rows([Filler(one, Roles(one, seed)) for one in groups], seed)
    there_are = take_evenly(shared_choices(groups), count, seed, rows.add)
    if there_are < count:
        raise DataError(
            f"the templates give {counted(there_are, 'meaning')} in {listed(codes, len(codes))}, not {count:,}; "
            "ask for fewer or for other languages"
        )
    frame = pd.DataFrame(rows.found, columns=list(COLUMNS), dtype="str")
    frame = frame.sort_values(["language", "id"], kind="stable", ignore_index=True)
    return LabelledSet(frame, NAME)


class _Rows:
    """The rows so far; a meaning is added in all languages or in none."""

    def __init__(self, fillers: Sequence[Filler], seed: int) -> None:
        self.found: list[tuple[str, ...]] = []
        self._fillers = fillers
        self._seed = seed
        self._taken: dict[str, set[str]] = {filler.language: set() for filler in fillers}

    def add(self, meaning: Meaning) -> bool:
        """Add a meaning's rows, unless a language has no fit sentence for it that is not taken."""
        split = _split(meaning, self._seed)
        chosen: dict[str, Sentence] = {}
        for filler in self._fillers:
            taken = self._taken[filler.language]
            for sentence in filler.sentences(meaning, split, self._seed):
                if sentence.text.casefold() not in taken:
                    chosen[filler.language] = sentence
                    break
            else:
                return False
        for language, sentence in chosen.items():
            self._taken[language].add(sentence.text.casefold())
            self.found.append(
                (meaning.id, sentence.text, meaning.group.intent, language, split, sentence.annotated)
            )
        return True


def _split(meaning: Meaning, seed: int) -> str:
    if not meaning.values:
        return "train"
    place = random.Random(f"{seed}/{meaning.id}").random()
    return "train" if place < _TRAIN else "dev" if place < _DEV else "test"
