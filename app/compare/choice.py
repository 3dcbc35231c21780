"""Which sentences to compare on."""

from collections.abc import Sequence

import streamlit as st

from app.state import chosen_data
from app.wording import literal, sentence
from emu_core.data.labelled import LabelledSet
from emu_core.data.languages import language_name
from emu_core.data.wording import counted
from emu_core.errors import DataError
from emu_core.evaluation.projection import stratified_sample
from emu_core.runs.run import Run

MOST_MEASURED = 20_000  # sentences; each is compared with every other
ALL = "all rows"


def choose_part(run: Run) -> tuple[LabelledSet, str] | None:
    """Draw the choice of split and languages; return the sentences and a key for them, None where none is left."""
    chosen = chosen_data()
    labelled, prefix = chosen.labelled, f"compare-{chosen.sha256[:12]}"
    which, whose = st.columns([1, 3])
    options = [*labelled.splits, ALL]
    split = which.selectbox(
        "Rows",
        options,
        index=next(options.index(name) for name in ("test", "dev", ALL) if name in options),
        format_func=lambda name: name if name == ALL else f"split {name}",
        key=f"{prefix}-split",
        persist_state="session",
        help="Sentences that the encoder has not learnt from tell how good it is on new ones.",
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
        part = labelled.select(languages=languages or None, splits=None if split == ALL else [split])
    except DataError as error:
        st.warning(sentence(error), icon=":material/filter_alt_off:")
        return None
    _say_where_from(run, chosen.sha256, chosen.title, split, labelled.splits)
    return _capped(part), f"{chosen.sha256}:{split}:{','.join(languages)}"


def _say_where_from(run: Run, data_sha: str, title: str, split: str, splits: Sequence[str]) -> None:
    """Say what the figures can't show: that the run learnt from other data, or from these very rows."""
    if run.data().get("sha256") != data_sha:
        st.info(
            f"This run was trained on {literal(run.config().get('data', 'other data'), 60)}, and not on "
            f"{literal(title, 60)} as it is now: what you see is how it does on sentences from elsewhere.",
            icon=":material/swap_horiz:",
        )
    elif split in ("train", ALL):
        rows = "rows of split train, among them, are" if splits and split == ALL else "rows are"
        st.info(
            f"The run learnt from these sentences: {rows} what it was trained on, so the accuracy in its training "
            "languages says little about new sentences.",
            icon=":material/school:",
        )


def _capped(part: LabelledSet) -> LabelledSet:
    if len(part) <= MOST_MEASURED:
        return part
    frame = part.frame
    rows = stratified_sample(frame["language"].tolist(), frame["intent"].tolist(), MOST_MEASURED)
    st.info(
        f"Measured on {MOST_MEASURED:,} of {counted(len(part), 'sentence')}, drawn evenly from every intent in every "
        "language: each is compared with every other.",
        icon=":material/filter_list:",
    )
    return LabelledSet(frame.iloc[rows].reset_index(drop=True), part.name)
