"""The choice of an encoder, with the facts about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from app.address import linked
from app.forms.model_name import EXAMPLE, HF, RUN, model_spec
from app.panels.widgets import KEPT, choose
from app.users import server
from app.wording import literal
from emu_core.data.wording import counted
from emu_core.encoders.registry import EncoderInfo, available_encoders
from emu_core.errors import EncoderError, RunError
from emu_core.runs.run import Run

READS_WORDS = "e5-small"  # has a state for each token and needs no download


@dataclass(frozen=True)
class Choice:
    """A chosen encoder."""

    info: EncoderInfo  # its entry in the list
    spec: str  # for `load_encoder`; "hf:" until a model is named
    problem: str  # why it can't be used, in a sentence; "" if it can


def draw_encoder(
    key: str = "encoder",
    first: str | None = None,
    runs: Sequence[Run] = (),
    *,
    label: str = "Encoder",
    param: str | None = None,
) -> Choice:
    """Ask for an encoder, at first the one with the spec `first`, and for the model's name if that is "hf:".

    The encoders of finished `runs` are offered, too. `param` is the parameter of the address that keeps the choice, if
    any; it names a run without its folder.
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
    """Return whether a spec names a transformer, which supports LoRA and has a state for each token."""
    return encoder == READS_WORDS or encoder.startswith(HF)


def of_run(run: Run) -> EncoderInfo:
    """Return a finished run's encoder as an entry of the list."""
    try:
        languages, reason = run.config().languages, ""
    except RunError as error:
        languages, reason = (), str(error)
    unknown: dict[str, Any] = {"dim": 0, "size_mb": 0, "licence": ""}
    known = {"languages": languages, "available": not reason, "reason": reason}
    return EncoderInfo(spec=f"{RUN}{run.folder}", name=f"Run {run.name}", **unknown | known)


def facts(info: EncoderInfo) -> str:
    """Return the facts about an encoder in a line of markdown."""
    known = [
        f"{info.dim} dimensions" if info.dim else "",
        counted(len(info.languages), "language") if info.languages else "",
        f"{info.size_mb:,} MB" if info.size_mb else "",
        literal(info.licence, 60),
    ]
    if info.spec.startswith(RUN):
        return ", ".join(filter(None, ["Trained here", *known]))
    return ", ".join(filter(None, known)) or "Dimensions, languages, size and licence depend on the model."


def _draw_model(info: EncoderInfo, key: str) -> Choice:
    typed = st.text_input(
        "Model",
        placeholder=EXAMPLE,
        max_chars=500,
        key=f"{key}-model",
        help="A model's name on the Hugging Face hub"
        + (". " if server().sign_in else ", or the path of a folder on the machine where this app runs. ")
        + "A model of the hub is downloaded once, when it is first used. Python code in a model is never run.",
        **KEPT,
    )
    try:
        return Choice(info, model_spec(typed, folders=not server().sign_in), "")
    except EncoderError as error:
        return Choice(info, HF, str(error))
