"""`emu predict`: the intent of each sentence, how sure that is, and the labelled sentences that say so."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from emu_core.api.embed import PART, UNDETERMINED, read_inputs, writing
from emu_core.api.inputs import ENDINGS, Data, labelled_set
from emu_core.data.demo import DEMO
from emu_core.data.labelled import LabelledSet
from emu_core.data.labelled.columns import ColumnMapping
from emu_core.devices import pick_device
from emu_core.encoders.base import Encoder
from emu_core.encoders.registry import load_encoder
from emu_core.errors import DataError
from emu_core.evaluation.nearest_intent import LEAST_ASKED, NearestIntent
from emu_core.runs.run import Run
from emu_core.threads import give_memory_back

NO_INTENT = "no known intent"
NEIGHBOURS = 3
OF_A_NEIGHBOUR = ("text", "intent", "language", "cosine")
_RUN = "run:"
_PLAIN = (".txt", ".gz")

Vectors = NDArray[np.floating]


class Predictor:
    """Predicts intents from the nearest sentences of a labelled pool; see `NearestIntent`.

    Attributes:
        pool_: the labelled set.
        classifier_: the `NearestIntent` over its vectors, with votes, threshold and calibration.
        notes_: sentences that a reader of the figures should know.
    """

    def __init__(
        self,
        encoder: str = "use",
        *,
        k: int = NEIGHBOURS,
        threshold: float | None = None,
        device: str = "auto",
    ) -> None:
        """Choose an encoder; nothing is loaded.

        Args:
            encoder: what `load_encoder` takes; `run:DIR` for a run's specialised encoder.
            k: nearest labelled sentences that are returned with each prediction.
            threshold: cosine of the nearest sentence below which a sentence has no known intent; None has it chosen
                on the pool, and -1 switches it off.
            device: "auto", "cpu", "cuda:0".

        Raises:
            DataError: `k` is below 1, or the threshold is no cosine.
        """
        if k < 1:
            raise DataError(f"{k} neighbours can't be looked for; ask for 1 or more")
        if threshold is not None and not -1 <= threshold <= 1:
            raise DataError(f"the threshold {threshold} is no cosine; choose one from -1 (never) to 1")
        self.encoder, self.k, self.threshold, self.device = encoder, k, threshold, device
        self._model: Encoder | None = None

    def _encode(self, texts: Sequence[str]) -> Vectors:
        if self._model is None:
            self._model = load_encoder(self.encoder, device=pick_device(self.device))
        return self._model.encode(texts)

    def _encode_all(self, texts: pd.Series) -> Vectors:
        """Return the vectors (N, dim) of a column, in one array from the start: joined parts would be held twice."""
        vectors = np.empty((0, 0), dtype=np.float32)
        for at in range(0, len(texts), PART):
            part = self._encode(texts.iloc[at : at + PART].tolist())
            if not at:
                vectors = np.empty((len(texts), part.shape[1]), dtype=np.float32)
            vectors[at : at + PART] = part
            give_memory_back()
        return vectors

    def fit(
        self,
        pool: Data,
        *,
        vectors: Vectors | None = None,
        asked: NDArray[np.intp] | None = None,
        mapping: ColumnMapping | None = None,
        language: str | None = None,
    ) -> "Predictor":
        """Take a labelled pool, and choose votes, threshold and calibration on it by leave-one-out.

        Args:
            pool: a labelled set, files, folders, or "demo".
            vectors: (P, dim) of a labelled set's sentences by the encoder, where they are known.
            asked: rows that leave-one-out may ask; None takes `unseen_rows`.
            mapping: columns of the files, where their names are unusual.
            language: language of files that do not say it.

        Raises:
            DataError: the pool can't be read.
            EncoderError: the encoder can't be opened.
        """
        self.pool_, _ = labelled_set(pool, mapping=mapping, language=language)
        frame = self.pool_.frame
        if asked is None:
            asked = unseen_rows(self.encoder, self.pool_)
        if vectors is None:
            vectors = self._encode_all(frame["text"])
        self.classifier_ = NearestIntent().fit(
            vectors, frame["intent"].tolist(), frame["id"].tolist(), asked=asked, threshold=self.threshold
        )
        del vectors
        give_memory_back()
        self.notes_ = tuple(self._notes(len(asked)))
        return self

    def _notes(self, unseen: int) -> Iterator[str]:
        if unseen < LEAST_ASKED < len(self.pool_):
            yield (
                "The run was trained on these labelled sentences, so there is no confidence and no threshold; give "
                "the file a column split with test rows, train on it again, or set a threshold."
            )
        elif self.classifier_.calibration_ is None:
            yield (
                "There is no confidence: leave-one-out on the pool has too few right or too few wrong answers to "
                "calibrate one."
            )

    @property
    def facts(self) -> dict[str, Any]:
        """Return what was chosen and measured on the pool, as it stands in JSON."""
        chosen = self.classifier_
        return {
            "pool": len(self.pool_),
            "votes": chosen.votes_,
            "accuracy": chosen.accuracy_,
            "threshold": chosen.threshold_,
            "new_found": chosen.new_found_,
            "notes": list(self.notes_),
        }

    def predict(self, texts: Sequence[str], *, vectors: Vectors | None = None) -> pd.DataFrame:
        """Predict the intent of each sentence, in any language that the encoder knows.

        Args:
            texts: N sentences.
            vectors: (N, dim) of them by the encoder, where they are known.

        Returns:
            N rows with the columns `text`; `intent`, or "no known intent"; `confidence`, the probability that the
            predicted intent is right if the sentence has an intent of the pool, NaN where it can't be calibrated;
            `margin`, the highest cosine to a sentence of the predicted intent minus the highest to one of another; and
            of the k nearest sentences of the pool, from 1, `nearest_1`, `nearest_1_intent`, `nearest_1_language` and
            `nearest_1_cosine`.

        Raises:
            DataError: a sentence has no vector.
        """
        count = min(self.k, len(self.pool_))
        if not len(texts):
            return pd.DataFrame(columns=["text", *_columns(count)])
        found = self.classifier_.predict(self._encode(texts) if vectors is None else vectors, count)
        known = self.classifier_.is_known(found)
        names = np.array(self.classifier_.intents_, dtype=object)
        table: dict[str, Any] = {
            "text": list(texts),
            "intent": np.where(known, names[found.labels], NO_INTENT),
            "confidence": np.where(known, self.classifier_.confidence(found), np.nan),
            "margin": found.margins,
        }
        for place in range(count):
            rows = self.pool_.frame.iloc[found.rows[:, place]]
            for what in OF_A_NEIGHBOUR:
                values = found.cosines[:, place] if what == "cosine" else rows[what].to_numpy()
                table[_column(place + 1, what)] = values
        return pd.DataFrame(table)

    def predict_file(
        self,
        data: str | Path | Sequence[str | Path],
        out: str | Path,
        *,
        mapping: ColumnMapping | None = None,
        language: str | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Write the predictions of files' sentences to a file, a part at a time, with their `id` and `language`.

        Args:
            data: files, a folder of files, or "demo"; text files are read one sentence a line.
            out: a file ending in .csv, .tsv, .jsonl or .parquet; it appears when it is whole.
            mapping: columns of the files, where their names are unusual.
            language: language of files that do not say it.
            on_progress: called with (sentences done, all).

        Returns:
            Number of sentences.

        Raises:
            DataError: the data can't be read, or `out` can't be written or has another ending.
        """
        frame = _sentences(data, mapping, language)
        columns = _columns(min(self.k, len(self.pool_)))
        schema = pa.schema(
            [
                *((name, pa.string()) for name in ("id", "text", "language")),
                *((name, pa.float32() if _is_number(name) else pa.string()) for name in columns),
            ]
        )
        with writing(out, schema) as write:
            for start in range(0, len(frame), PART):
                rows = frame.iloc[start : start + PART]
                table = self.predict(rows["text"].tolist())
                table = table.assign(id=rows["id"].to_numpy(), language=rows["language"].to_numpy())
                write(table[schema.names])
                give_memory_back()
                if on_progress is not None:
                    on_progress(start + len(rows), len(frame))
        return len(frame)


def predict(
    data: str | Path | Sequence[str | Path],
    *,
    pool: Data,
    encoder: str = "use",
    run: str | Path | None = None,
    k: int = NEIGHBOURS,
    threshold: float | None = None,
    device: str = "auto",
    mapping: ColumnMapping | None = None,
    language: str | None = None,
) -> pd.DataFrame:
    """Predict the intent of each sentence from the nearest sentences of a labelled pool.

    For many sentences, or several calls on one pool, make a `Predictor`; its `predict_file` writes a file in a bounded
    amount of memory.

    Args:
        data: sentences, or files of them; a string is a file where there is one of that name, or where it ends like
            one (.csv, .txt ...), and otherwise a sentence.
        pool: a labelled set, files, folders, or "demo".
        encoder: what `load_encoder` takes.
        run: the folder of a finished run, whose encoder is then taken.
        k: nearest labelled sentences that are returned with each prediction.
        threshold: cosine of the nearest sentence below which a sentence has no known intent; None has it chosen on the
            pool, and -1 switches it off.
        device: "auto", "cpu", "cuda:0".
        mapping: columns of the files, where their names are unusual.
        language: language of files that do not say it.

    Returns:
        What `Predictor.predict` does.

    Raises:
        DataError: the data or the pool can't be read.
        EncoderError: the encoder can't be opened.
    """
    predictor = Predictor(encoder if run is None else f"{_RUN}{run}", k=k, threshold=threshold, device=device)
    texts = texts_of(data, mapping=mapping, language=language)
    return predictor.fit(pool, mapping=mapping, language=language).predict(texts)


def unseen_rows(encoder: str, pool: LabelledSet, sha256: str = "") -> NDArray[np.intp]:
    """Return the rows of a pool that an encoder was not trained on, as far as its run's data say.

    A run's encoder finds the intents of its own sentences too easily for leave-one-out to say anything of new ones.

    Args:
        encoder: what `load_encoder` takes.
        pool: P labelled sentences.
        sha256: of the set that the pool is a part of, where it is one.

    Raises:
        RunError: the run's folder is damaged.
    """
    seen = np.zeros(len(pool), dtype=bool)
    if encoder.startswith(_RUN):
        run = Run(Path(encoder.removeprefix(_RUN)))
        if run.data().get("sha256") == (sha256 or pool.sha256()):
            seen[:] = (pool.frame["split"] == "train") | (not pool.splits)
    return np.flatnonzero(~seen)


def texts_of(
    data: str | Path | Sequence[str | Path],
    *,
    mapping: ColumnMapping | None = None,
    language: str | None = None,
) -> list[str]:
    """Return the sentences that are given, or that the files have.

    Raises:
        DataError: the files can't be read, sentences and files are mixed, or there is nothing.
    """
    named = [data] if isinstance(data, str | Path) else list(data)
    files = [_is_file(name) for name in named]
    if all(files):
        return _sentences(named, mapping, language)["text"].tolist()
    if any(files):
        raise DataError(f"{named[files.index(True)]} is a file among sentences; give files, or sentences")
    texts = [str(name).strip() for name in named]
    if not all(texts):
        raise DataError("a sentence is empty; leave it out")
    return texts


def _is_file(name: str | Path) -> bool:
    if isinstance(name, Path) or name == DEMO or name.lower().endswith((*ENDINGS, *_PLAIN)):
        return True
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # too long for a name
        return False


def _sentences(
    data: str | Path | Sequence[str | Path], mapping: ColumnMapping | None, language: str | None
) -> pd.DataFrame:
    """Read files, whose intents, if any, don't count; a row without a sentence is left out."""
    if mapping is not None:
        mapping = replace(mapping, intent=None, split=None)
    frame = read_inputs(data, mapping, language)
    frame = frame[frame["text"].str.strip() != ""]
    if frame.empty:
        raise DataError("no sentence is in the files named; check that they have rows")
    return frame.assign(language=frame["language"].replace(UNDETERMINED, ""))


def _columns(count: int) -> list[str]:
    nearest = [_column(place, what) for place in range(1, count + 1) for what in OF_A_NEIGHBOUR]
    return ["intent", "confidence", "margin", *nearest]


def _column(place: int, what: str) -> str:
    return f"nearest_{place}" + ("" if what == "text" else f"_{what}")


def _is_number(column: str) -> bool:
    return column in ("confidence", "margin") or column.endswith("_cosine")
