"""How data is to be read: what a user says of files and tables that they don't say themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from emu_core.data.column_names import column_name
from emu_core.data.wording import kind_of
from emu_core.errors import Fix, InputError


@dataclass(frozen=True)
class ColumnMapping:
    """The name of each role's column; None if it has none, or is left to the guess of `read_labelled`.

    Examples:
        >>> import emu_core
        >>> import pandas as pd
        >>> tickets = pd.DataFrame({"mail": ["My card is lost", "Open an account"], "queue": ["lost", "open"]})
        >>> columns = emu_core.ColumnMapping(text="mail", intent="queue")
        >>> reading = emu_core.Reading(mapping=columns, language="en")
        >>> emu_core.read_labelled(tickets, reading=reading)[0].intents
        ('lost', 'open')
    """

    text: str | None = None
    intent: str | None = None
    language: str | None = None
    id: str | None = None
    split: str | None = None
    annotated: str | None = None
    description: str | None = None  # of the intent, which counts instead of its name

    def __post_init__(self) -> None:
        for role, name in asdict(self).items():  # the names of a frame's columns may be numbers or tuples
            if name is not None:
                object.__setattr__(self, role, column_name(name))


DescribedIntents = str | Path | Sequence[str] | Mapping[str, str]
"""Names of intents in a list; descriptions by name; or a file of either, see `read_intents`."""
OF_INTENTS = ("merge_intents", "no_intents", "real_intents")
ABOUT_INTENTS = (*OF_INTENTS, "intents")


@dataclass(frozen=True)
class Reading:
    """How data is to be read, for every function that reads some: `train(data, reading=Reading(language="en"))`.

    Attributes:
        mapping: columns by name, for all files; those left None are guessed from the usual names.
        language: the language of files for which no column and no name states one.
        merge_intents: merges intents whose names differ only in "case" (Booking, booking), or only in the "language"
            of their sentences at the end (booking-en, booking-fr).
        no_intents: intents that stand for "none of these", beside those with a usual name such as out_of_scope or
            None: their sentences become `LabelledSet.none_of_these`.
        real_intents: intents that don't, though they have a usual name.
        missing: words that stand for a missing value, such as "nan" and "NULL", in any case; "usual" for all usual
            ones. By default they are data, and findings of the audit. An intent that is called None is no such word by
            "usual", since that is usual for "none of these".
        intents: what the intents are about, as `read_intents` takes it; it counts instead of their names.

    Raises:
        InputError: the mapping is no `ColumnMapping`.

    Examples:
        >>> import emu_core
        >>> texts = ["Card lost", "Hi!", "My card is gone", "Where is my card?", "Open an account"]
        >>> tickets = (texts, ["Lost", "chat", "lost", "lost", "open"])
        >>> reading = emu_core.Reading(language="en", merge_intents=["case"], no_intents=["chat"])
        >>> labelled, _ = emu_core.read_labelled(tickets, reading=reading)
        >>> labelled.intents, labelled.none_of_these["text"].tolist()
        (('lost', 'open'), ['Hi!'])
    """

    mapping: ColumnMapping | None = None
    language: str | None = None
    merge_intents: Sequence[str] = ()
    no_intents: Sequence[str] = ()
    real_intents: Sequence[str] = ()
    missing: Sequence[str] = ()
    intents: DescribedIntents | None = None

    def __post_init__(self) -> None:
        if self.mapping is not None and not isinstance(self.mapping, ColumnMapping):
            raise InputError(
                f"{kind_of(self.mapping)} is no mapping of columns; give emu_core.ColumnMapping(text=...)"
            )
        for name in (*OF_INTENTS, "missing"):
            names = getattr(self, name)
            object.__setattr__(self, name, (names,) if isinstance(names, str) else tuple(names))

    @property
    def named_intents(self) -> tuple[str, ...]:
        """The intents of which something is said."""
        return (*self.no_intents, *self.real_intents)

    def says(self, *names: str) -> tuple[str, ...]:
        """Return which of the named options are given."""
        nothing = (None, (), ColumnMapping())
        return tuple(name for name in names if getattr(self, name) not in nothing)

    def refuse(self, why: str, *names: str) -> None:
        """Raise an InputError if one of the named options is given, which would be ignored for a reason."""
        if given := self.says(*names):
            raise InputError(Fix(given[0]), f" would change nothing, since {why}; leave it out")

    def of_sentences(self) -> "Reading":
        """Return how sentences are read whose intents, if they have some, are not."""
        return Reading(self.mapping, self.language, missing=self.missing)


READING_OPTIONS = tuple(field.name for field in fields(Reading))


AS_GUESSED = Reading()


def checked_reading(reading: Reading | None) -> Reading:
    """Return a reading, the usual one for None. Raises InputError if Python passed something else."""
    if reading is not None and not isinstance(reading, Reading):
        raise InputError(f"{kind_of(reading)} is no reading; give emu_core.Reading(language=...)")
    return reading or AS_GUESSED
