"""The audit of labelled rows before training: which rows are dropped, why, and what looks wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape

import numpy as np
import pandas as pd

from emu_core.data.cleaning import stripped
from emu_core.data.column_names import listed_names
from emu_core.data.ids import MOST_CONTRADICTING, comparable_ids, contradicting_ids
from emu_core.data.intent_lists import single_intents
from emu_core.data.intent_names import (
    as_seen_intents,
    merge_intents,
    names_with_language,
    occurs_in_several,
    rarer_spellings,
    seen_names,
    without_language,
)
from emu_core.data.languages import (
    SCRIPTS_OF,
    UNDETERMINED,
    language_code,
    language_codes,
    language_meant,
    language_name,
)
from emu_core.data.missing import missing_words, without_missing
from emu_core.data.none_of_these import absent_names, names_of_none
from emu_core.data.reading import AS_GUESSED, Reading, checked_reading
from emu_core.data.repeats import sentence_numbers
from emu_core.data.scripts import SCRIPTS, count_scripts
from emu_core.data.sets import LABELLED_COLUMNS, LabelledSet, count_table
from emu_core.data.splits import SPLITS, split_codes
from emu_core.data.wording import counted, kind_of, listed, shown
from emu_core.errors import DataError, Fix, InputError

LONG_TEXT_CHARACTERS = 2_000  # encoders read far fewer


# One to three words with a capital or a digit each: a brand or product, written in Latin letters in any language.
_NAME = r"(?:\S*[A-Z0-9]\S*)(?:\s+\S*[A-Z0-9]\S*){0,2}"


_NO_SPLIT = "no split where others have one"


# The part of a reason that concerns one row, left out where rows are counted by reason.
_PARTICULAR = r"(?s)( of row |: ').*"


def _first_rows_repeated(rows: pd.DataFrame, *keys: str) -> pd.Series:
    """Return the first row with the same keys, in words ("row 3 of de.csv"), for each row that repeats one."""
    repeated = rows.duplicated(list(keys))
    if not repeated.any():
        return _nothing(rows)
    first = rows.groupby(list(keys), sort=False)[["row", "source"]].transform("first")[repeated]
    words = "row " + first["row"].astype("str")
    if rows["source"].nunique() > 1:
        words = words + " of " + first["source"]
    return words.reindex(rows.index)


def _nothing(rows: pd.DataFrame) -> pd.Series:
    """Return a missing value for each row."""
    return pd.Series(pd.NA, index=rows.index, dtype="str")


def _several(rows: pd.DataFrame, key: str, value: str) -> pd.Series:
    """Return the values of each row's key, if there are two or more, as a list in words; "" is no key or value."""
    if (rows[value] == "").all() or not rows[key].duplicated().any():
        return _nothing(rows)
    marked = rows[[key, value]].where(rows[[key, value]] != "")
    pairs = marked.dropna().drop_duplicates()
    pairs = pairs[pairs[key].duplicated(keep=False)].sort_values(value)
    if pairs.empty:
        return _nothing(rows)
    words = pairs.groupby(key)[value].agg(listed).astype("str")
    return marked[key].map(words).astype("str").where(marked[value].notna())


def _script_misfits(rows: pd.DataFrame) -> pd.Series:
    """Find texts that are not in the script of their language.

    These are texts with more than a third of their letters in other scripts, and texts in Latin letters alone of a
    language without them. Latin words within other scripts do not count, nor does a brand's name alone; languages
    whose script is unknown are skipped.
    """
    counts = count_scripts(rows["text"].tolist())
    explained = _nothing(rows)
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


_MOST_LINES = 8  # of a summary where there is little room


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """The findings of an audit.

    Tables of findings have the columns row (from 1, the first below the header), source (the file), text, language and
    explanation.

    Attributes:
        rows_read: number of rows in the files.
        rows_kept: number of rows in the labelled set, those of no intent included.
        dropped: columns row, source, reason, text.
        duplicates: kept rows that repeat an earlier sentence of the same intent but for case, spacing, id or split.
        conflicts: texts with two or more intents in one language.
        id_conflicts: rows whose id has two or more intents.
        leaks: rows whose id, or whose text in one language, is in two splits, exact repeats included.
        unused: rows of another split than train, dev and test, or of none where other rows have one.
        case_variants: rows whose intent differs from a more frequent one only in case; `merge_intents` joins them.
        language_variants: rows whose intent ends in their language, where it would be one of several languages without;
            `merge_intents` joins these, too.
        script_misfits: texts whose script does not fit their language.
        missing_words: rows with a word that may stand for a missing value, such as nan; `Reading.missing` makes it one.
        thin: sentences that are their intent's only one in a language.
        long_texts: texts of more than 2,000 characters.
        counts: kept sentences, intents by languages, without those of no intent.
        none_of_these: the intents that stand for "none of these": their rows are kept, and have no intent.
        descriptions: what a column says of each intent, the first of several.
        remarks: what else was done about intents and ids, and how languages and intents go together.
        notes: what was known about the files before, such as an encoding.
    """

    rows_read: int
    rows_kept: int
    dropped: pd.DataFrame
    duplicates: pd.DataFrame
    conflicts: pd.DataFrame
    id_conflicts: pd.DataFrame
    leaks: pd.DataFrame
    unused: pd.DataFrame
    case_variants: pd.DataFrame
    language_variants: pd.DataFrame
    script_misfits: pd.DataFrame
    missing_words: pd.DataFrame
    thin: pd.DataFrame
    long_texts: pd.DataFrame
    counts: pd.DataFrame
    none_of_these: tuple[str, ...] = ()
    descriptions: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the first sentences of the summary, and not every row."""
        lines = self.summary()
        more = [f"and {len(lines) - _MOST_LINES} more in summary()"] if len(lines) > _MOST_LINES else []
        return "\n".join([f"<audit: {lines[0]}", *lines[1:_MOST_LINES], *more]) + ">"

    def _repr_html_(self) -> str:
        """Return the summary, for the last line of a notebook's cell."""
        return "".join(f"<p>{escape(line)}</p>" for line in self.summary())

    def summary(self, *, learns_intents: bool = True) -> list[str]:
        """Return the audit in sentences: the rows kept, then one for each kind of finding.

        `learns_intents` is false for a method that learns from every row, whatever its intent.
        """
        intents, languages = self.counts.shape
        lines = [
            f"{self.rows_kept:,} of {counted(self.rows_read, 'row')} kept: {counted(intents, 'intent')} in "
            f"{counted(languages, 'language')}."
        ]
        reasons = self.dropped["reason"].str.replace(_PARTICULAR, "", regex=True).value_counts()
        lines += [f"Dropped, {reason}: {counted(int(count), 'row')}." for reason, count in reasons.items()]
        for saying, findings in (
            ("The same text with two or more intents", self.conflicts),
            ("The same id with two or more intents", self.id_conflicts),
            ("The same id or the same text in two splits", self.leaks),
            ("An intent that differs from another only in case", self.case_variants),
            ("An intent that ends in its language, and is the same without", self.language_variants),
            ("Text in a script that does not fit its language", self.script_misfits),
            ("Repeats of a sentence but for case, spacing, id or split", self.duplicates),
            ("A word such as nan or NULL, which may stand for a missing value", self.missing_words),
            ("An intent's only sentence in a language", self.thin),
            (f"Text of more than {LONG_TEXT_CHARACTERS:,} characters", self.long_texts),
        ):
            if len(findings):
                lines.append(f"{saying}: {counted(len(findings), 'row')}.")
        for explanation, count in self.unused["explanation"].value_counts().items():
            is_one, has_none = count == 1, explanation == _NO_SPLIT
            verb = ("has" if is_one else "have") if has_none else ("is of" if is_one else "are of")
            rest = f"and {'is' if is_one else 'are'} neither trained on nor measured"
            lines.append(f"{counted(int(count), 'row')} {verb} {explanation}, {rest}.")
        return [*lines, *self.none_remarks(learns_intents=learns_intents), *self.remarks, *self.notes]

    def none_remarks(self, *, learns_intents: bool = True) -> list[str]:
        """Return what becomes of the rows that stand for "none of these", in a sentence; none where there are none."""
        count = self.rows_kept - int(self.counts.to_numpy().sum())
        if not self.none_of_these:
            return []
        has, they_are, show = ("has", "it is", "shows") if count == 1 else ("have", "they are", "show")
        rest = (
            f"neither learnt as an intent nor retrieved, and {show} where the known intents end"
            if learns_intents
            else "learnt from like every other row, since this method learns no intents"
        )
        labelled = f"labelled {listed(self.none_of_these, 5)}"
        return [f"{counted(count, 'row')} {labelled} {has} none of the intents: {they_are} {rest}."]


def _no_language(value: str) -> str:
    """Return why a row with this value as its language is dropped; "" if it is a language."""
    if language_code(value):
        return ""
    meant = "undetermined" if value == UNDETERMINED else language_meant(value)
    return f"not a language: '{shown(value)}'" + (f" ({meant})" if meant else "")


def _clean_rows(rows: pd.DataFrame, reading: Reading) -> tuple[pd.DataFrame, list[str]]:
    """Return rows stripped, with languages, splits, ids and intents as they are compared, and intents that look alike.

    Of the other columns, `doubt` says which cells may be missing values, or is missing; `intent_read` is the intent
    before any are merged; `description` describes it, or is ""; and `reason` says why a row is dropped, or is "".
    """
    clean = pd.DataFrame(
        {
            column: without_missing(stripped(rows[column]), column, reading.missing, reading.named_intents)
            for column in LABELLED_COLUMNS
        }
    ).reset_index(drop=True)
    clean["doubt"] = _doubts(clean)
    clean["language"] = language_codes(clean["language"])
    clean["split"], clean["id"] = split_codes(clean["split"]), comparable_ids(clean["id"])
    clean["intent"], no_single = single_intents(clean["intent"])
    clean["intent"], looked_alike = as_seen_intents(clean["intent"])
    clean["intent_read"], clean["intent"] = clean["intent"], merge_intents(clean, reading.merge_intents)
    clean["description"] = stripped(rows["description"]).to_numpy() if "description" in rows else ""
    clean["row"], clean["source"] = rows["row"].to_numpy(), rows["source"].to_numpy()
    reasons = {value: _no_language(value) for value in clean["language"].unique()}
    clean["reason"] = clean["language"].map(reasons).astype("str")
    clean["reason"] = clean["reason"].mask(no_single != "", no_single)
    for column in ("language", "intent", "text"):
        clean["reason"] = clean["reason"].where(clean[column] != "", f"no {column}")
    return clean, looked_alike


def _doubts(rows: pd.DataFrame) -> pd.Series:
    """Return which cells of each row hold a word that may stand for a missing value; a missing value for none."""
    doubts = _nothing(rows)
    for column in ("text", "intent", "language", "id", "split"):
        if words := missing_words(rows[column], column):
            doubtful = rows.loc[rows[column].isin(words), column]
            said = f"the {column} '" + doubtful + "' may stand for a missing value"
            before = doubts[doubtful.index]
            doubts[doubtful.index] = (before + "; " + said).where(before.notna(), said)
    return doubts


def _spelt_as_read(reading: Reading, intents: "pd.Series[str]") -> Reading:
    """Return a reading with the names of intents as those that were read are compared."""
    names = seen_names([*intents.unique(), *reading.no_intents, *reading.real_intents])
    no_intents, real_intents = (
        [names[name] for name in given] for given in (reading.no_intents, reading.real_intents)
    )
    return replace(reading, no_intents=no_intents, real_intents=real_intents)


def audit_rows(
    rows: pd.DataFrame,
    notes: tuple[str, ...] = (),
    reading: Reading = AS_GUESSED,
) -> tuple[pd.DataFrame, Audit]:
    """Audit labelled rows.

    Args:
        rows: the columns of LABELLED_COLUMNS, row (int) and source (str), the place of each row, and, if there are
            any, description (str), of its intent.
        notes: what is already known about the files.
        reading: what is said of the intents.

    Returns:
        The kept rows as a labelled set's frame (stripped, languages and splits as codes), and the audit.
    """
    clean, looked_alike = _clean_rows(rows, reading)
    intents_read, reading = clean["intent_read"], _spelt_as_read(reading, clean["intent_read"])
    whole = clean[clean["reason"] == ""]
    # Rows that are the same sentence have the same number.
    whole = whole.assign(same=sentence_numbers(whole), stated_id=whole["id"])
    contradicting, shared_ids = contradicting_ids(whole)
    numbers_rows = len(contradicting) > MOST_CONTRADICTING * shared_ids
    if numbers_rows:
        whole["id"] = ""
    copies = "an exact repeat of " + _first_rows_repeated(whole, "text", "intent", "language", "id")
    clean["reason"] = copies.reindex(clean.index).fillna(clean["reason"])
    kept = whole[copies.isna()].reset_index(drop=True)

    # An explanation is NaN where there is nothing to find.
    def findings(explained: pd.Series, among: pd.DataFrame = kept) -> pd.DataFrame:
        is_explained = explained.notna()
        rows = among[is_explained].assign(explanation=explained[is_explained].astype("str"))
        return rows[["row", "source", "text", "language", "explanation"]].reset_index(drop=True)

    none_of_these = names_of_none(
        kept, reading.no_intents, reading.real_intents, missing_words(kept["intent"], "intent")
    )
    is_none = kept["intent"].isin(none_of_these)
    labelled = kept[~is_none]
    thin = labelled[~labelled.duplicated(["intent", "language"], keep=False)]
    leaks = "id " + whole["id"] + " is in the splits " + _several(whole, "id", "split")
    leaks = leaks.fillna("this text is in the splits " + _several(whole, "same", "split"))
    torn = kept[kept["stated_id"].isin(contradicting)]
    cased, named = rarer_spellings(labelled["intent"]), names_with_language(labelled)
    in_case = labelled[labelled["intent"].isin(cased)]
    in_language = labelled[without_language(labelled) != labelled["intent"]] if named else kept.head(0)
    described = labelled[labelled["description"] != ""].drop_duplicates(["intent", "description"])
    has_split = (kept["split"] != "").any()
    unused = kept[~kept["split"].isin(SPLITS)] if has_split else kept.head(0)
    long = kept[kept["text"].str.len() > LONG_TEXT_CHARACTERS]
    dropped = clean.loc[clean["reason"] != "", ["row", "source", "reason", "text"]]
    absent = absent_names(
        [*intents_read.unique(), *clean["intent"].unique()], [*reading.no_intents, *reading.real_intents]
    )
    remarks = [f"No row has the intent {listed(absent, 5)}, which was named."] if absent else []
    if looked_alike:
        remarks.append(f"Intents that look the same in several spellings are one: {listed(looked_alike, 5)}.")
    before, after = (names[whole.index].nunique() for names in (intents_read, clean["intent"]))
    if before != after:
        remarks.append(f"Intents merged by {listed(reading.merge_intents)}: {after:,} instead of {before:,}.")
    if numbers_rows:
        remarks.append(
            f"{len(contradicting):,} of {counted(shared_ids, 'id')} that several rows have are of different intents: "
            "ids number rows here, and are not used as translations."
        )
    if len(described):
        remarks.append(f"Described in words: {counted(described['intent'].nunique(), 'intent')}.")
    if several := sorted(described["intent"][described["intent"].duplicated()].unique()):
        remarks.append(f"Of several descriptions, the first counts: {listed(several, 5)}.")
    if labelled["language"].nunique() > 1 and not occurs_in_several(labelled):
        without = (
            f"; without the language at the end of {counted(len(named), 'name')}, some do" if named else ""
        )
        remarks.append(f"No intent occurs in two languages{without}.")
    return kept[list(LABELLED_COLUMNS)], Audit(
        rows_read=len(rows),
        rows_kept=len(kept),
        dropped=dropped.reset_index(drop=True),
        duplicates=findings(
            "the same sentence and intent as " + _first_rows_repeated(kept, "same", "intent")
        ),
        conflicts=findings("this text has the intents " + _several(kept, "same", "intent")),
        id_conflicts=findings(
            "id " + torn["stated_id"] + " has the intents " + _several(torn, "stated_id", "intent"), torn
        ),
        leaks=findings(leaks, whole),
        unused=findings(
            ("the unknown split '" + unused["split"] + "'").where(unused["split"] != "", _NO_SPLIT), unused
        ),
        case_variants=findings(
            in_case["intent"] + " differs from the intent " + in_case["intent"].map(cased) + " only in case",
            in_case,
        ),
        language_variants=findings(
            in_language["intent"] + " without its language is " + in_language["intent"].map(named),
            in_language,
        ),
        script_misfits=findings(_script_misfits(kept)),
        missing_words=findings(clean["doubt"], clean),
        thin=findings(
            "the only " + thin["language"].map(language_name) + " sentence of " + thin["intent"], thin
        ),
        long_texts=findings(
            long["text"].str.len().astype("str") + " characters; encoders read the beginning only", long
        ),
        counts=count_table(labelled),
        none_of_these=none_of_these,
        descriptions=described.drop_duplicates("intent").set_index("intent")["description"].to_dict(),
        remarks=tuple(remarks),
        notes=notes,
    )


def labelled_from_frame(
    frame: pd.DataFrame,
    name: str,
    notes: tuple[str, ...] = (),
    *,
    reading: Reading | None = None,
) -> tuple[LabelledSet, Audit]:
    """Audit a frame with the six columns, as `apply_columns` returns it, and make a labelled set of it.

    Args:
        frame: the six columns. With row and source, as `located` adds them, the audit names the place of each row;
            otherwise rows count from 1.
        name: the name of the set.
        notes: what is already known about the rows, for the audit.
        reading: what is said of the intents.

    Raises:
        DataError: a column is missing, or what is left is no labelled set (see `read_labelled`).

    Examples:
        >>> import emu_core
        >>> rows = emu_core.load_demo().frame.query("language == 'en'")
        >>> english, audit = emu_core.labelled_from_frame(rows, "hotel in English")
        >>> english.name, english.languages
        ('hotel in English', ('en',))
    """
    if not isinstance(frame, pd.DataFrame):
        raise InputError(
            f"{kind_of(frame)} is no pandas DataFrame; emu_core.read_labelled takes other data, too"
        )
    if missing := [column for column in LABELLED_COLUMNS if column not in frame.columns]:
        raise DataError(
            f"{shown(name)}: no column '{missing[0]}'; found: {listed_names(frame.columns)}. Read the frame by "
            "emu_core.read_labelled, which takes any columns"
        )
    reading = checked_reading(reading)
    reading.refuse("the frame has the six columns", "mapping", "language")
    rows = frame if {"row", "source"} <= set(frame.columns) else located(frame[list(LABELLED_COLUMNS)], name)
    return audited_set(rows, name, notes, reading)


def audited_set(
    rows: pd.DataFrame, name: str, notes: tuple[str, ...], reading: Reading
) -> tuple[LabelledSet, Audit]:
    """Audit rows with row and source, and make a labelled set of those that are kept; see `labelled_from_frame`."""
    usable, audit = audit_rows(rows, notes, reading)
    if len(usable) < 2:
        reason = next((f" ({row.reason} in row {row.row})" for row in audit.dropped.itertuples()), "")
        raise DataError(
            f"{shown(name)} has {len(usable)} usable of {len(rows):,} rows{reason}; two or more sentences "
            "with text, intent and language are needed"
        )
    labelled = LabelledSet.divided(usable, name, audit.none_of_these).described(audit.descriptions)
    if not labelled.intents:
        raise DataError(
            f"{shown(name)} has none but intents that stand for none of these ({listed(audit.none_of_these, 4)}); "
            "name fewer so"
        )
    if len(labelled.intents) < 2:
        raise DataError(
            f"{shown(name)} has the single intent '{shown(labelled.intents[0])}'; add sentences of another, "
            "or map the column that distinguishes them (",
            Fix("intent_column"),
            ")",
        )
    return labelled, audit


def located(frame: pd.DataFrame, source: str) -> pd.DataFrame:
    """Return a frame with two more columns: row, from 1, and source."""
    return frame.assign(
        row=range(1, len(frame) + 1), source=pd.Series(source, index=frame.index, dtype="str")
    )
