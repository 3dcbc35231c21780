"""A scikit-learn classifier of sentences by labelled ones, the nearest of which are the reason that is shown."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from emu_core.api.embed import in_parts, refuse_input, sentence_rows, writing
from emu_core.api.inputs import (
    encoder_title,
    finished_run,
    labelled_set,
    languages_of,
    reading_notes,
    runs_of,
    without_heads,
)
from emu_core.api.labelled_texts import WITHOUT_INTENTS, labelled_texts
from emu_core.data.detection import detected_or_stated, unstated_note
from emu_core.data.held_texts import Texts, spoken_codes, texts_of
from emu_core.data.languages import UNDETERMINED, language_code, language_name, ordered
from emu_core.data.reading import DescribedIntents, Reading
from emu_core.data.sets import LabelledSet
from emu_core.data.wording import kind_of, listed, shown
from emu_core.devices import pick_device
from emu_core.encoders.base import Encoder, FloatArray
from emu_core.encoders.estimators import HoldsEncoder
from emu_core.encoders.registry import precision_notes
from emu_core.encoders.remembered import opened_encoder, remembered_vectors
from emu_core.encoders.specs import RUN_SPEC
from emu_core.errors import DataError, Fix, InputError, RunError
from emu_core.evaluation.arrays import Vectors
from emu_core.formats.descriptions import read_intents
from emu_core.formats.in_memory import Sources, are_sentences
from emu_core.intents.answers import NO_INTENT, PredictionFacts
from emu_core.intents.labelled import fit_intents
from emu_core.intents.model import LEAST_ASKED, LEAST_UNLABELLED
from emu_core.intents.names import have_letters
from emu_core.intents.unlabelled import adapted_to
from emu_core.notebook.predictions import Predictions
from emu_core.runs.intents import load_intents
from emu_core.runs.run import Run
from emu_core.runs.trained_on import TrainedOn, trained_on, trained_rows
from emu_core.threads import give_memory_back

_NO_NUMBER = -1  # stands for no known intent where intents are numbers
BETWEEN = " | "  # the intents that a sentence may have
OF_A_NEIGHBOUR = ("text", "intent", "language", "cosine")


class IntentClassifier(ClassifierMixin, BaseEstimator):
    """Predicts the intents of sentences, in any language that the encoder knows, from labelled sentences.

    What decides are a regression, the nearest labelled sentences, and the words of the intents' names, which it weighs
    on held-out labelled sentences, and calibrates how far its answers hold; see `emu_core.intents.model.IntentModel`.

    Args:
        encoder: what `load_encoder` takes, `run:DIR` for a run's specialised encoder; or a transformer from sentences
            to vectors, such as a `SpecialisedEncoder`, which is fitted on the same sentences.
        n_neighbors: number of nearest labelled sentences to return with each prediction.
        threshold: a sentence has no known intent if the cosine of its nearest sentence is lower; None learns on the
            labelled sentences what one of a known intent looks like, -1 switches it off.
        coverage: share of sentences whose intent is to be among the `intents` that `explain` adds then, such as .9.
        reject_option: what `predict` returns for a sentence with no known intent; None always returns the most likely
            intent. It is a text or, where intents are numbers, a number that is none of them; -1 is returned there
            instead of a text. Sentences with this text for a label are examples of those with no known intent.
        device: "auto", "cpu", "cuda:0".

    Attributes:
        classes_: the intents, sorted.
        pool_: the labelled set of the sentences that predictions are made from.
        classifier_: the `IntentModel` fitted on its vectors, with what decides, threshold and calibration.
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
        coverage: float | None = None,
        reject_option: Any = NO_INTENT,
        device: str = "auto",
    ) -> None:
        self.encoder = encoder
        self.n_neighbors = n_neighbors
        self.threshold = threshold
        self.coverage = coverage
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
        intents: DescribedIntents | None = None,
        languages: str | Sequence[str] | None = None,
        groups: Sequence[Any] | None = None,
        sample_weight: Sequence[float] | None = None,
    ) -> Self:
        """Take labelled sentences; choose what decides, and calibrate it, on those that are held out.

        Args:
            X: P sentences; without `y`, labelled sentences as `read_labelled` takes them: files, "demo", a DataFrame.
            y: P intents, texts or whole numbers.
            intents: descriptions of intents, in any language, instead of the words of their names; also of some without
                a labelled sentence. A dict, or a table with the columns intent and description.
            languages: the language of all sentences or, with `y`, of each, by which answers are then calibrated.
            groups: with `y`, the same value for translations of each other, which are held out together.
            sample_weight: with `y`, P numbers, how much each sentence counts in the regression; 0 leaves it out. Its
                density, its neighbours, and what is measured count each sentence once.

        Raises:
            DataError: the sentences can't be read or fitted, or a parameter is out of range; a ValueError for what
                isn't in a file.
            EncoderError: the encoder can't be opened.
            RunError: the run's folder is damaged.
        """
        if y is None:
            if are_sentences(X):
                raise InputError(WITHOUT_INTENTS)
            if sample_weight is not None:
                raise InputError("sample_weight goes with y; give the sentences and their intents apart")
            if groups is not None or not isinstance(languages, str | None):
                raise InputError(
                    "groups, and languages of each sentence, go with y; put them into columns of X"
                )
            return self.fit_labelled(labelled_set(X, Reading(language=languages))[0], intents=intents)
        self._check_parameters()
        rejected = [self.reject_option] if isinstance(self.reject_option, str) else []
        given = labelled_texts(
            X, y, languages=languages, groups=groups, no_intents=rejected, sample_weight=sample_weight
        )
        self._answer_type(given.classes)
        self._fit(given.labelled, intents, sample_weight=given.weights)
        self.pool_rows_ = given.rows
        self._name_classes(given.classes, given.class_of)
        self._answer_type(self.classes_)  # which have the intents that are only described, too
        return self

    def fit_labelled(
        self,
        labelled: LabelledSet,
        *,
        intents: DescribedIntents | None = None,
        vectors: Vectors | None = None,
        none_vectors: Vectors | None = None,
        asked: NDArray[np.intp] | None = None,
    ) -> Self:
        """Fit the classifier on a labelled set, as `fit` does.

        Args:
            labelled: P sentences with intents, and M with none of them.
            intents: as for `fit`.
            vectors: (P, dim), the encoder's vectors for the sentences with intents, if they are known already. Without
                them, those of the encoder before a head moves them (`Encoder.without_head`) are taken.
            none_vectors: (M, dim), those for the others.
            asked: rows that may be held out; None takes those that the encoder was not trained on.

        Raises:
            DataError: a vector is zero or not finite, or a parameter is out of range.
            EncoderError: the encoder can't be opened.
            RunError: the run's folder is damaged.
        """
        self._check_parameters()
        names = labelled.intents
        self._answer_type(np.array(names))
        self._fit(labelled, intents, vectors, none_vectors, asked)
        self.pool_rows_ = np.arange(len(labelled))
        self._name_classes(np.array(names), {intent: position for position, intent in enumerate(names)})
        return self

    def _described(self, intents: DescribedIntents | None) -> dict[str, str]:
        """Return the descriptions by the names of intents. Raises InputError where one stands for no known intent."""
        described = {} if intents is None else read_intents(intents, fewest=0)
        for intent in described:
            if self.reject_option is not None and intent == str(self.reject_option):
                raise InputError(
                    f"{shown(intent)!r} is described, and stands for no known intent; leave it out"
                )
        return described

    def _check_parameters(self) -> None:
        count, threshold = self.n_neighbors, self.threshold
        if not isinstance(count, Integral) or count < 1:
            raise InputError(f"can't look for {count!r} neighbours; choose 1 or more")
        if threshold is not None and not (isinstance(threshold, Real) and -1 <= threshold <= 1):
            raise InputError(f"the threshold {threshold!r} is no cosine; choose one from -1 (never) to 1")
        if self.coverage is not None and not (isinstance(self.coverage, Real) and 0 < self.coverage < 1):
            raise InputError(
                f"can't cover a share of {self.coverage!r}; choose one above 0 and below 1, such as 0.9"
            )

    def _fit(
        self,
        labelled: LabelledSet,
        descriptions: DescribedIntents | None = None,
        vectors: Vectors | None = None,
        none_vectors: Vectors | None = None,
        asked: NDArray[np.intp] | None = None,
        sample_weight: NDArray[np.float64] | None = None,
    ) -> None:
        self.pool_ = labelled = labelled.described(self._described(descriptions))
        self._moves = (
            vectors is not None
        )  # whether sentences are encoded with the head, as these vectors were
        frame, of_none = labelled.frame, labelled.none_of_these
        if not isinstance(self.encoder, str):
            self.encoder_ = _fitted(self.encoder, labelled, sample_weight)
        seen, unknown = self._trained_rows()
        if asked is None:
            asked = np.flatnonzero(~seen)
        if vectors is None:
            vectors = self._encode_all(frame)
        if none_vectors is None and len(of_none):
            none_vectors = self._encode_all(of_none)
        encoder = self._opened()
        self.classifier_ = fit_intents(
            labelled,
            self._encode if encoder is None else partial(remembered_vectors, encoder),
            vectors=vectors,
            none_vectors=none_vectors,
            asked=asked,
            threshold=self.threshold,
            dims=() if encoder is None else encoder.part_dims,
            part_languages=() if encoder is None else encoder.part_languages,
            languages=() if encoder is None else encoder.languages,
            sample_weight=sample_weight,
        )
        del vectors, none_vectors
        give_memory_back()
        spoken = frame.assign(language=_known_languages(frame["language"]))
        self.notes_ = (*self._notes(len(asked), unknown), *self._reading_notes(spoken))

    def _name_classes(self, classes: NDArray[Any], class_of: dict[str, int]) -> None:
        """Store the classes, sorted, and the position among them of each of the classifier's intents.

        Args:
            classes: those with a sentence.
            class_of: the position among them of each of these intents.
        """
        more = [intent for intent in self.classifier_.intents_ if intent not in class_of]
        numbers = class_of | {intent: len(classes) + rank for rank, intent in enumerate(more)}
        classes = np.concatenate([classes, _as_classes(more, classes)])
        order = np.argsort(classes, kind="stable")
        self.classes_ = classes[order]
        self._class_numbers = np.argsort(order)[[numbers[intent] for intent in self.classifier_.intents_]]

    def _trained_rows(self) -> tuple[NDArray[np.bool_], str]:
        """Return whether the encoder was trained on each sentence, (P,), and what does not say on which it was.

        A sentence of an unknown language is looked for in all of the encoder's, and one of a known language also among
        those of unknown ones.
        """
        frame = self.pool_.frame
        if isinstance(self.encoder, str):
            spec = self.encoder if self._moves else without_heads(self.encoder)
            known = trained_on(spec)
            seen, unknown = trained_rows(spec, self.pool_)
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

    def _opened(self) -> Encoder | None:
        """Return the encoder, without a head unless vectors were given; None if it is a transformer."""
        if not isinstance(self.encoder, str):
            return None
        encoder = opened_encoder(self.encoder, pick_device(self.device))
        return encoder if self._moves else encoder.without_head

    def held_encoder(self) -> str | Encoder:
        """Return the encoder that the parameter `encoder` names, or that of the fitted transformer.

        It has none of the intents: what names those is `classifier_`.

        Raises:
            NotFittedError: the classifier is not fitted.
            InputError: the transformer is not one of Emu.
        """
        check_is_fitted(self)
        if isinstance(self.encoder, str):
            return self.encoder
        if not isinstance(self.encoder_, HoldsEncoder):
            raise InputError(
                f"the classifier takes its vectors from {kind_of(self.encoder_)}, which has no encoder of Emu; export "
                "that by its own means"
            )
        return self.encoder_.held_encoder()

    def _encode(self, texts: Sequence[str], *, keeps: bool = False) -> FloatArray:
        encoder = self._opened()
        if encoder is not None:
            return remembered_vectors(encoder, texts, keeps=keeps)
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
        if not isinstance(spec, str):
            return ()
        return *reading_notes(spec, sentences), *precision_notes(spec, pick_device(self.device))

    def _notes(self, asked: int, unknown: str) -> Iterator[str]:
        count = len(self.pool_)
        if unseen := self.classifier_.unseen_:
            yield (
                "The run was trained on these labelled sentences: accuracy, confidence and threshold are those of "
                f"{unseen:,} that it held out."
            )
        if asked < LEAST_ASKED < count and not unseen:
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
            "names": chosen.names_that_count,
            "rule": chosen.rule_.value,
            "accuracy": chosen.accuracy_,
            "threshold": chosen.threshold_,
            "threshold_is_cosine": chosen.by_cosine_,
            "threshold_is_given": self.threshold is not None,
            "new_found": chosen.new_found_,
            "none_of_these": chosen.none_of_these,
            "none_found": chosen.none_found_,
            "adapted": list(chosen.adapted_languages),
            "unlabelled": list(chosen.prototype_languages),
            "notes": list(self.notes_),
        }

    def language_notes(self, languages: Iterable[str]) -> tuple[str, ...]:
        """Return a note on the languages of sentences for which there is no calibration of their own.

        Args:
            languages: codes; "" for unknown ones, on which there is no note.
        """
        model, notes = self.classifier_, list[str]()
        asked = {code for code in languages if language_code(code)}
        strange = ordered(asked & set(model.strange_languages))
        rest = ordered(asked - {*model.calibrated_languages, *model.adapted_languages, *strange})
        if model.accuracy_ is None:
            return ()
        if rest:
            notes.append(
                f"The labelled sentences do not suffice to calibrate {listed(map(language_name, rest), 6)}: confidence "
                "there is that of all labelled sentences together, the threshold is what built-in translations let "
                f"expect, and both hold less well. A language is calibrated by {LEAST_UNLABELLED} or more unlabelled "
                "sentences to adapt to, or by labels in it: 50 make its answers more accurate, too."
            )
        if strange:
            notes.append(
                f"The sentences in {listed(map(language_name, strange), 6)} may be about something else than the "
                "labelled ones, so that the threshold is lowered less for them, if at all."
            )
        return tuple(notes)

    def adapt(
        self,
        X: Texts,  # noqa: N803
        languages: str | Sequence[str] | None,
        *,
        vectors: Vectors | None = None,
    ) -> Self:
        """Adapt the classifier to unlabelled sentences: its intents, and how it is calibrated for their languages.

        See `IntentModel.adapted`.

        Args:
            X: N sentences, `emu_core.intents.model.LEAST_UNLABELLED` or more of a language; of more than
                `emu_core.intents.unlabelled.MOST_UNLABELLED`, so many are drawn.
            languages: the language of all of them, or of each, as for `predict`.
            vectors: (N, dim), if they are known already; see `explain`.

        Returns:
            The classifier itself.

        Raises:
            DataError: these are no sentences, or one has no vector.
        """
        check_is_fitted(self)
        texts = texts_of(X)

        def vectors_of(rows: NDArray[np.intp]) -> Vectors:
            # They are kept, as predictions for them come next.
            return (
                self._encode([texts[row] for row in rows], keeps=True) if vectors is None else vectors[rows]
            )

        spoken = spoken_codes(languages, len(texts))
        self.classifier_ = adapted_to(self.classifier_, texts, spoken, vectors_of)
        return self

    def spoken(
        self, texts: Sequence[str], languages: Sequence[str], *, adapt: bool
    ) -> tuple[Sequence[str], str]:
        """Return the languages of sentences that come together, after adapting to them where that is asked for.

        Args:
            texts: N sentences.
            languages: their codes, "" where none is stated. It is detected if the classifier is adapted, since how a
                sentence is read then depends on the others; see `emu_core.data.detection.detected_or_stated`.
            adapt: whether to `adapt` to them.

        Returns:
            The codes, and a note on those that are not stated, "" if all are.
        """
        if not (adapt and len(texts)):
            return languages, unstated_note(languages)
        encoder = self._opened()
        known = () if encoder is None else encoder.read_languages
        detected, note = detected_or_stated(texts, languages, known)
        self.adapt(texts, detected)
        return detected, note

    @classmethod
    def from_run(cls, run: Run | str | Path, **parameters: Any) -> Self:
        """Return the classifier of a finished run, whose intent model the run's folder holds.

        Args:
            run: the run, or its folder.
            **parameters: see `IntentClassifier`; there is no `encoder`, and a `threshold` needs labelled sentences.

        Raises:
            DataError: there is a threshold, or a parameter is out of range.
            RunError: the run has no intent model, or it is damaged.
        """
        if parameters.get("threshold") is not None:
            raise DataError("a run's intents have their own threshold; leave it out, or give ", Fix("pool"))
        folder = Path(run)
        stored = load_intents(finished_run(folder, "predict with"))
        self = cls(f"{RUN_SPEC}{folder}", **parameters)
        self.device = Run(folder).config().device_of_intents(self.device)
        self._check_parameters()
        self.pool_, self.classifier_, self._moves = stored.labelled, stored.model, False
        self.pool_rows_ = np.arange(len(stored.labelled))
        names = stored.model.intents_
        order = np.argsort(np.array(names, dtype=object), kind="stable")
        self.classes_ = np.array(names)[order]
        self._answer_type(self.classes_)
        self._class_numbers = np.argsort(order)
        asked = 0 if stored.model.accuracy_ is None else len(stored.labelled)
        self.notes_ = tuple(self._notes(asked, ""))
        return self

    def predict(self, X: Texts, *, languages: str | Sequence[str] | None = ()) -> NDArray[Any]:  # noqa: N803
        """Return the intent of each of N sentences, (N,), or the `reject_option` for one with no known intent.

        Args:
            X: N sentences: a list, a Series or an array of strings, which may be empty.
            languages: the language of all sentences or of each, by which answers are calibrated; None, "" or "und" for
                an unknown one.

        Raises:
            DataError: these are no sentences, or one has no vector.
        """
        check_is_fitted(self)
        texts = texts_of(X)
        spoken = spoken_codes(languages, len(texts))
        if not texts:
            return self.classes_[:0]
        answers = self.classifier_.predict(self._encode(texts), 1, spoken)
        labels = self.classes_[self._class_numbers[answers.labels]]
        is_known = answers.is_known & have_letters(texts)
        if is_known.all() or self.reject_option is None:
            return labels
        labels = labels.astype(self._answer_type(self.classes_))
        labels[~is_known] = self._rejection(self.classes_)
        return labels

    def predict_proba(self, X: Texts, *, languages: str | Sequence[str] | None = ()) -> NDArray[np.float64]:  # noqa: N803
        """Return the probability of each of `classes_` for each of N sentences that have one of these intents, (N, k).

        The most likely one is what is predicted, unless the sentence is rejected, and its probability is the
        `confidence` of `explain`. If that can't be calibrated, these are the shares in the decision.

        Args:
            X: N sentences.
            languages: as for `predict`.

        Raises:
            DataError: these are no sentences, or one has no vector.
        """
        check_is_fitted(self)
        texts = texts_of(X)
        spoken = spoken_codes(languages, len(texts))
        probabilities = np.zeros((len(texts), len(self.classes_)))
        if texts:
            shares = self.classifier_.calibrated_probabilities(self._encode(texts), spoken)
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
        texts, count = texts_of(X), self.n_neighbors if n_neighbors is None else n_neighbors
        if count < 1:
            raise InputError(f"can't find {count} neighbours; ask for 1 or more")
        count = min(count, len(self.pool_))
        cosines, rows = np.empty((0, count), np.float32), np.empty((0, count), np.int64)
        if texts:
            answers = self.classifier_.predict(self._encode(texts), count)
            cosines, rows = answers.cosines, self.pool_rows_[answers.rows]
        return (1 - cosines, rows) if return_distance else rows

    def _rejection(self, classes: NDArray[Any]) -> Any:
        """Return the label of no known intent: a number among numbers, where a text would make all labels texts."""
        is_text = isinstance(self.reject_option, str)
        return _NO_NUMBER if is_text and _are_numbers(classes) else self.reject_option

    def _answer_type(self, classes: NDArray[Any]) -> np.dtype[Any]:
        """Return the type of an array of classes and of the label of no known intent.

        Raises InputError if that is one of the classes, or no array holds both as they are.
        """
        rejection = self._rejection(classes)
        if rejection is None or classes.dtype.kind == "O":
            return classes.dtype
        if not _are_numbers(classes):
            if not isinstance(rejection, str):
                raise InputError(
                    f"the intents are texts, and the reject_option is {kind_of(rejection)}; give a text, or None"
                )
            return np.result_type(classes, np.asarray(rejection).dtype)
        if not isinstance(rejection, Real | np.bool_):
            raise InputError(
                f"the intents are numbers, and the reject_option is {kind_of(rejection)}; give a number, or None"
            )
        if rejection in classes.tolist():
            raise InputError(
                f"{rejection} is an intent, and stands for no known intent, too; give reject_option another number"
            )
        own = np.asarray(rejection).dtype
        if isinstance(rejection, Integral):
            own = np.min_scalar_type(int(rejection))
        dtype = np.result_type(classes, own)
        if classes.dtype.kind == "u" and own.kind == "i" and dtype.kind == "f":
            dtype = np.dtype(np.int64)
        if dtype.kind == "O" or classes.astype(dtype).tolist() != classes.tolist():
            raise InputError(
                f"no array of numbers holds the intents, {classes.dtype.name} numbers, and {rejection}, which stands "
                "for no known intent; give reject_option a whole number, 0 or more, that is no intent, or label with "
                "texts"
            )
        return dtype

    def explain(
        self,
        X: Texts,  # noqa: N803
        *,
        vectors: Vectors | None = None,
        languages: str | Sequence[str] | None = (),
    ) -> Predictions:
        """Return the predicted intent of each sentence with how far it holds, and the labelled sentences behind it.

        Args:
            X: N sentences.
            vectors: (N, dim), the encoder's vectors for them, if they are known already: those that `fit_labelled` was
                given or, if it was given none, those of `Encoder.without_head`.
            languages: as for `predict`.

        Returns:
            N rows with the columns `text`; `intent`, or the `reject_option`; `confidence`, the probability that the
            intent is right given that the pool has the sentence's intent, as in `predict_proba`, NaN if it can't be
            calibrated; with a `coverage`, `intents`, those that the sentence may have, the most probable first
            (`IntentModel.sets`), with " | " between them; `margin`, the
            highest cosine to a sentence of the predicted intent minus the highest to one of another intent; and for
            the n nearest sentences in the pool `nearest_1`, `nearest_1_intent`, `nearest_1_language`,
            `nearest_1_cosine`, and so on. Its `attrs["facts"]` are the `facts`, with the notes on the languages;
            notebooks show them below the table.

        Raises:
            DataError: these are no sentences, or one has no vector.
        """
        check_is_fitted(self)
        texts, count = texts_of(X), min(self.n_neighbors, len(self.pool_))
        spoken = spoken_codes(languages, len(texts))
        if not texts:
            return self._with_facts(Predictions(columns=["text", *self._columns(count)]), spoken)
        if vectors is None:
            vectors = self._encode(texts)
        answers = self.classifier_.predict(vectors, count, spoken, self.coverage)
        is_known = (answers.is_known & have_letters(texts)) | (self.reject_option is None)
        intents = self.classes_[self._class_numbers].astype(object)
        table: dict[str, object] = {
            "text": texts,
            "intent": np.where(is_known, intents[answers.labels], self.reject_option),
            "confidence": np.where(is_known, answers.confidence, np.nan),
            **({} if answers.sets is None else {"intents": self._sets(answers.sets, is_known)}),
            "margin": answers.margins,
        }
        for rank in range(count):
            rows = self.pool_.frame.iloc[answers.rows[:, rank]]
            for what in OF_A_NEIGHBOUR:
                values = answers.cosines[:, rank] if what == "cosine" else rows[what].to_numpy()
                table[_column(rank + 1, what)] = values
        return self._with_facts(Predictions(table), spoken)

    def _with_facts(self, frame: Predictions, spoken: Sequence[str]) -> Predictions:
        facts = self.facts
        frame.attrs["facts"] = {**facts, "notes": [*facts["notes"], *self.language_notes(set(spoken))]}
        return frame

    def _sets(self, sets: Sequence[NDArray[np.int64]], is_known: NDArray[np.bool_]) -> list[str | None]:
        """Return the intents that each sentence may have; None where it has none of them."""
        intents = self.classes_[self._class_numbers]
        return [
            BETWEEN.join(map(str, intents[numbers])) if known else None
            for numbers, known in zip(sets, is_known, strict=True)
        ]

    def _columns(self, count: int) -> list[str]:
        nearest = [_column(rank, what) for rank in range(1, count + 1) for what in OF_A_NEIGHBOUR]
        return ["intent", "confidence", *(() if self.coverage is None else ("intents",)), "margin", *nearest]

    def predict_file(
        self,
        data: Sources,
        out: str | Path,
        *,
        adapt: bool = False,
        reading: Reading | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        on_note: Callable[[str], object] | None = None,
    ) -> int:
        """Write what `explain` returns for the sentences of files to a file, in parts, with their `id` and `language`.

        Args:
            data: sentences, as `emu_core.predict` takes them; text files have a sentence a line.
            out: a file ending in .csv, .tsv, .jsonl or .parquet; it appears when it is complete.
            adapt: calibrate for the languages of the sentences first; see `adapt`. Languages that are not stated are
                detected.
            reading: columns with unusual names, and the language of files that state none; see `Reading`.
            on_progress: called with (sentences done, total).
            on_note: called with each note on what the encoder does not read of the sentences, and on rows without one.

        Returns:
            Number of sentences.

        Raises:
            DataError: the data can't be read, or `out` can't be written or has another ending.
        """
        check_is_fitted(self)
        refuse_input(out, data)
        frame = sentence_rows(data, reading, on_note)
        languages, note = self.spoken(frame["text"].tolist(), frame["language"].tolist(), adapt=adapt)
        frame = frame.assign(language=languages)
        if on_note is not None:
            notes = (note, *self._reading_notes(frame), *self.language_notes(frame["language"].unique()))
            for said in filter(None, notes):
                on_note(said)
        with writing(out, self.file_schema) as write:
            for rows in in_parts(frame, on_progress):
                write(self.file_rows(rows))
        return len(frame)

    @property
    def file_schema(self) -> pa.Schema:
        """The columns that `predict_file` writes."""
        names = ["id", "text", "language", *self._columns(min(self.n_neighbors, len(self.pool_)))]
        numbers = [name for name in names if name in ("confidence", "margin") or name.endswith("_cosine")]
        return pa.schema([(name, pa.float32() if name in numbers else pa.string()) for name in names])

    def file_rows(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows that `predict_file` writes for those with the columns id, text and language."""
        table = self.explain(rows["text"].tolist(), languages=rows["language"].tolist())
        table = table.assign(id=rows["id"].to_numpy(), language=rows["language"].to_numpy())
        return table[self.file_schema.names]


def _are_numbers(classes: NDArray[Any]) -> bool:
    return classes.dtype.kind in "biuf"


def _as_classes(intents: Sequence[str], classes: NDArray[Any]) -> NDArray[Any]:
    """Return intents as classes of the kind that labelled ones have. Raises InputError for a text among numbers."""
    kind = classes.dtype.kind
    if not _are_numbers(classes):
        return np.array(intents, dtype=object if kind == "O" else str)
    try:
        if kind == "b" and intents:
            raise ValueError("no third truth value")
        numbers = [float(intent) if kind == "f" else int(intent) for intent in intents]
        if not np.isfinite(numbers).all():
            raise ValueError("no number")
        return np.array(numbers, classes.dtype)
    except (OverflowError, ValueError):
        raise InputError(
            f"the intents are {classes.dtype.name} numbers, and one of these is described that is none: "
            f"{listed(map(repr, intents), 3)}; label with texts, or leave it out"
        ) from None


def _fitted(encoder: Any, labelled: LabelledSet, sample_weight: NDArray[np.float64] | None) -> Any:
    """Return a clone of a transformer, fitted on the sentences of a labelled set that have an intent.

    Raises InputError if it learns, and takes no weights.
    """
    frame = labelled.frame
    takes_weights = has_fit_parameter(encoder, "sample_weight")
    if sample_weight is not None and not takes_weights and get_tags(encoder).requires_fit:
        raise InputError(
            f"the encoder {type(encoder).__name__} takes no sample_weight; leave it out, or train a run and give the "
            f"classifier its encoder: {RUN_SPEC}DIR"
        )
    of_sentences = {"languages": _known_languages(frame["language"]), "groups": frame["id"].tolist()}
    if not any(of_sentences["languages"]):
        del of_sentences["languages"]
    options: dict[str, Any] = {
        name: values for name, values in of_sentences.items() if has_fit_parameter(encoder, name)
    }
    if sample_weight is not None and takes_weights:
        options["sample_weight"] = sample_weight
    return clone(encoder).fit(frame["text"].tolist(), frame["intent"].to_numpy(dtype=object), **options)


def _column(rank: int, what: str) -> str:
    return f"nearest_{rank}" + ("" if what == "text" else f"_{what}")


def _known_languages(languages: "pd.Series[str]") -> list[str]:
    """Return language codes, "" for an unknown one."""
    return ["" if code == UNDETERMINED else code for code in languages]
