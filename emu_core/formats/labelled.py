"""Labelled and unlabelled sets from data of any kind."""

from dataclasses import replace

import pandas as pd

from emu_core.data.audit import Audit, audited_set
from emu_core.data.cleaning import stripped
from emu_core.data.ids import comparable_ids
from emu_core.data.languages import checked_language, is_known
from emu_core.data.reading import ABOUT_INTENTS, OF_INTENTS, Reading, checked_reading
from emu_core.data.repeats import without_repeats
from emu_core.data.sets import LABELLED_COLUMNS, LabelledSet, UnlabelledSet
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError, in_words
from emu_core.formats.descriptions import read_intents
from emu_core.formats.in_memory import PARTLY_LABELLED, SENTENCES, Sources, check_labelled
from emu_core.formats.read import files_of, read
from emu_core.formats.source_tables import read_tables
from emu_core.formats.tables.columns import guess_columns_of

_TRANSLATED = ("translation", "machine_translation", "mt")  # names of a column of machine translations


def read_labelled(sources: Sources, *, reading: Reading | None = None) -> tuple[LabelledSet, Audit]:
    """Read labelled sentences as one set, or the demo set for the single word "demo".

    Args:
        sources: one or more paths: of tables in a format of `TABLE_FORMATS`, of collections in a format of
            `COLLECTION_FORMATS`, and of folders and zip archives, which stand for the files in them. Or what Python
            holds: a data frame of pandas or polars, a pyarrow Table, a Hugging Face `Dataset` or `DatasetDict` (whose
            keys are splits or languages), several of them in a list, or `(texts, intents)`.
        reading: columns with unusual names, the language of files that state none, and which intents are merged or
            stand for "none of these".

    Raises:
        DataError: a file can't be read or mapped, or fewer than two usable sentences, or a single intent, are left.

    Examples:
        >>> import emu_core
        >>> import pandas as pd
        >>> tickets = pd.DataFrame({"utterance": ["My card is lost", "Open an account"], "label": ["lost", "open"]})
        >>> labelled, audit = emu_core.read_labelled(tickets, reading=emu_core.Reading(language="en"))
        >>> labelled.intents
        ('lost', 'open')
        >>> print(audit.summary()[0])
        2 of 2 rows kept: 2 intents in 1 language.
    """
    reading = checked_reading(reading)
    check_labelled(sources)
    if isinstance(sources, LabelledSet):
        named = [*sources.none_of_these["intent"].unique(), *reading.no_intents]
        reading = replace(reading, no_intents=named)
    data = read(sources, reading=reading)
    labelled, audit = audited_set(data.rows, data.name, data.notes, reading)
    return with_descriptions(labelled, reading), audit


def with_descriptions(labelled: LabelledSet, reading: Reading) -> LabelledSet:
    """Return the set with what the reading says of its intents. Raises DataError if that can't be read."""
    if reading.intents is None:
        return labelled
    return labelled.described(read_intents(reading.intents, fewest=1))


def read_partly_labelled(
    sources: Sources, *, reading: Reading | None = None
) -> tuple[LabelledSet, UnlabelledSet, tuple[str, ...]]:
    """Read sentences of which all, some or none have an intent, for methods that need no labels.

    Args:
        sources: paths as of `read_labelled` and of `read_unlabelled`, in any mixture.
        reading: as of `read_labelled`; a file that lacks a mapped column that another file has needs none.

    Returns:
        The labelled set, without rows if the intents make up none; the sentences to train on without a label, those of
        splits dev and test left out; and the findings of the audit, a sentence each.

    Raises:
        DataError: a file can't be read, has no text column, or states no language; or no sentence is left.
    """
    reading = checked_reading(reading)
    data = read(sources, PARTLY_LABELLED, reading=reading)
    rows, notes, name = data.rows, data.notes, data.name
    is_labelled = stripped(rows["intent"]) != ""
    labelled, findings = LabelledSet.of_nothing(name), tuple[str, ...]()
    unused: tuple[str, ...] = ()
    if is_labelled.any() or reading.says("no_intents", "real_intents"):
        try:
            labelled, audit = audited_set(rows[is_labelled].reset_index(drop=True), name, notes, reading)
            labelled = with_descriptions(labelled, reading)
            findings = tuple(audit.summary(learns_intents=False))
        except DataError as error:
            if reading.says(*OF_INTENTS):
                raise
            unused = (
                f"The intents can't be used, so nothing is measured: {error.message.worded(in_words)}.",
            )
    bare = rows[~is_labelled] if len(labelled) else rows
    unlabelled = UnlabelledSet(_training_sentences(bare), name)
    if not len(labelled) and not len(unlabelled):
        raise DataError(f"{shown(name)} has no sentence to train on with a language; check the columns")
    if len(unlabelled):
        count = f"{counted(len(unlabelled), 'sentence')} without labels in {listed(unlabelled.languages)}."
        findings = (*findings, count) if findings else (count, *unused, *notes)
    return labelled, unlabelled, findings


def _training_sentences(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the sentences of the six columns that are in no split, or in split train, each once."""
    frame = rows[list(LABELLED_COLUMNS)].apply(stripped)
    usable = (frame["text"] != "") & frame["language"].map(is_known).astype("bool")
    frame = frame[usable & frame["split"].isin(["", "train"])]
    frame = frame.assign(id=comparable_ids(frame["id"]))[list(UnlabelledSet.columns)]
    return without_repeats(frame)


def read_unlabelled(paths: Sources, *, reading: Reading | None = None) -> UnlabelledSet:
    """Read sentences from tables, ignoring their intents, or from plain files, one sentence a line; or take a list.

    A file is plain if its name has no ending of a structured file: `hotel.de.txt`, `train.de.gz`. A folder or a zip
    archive stands for the files in it. Empty sentences and repeats of a sentence in the same language are dropped.

    Args:
        paths: sentences (a list, a Series or an array), or files, folders, data frames and so on as for
            `read_labelled`.
        reading: columns with unusual names, and the language of files without a column of languages; without it the
            file's name must state it.

    Raises:
        DataError: a file can't be read, has no text column, or states no language; or no sentence is left.

    Examples:
        >>> import emu_core
        >>> german = emu_core.Reading(language="de")
        >>> sentences = emu_core.read_unlabelled(["Wo ist der Pool?", "Wo ist der Pool?"], reading=german)
        >>> sentences.frame[["text", "language"]].values.tolist()
        [['Wo ist der Pool?', 'de']]
    """
    reading = checked_reading(reading)
    reading.refuse("these sentences are read without intents", *ABOUT_INTENTS)
    data = read(paths, SENTENCES, reading=reading)
    frame = data.rows[list(UnlabelledSet.columns)].apply(stripped)
    frame = frame[(frame["text"] != "") & (frame["language"] != "")]
    for code in frame["language"].unique():
        checked_language(code)
    frame = without_repeats(frame.assign(id=comparable_ids(frame["id"])))
    if frame.empty:
        raise DataError(f"{shown(data.name)}: no sentence with a language is left; check the columns")
    return UnlabelledSet(frame, data.name)


def read_machine_translations(sources: Sources, reading: Reading | None = None) -> dict[str, str]:
    """Return the translations in a column `translation` of a labelled set's files or folders, by text."""
    mapping, translation_by_text = checked_reading(reading).mapping, dict[str, str]()
    frames = [table.frame for table in read_tables(files_of(sources)[0])[0]]
    for frame, columns in zip(frames, guess_columns_of(frames, [mapping] * len(frames)), strict=True):
        translation_by_text |= translations_by_text(frame, columns.text)
    return translation_by_text


def translations_by_text(frame: pd.DataFrame, text: str | None) -> dict[str, str]:
    """Return the machine translations in a table by text, the content of the column `text`; none without either."""
    columns = {str(name).strip().casefold().replace(" ", "_"): name for name in frame.columns}
    column = next((columns[name] for name in _TRANSLATED if name in columns), None)
    if column is None or text is None:
        return {}
    return dict(zip(stripped(frame[text]), stripped(frame[column]), strict=True))
