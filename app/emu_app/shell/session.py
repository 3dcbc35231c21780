"""What a session remembers from one run of a page to the next: typed values, each declared once and passed by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import streamlit as st

_T = TypeVar("_T")


@dataclass(frozen=True)
class Remembered(Generic[_T]):
    """A value of the session, which may be that of the widget with this key."""

    key: str
    first: _T  # until another is set

    def get(self) -> _T:
        """Return the value."""
        value: _T = st.session_state.get(self.key, self.first)
        return value

    def set(self, value: _T) -> None:
        """Set the value; that of a widget only before the page draws it, or in a callback."""
        st.session_state[self.key] = value

    def get_or_make(self, make: Callable[[], _T]) -> _T:
        """Return the value, which is made now if there is none."""
        if not self.is_set:
            self.set(make())
        return self.get()

    @property
    def is_set(self) -> bool:
        """Whether there is a value other than the first."""
        return self.key in st.session_state

    def forget(self) -> None:
        """Go back to the first value."""
        st.session_state.pop(self.key, None)
