"""What an error is and which remedy it names, for tests that leave its sentence to the room that makes it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import pytest

from emu_core.errors import Call, EmuError, Fix, Named

Kind = TypeVar("Kind", bound=EmuError)


@contextmanager
def raises(
    kind: type[Kind], *, fix: Named | str | None, match: str | None = None
) -> Iterator[pytest.ExceptionInfo[Kind]]:
    """Expect an error of exactly this class that names this remedy.

    Args:
        kind: the class; an error of a subclass fails.
        fix: the whole remedy, or only its option or function; None expects that there is none.
        match: a regular expression for what the message quotes, such as a file or a column, if class and remedy leave
            open which error it is.
    """
    with pytest.raises(kind, match=match) as caught:
        yield caught
    assert caught.type is kind, f"raised {caught.type.__name__}: {caught.value}"
    actual = caught.value.fix
    if isinstance(fix, str):
        assert _name(actual) == fix, f"the remedy is {actual}: {caught.value}"
    else:
        assert actual == fix, f"the remedy is {actual}: {caught.value}"


def _name(fix: Named | None) -> str | None:
    match fix:
        case Fix(option, _) | Call(option, _):
            return option
    return None
