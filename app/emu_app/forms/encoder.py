"""The choice of an encoder, with the facts about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from emu_app.shell.address import linked
from emu_app.shell.model_name import EXAMPLE_MODEL, HF, RUN_PREFIX, in_address, model_spec
from emu_app.shell.state import finished_runs
from emu_app.shell.users import server
from emu_app.shell.widgets import KEPT, choose
from emu_app.shell.wording import literal, worded
from emu_core.data.wording import counted
from emu_core.encoders.registry import EncoderInfo, available_encoders
from emu_core.encoders.specs import parts_of
from emu_core.errors import EncoderError, RunError
from emu_core.methods.presets import Preset
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
    encoders = {in_address(info.spec): info for info in (*available_encoders(), *map(of_run, runs))}
    start = in_address(first) if first else next(iter(encoders))

    def title(name: str) -> str:
        return encoders[name].name + ("" if encoders[name].available else " (not available here)")

    if param is None:
        name = choose(label, list(encoders), key, index=list(encoders).index(start), format_func=title)
    else:
        name = linked(param, label, list(encoders), key=key, first=start, format_func=title)
    info = encoders[name]
    st.caption(facts(info))
    if not info.available:
        return Choice(info, info.spec, f"{info.name} is not available here: {info.reason}")
    return _draw_model(info, key) if info.spec == HF else Choice(info, info.spec, "")


def encoder_of_preset(preset: Preset) -> Choice:
    """Return the encoder that a preset trains, with the reason why it or its teacher's can't be used."""
    infos = {info.spec: info for info in available_encoders()}
    read = [infos[spec] for spec in dict.fromkeys((preset.encoder, preset.of_labels.encoder))]
    problem = next(
        (f"{info.name} is not available here: {info.reason}" for info in read if not info.available), ""
    )
    return Choice(read[0], preset.encoder, problem)


def draw_other_encoder(column: Any, label: str, **about: Any) -> str | None:
    """Ask for an encoder besides the one to train, published or of a finished run; return its spec, None at first."""
    infos = [info for info in available_encoders() if info.available and info.spec != HF]
    names = {info.spec: info.name for info in (*infos, *map(of_run, finished_runs().values()))}
    spec: str | None = column.selectbox(
        label,
        list(names),
        index=None,
        format_func=names.__getitem__,
        placeholder="Choose an encoder",
        **about,
    )
    return spec


def is_transformer(encoder: str) -> bool:
    """Return whether a spec names a transformer, which supports LoRA and has a state for each token.

    Of a joined encoder, all parts must be transformers.
    """
    return all(part == READS_WORDS or part.startswith(HF) for part in parts_of(encoder))


def of_run(run: Run) -> EncoderInfo:
    """Return a finished run's encoder as an entry of the list."""
    try:
        languages, reason = run.config().languages, ""
    except RunError as error:
        languages, reason = (), worded(error)
    return EncoderInfo(
        f"{RUN_PREFIX}{run.folder}", f"Run {run.name}", 0, languages, 0, "", not reason, reason
    )


def facts(info: EncoderInfo) -> str:
    """Return the facts about an encoder in a line of markdown."""
    known = [
        "Trained here" if info.spec.startswith(RUN_PREFIX) else "",
        f"{info.dim} dimensions" if info.dim else "",
        counted(len(info.languages), "language") if info.languages else "",
        f"{info.size_mb:,} MB" if info.size_mb else "",
        literal(info.licence, 60),
    ]
    return ", ".join(filter(None, known)) or "Dimensions, languages, size and licence depend on the model."


def _draw_model(info: EncoderInfo, key: str) -> Choice:
    typed = st.text_input(
        "Model",
        placeholder=EXAMPLE_MODEL,
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
        return Choice(info, HF, worded(error))
