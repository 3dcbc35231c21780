"""Language pairs are read as people write them, and of the set's languages alone."""

import pytest

from emu_core.data.language_pairs import LanguagePair, read_pairs
from emu_core.errors import DataError

CODES = ("en", "de", "zh-tw", "es", "xx")


@pytest.mark.parametrize(
    ("written", "pair"),
    [
        ("en-de", ("en", "de")),
        ("German-eng", ("de", "en")),
        ("xx-en", ("xx", "en")),  # a code that we have no name for
        ("en-zh-tw", ("en", "zh-tw")),
        ("zh-tw-en", ("zh-tw", "en")),
        (("German", "es"), ("de", "es")),
    ],
)
def test_a_pair_is_two_languages_of_the_set(written: str | LanguagePair, pair: LanguagePair) -> None:
    assert read_pairs([written, written], CODES) == (pair,)


@pytest.mark.parametrize(
    "written",
    ["en-fr", "en", "ende", "", "-", "en-", "en-de-fr", "en-en", "en-eng", "en–de", "../x-y", "a\nb-c"],
)
def test_what_is_no_pair_is_said(written: str) -> None:
    with pytest.raises(DataError, match=r"is no pair of the languages en, de, .*en-de") as caught:
        read_pairs([written], CODES)
    assert "\n" not in str(caught.value)


def test_by_default_one_language_is_paired_with_each_other() -> None:
    assert read_pairs(None, CODES[:3]) == (("en", "de"), ("en", "zh-tw"))
    assert read_pairs(None, CODES[:3], "de") == (("de", "en"), ("de", "zh-tw"))
    with pytest.raises(DataError, match="takes two languages"):
        read_pairs(None, ("en",))
