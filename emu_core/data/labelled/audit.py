"""The audit of labelled rows before training: which rows are dropped, why, and what looks wrong."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.data.cleaning import normalised, stripped
from emu_core.data.labelled.columns import COLUMNS, split_codes
from emu_core.data.labelled.sets import count_table
from emu_core.data.languages import SCRIPTS_OF, language_code, language_codes, language_name
from emu_core.data.scripts import SCRIPTS, count_scripts
from emu_core.data.wording import counted, listed, shown

LONG_TEXT = 2_000  # characters; encoders read far less
_FINDING = ["row", "source", "text", "language"]
# One to three words with a capital or a digit each: a brand or product, written in Latin letters in any language.
_NAME = r"(?:\S*[A-Z0-9]\S*)(?:\s+\S*[A-Z0-9]\S*){0,2}"
# The part of a reason that concerns one row, left out where rows are counted by reason.
_PARTICULAR = r"(?s)( of row |: ').*"


def groups(*columns: "pd.Series[str] | NDArray[np.int64]") -> NDArray[np.int64]:
    """Return a number for each row, equal where all columns are equal."""
    codes = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, distinct = pd.factorize(column)
        # Renumbered after each column, so that the product stays below rows x rows.
        codes = pd.factorize(codes * max(len(distinct), 1) + values)[0].astype(np.int64)
    return codes


def first_places(
    rows: pd.DataFrame, codes: NDArray[np.int64], repeated: NDArray[np.bool_]
) -> "pd.Series[str]":
    """Return the place of the first row with the same code ("row 3 of de.csv") for each row in `repeated`."""
    _, first = np.unique(codes, return_index=True)
    found = rows.iloc[first[codes[repeated]]]
    places = "row " + found["row"].astype("str")
    if rows["source"].nunique() > 1:
        places = places + " of " + found["source"]
    return places.set_axis(rows.index[repeated])


def repeats(codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each row whether an earlier one has its code."""
    return pd.Series(codes).duplicated().to_numpy(dtype=bool)


def find_duplicates(rows: pd.DataFrame, texts: NDArray[np.int64]) -> pd.DataFrame:
    """Find rows that repeat an earlier text of the same intent and language but for case and spacing.

    Args:
        rows: the six columns, with row and source.
        texts: `groups` of the normalised texts and languages.
    """
    codes = groups(texts, rows["intent"])
    repeated = repeats(codes)
    return _findings(rows, repeated, "the same sentence and intent as " + first_places(rows, codes, repeated))


def find_conflicts(rows: pd.DataFrame, texts: NDArray[np.int64]) -> pd.DataFrame:
    """Find rows whose text has another intent elsewhere in the same language; `texts` as in `find_duplicates`."""
    several = _several(texts, rows["intent"])
    return _findings(rows, several.notna().to_numpy(), "this text has the intents " + several.dropna())


def find_leaks(rows: pd.DataFrame, texts: NDArray[np.int64]) -> pd.DataFrame:
    """Find rows whose id, or whose text in the same language, is in two splits; `texts` as in `find_duplicates`."""
    splits = rows["split"].where(rows["split"] != "")
    by_id = _several(groups(rows["id"]), splits.where(rows["id"] != ""))
    by_text = _several(texts, splits)
    explained = ("id " + rows["id"] + " is in the splits " + by_id).fillna(
        "this text is in the splits " + by_text
    )
    return _findings(rows, explained.notna().to_numpy(), explained.dropna())


def find_script_misfits(rows: pd.DataFrame) -> pd.DataFrame:
    """Find texts that are not in the script of their language.

    These are texts with more than a third of their letters in other scripts, and texts in Latin letters alone of a
    language without them. Latin words within other scripts do not count, nor does a brand's name alone; languages
    whose script is unknown are skipped.
    """
    counts = count_scripts(rows["text"].tolist())
    misfit = np.zeros(len(rows), dtype=bool)
    explained = pd.Series("", index=rows.index, dtype="str")
    for code in SCRIPTS_OF.keys() & set(rows["language"]):
        here = np.flatnonzero(rows["language"] == code)
        scripts = SCRIPTS_OF[code]
        own = [SCRIPTS.index(script) for script in scripts]
        part = counts[here]
        fitting = part[:, own].sum(axis=1)
        borrowed = np.zeros_like(fitting) if "Latin" in scripts else part[:, SCRIPTS.index("Latin")]
        foreign = part.sum(axis=1) - fitting - borrowed
        wrong = 3 * foreign > fitting + foreign
        alone = here[(fitting == 0) & (borrowed > 1) & ~wrong]
        names = rows["text"].iloc[alone].str.fullmatch(_NAME).to_numpy(dtype=bool)
        wrong |= np.isin(here, alone[~names])
        part[:, own] = 0
        most = np.array(SCRIPTS)[part[wrong].argmax(axis=1)]
        misfit[here[wrong]] = True
        explained.iloc[here[wrong]] = [
            f"{script} letters, but {language_name(code)} is written in {' and '.join(scripts)}"
            for script in most
        ]
    return _findings(rows, misfit, explained[misfit])


def find_thin(rows: pd.DataFrame) -> pd.DataFrame:
    """Find the rows that are their intent's only sentence in their language."""
    codes = groups(rows["intent"], rows["language"])
    single = np.bincount(codes, minlength=1)[codes] == 1 if len(rows) else np.zeros(0, dtype=bool)
    languages = rows["language"][single].map(language_name)
    return _findings(rows, single, "the only " + languages + " sentence of " + rows["intent"][single])


def find_long(rows: pd.DataFrame) -> pd.DataFrame:
    """Find texts of more than LONG_TEXT characters."""
    lengths = rows["text"].str.len()
    long = (lengths > LONG_TEXT).to_numpy(dtype=bool)
    return _findings(
        rows, long, lengths[long].astype("str") + " characters; encoders read the beginning only"
    )


def _several(codes: NDArray[np.int64], values: "pd.Series[str]") -> "pd.Series[str]":
    """Return for each row the values of its group as a list in words; NaN for a single value and rows of no value."""
    pairs = pd.DataFrame({"code": codes, "value": values.to_numpy()}).dropna().drop_duplicates()
    pairs = pairs[pairs["code"].duplicated(keep=False)].sort_values("value")
    words = pairs.groupby("code")["value"].agg(listed)
    found = pd.Series(codes, index=values.index).map(words.astype("str")).astype("str")
    return found.where(values.notna())


def _findings(rows: pd.DataFrame, chosen: NDArray[np.bool_], explanations: "pd.Series[str]") -> pd.DataFrame:
    """Return the chosen rows, numbered from 0, with their explanations, in the same order."""
    found = rows.loc[chosen, _FINDING].reset_index(drop=True)
    found["explanation"] = explanations.astype("str").to_numpy()
    return found


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
        leaks: rows whose id, or whose text in one language, is in two splits, dropped rows included.
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
            (f"Text of more than {LONG_TEXT:,} characters", self.long_texts),
        ):
            if len(findings):
                lines.append(f"{saying}: {counted(len(findings), 'row')}.")
        return [*lines, *self.notes]


def audit_rows(rows: pd.DataFrame, notes: tuple[str, ...] = ()) -> tuple[pd.DataFrame, Audit]:
    """Audit labelled rows.

    Args:
        rows: the columns of COLUMNS, and row (int) and source (str), the place of each row.
        notes: what is already known about the files.

    Returns:
        The kept rows as a labelled set's frame (stripped, languages and splits as codes), and the audit.
    """
    clean = pd.DataFrame({column: stripped(rows[column]) for column in COLUMNS}).reset_index(drop=True)
    clean["language"] = language_codes(clean["language"])
    clean["split"] = split_codes(clean["split"])
    clean["row"], clean["source"] = rows["row"].to_numpy(), rows["source"].to_numpy()
    reasons = _faults(clean)
    whole = clean[reasons == ""].reset_index(drop=True)
    texts = groups(pd.Series(normalised(whole["text"]), dtype="str"), whole["language"])
    copies = groups(*(whole[column] for column in ("text", "intent", "language", "id")))
    repeated = repeats(copies)
    places = first_places(whole, copies, repeated).to_numpy(dtype=object)
    reasons[np.flatnonzero(reasons == "")[repeated]] = "an exact repeat of " + places
    dropped = clean.assign(reason=pd.Series(reasons, dtype="str"))[["row", "source", "reason", "text"]]
    kept, kept_groups = whole[~repeated].reset_index(drop=True), texts[~repeated]
    return kept[list(COLUMNS)], Audit(
        rows_read=len(rows),
        rows_kept=len(kept),
        dropped=dropped[reasons != ""].reset_index(drop=True),
        duplicates=find_duplicates(kept, kept_groups),
        conflicts=find_conflicts(kept, kept_groups),
        leaks=find_leaks(whole, texts),
        script_misfits=find_script_misfits(kept),
        thin=find_thin(kept),
        long_texts=find_long(kept),
        counts=count_table(kept),
        notes=notes,
    )


def _faults(rows: pd.DataFrame) -> NDArray[np.object_]:
    """Return for each row why it cannot be used, "" if it can."""
    reasons = np.full(len(rows), "", dtype=object)
    for column in ("language", "intent", "text"):
        reasons[(rows[column] == "").to_numpy(dtype=bool)] = f"no {column}"
    for value in rows["language"].unique():
        if value and language_code(value) is None:
            reasons[((rows["language"] == value) & (reasons == "")).to_numpy(dtype=bool)] = (
                f"not a language: '{shown(value)}'"
            )
    return reasons
