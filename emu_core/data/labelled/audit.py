"""The audit of labelled rows before training: which rows are dropped, why, and what looks wrong."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from emu_core.data.cleaning import normalised, stripped
from emu_core.data.labelled.columns import LABELLED_COLUMNS, split_codes
from emu_core.data.labelled.intent_lists import SEVERAL_INTENTS, single_intents
from emu_core.data.labelled.sets import count_table
from emu_core.data.languages import SCRIPTS_OF, language_code, language_codes, language_name
from emu_core.data.scripts import SCRIPTS, count_scripts
from emu_core.data.wording import counted, listed, shown

LONG_TEXT_CHARACTERS = 2_000  # encoders read far fewer
# One to three words with a capital or a digit each: a brand or product, written in Latin letters in any language.
_NAME = r"(?:\S*[A-Z0-9]\S*)(?:\s+\S*[A-Z0-9]\S*){0,2}"
# The part of a reason that concerns one row, left out where rows are counted by reason.
_PARTICULAR = r"(?s)( of row |: ').*"


def _first_rows_repeated(rows: pd.DataFrame, *keys: str) -> pd.Series:
    """Return the first row with the same keys, in words ("row 3 of de.csv"), for each row that repeats one."""
    repeated = rows.duplicated(list(keys))
    first = rows.groupby(list(keys), sort=False)[["row", "source"]].transform("first")[repeated]
    words = "row " + first["row"].astype("str")
    if rows["source"].nunique() > 1:
        words = words + " of " + first["source"]
    return words.reindex(rows.index)


def _several(rows: pd.DataFrame, key: str, value: str) -> pd.Series:
    """Return the values of each row's key, if there are two or more, as a list in words; "" is no key or value."""
    marked = rows[[key, value]].where(rows[[key, value]] != "")
    pairs = marked.dropna().drop_duplicates()
    pairs = pairs[pairs[key].duplicated(keep=False)].sort_values(value)
    words = pairs.groupby(key)[value].agg(listed).astype("str")
    return marked[key].map(words).astype("str").where(marked[value].notna())


def _script_misfits(rows: pd.DataFrame) -> pd.Series:
    """Find texts that are not in the script of their language.

    These are texts with more than a third of their letters in other scripts, and texts in Latin letters alone of a
    language without them. Latin words within other scripts do not count, nor does a brand's name alone; languages
    whose script is unknown are skipped.
    """
    counts = count_scripts(rows["text"].tolist())
    explained = pd.Series(pd.NA, index=rows.index, dtype="str")
    for code in SCRIPTS_OF.keys() & set(rows["language"]):
        here = np.flatnonzero(rows["language"] == code)
        scripts = SCRIPTS_OF[code]
        columns = [SCRIPTS.index(script) for script in scripts]
        part = counts[here]
        fitting = part[:, columns].sum(axis=1)
        borrowed = np.zeros_like(fitting) if "Latin" in scripts else part[:, SCRIPTS.index("Latin")]
        foreign = part.sum(axis=1) - fitting - borrowed
        wrong = 3 * foreign > fitting + foreign
        alone = here[(fitting == 0) & (borrowed > 1) & ~wrong]
        names = rows["text"].iloc[alone].str.fullmatch(_NAME).to_numpy(dtype=bool)
        wrong |= np.isin(here, alone[~names])
        part[:, columns] = 0
        most = np.array(SCRIPTS)[part[wrong].argmax(axis=1)]
        explained.iloc[here[wrong]] = [
            f"{script} letters, but {language_name(code)} is written in {' and '.join(scripts)}"
            for script in most
        ]
    return explained


@dataclass(frozen=True, eq=False)
class Audit:
    """The findings of an audit.

    Tables of findings have the columns row (from 1, the first below the header), source (the file), text, language and
    explanation.

    Attributes:
        rows_read: number of rows in the files.
        rows_kept: number of rows in the labelled set.
        dropped: columns row, source, reason, text.
        duplicates: kept rows that repeat an earlier sentence of the same intent but for case, spacing, id or split.
        conflicts: texts with two or more intents in one language.
        leaks: rows whose id, or whose text in one language, is in two splits, exact repeats included.
        script_misfits: texts whose script does not fit their language.
        thin: sentences that are their intent's only one in a language.
        long_texts: texts of more than 2,000 characters.
        counts: kept sentences, intents by languages.
        notes: anything else that matters, such as a file's encoding.
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
        """Return the audit in sentences: the rows kept, then one for each kind of finding."""
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
            (f"Text of more than {LONG_TEXT_CHARACTERS:,} characters", self.long_texts),
        ):
            if len(findings):
                lines.append(f"{saying}: {counted(len(findings), 'row')}.")
        return [*lines, *self.notes]


def audit_rows(rows: pd.DataFrame, notes: tuple[str, ...] = ()) -> tuple[pd.DataFrame, Audit]:
    """Audit labelled rows.

    Args:
        rows: the columns of LABELLED_COLUMNS, and row (int) and source (str), the place of each row.
        notes: what is already known about the files.

    Returns:
        The kept rows as a labelled set's frame (stripped, languages and splits as codes), and the audit.
    """
    clean = pd.DataFrame({column: stripped(rows[column]) for column in LABELLED_COLUMNS}).reset_index(
        drop=True
    )
    clean["language"] = language_codes(clean["language"])
    clean["split"] = split_codes(clean["split"])
    clean["intent"], has_several = single_intents(clean["intent"])
    clean["row"], clean["source"] = rows["row"].to_numpy(), rows["source"].to_numpy()
    known = {
        value: "" if language_code(value) else f"not a language: '{shown(value)}'"
        for value in clean["language"].unique()
    }
    clean["reason"] = clean["language"].map(known).astype("str")
    clean["reason"] = clean["reason"].mask(has_several, SEVERAL_INTENTS)
    for column in ("language", "intent", "text"):
        clean["reason"] = clean["reason"].where(clean[column] != "", f"no {column}")
    whole = clean[clean["reason"] == ""]
    folded = whole.assign(text=normalised(whole["text"]))
    # Texts of a language that differ in nothing but case and spacing have the same number.
    whole = whole.assign(same=folded.groupby(["text", "language"], sort=False).ngroup())
    copies = "an exact repeat of " + _first_rows_repeated(whole, "text", "intent", "language", "id")
    clean["reason"] = copies.reindex(clean.index).fillna(clean["reason"])
    kept = whole[copies.isna()].reset_index(drop=True)

    # An explanation is NaN where there is nothing to find.
    def findings(explained: pd.Series, among: pd.DataFrame = kept) -> pd.DataFrame:
        explained_rows = among.assign(explanation=explained.astype("str"))[explained.notna()]
        return explained_rows[["row", "source", "text", "language", "explanation"]].reset_index(drop=True)

    thin = "the only " + kept["language"].map(language_name) + " sentence of " + kept["intent"]
    leaks = "id " + whole["id"] + " is in the splits " + _several(whole, "id", "split")
    leaks = leaks.fillna("this text is in the splits " + _several(whole, "same", "split"))
    lengths = kept["text"].str.len()
    long = lengths.astype("str") + " characters; encoders read the beginning only"
    dropped = clean.loc[clean["reason"] != "", ["row", "source", "reason", "text"]]
    return kept[list(LABELLED_COLUMNS)], Audit(
        rows_read=len(rows),
        rows_kept=len(kept),
        dropped=dropped.reset_index(drop=True),
        duplicates=findings(
            "the same sentence and intent as " + _first_rows_repeated(kept, "same", "intent")
        ),
        conflicts=findings("this text has the intents " + _several(kept, "same", "intent")),
        leaks=findings(leaks, whole),
        script_misfits=findings(_script_misfits(kept)),
        thin=findings(thin.where(~kept.duplicated(["intent", "language"], keep=False))),
        long_texts=findings(long.where(lengths > LONG_TEXT_CHARACTERS)),
        counts=count_table(kept),
        notes=notes,
    )
