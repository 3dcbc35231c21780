"""Words that may stand for a missing value, such as nan and NULL, and the errors of spreadsheets, which always do."""

from collections.abc import Collection, Sequence

import pandas as pd

from emu_core.data.cleaning import normal_form
from emu_core.data.none_of_these import is_usual_name

USUAL_WORDS = "usual"
"""Stands for all usual words in `Reading.missing`."""

# As pandas, R, SQL, Python, JavaScript and spreadsheets write it, and as people fill a cell; all in their normal form.
_WORDS = frozenset(
    (
        *("nan", "-nan", "nat", "<na>", "na", "n/a", "n.a.", "null", "nil", "none", "undefined", "\\n"),
        *("(null)", "(none)", "(blank)", "[null]", "<null>", "-", "--", "---", "\u2013", "\u2014"),
    )
)
_ERRORS = frozenset(
    (
        *(
            "#n/a",
            "#na",
            "#n/a n/a",
            "#ref!",
            "#value!",
            "#div/0!",
            "#name?",
            "#null!",
            "#num!",
            "#spill!",
            "#calc!",
        ),
        *("#field!", "#blocked!", "#connect!", "#unknown!", "#busy!", "#getting_data", "#error!"),
        *("#nv", "#bezug!", "#wert!", "#zahl!"),
    )
)
_LONGEST = max(map(len, (*_WORDS, *_ERRORS)))


def is_error(cell: str) -> bool:
    """Return whether a cell holds an error of a spreadsheet, such as #N/A."""
    return cell.startswith("#") and len(cell) <= _LONGEST and cell.casefold() in _ERRORS


def missing_words(values: "pd.Series[str]", column: str) -> list[str]:
    """Return the different values of one of LABELLED_COLUMNS, stripped, that may stand for a missing value.

    Names of intents that are usual for "none of these" do not: see `names_of_none`.
    """
    return _among(values, _usual(column))


def without_missing(
    values: "pd.Series[str]", column: str, missing: Sequence[str] = (), intents: Collection[str] = ()
) -> "pd.Series[str]":
    """Return the values of one of LABELLED_COLUMNS, "" for errors of spreadsheets and words that are missing values.

    Args:
        values: strings, stripped.
        column: its name.
        missing: words that stand for a missing value, as of `Reading`; case does not matter.
        intents: names of intents that a user speaks of, which are no missing values.
    """
    forms = {form for word in missing for form in _forms(word, column)}
    if column == "intent":
        forms -= set(map(normal_form, intents))
    words = _among(values, forms) if forms else []
    if values.str.startswith("#", na=False).any():
        words += [value for value in values.unique() if is_error(value)]
    return values.mask(values.isin(words), "") if words else values


def _forms(word: str, column: str) -> Collection[str]:
    form = normal_form(word)
    return _usual(column) if form == USUAL_WORDS else {form}


def _usual(column: str) -> frozenset[str]:
    return _FOR_INTENTS if column == "intent" else _WORDS


_FOR_INTENTS = frozenset(word for word in _WORDS if not is_usual_name(word))


def _among(values: "pd.Series[str]", forms: Collection[str]) -> list[str]:
    """Return the different values that are one of the forms in any case; most values are too long for one."""
    short = values[values.str.len() <= max(map(len, forms))]
    return list(short[short.str.lower().isin(forms)].unique())
