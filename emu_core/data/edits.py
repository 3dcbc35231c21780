"""Edits of the rows of a labelled set."""

import pandas as pd

from emu_core.data.wording import counted

EDITED = ("text", "intent", "language")


def edit_rows(rows: pd.DataFrame, edits: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the edited rows, and the changes in words: "2 intents changed, 1 row left out", "" for none.

    Args:
        rows: with the columns of LABELLED_COLUMNS.
        edits: some of the rows, by their index: text, intent and language as they should be, and `keep`, False to
            remove the row. A missing value counts as "".
    """
    kept = edits[edits["keep"].astype(bool)]
    new = kept[list(EDITED)].fillna("").astype("str")
    differs = new != rows.loc[new.index, list(EDITED)]
    changed = rows.copy()
    changed.loc[new.index, list(EDITED)] = new
    changed.loc[differs.index[differs["text"]], "annotated"] = ""  # it was of the old sentence
    changes = [
        f"{counted(int(differs[column].sum()), noun)} changed"
        for column, noun in zip(EDITED, ("sentence", "intent", "language"), strict=True)
        if differs[column].any()
    ]
    gone = edits.index[~edits["keep"].astype(bool)]
    changes += [f"{counted(len(gone), 'row')} left out"] * bool(len(gone))
    return changed.drop(index=gone).reset_index(drop=True), ", ".join(changes)
