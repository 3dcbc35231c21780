"""Tables as CSV that spreadsheet programs open correctly and execute nothing of."""

import re

import pandas as pd

# A cell that begins with one of these may be run as a formula; the last four are full-width forms.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_FIGURE = re.compile(r"[+-]\d[\d.,% ±()*–]*")  # such as +1.45 ± 0.20***, which is harmless


def safe_csv(frame: pd.DataFrame, separator: str = ",", *, is_continued: bool = False) -> bytes:
    """Return a table without its index as CSV in UTF-8; one that `is_continued` has no byte order mark and no header.

    Cells and column names that begin like a formula (= + - @, tab, line end) are prefixed with an apostrophe; numbers
    and signed figures are not.
    """
    safe = pd.DataFrame({number: frame.iloc[:, number].map(_harmless) for number in range(frame.shape[1])})
    safe.columns = pd.Index([_harmless(str(column)) for column in frame.columns])
    content = safe.to_csv(index=False, lineterminator="\r\n", sep=separator, header=not is_continued)
    return content.encode("utf-8" if is_continued else "utf-8-sig", "replace")


def _harmless(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA) and not _FIGURE.fullmatch(value):
        return f"'{value}"
    return value
