"""Work in the background, as pages wait for it: vectors of sentences and what is computed from them."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from emu_app.shell.model_name import HF, must_be_fetched, plain_name
from emu_app.shell.session import Remembered
from emu_app.shell.users import all_runs_root, check_upload
from emu_app.shell.wording import literal, sentence
from emu_app.work.background import Background, Done, Failed, Pending, TaskOutcome
from emu_app.work.jobs import NICENESS, job_manager
from emu_app.work.mapping import warm_up
from emu_app.work.tasks import encode_to_file, fetch, forget_encoders, parts_to_file
from emu_app.work.vectors import map_path, vectors_path, weights_of
from emu_core.data.wording import counted
from emu_core.encoders.base import FloatArray
from emu_core.encoders.specs import is_run
from emu_core.errors import DataError, EmuError, EncoderError

_POLL_S = 0.5
CALM_S = 12.0  # after the first page, which may need a worker itself; a task starts its worker at once
# So often a browser asks for a task that can wait before it is begun. While the browser draws, it asks for nothing.
FREE_POLLS = 2
WAITED_S = 0.3  # how long a run of the page waits, for all its tasks together, before it draws a bar
_WAITS_UNTIL = Remembered("waits-until", 0.0)  # until when the running script waits, of `time.monotonic`
_LEFT_ALONE = Remembered("browser-left-alone", False)  # while it draws its first page
_LONG = Remembered[frozenset[str]](
    "long-tasks", frozenset()
)  # the tasks that have a bar, which are no short ones
FETCH = "fetch:"  # the prefix of the key of a task that downloads a model
QUICK_BYTES = 5_000_000  # audited in about a second
# An uploaded file of a few kilobytes can unfold to gigabytes or take minutes to read.
MOST_MEMORY = 3 * 2**30  # bytes; enough for a table of 192 MB and a million rows
LEAST_READ_S, BYTES_READ_IN_A_S = 30.0, 250_000
MOMENT_S = 1.0  # how long a page waits for a file before it draws a progress bar


@st.cache_resource(show_spinner=False)
def background() -> Background:
    """Return this server's worker for everything that has no worker of its own."""
    return Background(modules=["emu_app.work.tasks"], niceness=NICENESS, when_idle=forget_encoders)


@st.cache_resource(show_spinner=False)
def mapper() -> Background:
    """Return the worker that lays out maps: two at a time, and none waits for an encoder."""
    return Background(warm_up=warm_up, niceness=NICENESS, processes=2)


@st.cache_resource(show_spinner=False)
def upload_reader() -> Background:
    """Return the worker that reads uploaded files, so that a hostile file can't harm the server."""
    return Background(modules=["emu_app.data.tables", "emu_app.data.text_files"], memory_bytes=MOST_MEMORY)


def start_helpers() -> None:
    """Start the queue that an earlier server left, and soon the workers, so that they are warm in time."""
    job_manager()
    if st.context.headers:  # not the server's own drawing of the first page, when it starts
        _start_workers()


@st.cache_resource(show_spinner=False)
def _start_workers() -> None:
    """Start the workers once the first page is drawn: their imports would take the cores from it and its browser."""
    workers = background(), mapper(), upload_reader()

    def start() -> None:
        for worker in workers:
            worker.start()

    starting = Timer(CALM_S, start)
    starting.daemon = True
    starting.start()


def wait_anew() -> None:
    """Let a run of the page, or of a fragment, that begins here wait `WAITED_S` for short tasks."""
    _WAITS_UNTIL.forget()


def _waited_for(outcome: TaskOutcome, worker: Background | None = None) -> TaskOutcome:
    """Return a task's outcome, for which this run of the page waits while it has time left."""
    if not isinstance(outcome, Pending) or outcome.key in _LONG.get():
        return outcome
    until = _WAITS_UNTIL.get_or_make(lambda: time.monotonic() + WAITED_S)
    return (worker or background()).wait(outcome.key, max(0.0, until - time.monotonic()))


@dataclass(frozen=True)
class Encoded:
    """The vectors (N, dim) of texts by those encoders that have encoded them, and what became of the others."""

    vectors: dict[str, FloatArray]  # by the encoder's name
    errors: dict[str, EncoderError]  # likewise
    pending: Pending | None = None  # the first task that is not over
    label: str = ""  # of its bar, as markdown

    def draw(self) -> None:
        """Draw the errors and the progress, if there are any."""
        for error in self.errors.values():
            st.error(sentence(error), icon=":material/error:")
        if self.pending is not None:
            show_pending(self.pending, self.label)


def encoded(
    specs: Mapping[str, str], data_sha: str, texts: Sequence[str], *, parts: bool = False
) -> dict[str, FloatArray] | None:
    """Return each encoder's vectors (N, dim) of the texts; None, with progress or error drawn, until they are there.

    The arguments are those of `encoded_so_far`.
    """
    so_far = encoded_so_far(specs, data_sha, texts, parts=parts)
    so_far.draw()
    return so_far.vectors if len(so_far.vectors) == len(specs) else None


def encoded_so_far(
    specs: Mapping[str, str], data_sha: str, texts: Sequence[str], *, parts: bool = False
) -> Encoded:
    """Ask all encoders for their vectors, and return those that are there after a moment.

    `specs` maps an encoder's name to its spec; the other arguments are those of `embeddings`.
    """
    vectors, errors = dict[str, FloatArray](), dict[str, EncoderError]()

    def ask(name: str) -> Pending | None:
        try:
            outcome = embeddings(specs[name], data_sha, texts, parts=parts)
        except EncoderError as error:
            errors[name] = error
            return None
        if isinstance(outcome, Pending):
            return outcome
        vectors[name] = np.asarray(outcome)
        return None

    asked = {name: ask(name) for name in specs}  # all of them before any is waited for
    for name in specs:
        while (task := asked[name]) is not None and not isinstance(_waited_for(task), Pending):
            asked[name] = ask(name)
    in_order = {name: vectors[name] for name in specs if name in vectors}
    for name, task in asked.items():
        if task is not None:
            label = f"Splitting {counted(len(texts), 'sentence')}; each is encoded once for all of its parts"
            label = label if parts else _doing(task, name, specs[name], len(texts))
            return Encoded(in_order, errors, task, label)
    return Encoded(in_order, errors)


def _doing(pending: Pending, name: str, spec: str, sentences: int) -> str:
    """Return the label of an encoder's progress bar, as markdown."""
    if pending.key.startswith(FETCH):
        model = literal(spec.removeprefix(HF), 80)
        return f"Encoder {name}: downloading {model} from the Hugging Face hub, only this once"
    plain = plain_name(spec)
    which = "" if name == plain or is_run(spec) else f" ({literal(plain, 80)})"
    return f"Encoder {name}{which}: opening it and encoding {counted(sentences, 'sentence')}"


def stored_vectors(specs: Mapping[str, str], data_sha: str, texts: Sequence[str]) -> dict[str, FloatArray]:
    """Return the vectors of `encoded` by those encoders of which they are stored; nothing is encoded."""
    paths = {name: vectors_file(spec, data_sha, texts) for name, spec in specs.items()}
    return {name: np.asarray(np.load(path, mmap_mode="r")) for name, path in paths.items() if path.is_file()}


def vectors_file(encoder_spec: str, data_sha: str, texts: Sequence[str]) -> Path:
    """Return the file in which `embeddings` stores an encoder's vectors of texts."""
    return vectors_path(all_runs_root(), weights_of(encoder_spec), data_sha, texts)


def stored_map(key: str) -> tuple[NDArray[np.float32], float] | None:
    """Return the places (N, 2) of a map that is stored, as that of the demo run is, and its trustworthiness."""
    path = map_path(all_runs_root(), key)
    if not path.is_file():
        return None
    with np.load(path) as stored:
        return stored["places"], float(stored["trust"])


def embeddings(
    encoder_spec: str, data_sha: str, texts: Sequence[str], *, parts: bool = False
) -> Pending | FloatArray:
    """Return the vectors (N, dim) of N texts, float32 and read-only, or Pending while they are being encoded.

    With `parts`, these are all embeddings (P, N, dim) into which a run of FMDA or its baseline splits a text, and
    `data_sha` is the hash of the set that the texts belong to, or "". A hub model that is not in the cache is
    downloaded first. Vectors are stored on disk by encoder, weights and texts, so that nothing is encoded twice, even
    after a restart. Raises EncoderError if the encoder can't be loaded, or the worker failed.
    """
    if must_be_fetched(encoder_spec):
        key = f"{FETCH}{encoder_spec}"
        outcome = _taken(key, background().run(key, fetch, encoder_spec))
        if isinstance(outcome, Pending):
            return outcome
    weights = weights_of(encoder_spec)
    path = vectors_path(all_runs_root(), f"parts of {weights}" if parts else weights, data_sha, texts)
    while not path.is_file():  # a second time if the file was pruned since it was written
        write, key = parts_to_file if parts else encode_to_file, str(path)
        outcome = _taken(key, background().run(key, write, encoder_spec, weights, list(texts), path))
        if isinstance(outcome, Pending):
            return outcome
    os.utime(path)  # the least recently used files are pruned first
    vectors: FloatArray = np.load(path, mmap_mode="r")
    return vectors


def _taken(
    key: str, outcome: TaskOutcome, error: type[EmuError] = EncoderError, worker: Background | None = None
) -> Pending | Done:
    """Return a task's outcome, which its worker then forgets. Raises an error of this type if it failed."""
    if not isinstance(outcome, Pending):
        (worker or background()).forget(key)
    if isinstance(outcome, Failed):
        raise error(outcome.message)
    return outcome


def read_in_limits(
    key: str, files: Sequence[tuple[str, bytes]], function: Callable[..., Any], *args: Any
) -> Any | None:
    """Return `function(*args)`, which reads uploaded files; None, with progress drawn, while it takes long.

    Raises DataError if the function did, or it takes too much memory, too much time for these names and bytes, or reads
    too many rows: what it returns is as long as its rows are many.
    """
    limit_s = LEAST_READ_S + sum(len(payload) for _, payload in files) / BYTES_READ_IN_A_S
    reader = upload_reader()
    reader.run(key, function, *args, limit_s=limit_s)
    outcome = _taken(key, reader.wait(key, MOMENT_S), DataError, reader)
    value = _value_or_bar(outcome, "Reading ...", reader)
    check_upload(0 if value is None else len(value))
    return value


def outcome_of(
    key: str,
    label: str,
    function: Any,
    *args: Any,
    worker: Background | None = None,
    after_drawing: bool = False,
) -> Done | Failed | None:
    """Return the outcome of `function(*args)` in the background; None, with its progress drawn, until it is over.

    A failure is drawn, too. `key` identifies the function and its arguments; `label` is markdown for the bar. A task
    that comes `after_drawing` starts no worker while the browser of a new session draws what is known without it.
    """
    worker = worker or background()
    if after_drawing and not worker.is_started and not _LEFT_ALONE.get():
        _LEFT_ALONE.set(True)
        polls = count()
        ask = partial(worker.run, key, function, *args)
        _poll(lambda: ask() if next(polls) > FREE_POLLS else Pending(key), label)
        return None
    outcome = _waited_for(worker.run(key, function, *args), worker)
    if isinstance(outcome, Pending):
        show_pending(outcome, label, worker)
        return None
    if isinstance(outcome, Failed):
        st.error(sentence(outcome.message), icon=":material/error:")
        if st.button("Try again", key=f"again-{key}"):
            worker.forget(key)
            st.rerun()
    return outcome


def is_over(key: str, function: Any, *args: Any) -> bool:
    """Have `function(*args)` in the background for a later `outcome_of`, and return whether it is over."""
    return not isinstance(background().run(key, function, *args), Pending)


def computed(key: str, label: str, function: Any, *args: Any) -> Any | None:
    """Return the value of `outcome_of`; None while there is none."""
    outcome = outcome_of(key, label, function, *args)
    return outcome.value if isinstance(outcome, Done) else None


def done_or_shown(key: str, size: int, label: str, function: Callable[..., Any], *args: Any) -> Any | None:
    """Return `function(*args)`, at once for data of few bytes; None, with progress drawn, while more take time."""
    if size <= QUICK_BYTES:
        with st.spinner(label):
            return function(*args)
    outcome = _waited_for(background().run(key, function, *args))
    return _value_or_bar(_taken(key, outcome, DataError), label)


def _value_or_bar(outcome: Pending | Done, label: str, worker: Background | None = None) -> Any | None:
    if isinstance(outcome, Done):
        return outcome.value
    show_pending(outcome, label, worker)
    return None


def show_pending(pending: Pending, label: str, worker: Background | None = None) -> None:
    """Draw a task's progress, and run the page again when it is over; the page should then stop."""
    worker = worker or background()
    _LONG.set(_LONG.get() | {pending.key})

    def look() -> TaskOutcome | None:
        try:
            return worker.result(pending.key)
        except KeyError:  # another session has taken the result
            return None

    _poll(look, label)


def _poll(look: Callable[[], TaskOutcome | None], label: str) -> None:
    """Draw the progress of what `look` returns, and run the page again when that is over or gone."""

    @st.fragment(run_every=_POLL_S)
    def poll() -> None:
        outcome = look()
        if not isinstance(outcome, Pending):
            st.rerun()
        st.progress(outcome.progress, text=label)

    poll()
