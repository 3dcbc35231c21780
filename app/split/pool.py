"""The sentences of the loaded data that the page works on, with their slots."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from app.state import ChosenData
from emu_core.data.labelled import LabelledSet
from emu_core.data.slots import parse_annotated
from emu_core.data.slots.utterances import Utterance
from emu_core.data.wording import counted
from emu_core.errors import DataError

MOST = 10_000  # sentences; each goes through the encoder, and six vectors of it are kept
ALL = "all rows"


@dataclass(frozen=True, eq=False)
class Pool:
    """N sentences.

    Attributes:
        key: stands for them, in all sessions.
        frame: their rows, a fresh index.
        utterances: N, with slots where there is an annotation that can be read.
        unread: how many annotations can't, or are not their sentence's.
        total: how many sentences there are, of which these are a sample where they are fewer.
    """

    key: str
    frame: pd.DataFrame
    utterances: tuple[Utterance, ...]
    unread: int
    total: int

    @property
    def texts(self) -> list[str]:
        """The N sentences."""
        return [one.text for one in self.utterances]

    def rows(self, language: str) -> list[int]:
        """The row numbers of a language's sentences."""
        return np.flatnonzero(self.frame["language"].to_numpy() == language).tolist()


def choose_pool(chosen: ChosenData) -> Pool:
    """Ask for the rows that are used."""
    options = [*chosen.labelled.splits, ALL]
    split = st.selectbox(
        "Sentences of the loaded data",
        options,
        index=next(options.index(name) for name in ("test", "dev", ALL) if name in options),
        format_func=lambda name: name if name == ALL else f"split {name}",
        key=f"split-rows-{chosen.sha256[:12]}",
        persist_state="session",
        help="Neighbours are looked for among these sentences, and the maps show them. Sentences that the run has not "
        "learnt from tell more.",
    )
    pool = _pool(chosen.sha256, chosen.labelled, split)
    if len(pool.frame) < pool.total:
        st.info(
            f"{len(pool.frame):,} of {counted(pool.total, 'sentence')} are used, translations kept together.",
            icon=":material/filter_list:",
        )
    if pool.unread:
        st.warning(
            f"{counted(pool.unread, 'annotation')} can't be read, or is not its sentence's; such a sentence is taken "
            "to have no slots.",
            icon=":material/data_object:",
        )
    return pool


@st.cache_resource(max_entries=8, show_spinner="Reading the slots ...")
def _pool(sha256: str, _labelled: LabelledSet, split: str) -> Pool:
    """A resource and not data: it is large, and nobody changes it."""
    frame = _labelled.frame if split == ALL else _labelled.select(splits=[split]).frame
    kept = _sample(frame).reset_index(drop=True)
    utterances, unread = [], 0
    for row in kept.to_dict("records"):
        try:
            plain, slots = parse_annotated(row["annotated"])
            fits = plain == row["text"] or not row["annotated"]
        except DataError:
            slots, fits = (), False
        unread += not fits
        utterances.append(
            Utterance(row["text"], slots if fits else (), row["intent"], row["id"], row["language"])
        )
    return Pool(f"{sha256}:{split}", kept, tuple(utterances), unread, len(frame))


def _sample(frame: pd.DataFrame) -> pd.DataFrame:
    """At most `MOST` rows, an id with all of its translations or not at all."""
    if len(frame) <= MOST:
        return frame
    ids = frame["id"].where(frame["id"] != "", frame.index.astype(str) + " alone")
    groups, _ = pd.factorize(ids)
    drawn = np.random.default_rng(0).permutation(groups.max() + 1)
    sizes = np.bincount(groups)[drawn].cumsum()
    return frame[np.isin(groups, drawn[sizes <= MOST])]
