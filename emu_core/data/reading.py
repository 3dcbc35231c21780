"""How data is to be read: the columns that a user names."""

from dataclasses import asdict, dataclass

from emu_core.data.column_names import (
    column_name,
)
from emu_core.data.wording import kind_of
from emu_core.errors import InputError


@dataclass(frozen=True)
class ColumnMapping:
    """The name of each role's column; None if it has none, or is left to the guess of `read_labelled`.

    Examples:
        >>> import emu_core
        >>> import pandas as pd
        >>> tickets = pd.DataFrame({"mail": ["My card is lost", "Open an account"], "queue": ["lost", "open"]})
        >>> columns = emu_core.ColumnMapping(text="mail", intent="queue")
        >>> emu_core.read_labelled(tickets, mapping=columns, language="en")[0].intents
        ('lost', 'open')
    """

    text: str | None = None
    intent: str | None = None
    language: str | None = None
    id: str | None = None
    split: str | None = None
    annotated: str | None = None

    def __post_init__(self) -> None:
        for role, name in asdict(self).items():  # the names of a frame's columns may be numbers or tuples
            if name is not None:
                object.__setattr__(self, role, column_name(name))


def checked_mapping(mapping: ColumnMapping | None) -> ColumnMapping | None:
    """Return a mapping. Raises InputError if Python passed something else."""
    if mapping is not None and not isinstance(mapping, ColumnMapping):
        raise InputError(
            f"{kind_of(mapping)} is no mapping of columns; give emu_core.ColumnMapping(text=...)"
        )
    return mapping
