"""The run that was started just now, to which the page scrolls: the button may be far from it, on a phone above it."""

import streamlit as st

from emu_app.shell.session import Remembered

TO_SHOW = Remembered("run-to-show", "")  # the name of the run
_SCRIPT = """
export default function ({ data, parentElement }) {
  if (!data.run || parentElement.emuShown === data.run) return
  parentElement.emuShown = data.run
  const behavior = matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth'
  document.querySelector('.st-key-watched-run')?.scrollIntoView({ behavior, block: 'start' })
}
"""


def scroll_to_started() -> None:
    """Scroll to the watched run, once, if it was started just now."""
    st.components.v2.component("emu_scroll_to_run", js=_SCRIPT)(
        key="scroll-to-run", data={"run": TO_SHOW.get()}, height=1
    )
