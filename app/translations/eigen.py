"""Eigen-similarity as a picture."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st

from app.background import Done
from app.encoders import computed
from app.translations.source import Pairs
from app.vectors import weights_of
from app.wording import literal
from emu_core import charts
from emu_core.data.languages import language_name
from emu_core.encoders.base import FloatArray
from emu_core.evaluation.eigen_similarity import EigenSimilarity, eigen_similarity

SIZE = 10  # pairs in a sample, the paper's K and the default of `eigen_similarity`


def draw_eigen(specs: Mapping[str, str], pairs: Pairs, vectors: Mapping[str, FloatArray]) -> None:
    """Draw one sample's spectra and how Psi is distributed over all samples.

    Args:
        specs: what `load_encoder` takes, by the encoder's name.
        pairs: N pairs.
        vectors: (2N, dim) by the encoder's name.
    """
    n = len(pairs.text)
    if n < SIZE:
        st.info(f"Eigen-similarity needs {SIZE} pairs, and there are {n}.", icon=":material/info:")
        return
    found: dict[str, EigenSimilarity] = {}
    for name, both in vectors.items():
        outcome = computed(
            f"spectra:{pairs.key}:{weights_of(specs[name])}",
            f"{literal(name, 60)}: comparing the spectra of 1,000 samples",
            eigen_similarity, both[:n], both[n:],
        )  # fmt: skip
        if not isinstance(outcome, Done):
            return
        found[name] = outcome.value
    st.caption(
        f"Of {SIZE} sentences, how far is each from each: the same in both languages? The eigenvalues of the graph's "
        "Laplacian say how the sentences are arranged, wherever they lie. Psi adds up the squared differences between "
        "the two languages' eigenvalues; 0 is alike. In Chidambaram et al. it was smaller where labels in one European "
        "language served better in another."
    )
    st.markdown("**Psi over 1,000 samples**, with its mean and the mean's 95 % interval")
    st.plotly_chart(
        charts.psi_distributions({name: one.values for name, one in found.items()}),
        key="psi",
        config={"displayModeBar": False},
        alt="; ".join(f"{name}: Psi {one.mean:.3f}" for name, one in found.items()),
    )
    table = pd.DataFrame(
        {
            "Encoder": list(found),
            "Psi": [one.mean for one in found.values()],
            "Standard error": [one.standard_error for one in found.values()],
            "Variance": [one.variance for one in found.values()],
        }
    )
    numbers = {name: st.column_config.NumberColumn(format="%.4f") for name in table.columns[1:]}
    st.dataframe(table, hide_index=True, column_config=numbers, key="psi-table")
    _draw_sample(pairs, found)


def _draw_sample(pairs: Pairs, found: Mapping[str, EigenSimilarity]) -> None:
    """Draw the spectra of one sample, at first of one that is as alike as most."""
    values = next(iter(found.values())).values
    middle = int(np.argsort(values)[len(values) // 2])
    st.markdown("**One sample's eigenvalues**, without the first, which is always 0")
    sample = st.number_input(
        "Sample",
        1,
        len(values),
        middle + 1,
        key=f"translations-sample-{pairs.key}-{middle}",
        persist_state="session",
        help="At first the one in the middle: half of all samples are more alike.",
    )
    at = int(sample) - 1
    first, second = map(language_name, pairs.text.languages)
    panels = {
        f"{name}: Psi {one.values[at]:.3f}": {first: one.first[at], second: one.second[at]}
        for name, one in found.items()
    }
    st.plotly_chart(
        charts.spectrum_lines(panels),
        key="spectra",
        config={"displayModeBar": False},
        alt=f"Sorted Laplacian eigenvalues of sample {sample}: {'; '.join(panels)}.",
    )
    with st.expander("The sentences of this sample", icon=":material/table_rows:"):
        rows = next(iter(found.values())).rows[at]
        st.dataframe(
            pd.DataFrame(
                [(pairs.text.first[row], pairs.text.second[row]) for row in rows], columns=[first, second]
            ),
            hide_index=True,
        )
