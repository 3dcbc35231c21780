"""The choice of an encoder, with what there is to know about each."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from app.address import linked
from app.forms.model_name import EXAMPLE, HF, RUN, model_spec
from app.panels.widgets import choose
from app.users import server
from app.wording import literal
from emu_core.data.wording import counted
from emu_core.encoders.registry import EncoderInfo, available_encoders
from emu_core.errors import EncoderError, RunError
from emu_core.runs.run import Run

KEPT: dict[str, Any] = {"persist_state": "session"}  # what was chosen is there again when a person comes back

READS_WORDS = "e5-small"  # gives a state for each token, and is there without a download


@dataclass(frozen=True)
class Choice:
    """An encoder that was chosen."""

    info: EncoderInfo  # the encoder as the list has it
    spec: str  # what `load_encoder` takes; just "hf:" until a model is named
    problem: str  # why it can't be used, in a sentence; "" when it can


def draw_encoder(
    key: str = "encoder",
    first: str | None = None,
    runs: Sequence[Run] = (),
    *,
    label: str = "Encoder",
    param: str | None = None,
) -> Choice:
    """Ask for an encoder, and for the model's name where one is open for any.

    At first it is the one whose spec is `first`, or the first of the list; finished runs' encoders are offered, too.
    `param` names the parameter of the address that has the choice, if one does: of a run its name.
    """
    encoders = {encoder.spec: encoder for encoder in (*available_encoders(), *map(of_run, runs))}

    def title(spec: str) -> str:
        return encoders[spec].name + ("" if encoders[spec].available else " (not available here)")

    if param is None:
        index = 0 if first is None else list(encoders).index(first)
        spec = choose(label, list(encoders), key, index=index, format_func=title)
    else:
        named = {_address_of(spec): spec for spec in encoders}
        start = None if first is None else _address_of(first)
        chosen = linked(
            param, label, list(named), key=key, first=start, format_func=lambda value: title(named[value])
        )
        spec = named[chosen]
    info = encoders[spec]
    st.caption(facts(info))
    if not info.available:
        return Choice(info, spec, f"{info.name} is not available here: {info.reason}")
    return _draw_model(info, key) if spec == HF else Choice(info, spec, "")


def _address_of(spec: str) -> str:
    return f"{RUN}{Path(spec.removeprefix(RUN)).name}" if spec.startswith(RUN) else spec


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
