"""Predict the intent of sentences from their nearest labelled sentences."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from emu_core.api.embed import in_parts, read_inputs, writing
from emu_core.api.inputs import (
    RUN_SPEC,
    DataSource,
    Files,
    as_list,
    encoder_title,
    labelled_set,
    lazy_encode,
    reading_notes,
)
from emu_core.data.cleaning import clean, stripped
from emu_core.data.demo import DEMO
from emu_core.data.labelled.columns import ColumnMapping
from emu_core.data.labelled.repeats import sentence_groups
from emu_core.data.readers.formats import FILE_ENDINGS
from emu_core.errors import DataError
from emu_core.evaluation.arrays import Vectors
from emu_core.evaluation.nearest_intent import LEAST_ASKED, NearestIntent
from emu_core.runs.trained_on import trained_rows
from emu_core.threads import give_memory_back

NO_INTENT = "no known intent"
_NEIGHBOURS = 3
OF_A_NEIGHBOUR = ("text", "intent", "language", "cosine")


class PredictorFacts(TypedDict):
    """The choices and measurements that a `Predictor` made on its pool."""

    pool: int  # number of labelled sentences
    votes: int  # number of nearest sentences that vote
    accuracy: float | None  # percent, leave-one-out
    threshold: float | None  # the least cosine of a known intent
    new_found: float | None  # percent of the sentences of new intents that the threshold finds
    notes: list[str]


class Predictor:
    """Predicts intents from the nearest sentences of a labelled pool; see `NearestIntent`.

    Attributes:
        pool_: the labelled set.
        classifier_: the `NearestIntent` fitted on its vectors, with votes, threshold and calibration.
        notes_: sentences on how to read the results.
    """

    def __init__(
        self,
        encoder: str = "use",
        *,
        k: int = _NEIGHBOURS,
        threshold: float | None = None,
        device: str = "auto",
    ) -> None:
        """Choose an encoder, without loading it.

        Args:
            encoder: what `load_encoder` takes; `run:DIR` for a run's specialised encoder.
            k: number of nearest labelled sentences to return with each prediction.
            threshold: a sentence has no known intent if the cosine of its nearest sentence is lower; None chooses it
                on the pool, -1 switches it off.
            device: "auto", "cpu", "cuda:0".

        Raises:
            DataError: `k` is below 1, or the threshold is not a cosine.
        """
        if k < 1:
            raise DataError(f"can't look for {k} neighbours; choose 1 or more")
        if threshold is not None and not -1 <= threshold <= 1:
            raise DataError(f"the threshold {threshold} is no cosine; choose one from -1 (never) to 1")
        self.encoder, self.k, self.threshold = encoder, k, threshold
        self._encode = lazy_encode(encoder, device)

    def _encode_all(self, frame: pd.DataFrame) -> Vectors:
        """Return the vectors (N, dim) of all rows, written to one array, since joining parts would take it twice."""
        vectors, at = np.empty((0, 0), dtype=np.float32), 0
        for rows in in_parts(frame):
            part = self._encode(rows["text"].tolist())
            if not at:
                vectors = np.empty((len(frame), part.shape[1]), dtype=np.float32)
            vectors[at : at + len(part)] = part
            at += len(part)
        return vectors

    def fit(
        self,
        pool: DataSource,
        *,
        vectors: Vectors | None = None,
        asked: NDArray[np.intp] | None = None,
        mapping: ColumnMapping | None = None,
        language: str | None = None,
        merge_intents: Sequence[str] = (),
        no_intents: Sequence[str] = (),
        real_intents: Sequence[str] = (),
    ) -> "Predictor":
        """Take a labelled pool, and choose number of votes, threshold and calibration on it by leave-one-out.

        Args:
            pool: a labelled set, files, folders, or "demo".
            vectors: (P, dim), the encoder's vectors for a labelled set, if they are known already.
            asked: rows that leave-one-out may use as queries; None takes those that the encoder was not trained on.
            mapping: columns of the files, if their names are unusual.
            language: language of files without a language column.
            merge_intents: see `read_labelled`.
            no_intents: see `read_labelled`.
            real_intents: see `read_labelled`.
        no_intents: see `read_labelled`.
        real_intents: see `read_labelled`.

        Raises:
            DataError: the pool can't be read.
            EncoderError: the encoder can't be opened.
            RunError: the run's folder is damaged.
        """
        self.pool_, _ = labelled_set(
            pool,
            mapping=mapping,
            language=language,
            merge_intents=merge_intents,
            no_intents=no_intents,
            real_intents=real_intents,
        )
        frame = self.pool_.frame
        seen, unknown = trained_rows(self.encoder, self.pool_)
        if asked is None:
            asked = np.flatnonzero(~seen)
        if vectors is None:
            vectors = self._encode_all(frame)
        self.classifier_ = NearestIntent().fit(
            vectors, frame["intent"].tolist(), sentence_groups(frame), asked=asked, threshold=self.threshold
        )
        del vectors
        give_memory_back()
        self.notes_ = (*self._notes(len(asked), unknown), *reading_notes(self.encoder, frame))
        return self

    def _notes(self, asked: int, unknown: str) -> Iterator[str]:
        count = len(self.pool_)
        if asked < LEAST_ASKED < count:
            yield (
                f"The run was trained on these labelled sentences{f', all but {asked}' if asked else ''}, so there is "
                "no confidence and no threshold; add labelled sentences that it was not trained on, or set a threshold."
            )
        elif self.classifier_.calibration_ is None:
            yield (
                "There is no confidence: leave-one-out on the pool has too few correct or too few wrong predictions "
                "to calibrate it."
            )
        if LEAST_ASKED <= asked < count:
            yield (
                f"The run was trained on {count - asked:,} of the {count:,} labelled sentences; accuracy, confidence "
                "and threshold are those of the others."
            )
        if unknown:
            yield (
                f"{encoder_title(unknown)} does not say which sentences it was trained on: if some of the labelled "
                "ones are among them, accuracy, confidence and threshold are too high."
            )

    @property
    def facts(self) -> PredictorFacts:
        """Return the choices and measurements made on the pool, as values for JSON."""
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
            vectors: (N, dim), the encoder's vectors for them, if they are known already.

        Returns:
            N rows with the columns `text`; `intent`, or "no known intent"; `confidence`, the probability that the
            intent is right given that the pool has the sentence's intent, NaN if it can't be calibrated; `margin`, the
            highest cosine to a sentence of the predicted intent minus the highest to one of another intent; and for
            the k nearest sentences in the pool `nearest_1`, `nearest_1_intent`, `nearest_1_language`,
            `nearest_1_cosine`, and so on.

        Raises:
            DataError: a sentence has no vector.
        """
        count = min(self.k, len(self.pool_))
        if not len(texts):
            return pd.DataFrame(columns=["text", *_columns(count)])
        answers = self.classifier_.predict(self._encode(texts) if vectors is None else vectors, count)
        known = self.classifier_.is_known(answers)
        names = np.array(self.classifier_.intents_, dtype=object)
        table: dict[str, object] = {
            "text": list(texts),
            "intent": np.where(known, names[answers.labels], NO_INTENT),
            "confidence": np.where(known, self.classifier_.confidence(answers), np.nan),
            "margin": answers.margins,
        }
        for rank in range(count):
            rows = self.pool_.frame.iloc[answers.rows[:, rank]]
            for what in OF_A_NEIGHBOUR:
                values = answers.cosines[:, rank] if what == "cosine" else rows[what].to_numpy()
                table[_column(rank + 1, what)] = values
        return pd.DataFrame(table)

    def predict_file(
        self,
        data: Files,
        out: str | Path,
        *,
        mapping: ColumnMapping | None = None,
        language: str | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        on_note: Callable[[str], object] | None = None,
    ) -> int:
        """Write predictions for the sentences of files to a file, in parts, with their `id` and `language`.

        Args:
            data: files, a folder of files, or "demo"; text files have a sentence a line.
            out: a file ending in .csv, .tsv, .jsonl or .parquet; it appears when it is complete.
            mapping: columns of the files, if their names are unusual.
            language: language of files without a language column.
            on_progress: called with (sentences done, total).
            on_note: called with each note on what the encoder does not read of the sentences.

        Returns:
            Number of sentences.

        Raises:
            DataError: the data can't be read, or `out` can't be written or has another ending.
        """
        frame = _sentences(data, mapping, language)
        if on_note is not None:
            for note in reading_notes(self.encoder, frame):
                on_note(note)
        columns = ["id", "text", "language", *_columns(min(self.k, len(self.pool_)))]
        numbers = [name for name in columns if name in ("confidence", "margin") or name.endswith("_cosine")]
        schema = pa.schema([(name, pa.float32() if name in numbers else pa.string()) for name in columns])
        with writing(out, schema) as write:
            for rows in in_parts(frame, on_progress):
                table = self.predict(rows["text"].tolist())
                table = table.assign(id=rows["id"].to_numpy(), language=rows["language"].to_numpy())
                write(table[columns])
        return len(frame)


def predict(
    data: Files,
    *,
    pool: DataSource,
    encoder: str = "use",
    run: str | Path | None = None,
    k: int = _NEIGHBOURS,
    threshold: float | None = None,
    device: str = "auto",
    mapping: ColumnMapping | None = None,
    language: str | None = None,
    merge_intents: Sequence[str] = (),
    no_intents: Sequence[str] = (),
    real_intents: Sequence[str] = (),
) -> pd.DataFrame:
    """Predict the intent of each sentence from the nearest sentences of a labelled pool.

    For many sentences, or several calls with one pool, use a `Predictor`; its `predict_file` writes a file with bounded
    memory.

    Args:
        data: sentences, or files of them; a string is a file if one of that name exists or if it ends like one (.csv,
            .txt ...).
        pool: a labelled set, files, folders, or "demo".
        encoder: what `load_encoder` takes.
        run: the folder of a finished run, to use its encoder.
        k: see `Predictor`.
        threshold: see `Predictor`.
        device: "auto", "cpu", "cuda:0".
        mapping: columns of the files, if their names are unusual.
        language: language of files without a language column.
        merge_intents: of the pool, see `read_labelled`.
        no_intents: see `read_labelled`.
        real_intents: see `read_labelled`.

    Returns:
        See `Predictor.predict`.

    Raises:
        DataError: the data or the pool can't be read.
        EncoderError: the encoder can't be opened.
    """
    predictor = Predictor(
        encoder if run is None else f"{RUN_SPEC}{run}", k=k, threshold=threshold, device=device
    )
    texts = texts_of(data, mapping=mapping, language=language)
    predictor.fit(
        pool,
        mapping=mapping,
        language=language,
        merge_intents=merge_intents,
        no_intents=no_intents,
        real_intents=real_intents,
    )
    return predictor.predict(texts)


def texts_of(data: Files, *, mapping: ColumnMapping | None = None, language: str | None = None) -> list[str]:
    """Return the given sentences, or those of the given files; see `sentences_of`."""
    texts: list[str] = sentences_of(data, mapping=mapping, language=language)["text"].tolist()
    return texts


def sentences_of(
    data: Files, *, mapping: ColumnMapping | None = None, language: str | None = None
) -> pd.DataFrame:
    """Return the given sentences, or those of the given files, in the columns text and language, "" for unknown.

    Raises:
        DataError: a file can't be read, sentences and files are mixed, or there are none.
    """
    named = as_list(data)
    files = [_is_file(name) for name in named]
    if all(files):
        return _sentences(named, mapping, language)[["text", "language"]]
    if any(files):
        raise DataError(f"{named[files.index(True)]} is a file among sentences; give files, or sentences")
    texts = clean(map(str, named))
    if not all(texts):
        raise DataError("a sentence is empty; leave it out")
    return pd.DataFrame({"text": texts, "language": language or ""}, dtype="str")


def _is_file(name: str | Path) -> bool:
    if isinstance(name, Path) or name == DEMO or name.lower().endswith(FILE_ENDINGS):
        return True
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # too long for a name
        return False


def _sentences(data: Files, mapping: ColumnMapping | None, language: str | None) -> pd.DataFrame:
    """Read files without their intents; rows without a sentence are left out."""
    if mapping is not None:
        mapping = replace(mapping, intent=None, split=None)
    frame = read_inputs(data, mapping, language)
    frame = frame.assign(text=stripped(frame["text"]))
    frame = frame[frame["text"] != ""]
    if frame.empty:
        raise DataError("the files have no sentences; check that they have rows")
    return frame


def _columns(count: int) -> list[str]:
    nearest = [_column(rank, what) for rank in range(1, count + 1) for what in OF_A_NEIGHBOUR]
    return ["intent", "confidence", "margin", *nearest]


def _column(rank: int, what: str) -> str:
    return f"nearest_{rank}" + ("" if what == "text" else f"_{what}")
