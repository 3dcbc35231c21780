"""The subject of the Compare page: which run, which sentences, and both encoders' vectors of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from app.encoders import encoded
from app.state import chosen_data
from app.wording import literal, sentence
from emu_core.api.compare import ALL, choose_rows, training_notes, usual_split
from emu_core.data.labelled import LabelledSet
from emu_core.data.languages import language_name
from emu_core.encoders.base import FloatArray
from emu_core.errors import DataError
from emu_core.evaluation.comparison import Comparison
from emu_core.runs.run import Run


@dataclass(frozen=True, eq=False)
class Subject:
    """Two encoders on some sentences.

    Attributes:
        specs: what `load_encoder` takes, by the encoder's name, the base first.
        key: of the data and rows, so that other data begin with choices of their own.
        comparison: of the two encoders.
        is_measured: whether accuracy, leakage and neighbours can be measured on these sentences.
    """

    specs: dict[str, str]
    key: str
    comparison: Comparison
    is_measured: bool

    def of_texts(self, texts: Sequence[str]) -> dict[str, FloatArray] | None:
        """Return both encoders' vectors (len(texts), dim), or None while those of typed texts are being computed."""
        wanted = set(texts)
        found = {text: row for row, text in enumerate(self.comparison.sentences["text"]) if text in wanted}
        typed = sorted(wanted - found.keys())
        fresh = encoded(self.specs, "", typed) if typed else {}
        if fresh is None:
            return None
        place = {text: i for i, text in enumerate(typed)}
        both = zip(self.specs, (self.comparison.base, self.comparison.other), strict=True)
        return {
            name: np.stack([vectors[found[t]] if t in found else fresh[name][place[t]] for t in texts])
            for name, vectors in both
        }


def choose_part(run: Run) -> tuple[LabelledSet, str] | None:
    """Draw the choice of split and languages; return the sentences and a key for them, None where none is left."""
    chosen = chosen_data()
    labelled, prefix = chosen.labelled, f"compare-{chosen.sha256[:12]}"
    which, whose = st.columns([1, 3])
    options = [*labelled.splits, ALL]
    split = which.selectbox(
        "Rows",
        options,
        index=options.index(usual_split(labelled)),
        format_func=lambda name: "all rows" if name == ALL else f"split {name}",
        key=f"{prefix}-split",
        persist_state="session",
        help="Only sentences that the encoder was not trained on show how good it is on new ones.",
    )
    languages = whose.multiselect(
        "Languages",
        labelled.languages,
        format_func=language_name,
        placeholder="All languages",
        key=f"{prefix}-languages",
        persist_state="session",
    )
    try:
        part, sampled = choose_rows(labelled, split, languages)
    except DataError as error:
        st.warning(sentence(error), icon=":material/filter_alt_off:")
        return None
    notes = training_notes(run, labelled, split, sha256=chosen.sha256, title=chosen.title)
    for note in (*notes, *sampled):
        st.info(literal(note), icon=":material/info:")
    return part, f"{chosen.sha256}:{split}:{','.join(languages)}"
