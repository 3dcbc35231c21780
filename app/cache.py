"""Work in the background, as pages wait for it: vectors of sentences, and what is computed from them."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from app.background import Background, Done, Failed, Outcome, Pending
from app.forms.model_name import HF, RUN, must_be_fetched
from app.jobs import NICENESS, job_manager
from app.mapping import warm_up
from app.tasks import encode_to_file, fetch, parts_to_file
from app.users import all_runs_root
from app.vectors import vectors_path, weights_of
from app.wording import literal, sentence
from emu_core.data.wording import counted
from emu_core.encoders.base import FloatArray
from emu_core.errors import DataError, EmuError, EncoderError

POLL_S = 0.5
FETCH = "fetch:"  # begins the key of a task that gets a model from the hub
QUICK_BYTES = 5_000_000  # audited in about a second
# An uploaded file decides how much its reading takes: a few kilobytes can unfold to gigabytes, or take minutes.
MOST_MEMORY = 3 * 2**30  # bytes; a table of 192 MB and a million rows is read within them
LEAST_READ_S, BYTES_READ_IN_A_S = 30.0, 250_000
MOMENT_S = 1.0  # that a page waits for a file before it draws a bar


@st.cache_resource(show_spinner=False)
def background() -> Background:
    """Return the background worker of this server for all that has no worker of its own."""
    return Background(niceness=NICENESS)


@st.cache_resource(show_spinner=False)
def mapper() -> Background:
    """Return what lays out maps: one of two encoders doesn't wait for the other, and no encoding for either."""
    return Background(warm_up=warm_up, niceness=NICENESS, processes=2)


@st.cache_resource(show_spinner=False)
def upload_reader() -> Background:
    """Return the process that reads uploaded files: what a file does to it, no page feels."""
    return Background(memory_bytes=MOST_MEMORY)


def start_helpers() -> None:
    """Start what works beside the pages, so that it is warm in time, and the queue that an older server left."""
    background().start()
    mapper().start()
    upload_reader().start()
    job_manager()


def encoded(
    specs: Mapping[str, str], data_sha: str, texts: Sequence[str], *, parts: bool = False
) -> dict[str, FloatArray] | None:
    """Return each encoder's vectors (N, dim) of the texts, or None, and draw why, while they are not there yet.

    The arguments are those of `embeddings`; `specs` has a spec for each encoder's name.
    """
    try:
        found = {name: embeddings(spec, data_sha, texts, parts=parts) for name, spec in specs.items()}
    except EncoderError as error:
        st.error(sentence(error), icon=":material/error:")
        return None
    ready: dict[str, FloatArray] = {}
    for name, vectors in found.items():
        if isinstance(vectors, Pending):
            label = f"Splitting {counted(len(texts), 'sentence')}, each encoded once for all of its parts"
            show_pending(vectors, label if parts else _doing(vectors, name, specs[name], len(texts)))
            return None
        ready[name] = np.asarray(vectors)
    return ready


def _doing(pending: Pending, name: str, spec: str, sentences: int) -> str:
    """Return what a person waits for, as markdown."""
    if pending.key.startswith(FETCH):
        return f"{name} encoder: fetching {literal(spec.removeprefix(HF), 80)} from the Hugging Face hub, this once"
    named = f"{name} encoder" + ("" if spec.startswith(RUN) else f" {literal(spec, 80)}")
    return f"{named}: opening it and encoding {counted(sentences, 'sentence')}"


def embeddings(
    encoder_spec: str, data_sha: str, texts: Sequence[str], *, parts: bool = False
) -> Pending | FloatArray:
    """Return the vectors (N, dim) of texts, float32 and read-only, or Pending while they are being encoded.

    A model of the hub that is not in the cache is fetched first, in a task of its own. Vectors are stored on disk by
    encoder, weights and texts, so that nothing is encoded twice, not even after a restart.

    Args:
        encoder_spec: what `load_encoder` takes, such as "use", "hf:NAME", or "run:DIR" with a finished run's folder.
        data_sha: of the set that the texts are of, or "" for texts that are in no set.
        texts: N sentences.
        parts: every embedding instead that a run of FMDA or its baseline splits a text into: (P, N, dim).

    Raises:
        EncoderError: the encoder can't be loaded, or the worker failed.
    """
    if must_be_fetched(encoder_spec):
        fetching = f"{FETCH}{encoder_spec}"
        outcome = _taken(fetching, fetch, encoder_spec)
        if isinstance(outcome, Pending):
            return outcome
    weights = weights_of(encoder_spec)
    path = vectors_path(all_runs_root(), f"parts of {weights}" if parts else weights, data_sha, texts)
    while not path.is_file():  # once more where it was done long ago, and cleared away since
        write = parts_to_file if parts else encode_to_file
        outcome = _taken(str(path), write, encoder_spec, weights, list(texts), path)
        if isinstance(outcome, Pending):
            return outcome
    os.utime(path)  # the files used longest ago are the first to go
    vectors: FloatArray = np.load(path, mmap_mode="r")
    return vectors


def _taken(
    key: str, function: Callable[..., Any], *args: Any, error: type[EmuError] = EncoderError
) -> Pending | Done:
    """Return what became of a task, which the worker then forgets; raise an error where it failed."""
    return _unless_failed(background(), key, background().run(key, function, *args), error)


def _unless_failed(
    worker: Background, key: str, outcome: Outcome, error: type[EmuError] = EncoderError
) -> Pending | Done:
    if not isinstance(outcome, Pending):
        worker.forget(key)
    if isinstance(outcome, Failed):
        raise error(outcome.message)
    return outcome


def read_in_limits(
    key: str, files: Sequence[tuple[str, bytes]], function: Callable[..., Any], *args: Any
) -> Any | None:
    """Return `function(*args)`, which reads uploaded files; None while they take more than a moment, which is drawn.

    Args:
        key: names this very work.
        files: the files, each a name and its bytes: their size gives the time that reading may take.
        function: importable by name; returns no None.
        args: its arguments.

    Raises:
        DataError: the function did, or a file takes too much memory or time.
    """
    limit_s = LEAST_READ_S + sum(len(payload) for _, payload in files) / BYTES_READ_IN_A_S
    reader = upload_reader()
    reader.submit(key, function, *args, limit_s=limit_s)
    outcome = _unless_failed(reader, key, reader.wait(key, MOMENT_S), DataError)
    if isinstance(outcome, Pending):
        show_pending(outcome, "Reading ...", reader)
        return None
    return outcome.value


def outcome_of(key: str, label: str, function: Any, *args: Any) -> Done | Failed | None:
    """Return what became of `function(*args)` in the background; until it is over None, and draw how far it is.

    A failure is drawn, too. `key` identifies the function and all it is given; `label`, as markdown, says what the
    person waits for.
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


def computed(key: str, label: str, function: Any, *args: Any) -> Any | None:
    """Return the value of `outcome_of`, None while there is none."""
    outcome = outcome_of(key, label, function, *args)
    return outcome.value if isinstance(outcome, Done) else None


def done_or_shown(key: str, size: int, label: str, function: Callable[..., Any], *args: Any) -> Any | None:
    """Return `function(*args)`, at once on small data; None while a large one runs in the background, which is drawn.

    It works on `size` bytes and returns no None; `key` names this very work, `label` what the person waits for.

    Raises:
        DataError: the function did.
    """
    if size <= QUICK_BYTES:
        with st.spinner(label):
            return function(*args)
    outcome = _taken(key, function, *args, error=DataError)  # the session keeps it from here on
    if isinstance(outcome, Pending):
        show_pending(outcome, label)
        return None
    return outcome.value


def show_pending(pending: Pending, label: str, worker: Background | None = None) -> None:
    """Draw how far a task is, and run the page again when it is over; a page calls it and then stops."""
    worker = worker or background()

    @st.fragment(run_every=POLL_S)
    def poll() -> None:
        try:
            outcome = worker.result(pending.key)
        except KeyError:  # another session has taken the result
            st.rerun()
        if not isinstance(outcome, Pending):
            st.rerun()
        st.progress(outcome.progress, text=label)

    poll()
