"""Starting what goes on in the background: a run or a benchmark, watched by the page that started it."""

from collections.abc import Callable

import streamlit as st

from app.state import runs_root
from app.wording import sentence
from emu_core.errors import EmuError


def start_and_watch(begin: Callable[[], str], watched: str, started: str) -> None:
    """Start something and draw the page again; where it can't be started, draw why and leave all as it is.

    Args:
        begin: starts it and returns its name.
        watched: the session's key of what is watched.
        started: the session's key of how many were started; a form begins with a fresh name after each.
    """
    try:
        with st.spinner("Starting ..."):
            name = begin()
    except EmuError as error:
        st.error(sentence(error), icon=":material/error:")
        return
    except OSError as error:
        st.error(
            sentence(f"the folder of runs {runs_root()} can't be written: {error}"), icon=":material/error:"
        )
        return
    st.session_state[watched] = name
    st.session_state[started] += 1
    st.rerun()
