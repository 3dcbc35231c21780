"""The embeddings of a disentangled encoder on the page: their names, and the vectors of many sentences."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from app.background import Pending
from app.cache import part_embeddings, show_pending
from app.wording import sentence
from emu_core.data.wording import counted
from emu_core.encoders.base import FloatArray
from emu_core.errors import EncoderError
from emu_core.models.parts import Part

NAMES = {
    Part.CLS: "[CLS]",
    Part.MEAN: "Mean",
    Part.LANGUAGE: "Language",
    Part.TEMPLATE: "Template",
    Part.RESIDUAL: "Residual",
    Part.MEANING: "Meaning",
}
MEANINGS = {
    Part.CLS: "The frozen encoder's vector of its first token.",
    Part.MEAN: "The mean of the frozen encoder's tokens.",
    Part.LANGUAGE: "The language-specific part.",
    Part.TEMPLATE: "The sentence without its slots.",
    Part.RESIDUAL: "The rest of the sentence beside its template: the slots.",
    Part.MEANING: "The meaning of the sentence, in any language.",
}
_WITHOUT_TEMPLATE = (Part.CLS, Part.MEAN, Part.LANGUAGE, Part.MEANING)


def parts_of(vectors: FloatArray) -> tuple[Part, ...]:
    """Return the names of embeddings (P, N, dim): all, or those of an encoder that has no template and residual."""
    return tuple(Part) if len(vectors) == len(Part) else _WITHOUT_TEMPLATE


def encoded_parts(spec: str, data_sha: str, texts: Sequence[str]) -> FloatArray | None:
    """Return the embeddings (P, N, dim) of N texts by a run, or None, and draw why, while they are being computed.

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
