"""What labelled and unlabelled sets share: the check of their frames, counting and choosing rows."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.data.languages import ordered
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError

# Spaces of every width, and characters without any: a cell of nothing else is empty.
_BLANKS = (
    " \t\n\r\v\f\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000\u200b\u2060\ufeff"
)


def check_frame(frame: pd.DataFrame, columns: Sequence[str], filled: Sequence[str]) -> None:
    """Raise a DataError unless a frame has just `columns`, a fresh index, strings, and `filled` full."""
    if list(frame.columns) != list(columns):
        raise DataError(
            f"a set has the columns {listed(columns)}, this has {listed(frame.columns)}; make "
            "it with read_labelled or labelled_from_frame"
        )
    if not frame.index.equals(pd.RangeIndex(len(frame))):
        raise DataError("a set's rows are numbered from 0 on; call reset_index(drop=True) first")
    for column in columns:
        if not pd.api.types.is_string_dtype(frame[column]):
            raise DataError(f"a set's column '{column}' is not of strings; convert it with astype('str')")
        if frame[column].isna().any() or (column in filled and (frame[column] == "").any()):
            raise DataError(
                f"a set's column '{column}' has an empty cell; labelled_from_frame drops such rows"
            )


def stripped(values: "pd.Series[str]") -> "pd.Series[str]":
    """Return the series as strings without blanks at either end, "" where there was nothing."""
    return values.astype("str").fillna("").str.strip(_BLANKS)


def count_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how often each intent (rows, sorted) stands in each language (columns, English first)."""
    table = frame.groupby(["intent", "language"]).size().unstack(fill_value=0)
    return table.reindex(columns=list(ordered(table.columns))).astype("int64")


def rows_in(
    values: "pd.Series[str]", wanted: Sequence[str], there: Sequence[str], what: str
) -> NDArray[np.bool_]:
    """Return which values are among those wanted.

    Raises:
        DataError: one that is wanted is not there.
    """
    if unknown := [value for value in wanted if value not in there]:
        raise DataError(f"no {what} '{shown(unknown[0])}' in the data; there is: {listed(there, 30)}")
    return values.isin(list(wanted)).to_numpy(dtype=bool)
