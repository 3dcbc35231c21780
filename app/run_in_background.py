"""Work that is quick on small data and long on large: done at once, or in the background."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from app.background import Failed, Pending
from app.cache import background, show_pending
from emu_core.errors import DataError

QUICK_BYTES = 5_000_000  # read and audited in about a second


def done_or_shown(key: str, size: int, label: str, function: Callable[..., Any], *args: Any) -> Any | None:
    """Return `function(*args)`; None while a large one runs in the background, which is drawn.

    Args:
        key: names this very work; see `Background`.
        size: bytes that are worked on.
        label: what the person waits for.
        function: importable by name; returns no None.
        args: its arguments.

    Raises:
        DataError: the function did.
    """
    if size <= QUICK_BYTES:
        with st.spinner(label):
            return function(*args)
    outcome = background().run(key, function, *args)
    if isinstance(outcome, Pending):
        show_pending(outcome, label)
        return None
    background().forget(key)  # the session keeps it from here on
    if isinstance(outcome, Failed):
        raise DataError(outcome.message)
    return outcome.value
