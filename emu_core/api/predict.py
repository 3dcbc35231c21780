"""Predict the intent of sentences from labelled sentences, the nearest of which are the reason that is shown."""

from collections.abc import Callable, Iterable, Iterator, Sequence
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
    encoder_title,
    labelled_set,
    lazy_encode,
    reading_notes,
)
from emu_core.data.cleaning import stripped
from emu_core.data.collections.in_memory import Sources, texts_of
from emu_core.data.labelled.columns import ColumnMapping
from emu_core.data.labelled.repeats import sentence_groups
from emu_core.data.languages import language_code, language_name, ordered
from emu_core.data.wording import listed
from emu_core.errors import DataError
from emu_core.evaluation.arrays import Vectors
from emu_core.evaluation.intent_classifier import LEAST_ASKED, IntentClassifier
from emu_core.runs.trained_on import trained_rows
from emu_core.threads import give_memory_back

NO_INTENT = "no known intent"
_NEIGHBOURS = 3
OF_A_NEIGHBOUR = ("text", "intent", "language", "cosine")


class PredictorFacts(TypedDict):
    """The choices and measurements that a `Predictor` made on its pool."""

    pool: int  # number of labelled sentences
    rule: str  # what decides, a value of `Rule`
    votes: int  # number of nearest sentences that vote, if they do
    accuracy: float | None  # percent of right predictions of held-out sentences
    threshold: float | None  # no intent is known below it
    threshold_is_cosine: bool  # of the nearest sentence; otherwise a score from 0 to 1
    threshold_is_given: bool  # and not learnt
    new_found: float | None  # percent of the sentences of left-out intents that are below
    none_of_these: int  # number of sentences that are labelled as none of the intents
    none_found: float | None  # percent of those that are below
    notes: list[str]


class Predictor:
    """Predicts intents from a labelled pool; see `IntentClassifier`.

    Attributes:
        pool_: the labelled set.
        classifier_: the `IntentClassifier` fitted on its vectors, with rule, threshold and calibration.
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
            threshold: a sentence has no known intent if the cosine of its nearest sentence is lower; None learns on
                the pool what a sentence of a known intent looks like, -1 switches it off.
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
        pool: Sources,
        *,
        vectors: Vectors | None = None,
        none_vectors: Vectors | None = None,
        asked: NDArray[np.intp] | None = None,
        mapping: ColumnMapping | None = None,
        language: str | None = None,
        merge_intents: Sequence[str] = (),
        no_intents: Sequence[str] = (),
        real_intents: Sequence[str] = (),
    ) -> "Predictor":
        """Take a labelled pool; choose what decides, and calibrate it, on sentences of the pool that are held out.

        Args:
            pool: labelled sentences, as `read_labelled` takes them: files, "demo", a DataFrame, `(texts, intents)` ...
            vectors: (P, dim), the encoder's vectors for a labelled set, if they are known already.
            none_vectors: (M, dim), those for its sentences with none of the intents.
            asked: rows that may be held out; None takes those that the encoder was not trained on.
            mapping: columns of the files, if their names are unusual.
            language: language of files without a language column.
            merge_intents: see `read_labelled`.
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
        frame, of_none = self.pool_.frame, self.pool_.none_of_these
        seen, unknown = trained_rows(self.encoder, self.pool_)
        if asked is None:
            asked = np.flatnonzero(~seen)
        if vectors is None:
            vectors = self._encode_all(frame)
        if none_vectors is None and len(of_none):
            none_vectors = self._encode_all(of_none)
        groups = sentence_groups(self.pool_.all_rows())
        self.classifier_ = IntentClassifier().fit(
            vectors,
            frame["intent"].tolist(),
            groups[: len(frame)],
            languages=frame["language"].tolist(),
            asked=asked,
            threshold=self.threshold,
            none=none_vectors,
            none_ids=groups[len(frame) :],
        )
        del vectors, none_vectors
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
        elif not self.classifier_.has_confidence:
            yield (
                "There is no confidence: too few predictions of held-out labelled sentences are correct, or too few "
                "are wrong, to calibrate it."
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
            "rule": chosen.rule_.value,
            "votes": chosen.votes_,
            "accuracy": chosen.accuracy_,
            "threshold": chosen.threshold_,
            "threshold_is_cosine": chosen.by_cosine_,
            "threshold_is_given": self.threshold is not None,
            "new_found": chosen.new_found_,
            "none_of_these": len(self.pool_.none_of_these),
            "none_found": chosen.none_found_,
            "notes": list(self.notes_),
        }

    def language_notes(self, languages: Iterable[str]) -> tuple[str, ...]:
        """Return a note on the languages of sentences for which there is no calibration of their own.

        Args:
            languages: codes; "" for unknown ones, on which there is no note.
        """
        known = self.pool_.languages
        calibrated = known if len(known) == 1 else self.classifier_.languages_
        rest = ordered({code for code in languages if language_code(code)} - set(calibrated))
        if self.classifier_.accuracy_ is None or not rest:
            return ()
        return (
            f"The labelled sentences do not suffice to calibrate {listed(map(language_name, rest), 6)}: confidence and "
            f"threshold there are those of all labelled sentences together, and hold less well.",
        )

    def predict(
        self, texts: Sequence[str], *, vectors: Vectors | None = None, languages: Sequence[str] = ()
    ) -> pd.DataFrame:
        """Predict the intent of each sentence, in any language that the encoder knows.

        Args:
            texts: N sentences.
            vectors: (N, dim), the encoder's vectors for them, if they are known already.
            languages: N language codes, "" for an unknown one, with which the answers are calibrated by language.

        Returns:
            N rows with the columns `text`; `intent`, or "no known intent"; `confidence`, the probability that the
            intent is right given that the pool has the sentence's intent, NaN if it can't be calibrated; `margin`, the
            highest cosine to a sentence of the predicted intent minus the highest to one of another intent; and for
            the k nearest sentences in the pool `nearest_1`, `nearest_1_intent`, `nearest_1_language`,
            `nearest_1_cosine`, and so on. Its `attrs["facts"]` are the `facts`, with the notes on the languages.

        Raises:
            DataError: a sentence has no vector.
        """
        count = min(self.k, len(self.pool_))
        texts = texts_of(texts)
        if not texts:
            return pd.DataFrame(columns=["text", *_columns(count)])
        if vectors is None:
            vectors = self._encode(texts)
        answers = self.classifier_.predict(vectors, count, languages)
        known = answers.is_known
        names = np.array(self.classifier_.intents_, dtype=object)
        table: dict[str, object] = {
            "text": texts,
            "intent": np.where(known, names[answers.labels], NO_INTENT),
            "confidence": np.where(known, answers.confidence, np.nan),
            "margin": answers.margins,
        }
        for rank in range(count):
            rows = self.pool_.frame.iloc[answers.rows[:, rank]]
            for what in OF_A_NEIGHBOUR:
                values = answers.cosines[:, rank] if what == "cosine" else rows[what].to_numpy()
                table[_column(rank + 1, what)] = values
        frame, facts = pd.DataFrame(table), self.facts
        frame.attrs["facts"] = {**facts, "notes": [*facts["notes"], *self.language_notes(set(languages))]}
        return frame

    def predict_file(
        self,
        data: Sources,
        out: str | Path,
        *,
        mapping: ColumnMapping | None = None,
        language: str | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        on_note: Callable[[str], object] | None = None,
    ) -> int:
        """Write predictions for the sentences of files to a file, in parts, with their `id` and `language`.

        Args:
            data: sentences, as `predict` takes them; text files have a sentence a line.
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
            notes = (*reading_notes(self.encoder, frame), *self.language_notes(frame["language"].unique()))
            for note in notes:
                on_note(note)
        columns = ["id", "text", "language", *_columns(min(self.k, len(self.pool_)))]
        numbers = [name for name in columns if name in ("confidence", "margin") or name.endswith("_cosine")]
        schema = pa.schema([(name, pa.float32() if name in numbers else pa.string()) for name in columns])
        with writing(out, schema) as write:
            for rows in in_parts(frame, on_progress):
                table = self.predict(rows["text"].tolist(), languages=rows["language"].tolist())
                table = table.assign(id=rows["id"].to_numpy(), language=rows["language"].to_numpy())
                write(table[columns])
        return len(frame)


def predict(
    data: Sources,
    *,
    pool: Sources,
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
        data: sentences (a list, a Series, an array, a DataFrame with a column of them), or files of them; a string is a
            file if one of that name exists or if it ends like one (.csv, .txt ...).
        pool: labelled sentences, as `read_labelled` takes them: files, "demo", a DataFrame, `(texts, intents)` ...
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
    sentences = sentences_of(data, mapping=mapping, language=language)
    predictor.fit(
        pool,
        mapping=mapping,
        language=language,
        merge_intents=merge_intents,
        no_intents=no_intents,
        real_intents=real_intents,
    )
    table = predictor.predict(sentences["text"].tolist(), languages=sentences["language"].tolist())
    return table.set_axis(sentences.index)


def sentences_of(
    data: Sources, *, mapping: ColumnMapping | None = None, language: str | None = None
) -> pd.DataFrame:
    """Return the given sentences in the columns text and language, "" for unknown; rows without one are left out.

    Their index is that of a pandas frame or Series that they are given as, so that predictions fit their rows.

    Raises:
        DataError: a file can't be read, sentences and files are mixed, or there are none.
    """
    rows = _sentences(data, mapping, language)
    sentences = rows[["text", "language"]]
    if isinstance(data, pd.DataFrame | pd.Series) and rows["row"].is_unique:
        return sentences.set_axis(data.index[rows["row"] - 1])
    return sentences.reset_index(drop=True)


def _sentences(data: Sources, mapping: ColumnMapping | None, language: str | None) -> pd.DataFrame:
    """Read sentences without their intents; rows without a sentence are left out."""
    if mapping is not None:
        mapping = replace(mapping, intent=None, split=None)
    frame = read_inputs([data] if isinstance(data, str) else data, mapping, language)
    frame = frame.assign(text=stripped(frame["text"]))
    frame = frame[frame["text"] != ""]
    if frame.empty:
        raise DataError("there are no sentences; check that the data has rows")
    return frame


def _columns(count: int) -> list[str]:
    nearest = [_column(rank, what) for rank in range(1, count + 1) for what in OF_A_NEIGHBOUR]
    return ["intent", "confidence", "margin", *nearest]


def _column(rank: int, what: str) -> str:
    return f"nearest_{rank}" + ("" if what == "text" else f"_{what}")
