"""Columns by the look of their cells: sentences, labels, languages, splits, or none of these."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from emu_core.data.intent_lists import NO_NAME, single_intents
from emu_core.data.languages import is_known, stated_code
from emu_core.data.missing import is_error
from emu_core.data.splits import SPLIT_NAMES

_SAMPLE = 500
_MAX_LANGUAGES = 200
_MAX_LABEL_CHARACTERS, _MAX_LABEL_WORDS = 60, 5
_MIN_REPEATS, _MIN_REPEATS_OF_FEW = 2.0, 1.25  # of a label, on average
_FEW = 50  # rows
_NUMBER = r"[-+]?[\d.,]+%?"
_DAY_OR_TIME = r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([ T].*)?|\d{1,2}:\d\d(:\d\d)?( ?[AaPp][Mm])?"
_ADDRESS = r"\w+://\S+|www\.\S+|\S+@\S+\.\w+"
_KEY = r"[0-9a-fA-F-]{16,}|[A-Za-z]{0,6}[-_#]?\d{2,}|([^\s/]*/)+[^\s/]*"
_SPANS = r"\d+:\d+:\S+|O( [OBI](-\S+)?)*"
_NO_SENTENCE = re.compile("|".join((_NUMBER, _DAY_OR_TIME, _ADDRESS, _KEY, _SPANS)))
_VALUE = re.compile(f"{_NUMBER}|{_DAY_OR_TIME}")
_DAY_OR_ADDRESS = re.compile(f"{_DAY_OR_TIME}|{_ADDRESS}")
_MAX_MATCHED = 300  # characters of a cell that may be a number, a day, an address or a key
_OBJECT = re.compile(r"""[\[\s]*\{\s*(\}|["'])""")
_SWITCHES = frozenset(
    {"yes", "no", "true", "false", "ja", "nein", "oui", "non", "si", "x", "y", "n", "on", "off"}
)
# Letters of scripts without blanks between words, which have about two to a word.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


def count_words(text: str) -> float:
    """Return the number of words, about that in a script without blanks."""
    unspaced = len(_UNSPACED.findall(text))
    return unspaced / 2 if unspaced * 2 > len(text) else len(text.split())


def is_value(text: str) -> bool:
    """Return whether a text is a number, a day or a time."""
    return _matches(_VALUE, text.strip())


def _matches(pattern: re.Pattern[str], text: str) -> bool:
    return len(text) <= _MAX_MATCHED and bool(pattern.fullmatch(text))


def _is_object(text: str) -> bool:
    return text[-1] in "]}" and bool(_OBJECT.match(text))


def _is_no_sentence(text: str) -> bool:
    is_json = text[0] in "[{" and text[-1] in "]}"
    return is_json or _matches(_NO_SENTENCE, text)


@dataclass(frozen=True)
class Content:
    """The cells of a column, of which a sample across all rows is looked at.

    Attributes:
        cells: all of them.
    """

    cells: Sequence[str]

    @cached_property
    def sample(self) -> list[str]:
        """Cells that are neither blank nor an error of a spreadsheet."""
        step = max(1, len(self.cells) // _SAMPLE)
        return [text for cell in self.cells[::step] if (text := cell.strip()) and not is_error(text)]

    @cached_property
    def distinct(self) -> frozenset[str]:
        """The different cells that are neither blank nor an error of a spreadsheet."""
        return frozenset(text for cell in set(self.cells) if (text := cell.strip()) and not is_error(text))

    @cached_property
    def words(self) -> float:
        """The words of a cell, on average."""
        return sum(map(count_words, self.sample)) / max(1, len(self.sample))

    @cached_property
    def length(self) -> float:
        """The characters of a cell, on average."""
        return sum(map(len, self.sample)) / max(1, len(self.sample))

    @property
    def are_values(self) -> bool:
        """Whether they are numbers, days or times."""
        return self._share(is_value) > 0.9

    @cached_property
    def may_be_sentences(self) -> bool:
        """Whether they are anything but numbers, days, addresses, keys and the like."""
        return bool(self.sample) and self._share(_is_no_sentence) < 0.3

    @cached_property
    def are_sentences(self) -> bool:
        """Whether they are of several words, and mostly distinct."""
        is_distinct = 2 * len(set(self.sample)) > len(self.sample)
        return self.may_be_sentences and is_distinct and self.words >= 1.5

    @cached_property
    def are_objects(self) -> bool:
        """Whether one of them is an object in JSON, or a list of objects, and therefore no label."""
        return any(map(_is_object, self.sample))

    @property
    def are_mostly_objects(self) -> bool:
        """Whether more than half of them are such objects."""
        return self._share(_is_object) > 0.5

    @cached_property
    def named(self) -> "Content":
        """The same cells, of which those that are objects with the name of an intent are that name."""
        return Content(single_intents(pd.Series(self.cells))[0].tolist()) if self.are_objects else self

    @property
    def are_nameless(self) -> bool:
        """Whether more than half of them are objects that name no intent."""
        reasons = single_intents(pd.Series(self.sample))[1] if self.are_objects else pd.Series(dtype="str")
        return 2 * int((reasons == NO_NAME).sum()) > len(self.sample)

    @cached_property
    def may_be_labels(self) -> bool:
        """Whether they are short, and neither days, addresses nor objects."""
        is_short = self.length <= _MAX_LABEL_CHARACTERS and self.words <= _MAX_LABEL_WORDS
        return (
            is_short
            and not self.are_mostly_objects
            and self._share(lambda text: _matches(_DAY_OR_ADDRESS, text)) < 0.5
        )

    @cached_property
    def are_labels(self) -> bool:
        """Whether they are few short values that are repeated."""
        filled = sum(1 for cell in self.cells if cell.strip())
        repeats = _MIN_REPEATS_OF_FEW if filled <= _FEW else _MIN_REPEATS
        return self.may_be_labels and len(self.distinct) > 1 and filled >= repeats * len(self.distinct)

    @property
    def may_be_single_labels(self) -> bool:
        """Whether they may be labels that occur once, in a table of few rows."""
        is_short = self.may_be_labels and self.words < 2
        return is_short and self.may_be_sentences and 1 < len(self.distinct) <= _FEW

    @property
    def are_plain_labels(self) -> bool:
        """Whether they are labels, and neither numbers nor switches such as yes and no."""
        return not self.are_values and not {value.casefold() for value in self.distinct} <= _SWITCHES

    @cached_property
    def are_languages(self) -> bool:
        """Whether each is a known language."""
        return 0 < len(self.distinct) <= _MAX_LANGUAGES and all(map(is_language, self.distinct))

    @property
    def are_codes_of_places(self) -> bool:
        """Whether they are two capitals each, which are countries or departments rather than languages: IT, DE."""
        return all(len(value) == 2 and value.isupper() for value in self.distinct)

    @cached_property
    def are_splits(self) -> bool:
        """Whether each is a usual name of a split."""
        return bool(self.distinct) and all(value.casefold() in SPLIT_NAMES for value in self.distinct)

    def _share(self, test: Callable[[str], bool]) -> float:
        return sum(map(test, self.sample)) / max(1, len(self.sample))


def is_language(text: str) -> bool:
    """Return whether a text is a known language, as a code, a locale or a name."""
    return is_known(stated_code(text) or "")
