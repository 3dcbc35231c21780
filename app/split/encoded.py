"""Every embedding of many sentences, or how far they are."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from app.background import Pending
from app.cache import part_embeddings, show_pending
from app.wording import sentence
from emu_core.data.wording import counted
from emu_core.encoders.base import FloatArray
from emu_core.errors import EncoderError


def encoded_parts(spec: str, data_sha: str, texts: Sequence[str]) -> FloatArray | None:
    """Return the embeddings (P, N, dim) of N texts by a run, or None, and draw why, while they are not there.

    Args:
        spec: "run:DIR".
        data_sha: of the set that the texts are of, or "".
        texts: N sentences.
    """
    try:
        found = part_embeddings(spec, data_sha, texts)
    except EncoderError as error:
        st.error(sentence(error), icon=":material/error:")
        return None
    if isinstance(found, Pending):
        show_pending(
            found, f"Splitting {counted(len(texts), 'sentence')}, each encoded once for all of its parts"
        )
        return None
    return np.asarray(found)
