"""The encoders that Compare and Explore set side by side, and their vectors of the same sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from app.background import Done, Failed, Pending
from app.cache import FETCH, background, embeddings, show_pending
from app.forms.encoder import draw_encoder
from app.forms.model_name import HF, RUN, short_name
from app.panels.run_table import pairs_of
from app.wording import literal, sentence
from emu_core.data.wording import counted
from emu_core.encoders.base import FloatArray
from emu_core.errors import EncoderError
from emu_core.runs.run import Run

BASE, NEW = "Base", "Specialised"


def encoder_specs(run: Run) -> dict[str, str] | None:
    """Return what `load_encoder` takes for a run's base encoder and for the specialised one, under their names.

    A run that trained an encoder from scratch has no base: another encoder is asked for, to compare it with, and None
    returned while that can't be used.

    Raises:
        RunError: the run's folder is damaged.
    """
    base = run.config().encoder
    if not base:
        choice = draw_encoder("beside-pretrained", label="Compare with")
        if choice.problem:
            st.info(sentence(choice.problem), icon=":material/edit:")
            return None
        st.caption(
            "This run trained its encoder from scratch, so it has no base: below, *Base* is the encoder chosen here, "
            "and *Specialised* is the run's own."
        )
        base = choice.spec
    return {BASE: base, NEW: f"{RUN}{run.folder}"}


def encoded(specs: Mapping[str, str], data_sha: str, texts: Sequence[str]) -> dict[str, FloatArray] | None:
    """Return each encoder's vectors (N, dim) of the texts, or None, and draw why, while they are not there yet."""
    try:
        found = {name: embeddings(spec, data_sha, texts) for name, spec in specs.items()}
    except EncoderError as error:
        st.error(sentence(error), icon=":material/error:")
        return None
    ready: dict[str, FloatArray] = {}
    for name, vectors in found.items():
        if isinstance(vectors, Pending):
            show_pending(vectors, _doing(vectors, name, specs[name], len(texts)))
            return None
        ready[name] = np.asarray(vectors)
    return ready


def _doing(pending: Pending, name: str, spec: str, sentences: int) -> str:
    """Return what a person waits for, as markdown."""
    if pending.key.startswith(FETCH):
        return f"{name} encoder: fetching {literal(spec.removeprefix(HF), 80)} from the Hugging Face hub, this once"
    named = f"{name} encoder" + ("" if spec.startswith(RUN) else f" {literal(spec, 80)}")
    return f"{named}: opening it and encoding {counted(sentences, 'sentence')}"


def computed(key: str, label: str, function: Any, *args: Any) -> Done | Failed | None:
    """Return what became of `function(*args)` in the background, or None, and draw how far it is, until it is over.

    A failure is drawn, too.

    Args:
        key: identifies the function and all it is given.
        label: what the person waits for, as markdown.
        function: importable, as `Background.submit` wants it.
        args: its arguments.
    """
    outcome = background().run(key, function, *args)
    if isinstance(outcome, Pending):
        show_pending(outcome, label)
        return None
    if isinstance(outcome, Failed):
        st.error(sentence(outcome.message), icon=":material/error:")
        if st.button("Try again", key=f"again-{key}"):
            background().forget(key)
            st.rerun()
    return outcome


def run_facts(run: Run) -> str:
    """Return in a line of markdown how a run was trained."""
    config = run.config()
    labels, unlabelled = ", ".join(config.train_languages), ", ".join(config.unlabelled_languages) or "none"
    pairs = pairs_of(config)
    data = f"translations: {pairs}" if pairs else f"labels: {labels}; unlabelled: {unlabelled}"
    over = f"over {short_name(config.encoder)}" if config.encoder else "from scratch"
    return literal(f"{config.method} {over}; {data}; seed {config.seed}", 300)
