"""Predictions that say below their table how they were made and how far they hold."""

from html import escape
from typing import Any

import pandas as pd

from emu_core.reports.prediction_notes import prediction_notes

_MOST_ROWS = 6  # of a table in a terminal


class Predictions(pd.DataFrame):
    """A table of predictions, and of any of its columns or rows."""

    @property
    def _constructor(self) -> Any:
        return Predictions

    def __repr__(self) -> str:
        """Return the first and the last rows; Jupyter shows more."""
        with pd.option_context("display.max_rows", _MOST_ROWS, "display.min_rows", _MOST_ROWS):
            return super().__repr__()

    def _repr_html_(self) -> str:
        """Return the table for Jupyter, with what its threshold finds."""
        table = super()._repr_html_() or ""
        lines = (
            "<br>".join(map(escape, prediction_notes(self.attrs["facts"]))) if self.attrs.get("facts") else ""
        )
        return f"{table}<p>{lines}</p>" if lines else str(table)
