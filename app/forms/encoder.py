"""The choice of an encoder, with what there is to know about each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from app.forms.model_name import EXAMPLE, HF, RUN, model_spec
from app.panels.widgets import choose
from app.users import server
from app.wording import literal, sentence
from emu_core.data.wording import counted
from emu_core.encoders.registry import EncoderInfo, available_encoders
from emu_core.errors import EncoderError, RunError
from emu_core.runs.run import Run

KEPT: dict[str, Any] = {"persist_state": "session"}  # what was chosen is there again when a person comes back

BASE, NEW = "Base", "Specialised"  # of two encoders side by side
READS_WORDS = "e5-small"  # gives a state for each token, and is there without a download


@dataclass(frozen=True)
class Choice:
    """An encoder that was chosen."""

    info: EncoderInfo  # the encoder as the list has it
    spec: str  # what `load_encoder` takes; just "hf:" until a model is named
    problem: str  # why it can't be used, in a sentence; "" when it can


def draw_encoder(
    key: str = "encoder", first: str | None = None, runs: Sequence[Run] = (), *, label: str = "Encoder"
) -> Choice:
    """Ask for an encoder, and for the model's name where one is open for any.

    At first it is the one whose spec is `first`, or the first of the list; finished runs' encoders are offered, too.
    """
    encoders = {encoder.spec: encoder for encoder in (*available_encoders(), *map(of_run, runs))}
    spec = choose(
        label,
        list(encoders),
        key,
        index=0 if first is None else list(encoders).index(first),
        format_func=lambda spec: (
            encoders[spec].name + ("" if encoders[spec].available else " (not available here)")
        ),
    )
    info = encoders[spec]
    st.caption(facts(info))
    if not info.available:
        return Choice(info, spec, f"{info.name} is not available here: {info.reason}")
    return _draw_model(info, key) if spec == HF else Choice(info, spec, "")


def is_transformer(encoder: str) -> bool:
    """Return whether a spec names a transformer, whose layers take LoRA's additions and whose tokens have states."""
    return encoder == "e5-small" or encoder.startswith(HF)


def of_run(run: Run) -> EncoderInfo:
    """Return a finished run's encoder as the list has it."""
    try:
        languages, reason = run.config().languages, ""
    except RunError as error:
        languages, reason = (), str(error)
    return EncoderInfo(
        spec=f"{RUN}{run.folder}",
        name=f"Run {run.name}",
        dim=0,
        languages=languages,
        size_mb=0,
        licence="",
        available=not reason,
        reason=reason,
    )


def facts(info: EncoderInfo) -> str:
    """Return what is known of an encoder in a line of markdown."""
    known = [
        f"{info.dim} dimensions" if info.dim else "",
        counted(len(info.languages), "language") if info.languages else "",
        f"{info.size_mb:,} MB" if info.size_mb else "",
        literal(info.licence, 60),
    ]
    if info.spec.startswith(RUN):
        return ", ".join(filter(None, ["Trained here", *known]))
    return ", ".join(filter(None, known)) or "Vectors, languages, size and licence are the model's own."


def _draw_model(info: EncoderInfo, key: str) -> Choice:
    typed = st.text_input(
        "Model",
        placeholder=EXAMPLE,
        max_chars=500,
        key=f"{key}-model",
        help="A model's name on the Hugging Face hub"
        + (". " if server().sign_in else ", or the path of a folder on the machine where this app runs. ")
        + "A model of the hub is fetched once, when it is first used. Python code that a model brings is never "
        "run.",
        **KEPT,
    )
    try:
        return Choice(info, model_spec(typed, folders=not server().sign_in), "")
    except EncoderError as error:
        return Choice(info, HF, str(error))


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
