"""Embed and classify batches of a table on the workers of an engine: Ray Data, Spark, Dask, or a loop of your own.

`Embed` and `Predict` are pickled with their settings, a few hundred bytes and never the weights. A worker process opens
the encoder at its first batch and keeps it. A batch is a dict of arrays, a DataFrame, or an Arrow table or record
batch, and comes back as what it was with more columns; an iterator of batches gives an iterator.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike, fspath
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from emu_core.data.cleaning import HALF, holds_half
from emu_core.data.held_texts import spoken_codes
from emu_core.devices import on_every_machine, pick_device
from emu_core.encoders.base import FloatArray
from emu_core.encoders.remembered import opened_encoder
from emu_core.errors import InputError

if TYPE_CHECKING:
    from emu_core.api.intent_classifier import IntentClassifier

_OPENING = Lock()  # an engine may run several batches at once in the threads of one process


@dataclass(frozen=True)
class Embed:
    """Adds the embedding of each sentence to a batch.

    Attributes:
        encoder: what `load_encoder` takes; a folder must be one that every worker can read.
        text: the column of sentences; a missing one is embedded as the empty text.
        vector: the column of the embeddings that is added: `dim` float32 a row, in Arrow a list.
        device: "auto", "cpu", "cuda:0". Engines show a worker only the devices that it may use. Vectors are computed in
            float32, as some workers may have no bfloat16, unless a precision is named: "auto:bf16".

    Raises:
        InputError: a batch is none, has no such column of sentences, or has the new column already.
        EncoderError: the encoder can't be opened.

    Examples:
        >>> from emu_core.batches import Embed
        >>> batch = Embed()({"text": ["Where is the pool?", "Wo ist der Pool?"]})
        >>> batch["vector"].shape
        (2, 512)
    """

    encoder: str = "use"
    text: str = "text"
    vector: str = "vector"
    device: str = "auto"

    def __call__(self, batch: Any) -> Any:
        """Return the batch with its embeddings; of an iterator of batches, an iterator."""
        if isinstance(batch, Iterator):
            return map(self, batch)
        return _with_columns(batch, {self.vector: self._vectors(_texts(batch, self.text))})

    def _vectors(self, texts: list[str]) -> FloatArray:
        with _OPENING:
            encoder = opened_encoder(self.encoder, pick_device(on_every_machine(self.device)))
        return encoder.encode(texts) if texts else np.empty((0, encoder.dim), dtype=np.float32)


@dataclass(frozen=True)
class Predict:
    """Adds the predicted intent of each sentence to a batch, and the labelled sentences that are the reason.

    The columns are those of `IntentClassifier.explain`. The sentences are calibrated on their language if the batch has
    a column of it. A row without a sentence has no intent.

    Attributes:
        run: a finished run, or its folder, to use its intents and its encoder; None takes `encoder`. Every worker must
            be able to read it, and the pool.
        pool: the file or folder of labelled sentences, or "demo"; None takes those that the run was trained with.
        encoder: what `load_encoder` takes.
        n_neighbors: see `IntentClassifier`.
        threshold: see `IntentClassifier`.
        coverage: see `IntentClassifier`.
        text: the column of sentences.
        language: the column of their languages, if there is one.
        prefix: the beginning of the names of the columns that are added.
        device: "auto", "cpu", "cuda:0".

    Raises:
        InputError: the pool is not named by a path; a batch is none, has no such column of sentences, has a new column
            already, or names a language that is none.
        DataError: the pool can't be read.
        EncoderError: the encoder can't be opened.

    Examples:
        >>> from emu_core.batches import Predict
        >>> predict = Predict("runs/hotel")
        >>> batch = predict({"text": ["Wo ist der Pool?"], "language": ["de"]})
        >>> batch["intent"].tolist()
        ['pool']
    """

    run: str | PathLike[str] | None
    pool: str | Path | None = None
    encoder: str = "use"
    n_neighbors: int = 3
    threshold: float | None = None
    coverage: float | None = None
    text: str = "text"
    language: str = "language"
    prefix: str = ""
    device: str = "auto"

    def __post_init__(self) -> None:
        """Refuse a pool of rows, which would be sent to every worker."""
        if self.pool is None and self.run is None:
            raise InputError(
                "there are no labels to predict from; name a pool, or a run that has learnt them"
            )
        if not isinstance(self.pool, str | Path | None):
            kind = type(self.pool).__name__
            raise InputError(f"the pool is a {kind}; give the name of a file that every worker can read")

    def __call__(self, batch: Any) -> Any:
        """Return the batch with its predictions; of an iterator of batches, an iterator."""
        if isinstance(batch, Iterator):
            return map(self, batch)
        texts = [text.strip() for text in _texts(batch, self.text)]
        codes = _languages(batch, self.language, len(texts))
        rows = [row for row, text in enumerate(texts) if text]
        table = self._classifier().explain(
            [texts[row] for row in rows], languages=[codes[row] for row in rows] if codes else ()
        )
        table = table.drop(columns="text").set_axis(rows).reindex(range(len(texts)))
        numbers = {name for name in table if name in ("confidence", "margin") or name.endswith("_cosine")}
        columns = {
            f"{self.prefix}{name}": table[name].to_numpy(np.float32)
            if name in numbers
            else table[name].astype(object).where(table[name].notna(), None).to_numpy()
            for name in table
        }
        return _with_columns(batch, columns)

    def _classifier(self) -> "IntentClassifier":
        run, pool = (None if path is None else fspath(path) for path in (self.run, self.pool))
        with _OPENING:
            device = on_every_machine(self.device)
            return _fitted(self.encoder, run, pool, self.n_neighbors, self.threshold, self.coverage, device)


@lru_cache(maxsize=1)
def _fitted(
    encoder: str,
    run: str | None,
    pool: str | None,
    n_neighbors: int,
    threshold: float | None,
    coverage: float | None,
    device: str,
) -> "IntentClassifier":
    from emu_core.api.predict import classifier_of
    from emu_core.data.reading import Reading

    parameters = {"n_neighbors": n_neighbors, "threshold": threshold, "coverage": coverage, "device": device}
    return classifier_of(encoder, run, pool, Reading(), parameters)


def _names(batch: Any) -> list[str]:
    """Return the names of a batch's columns. Raises InputError if it is no batch."""
    if isinstance(batch, pa.Table | pa.RecordBatch):
        return list(batch.schema.names)
    if isinstance(batch, pd.DataFrame | Mapping):
        return list(batch)
    raise InputError(
        f"a {type(batch).__name__} is no batch; give a dict of arrays, a DataFrame, an Arrow table or record batch"
    )


def _column(batch: Any, name: str) -> list[Any]:
    values = batch[name]
    return values.to_pylist() if isinstance(values, pa.Array | pa.ChunkedArray) else list(values)


def _texts(batch: Any, name: str) -> list[str]:
    names = _names(batch)
    if name not in names:
        raise InputError(
            f"the batch has no column {name!r} of sentences, only {names}; give text=... its name"
        )
    texts = ["" if _is_missing(text) else text for text in _column(batch, name)]
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"{name!r} holds a {type(text).__name__} in row {row}; give sentences")
        if holds_half(text):
            raise InputError(f"{name!r} holds {HALF} in row {row}; fix it")
    return texts


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))


def _languages(batch: Any, name: str, count: int) -> list[str]:
    """Return the languages of a batch's rows, "" for unknown ones; [] if it has no column of them.

    Raises InputError where one is none.
    """
    if name not in _names(batch) or not count:
        return []
    values = [value.strip() if isinstance(value, str) else value for value in _column(batch, name)]
    return spoken_codes(values, count)


def _with_columns(batch: Any, columns: Mapping[str, Any]) -> Any:
    taken = [name for name in columns if name in _names(batch)]
    if taken:
        raise InputError(
            f"the batch has columns named {taken} already; rename or drop them before, or name new ones"
        )
    if isinstance(batch, pd.DataFrame):
        added = {name: list(array) if array.ndim == 2 else array for name, array in columns.items()}
        return pd.concat([batch, pd.DataFrame(added, index=batch.index)], axis=1)
    if isinstance(batch, Mapping):
        return {**batch, **columns}
    for name, array in columns.items():
        batch = batch.append_column(name, _arrow(array))
    return batch


def _arrow(array: Any) -> pa.Array:
    if array.ndim == 2:
        starts = np.arange(len(array) + 1, dtype=np.int32) * array.shape[1]
        # Lists of any size, since Spark takes none of a fixed one.
        return pa.ListArray.from_arrays(pa.array(starts), pa.array(array.ravel()))
    return pa.array(array, pa.string()) if array.dtype == object else pa.array(array)
