"""The audit of labelled rows before training: the rows that are dropped, and why, and what looks wrong."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.data.cleaning import normalised, stripped
from emu_core.data.labelled import audit_checks as checks
from emu_core.data.labelled.columns import COLUMNS, split_codes
from emu_core.data.labelled.sets import count_table
from emu_core.data.languages import language_code, language_codes
from emu_core.data.wording import counted, shown

# The part of a reason that is of one row only, left out where rows are counted by reason.
_PARTICULAR = r"(?s)( of row |: ').*"


@dataclass(frozen=True, eq=False)
class Audit:
    """The findings of an audit.

    Each table of findings has the columns row (counted from 1 for a file's first row below its header),
    source (the file), text, language and explanation.

    Attributes:
        rows_read: rows in the files.
        rows_kept: rows that went into the labelled set.
        dropped: columns row, source, reason, text.
        duplicates: kept rows that repeat an earlier sentence of the same intent but for case, spacing, id or
            split.
        conflicts: texts with two or more intents in one language.
        leaks: rows whose id, or whose text in one language, stands in two splits (looked for before rows are
            dropped).
        script_misfits: texts whose script does not fit their language.
        thin: sentences that are their intent's only one in a language.
        long_texts: texts of more than 2,000 characters.
        counts: kept sentences, intents by languages.
        notes: anything else a person should know, such as a file's encoding.
    """

    rows_read: int
    rows_kept: int
    dropped: pd.DataFrame
    duplicates: pd.DataFrame
    conflicts: pd.DataFrame
    leaks: pd.DataFrame
    script_misfits: pd.DataFrame
    thin: pd.DataFrame
    long_texts: pd.DataFrame
    counts: pd.DataFrame
    notes: tuple[str, ...] = ()

    def summary(self) -> list[str]:
        """Return the audit as plain sentences: what was kept, then a sentence for each thing found."""
        intents, languages = self.counts.shape
        lines = [
            f"{self.rows_kept:,} of {counted(self.rows_read, 'row')} kept: {counted(intents, 'intent')} in "
            f"{counted(languages, 'language')}."
        ]
        reasons = self.dropped["reason"].str.replace(_PARTICULAR, "", regex=True).value_counts()
        lines += [f"Dropped, {reason}: {counted(int(count), 'row')}." for reason, count in reasons.items()]
        for saying, findings in (
            ("The same text with two or more intents", self.conflicts),
            ("The same id or the same text in two splits", self.leaks),
            ("Text in a script that does not fit its language", self.script_misfits),
            ("Repeats of a sentence but for case, spacing, id or split", self.duplicates),
            ("An intent's only sentence in a language", self.thin),
            (f"Text of more than {checks.LONG_TEXT:,} characters", self.long_texts),
        ):
            if len(findings):
                lines.append(f"{saying}: {counted(len(findings), 'row')}.")
        return [*lines, *self.notes]


def audit_rows(rows: pd.DataFrame, notes: tuple[str, ...] = ()) -> tuple[pd.DataFrame, Audit]:
    """Audit labelled rows and return those that are kept.

    Args:
        rows: the columns of COLUMNS, and row (int) and source (str), the place of each row.
        notes: facts about the files that are known already.

    Returns:
        The kept rows as a labelled set's frame (stripped of blanks, languages and splits as codes), and the
        audit.
    """
    clean = pd.DataFrame({column: stripped(rows[column]) for column in COLUMNS}).reset_index(drop=True)
    clean["language"] = language_codes(clean["language"])
    clean["split"] = split_codes(clean["split"])
    clean["row"], clean["source"] = rows["row"].to_numpy(), rows["source"].to_numpy()
    reasons = _faults(clean)
    whole = clean[reasons == ""].reset_index(drop=True)
    texts = checks.groups(pd.Series(normalised(whole["text"]), dtype="str"), whole["language"])
    copies = checks.groups(*(whole[column] for column in ("text", "intent", "language", "id")))
    repeated = checks.repeats(copies)
    reasons[np.flatnonzero(reasons == "")[repeated]] = "an exact repeat of " + checks.first_places(
        whole, copies, repeated
    ).to_numpy(dtype=object)
    dropped = pd.DataFrame(
        {
            "row": clean["row"],
            "source": clean["source"],
            "reason": pd.Series(reasons, dtype="str"),
            "text": clean["text"],
        }
    )[reasons != ""]
    kept, kept_groups = whole[~repeated].reset_index(drop=True), texts[~repeated]
    return kept[list(COLUMNS)], Audit(
        rows_read=len(rows),
        rows_kept=len(kept),
        dropped=dropped.reset_index(drop=True),
        duplicates=checks.find_duplicates(kept, kept_groups),
        conflicts=checks.find_conflicts(kept, kept_groups),
        leaks=checks.find_leaks(whole, texts),
        script_misfits=checks.find_script_misfits(kept),
        thin=checks.find_thin(kept),
        long_texts=checks.find_long(kept),
        counts=count_table(kept),
        notes=notes,
    )


def _faults(rows: pd.DataFrame) -> NDArray[np.object_]:
    """Return for each row why it can't be used, "" where it can."""
    reasons = np.full(len(rows), "", dtype=object)
    for column in ("language", "intent", "text"):
        reasons[(rows[column] == "").to_numpy(dtype=bool)] = f"no {column}"
    for value in rows["language"].unique():
        if value and language_code(value) is None:
            reasons[((rows["language"] == value) & (reasons == "")).to_numpy(dtype=bool)] = (
                f"not a language: '{shown(value)}'"
            )
    return reasons
