"""Glossary: the words of the other pages, and what the field calls them."""

import streamlit as st

from emu_app.shell.glossary import WORD, Word


def page() -> None:
    """Draw each word with its meaning, the one that the address names first."""
    named = st.query_params.get(WORD)
    st.caption("The words of the pages and, in brackets, what the field and the documentation call them.")
    for word in sorted(Word, key=lambda word: (word.anchor != named, word.title)):
        st.header(word.title, anchor=word.anchor)
        st.markdown(f"({word.term}) {word.meaning}" if word.term else word.meaning, width=720)


page()
