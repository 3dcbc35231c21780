"""Tables out as CSV that a spreadsheet program opens right and runs nothing of."""

import re

import pandas as pd

# A cell that begins so may be run as a formula; the last four are the full-width forms.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")

_FIGURE = re.compile(
    r"[+-]\d[\d.,% ±()*–]*"
)  # such as +1.45 ± 0.20***, of which a spreadsheet can compute nothing bad


def safe_csv(frame: pd.DataFrame, separator: str = ",", *, is_continued: bool = False) -> bytes:
    """Return a table as CSV in UTF-8 with a byte order mark, its index left out; without mark and head to continue one.

    Text that begins like a formula (= + - @, tab, line end), in cells and in column names, gets an apostrophe
    before it; numbers and signed figures stay as they are.
    """
    safe = pd.DataFrame({place: frame.iloc[:, place].map(_harmless) for place in range(frame.shape[1])})
    safe.columns = pd.Index([_harmless(str(column)) for column in frame.columns])
    content = safe.to_csv(index=False, lineterminator="\r\n", sep=separator, header=not is_continued)
    return content.encode("utf-8" if is_continued else "utf-8-sig", "replace")


def _harmless(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA) and not _FIGURE.fullmatch(value):
        return f"'{value}"
    return value
