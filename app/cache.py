"""Resources that the pages share: the background worker, the job manager, sentence vectors."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from app.background import Background, Failed, Pending
from app.forms.model_name import must_be_fetched
from app.jobs import JobManager
from app.state import runs_root
from app.tasks import encode_to_file, fetch, parts_to_file, warm_up
from app.vectors import vectors_path, weights_of
from emu_core.encoders.base import FloatArray
from emu_core.errors import EncoderError

POLL_S = 0.5
FETCH = "fetch:"  # begins the key of a task that gets a model from the hub


@st.cache_resource(show_spinner=False)
def background() -> Background:
    """Return the one background worker of this server."""
    return Background(warm_up=warm_up)


def job_manager() -> JobManager:
    """Return the one job manager of this server."""
    return _job_manager(runs_root())


def start_helpers() -> None:
    """Start what works beside the pages: the worker, so that it is warm in time, and the queue an older server left."""
    background().start()
    job_manager()


def embeddings(encoder_spec: str, data_sha: str, texts: Sequence[str]) -> Pending | FloatArray:
    """Return the vectors (N, dim) of texts, float32 and read-only, or Pending while they are being encoded.

    A model of the hub that is not in the cache is fetched first, in a task of its own.

    They are stored on disk by encoder, weights and texts, so that nothing is encoded twice, not even after a
    restart.

    Args:
        encoder_spec: what `load_encoder` takes, such as "use", "hf:NAME", or "run:DIR" with a finished run's folder.
        data_sha: `state.current_sha()`, or "" for texts that were typed in.
        texts: N sentences.

    Raises:
        EncoderError: the encoder can't be loaded, or the worker failed.
    """
    if must_be_fetched(encoder_spec):
        fetching = f"{FETCH}{encoder_spec}"
        outcome = background().run(fetching, fetch, encoder_spec)
        if isinstance(outcome, Pending):
            return outcome
        background().forget(fetching)
        if isinstance(outcome, Failed):
            raise EncoderError(outcome.message)
    weights = weights_of(encoder_spec)
    path = vectors_path(runs_root(), weights, data_sha, texts)
    return _on_disk(path, encode_to_file, encoder_spec, weights, list(texts), path)


def part_embeddings(run_spec: str, data_sha: str, texts: Sequence[str]) -> Pending | FloatArray:
    """As `embeddings`, every embedding that a run of FMDA or its baseline splits a text into: (P, N, dim).

    Args:
        run_spec: "run:DIR".
        data_sha: `state.current_sha()`, or "" for texts that are in no set.
        texts: N sentences.

    Raises:
        EncoderError: the run's encoder can't be loaded, or the worker failed.
    """
    weights = weights_of(run_spec)
    path = vectors_path(runs_root(), f"parts of {weights}", data_sha, texts)
    return _on_disk(path, parts_to_file, run_spec, weights, list(texts), path)


def _on_disk(path: Path, function: Callable[..., None], *args: Any) -> Pending | FloatArray:
    """The array of a .npy file, which the function writes in the background where it is not there."""
    key = str(path)
    if not path.is_file():
        outcome = background().run(key, function, *args)
        if isinstance(outcome, Pending):
            return outcome
        background().forget(key)
        if isinstance(outcome, Failed):
            raise EncoderError(outcome.message)
        if not path.is_file():  # done long ago and cleared away since
            return _on_disk(path, function, *args)
    os.utime(path)  # the files used longest ago are the first to go
    vectors: FloatArray = np.load(path, mmap_mode="r")
    return vectors


def show_pending(pending: Pending, label: str) -> None:
    """Draw how far a task is, and run the page again when it is over; a page calls it and then stops."""

    @st.fragment(run_every=POLL_S)
    def poll() -> None:
        try:
            outcome = background().result(pending.key)
        except KeyError:  # another session has taken the result
            st.rerun()
        if not isinstance(outcome, Pending):
            st.rerun()
        st.progress(outcome.progress, text=label)

    poll()


@st.cache_resource(show_spinner=False)
def _job_manager(root: Path) -> JobManager:
    return JobManager(root)
