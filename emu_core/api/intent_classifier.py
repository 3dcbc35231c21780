"""A scikit-learn classifier of sentences by labelled ones, the nearest of which are the reason that is shown."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from emu_core.api.embed import UNDETERMINED, in_parts, sentence_rows, writing
from emu_core.api.inputs import encoder_title, labelled_set, languages_of, reading_notes, runs_of
from emu_core.api.labelled_texts import WITHOUT_INTENTS, labelled_texts, spoken_codes
from emu_core.data.held_texts import Texts, texts_of
from emu_core.data.languages import language_code, language_name, ordered
from emu_core.data.reading import Reading
from emu_core.data.repeats import sentence_groups
from emu_core.data.sets import LabelledSet
from emu_core.data.wording import listed
from emu_core.devices import pick_device
from emu_core.encoders.base import FloatArray
from emu_core.encoders.remembered import opened_encoder
from emu_core.errors import InputError, RunError
from emu_core.evaluation.arrays import Vectors
from emu_core.evaluation.vector_classifier import LEAST_ASKED, NO_INTENT, PredictionFacts, VectorClassifier
from emu_core.formats.in_memory import Sources, are_sentences
from emu_core.notebook.predictions import Predictions
from emu_core.runs.trained_on import TrainedOn, trained_on, trained_rows
from emu_core.threads import give_memory_back

OF_A_NEIGHBOUR = ("text", "intent", "language", "cosine")


class IntentClassifier(ClassifierMixin, BaseEstimator):
    """Predicts the intents of sentences, in any language that the encoder knows, from labelled sentences.

    It chooses on held-out labelled sentences whether the nearest of them decide, a regression, or both, and calibrates
    how far its answers hold; see `VectorClassifier`.

    Args:
        encoder: what `load_encoder` takes, `run:DIR` for a run's specialised encoder; or a transformer from sentences
            to vectors, such as a `SpecialisedEncoder`, which is fitted on the same sentences.
        n_neighbors: number of nearest labelled sentences to return with each prediction.
        threshold: a sentence has no known intent if the cosine of its nearest sentence is lower; None learns on the
            labelled sentences what one of a known intent looks like, -1 switches it off.
        reject_option: what `predict` returns for a sentence with no known intent; None always returns the most likely
            intent. Sentences that are labelled so are examples of those with none. Where intents are numbers, a text
            is not returned either: give a number, such as -1.
        device: "auto", "cpu", "cuda:0".

    Attributes:
        classes_: the intents, sorted.
        pool_: the labelled set of the sentences that predictions are made from.
        classifier_: the `VectorClassifier` fitted on its vectors, with rule, threshold and calibration.
        encoder_: the fitted transformer, if `encoder` is one.
        notes_: sentences on how to read the results.

    Examples:
        >>> from emu_core import IntentClassifier
        >>> texts = ["Where is the pool?", "Can I swim here?", "Call me a taxi", "I need a cab"]
        >>> classifier = IntentClassifier().fit(texts, ["pool", "pool", "taxi", "taxi"])
        >>> list(map(str, classifier.predict(["Wo ist der Pool?", "Ich brauche ein Taxi"])))
        ['pool', 'taxi']
        >>> classifier.explain(["Wo ist der Pool?"])["nearest_1"].item()
        'Where is the pool?'
    """

    def __init__(
        self,
        encoder: Any = "use",
        *,
        n_neighbors: int = 3,
        threshold: float | None = None,
        reject_option: Any = NO_INTENT,
        device: str = "auto",
    ) -> None:
        self.encoder = encoder
        self.n_neighbors = n_neighbors
        self.threshold = threshold
        self.reject_option = reject_option
        self.device = device

    def __sklearn_tags__(self) -> Any:
        """Return the tags of a classifier of sentences."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags

    def fit(
        self,
        X: Any,  # noqa: N803 - as in all of scikit-learn
        y: Any = None,
        *,
        languages: str | Sequence[str] | None = None,
        groups: Sequence[Any] | None = None,
    ) -> Self:
        """Take labelled sentences; choose what decides, and calibrate it, on those that are held out.

        Args:
            X: P sentences; without `y`, labelled sentences as `read_labelled` takes them: files, "demo", a DataFrame.
            y: P intents, texts or whole numbers.
            languages: the language of all sentences or, with `y`, of each, by which answers are then calibrated.
            groups: with `y`, the same value for translations of each other, which are held out together.

        Raises:
            DataError: the sentences can't be read or fitted, or a parameter is out of range; a ValueError for what
                isn't in a file.
            EncoderError: the encoder can't be opened.
            RunError: the run's folder is damaged.
        """
        if y is None:
            if are_sentences(X):
                raise InputError(WITHOUT_INTENTS)
            if groups is not None or not isinstance(languages, str | None):
                raise InputError(
                    "groups, and languages of each sentence, go with y; put them into columns of X"
                )
            return self.fit_labelled(labelled_set(X, Reading(language=languages))[0])
        self._check_parameters()
        rejected = [] if self.reject_option is None else [str(self.reject_option)]
        given = labelled_texts(X, y, languages=languages, groups=groups, no_intents=rejected)
        self._fit(given.labelled)
        self.pool_rows_ = given.rows
        self._name_classes(given.classes, given.class_of)
        return self

    def fit_labelled(
        self,
        labelled: LabelledSet,
        *,
        vectors: Vectors | None = None,
        none_vectors: Vectors | None = None,
        asked: NDArray[np.intp] | None = None,
    ) -> Self:
        """Fit the classifier on a labelled set, as `fit` does.

        Args:
            labelled: P sentences with intents, and M with none of them.
            vectors: (P, dim), the encoder's vectors for the sentences with intents, if they are known already.
            none_vectors: (M, dim), those for the others.
            asked: rows that may be held out; None takes those that the encoder was not trained on.

        Raises:
            DataError: a vector is zero or not finite, or a parameter is out of range.
            EncoderError: the encoder can't be opened.
            RunError: the run's folder is damaged.
        """
        self._check_parameters()
        self._fit(labelled, vectors, none_vectors, asked)
        self.pool_rows_ = np.arange(len(labelled))
        intents = labelled.intents
        self._name_classes(np.array(intents), {intent: position for position, intent in enumerate(intents)})
        return self

    def _check_parameters(self) -> None:
        count, threshold = self.n_neighbors, self.threshold
        if not isinstance(count, Integral) or count < 1:
            raise InputError(f"can't look for {count!r} neighbours; choose 1 or more")
        if threshold is not None and not (isinstance(threshold, Real) and -1 <= threshold <= 1):
            raise InputError(f"the threshold {threshold!r} is no cosine; choose one from -1 (never) to 1")

    def _fit(
        self,
        labelled: LabelledSet,
        vectors: Vectors | None = None,
        none_vectors: Vectors | None = None,
        asked: NDArray[np.intp] | None = None,
    ) -> None:
        self.pool_ = labelled
        frame, of_none = labelled.frame, labelled.none_of_these
        if not isinstance(self.encoder, str):
            self.encoder_ = _fitted(self.encoder, labelled)
        seen, unknown = self._trained_rows()
        if asked is None:
            asked = np.flatnonzero(~seen)
        if vectors is None:
            vectors = self._encode_all(frame)
        if none_vectors is None and len(of_none):
            none_vectors = self._encode_all(of_none)
        groups = sentence_groups(labelled.all_rows())
        languages = _known_languages(frame["language"])
        self.classifier_ = VectorClassifier().fit(
            vectors,
            frame["intent"].tolist(),
            groups[: len(frame)],
            languages=languages,
            asked=asked,
            threshold=self.threshold,
            none=none_vectors,
            none_ids=groups[len(frame) :],
        )
        del vectors, none_vectors
        give_memory_back()
        spoken = frame.assign(language=languages)
        self.notes_ = (*self._notes(len(asked), unknown), *self._reading_notes(spoken))

    def _name_classes(self, classes: NDArray[Any], class_of: dict[str, int]) -> None:
        """Store the classes, and the position among them of each of the classifier's intents."""
        self.classes_ = classes
        self._class_numbers = np.array([class_of[intent] for intent in self.classifier_.intents_])

    def _trained_rows(self) -> tuple[NDArray[np.bool_], str]:
        """Return whether the encoder was trained on each sentence, (P,), and what does not say on which it was.

        A sentence of an unknown language is looked for in all of the encoder's, and one of a known language also among
        those of unknown ones.
        """
        frame = self.pool_.frame
        if isinstance(self.encoder, str):
            known = trained_on(self.encoder)
            seen, unknown = trained_rows(self.encoder, self.pool_)
        else:
            known = getattr(self.encoder_, "trained_on_", TrainedOn(np.empty(0, np.uint64)))
            seen, unknown = known.rows(frame), known.unknown
        languages: Sequence[str] = [UNDETERMINED]
        if (frame["language"] == UNDETERMINED).all():
            languages = self._learnt_languages()
        for code in languages:
            seen = seen | known.rows(frame.assign(language=code))
        return seen, unknown

    def _learnt_languages(self) -> Sequence[str]:
        """Return the languages in which the encoder may have been trained on sentences."""
        if not isinstance(self.encoder, str):
            return getattr(self.encoder_, "languages_", ())
        with suppress(RunError):  # the folder has only an encoder
            return languages_of(self.encoder) if runs_of(self.encoder) else ()
        return ()

    def _encode(self, texts: Sequence[str]) -> FloatArray:
        if isinstance(self.encoder, str):
            return opened_encoder(self.encoder, pick_device(self.device)).encode(texts)
        return np.asarray(self.encoder_.transform(list(texts)), dtype=np.float32)

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

    def _reading_notes(self, sentences: pd.DataFrame) -> tuple[str, ...]:
        spec = self.encoder if isinstance(self.encoder, str) else getattr(self.encoder_, "encoder", None)
        return reading_notes(spec, sentences) if isinstance(spec, str) else ()

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
    def facts(self) -> PredictionFacts:
        """Return the choices and measurements made on the labelled sentences, as values for JSON."""
        check_is_fitted(self)
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

    def predict(self, X: Texts, *, languages: str | Sequence[str] = ()) -> NDArray[Any]:  # noqa: N803
        """Return the intent of each of N sentences, (N,), or the `reject_option` for one with no known intent.

        Args:
            X: N sentences: a list, a Series or an array of strings.
            languages: the language of all sentences or of each, "" for an unknown one, by which answers are calibrated.

        Raises:
            DataError: these are no sentences, or one has no vector.
        """
        check_is_fitted(self)
        vectors = self._vectors(X)
        answers = self.classifier_.predict(vectors, 1, spoken_codes(languages, len(vectors)))
        labels = self.classes_[self._class_numbers[answers.labels]]
        is_text_for_numbers = labels.dtype.kind in "biuf" and isinstance(self.reject_option, str)
        if answers.is_known.all() or self.reject_option is None or is_text_for_numbers:
            return labels
        return np.where(answers.is_known, labels, self.reject_option)

    def predict_proba(self, X: Texts) -> NDArray[np.float64]:  # noqa: N803
        """Return the share of each of `classes_` in the decision on each of N sentences, (N, k).

        The most likely one is predicted, unless the sentence is rejected. These are the probabilities of the
        regression, or shares of the votes; what is calibrated is the `confidence` of `explain`.

        Raises:
            DataError: these are no sentences, or one has no vector.
        """
        check_is_fitted(self)
        shares = self.classifier_.probabilities(self._vectors(X))
        probabilities = np.zeros((len(shares), len(self.classes_)))
        np.add.at(probabilities.T, self._class_numbers, shares.T)
        return probabilities

    def kneighbors(
        self,
        X: Texts,  # noqa: N803
        n_neighbors: int | None = None,
        return_distance: bool = True,
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]] | NDArray[np.int64]:
        """Return the nearest labelled sentences, the reasons for the predictions.

        Args:
            X: N sentences.
            n_neighbors: number of nearest sentences; None takes that of the classifier.
            return_distance: whether to return the distances, too.

        Returns:
            Cosine distances (N, n), and the positions (N, n) of these sentences among those that `fit` was given.

        Raises:
            DataError: these are no sentences, or `n_neighbors` is below 1.
        """
        check_is_fitted(self)
        count = self.n_neighbors if n_neighbors is None else n_neighbors
        answers = self.classifier_.predict(self._vectors(X), min(count, len(self.pool_)))
        rows = self.pool_rows_[answers.rows]
        return (1 - answers.cosines, rows) if return_distance else rows

    def _vectors(self, X: Texts) -> FloatArray:  # noqa: N803
        texts = texts_of(X)
        if not texts:
            raise InputError("Found array with 0 sample(s) while a minimum of 1 is required: give sentences")
        return self._encode(texts)

    def explain(
        self,
        X: Texts,  # noqa: N803
        *,
        vectors: Vectors | None = None,
        languages: str | Sequence[str] = (),
    ) -> Predictions:
        """Return the predicted intent of each sentence with how far it holds, and the labelled sentences behind it.

        Args:
            X: N sentences.
            vectors: (N, dim), the encoder's vectors for them, if they are known already.
            languages: the language of all sentences or of each, "" for an unknown one, by which answers are calibrated.

        Returns:
            N rows with the columns `text`; `intent`, or the `reject_option`; `confidence`, the probability that the
            intent is right given that the pool has the sentence's intent, NaN if it can't be calibrated; `margin`, the
            highest cosine to a sentence of the predicted intent minus the highest to one of another intent; and for
            the n nearest sentences in the pool `nearest_1`, `nearest_1_intent`, `nearest_1_language`,
            `nearest_1_cosine`, and so on. Its `attrs["facts"]` are the `facts`, with the notes on the languages;
            notebooks show them below the table.

        Raises:
            DataError: these are no sentences, or one has no vector.
        """
        check_is_fitted(self)
        texts, count = texts_of(X), min(self.n_neighbors, len(self.pool_))
        if not texts:
            return Predictions(columns=["text", *_columns(count)])
        if vectors is None:
            vectors = self._encode(texts)
        spoken = spoken_codes(languages, len(texts))
        answers = self.classifier_.predict(vectors, count, spoken)
        is_known = answers.is_known | (self.reject_option is None)
        intents = self.classes_[self._class_numbers].astype(object)
        table: dict[str, object] = {
            "text": texts,
            "intent": np.where(is_known, intents[answers.labels], self.reject_option),
            "confidence": np.where(is_known, answers.confidence, np.nan),
            "margin": answers.margins,
        }
        for rank in range(count):
            rows = self.pool_.frame.iloc[answers.rows[:, rank]]
            for what in OF_A_NEIGHBOUR:
                values = answers.cosines[:, rank] if what == "cosine" else rows[what].to_numpy()
                table[_column(rank + 1, what)] = values
        frame, facts = Predictions(table), self.facts
        frame.attrs["facts"] = {**facts, "notes": [*facts["notes"], *self.language_notes(set(spoken))]}
        return frame

    def predict_file(
        self,
        data: Sources,
        out: str | Path,
        *,
        reading: Reading | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        on_note: Callable[[str], object] | None = None,
    ) -> int:
        """Write what `explain` returns for the sentences of files to a file, in parts, with their `id` and `language`.

        Args:
            data: sentences, as `emu_core.predict` takes them; text files have a sentence a line.
            out: a file ending in .csv, .tsv, .jsonl or .parquet; it appears when it is complete.
            reading: columns with unusual names, and the language of files that state none; see `Reading`.
            on_progress: called with (sentences done, total).
            on_note: called with each note on what the encoder does not read of the sentences.

        Returns:
            Number of sentences.

        Raises:
            DataError: the data can't be read, or `out` can't be written or has another ending.
        """
        check_is_fitted(self)
        frame = sentence_rows(data, reading)
        if on_note is not None:
            notes = (*self._reading_notes(frame), *self.language_notes(frame["language"].unique()))
            for note in notes:
                on_note(note)
        with writing(out, self.file_schema) as write:
            for rows in in_parts(frame, on_progress):
                write(self.file_rows(rows))
        return len(frame)

    @property
    def file_schema(self) -> pa.Schema:
        """The columns that `predict_file` writes."""
        names = ["id", "text", "language", *_columns(min(self.n_neighbors, len(self.pool_)))]
        numbers = [name for name in names if name in ("confidence", "margin") or name.endswith("_cosine")]
        return pa.schema([(name, pa.float32() if name in numbers else pa.string()) for name in names])

    def file_rows(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows that `predict_file` writes for those with the columns id, text and language."""
        table = self.explain(rows["text"].tolist(), languages=rows["language"].tolist())
        table = table.assign(id=rows["id"].to_numpy(), language=rows["language"].to_numpy())
        return table[self.file_schema.names]


def _fitted(encoder: Any, labelled: LabelledSet) -> Any:
    """Return a clone of a transformer, fitted on the sentences of a labelled set that have an intent."""
    frame = labelled.frame
    of_sentences = {"languages": _known_languages(frame["language"]), "groups": frame["id"].tolist()}
    if not any(of_sentences["languages"]):
        del of_sentences["languages"]
    options = {name: values for name, values in of_sentences.items() if has_fit_parameter(encoder, name)}
    return clone(encoder).fit(frame["text"].tolist(), frame["intent"].to_numpy(dtype=object), **options)


def _columns(count: int) -> list[str]:
    nearest = [_column(rank, what) for rank in range(1, count + 1) for what in OF_A_NEIGHBOUR]
    return ["intent", "confidence", "margin", *nearest]


def _column(rank: int, what: str) -> str:
    return f"nearest_{rank}" + ("" if what == "text" else f"_{what}")


def _known_languages(languages: "pd.Series[str]") -> list[str]:
    """Return language codes, "" for an unknown one."""
    return ["" if code == UNDETERMINED else code for code in languages]
