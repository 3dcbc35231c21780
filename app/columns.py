"""Columns that stay wide enough to be read."""

from typing import Any

import streamlit as st


def roomy_columns(count: int, least_px: int, key: str, **options: Any) -> list[Any]:
    """Return columns of which, on a narrow page, some come to stand under the others.

    Args:
        count: how many.
        least_px: none becomes narrower than so many pixels.
        key: names them on their page; letters and hyphens.
        options: as `st.columns` takes them.
    """
    place = st.container(key=key)
    place.html(f"<style>.st-key-{key} [data-testid='stColumn'] {{min-width: {least_px}px}}</style>")
    return list(place.columns(count, **options))
