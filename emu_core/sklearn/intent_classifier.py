"""The classifier of intents, which is saved in a folder, and shows itself in notebooks with what was measured."""

from html import escape
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from emu_core.api import intent_classifier as _api
from emu_core.data.sets import LabelledSet
from emu_core.data.wording import kind_of
from emu_core.encoders.estimators import TRANSFORMER, copied_spec, spec_in
from emu_core.errors import InputError
from emu_core.intents.model import IntentModel
from emu_core.reports.prediction_notes import prediction_notes
from emu_core.sklearn.encoders import SentenceEncoder, SpecialisedEncoder, open_transformer
from emu_core.sklearn.stored import (
    Stored,
    StoredEstimator,
    labels_from_json,
    labels_to_json,
    texts_from_array,
    texts_to_array,
)
from emu_core.sklearn.wording import in_words_of_fit

_PARTS = ("frame", "none_of_these")  # of the labelled set


class IntentClassifier(StoredEstimator, _api.IntentClassifier):
    """Predicts intents from labelled sentences; see `emu_core.api.intent_classifier.IntentClassifier`."""

    fit = in_words_of_fit(language="languages='en'")(_api.IntentClassifier.fit)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """Return scikit-learn's diagram for Jupyter and, once fitted, how far predictions hold."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        notes = prediction_notes(self.facts) if hasattr(self, "classifier_") else []
        if notes and "text/html" in bundle:
            bundle["text/html"] += f"<p>{'<br>'.join(map(escape, notes))}</p>"
        return bundle

    def _stored_parameters(self, folder: Path) -> dict[str, Any]:
        encoder = copied_spec(self.encoder, folder) if isinstance(self.encoder, str) else None
        return super()._stored_parameters(folder) | {"encoder": encoder}

    def _state(self, folder: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        if not isinstance(self.encoder, str):
            if type(self.encoder_) not in (SentenceEncoder, SpecialisedEncoder):
                raise InputError(
                    f"the encoder is {kind_of(self.encoder_)}, which can't be saved; give a SentenceEncoder, a "
                    "SpecialisedEncoder or the name of an encoder, or keep the classifier with joblib"
                )
            (folder / TRANSFORMER).mkdir()
            self.encoder_.write_to(folder / TRANSFORMER)
        classifier, arrays = self.classifier_.state()
        for part in _PARTS:
            frame = getattr(self.pool_, part)
            for column in frame.columns:
                content, ends = texts_to_array(frame[column].tolist())
                arrays |= {f"{part} {column}": content, f"{part} {column} ends": ends}
        arrays |= {"pool_rows": self.pool_rows_, "class_numbers": self._class_numbers}
        return {
            "classes": labels_to_json(self.classes_),
            "classifier": classifier,
            "pool": self.pool_.name,
            "moves": self._moves,
            "notes": list(self.notes_),
        }, arrays

    @classmethod
    def _restored(cls, stored: Stored) -> Self:
        facts, arrays = stored.facts, stored.arrays
        spec, fitted = stored.parameters["encoder"], None
        if spec is None:
            fitted = open_transformer(stored.folder / TRANSFORMER, stored.device)
        encoder = spec_in(spec, stored.folder) if fitted is None else clone(fitted)
        estimator = cls(**stored.parameters | {"encoder": encoder})
        try:
            estimator._check_parameters()
        except InputError as error:  # whose remedy is for who writes the parameters
            raise ValueError("parameters that are out of range") from error
        if fitted is not None:
            estimator.encoder_ = fitted
        frames = [
            pd.DataFrame(
                {
                    column: pd.Series(
                        texts_from_array(arrays[f"{part} {column}"], arrays[f"{part} {column} ends"]),
                        dtype="str",
                    )
                    for column in LabelledSet.columns
                }
            )
            for part in _PARTS
        ]
        estimator._moves = bool(facts["moves"])
        estimator.pool_ = LabelledSet(frames[0], str(facts["pool"]), frames[1])
        estimator.classifier_ = IntentModel.from_state(facts["classifier"], arrays)
        estimator.notes_ = tuple(map(str, facts["notes"]))
        estimator.classes_ = labels_from_json(facts["classes"])
        estimator.pool_rows_, estimator._class_numbers = arrays["pool_rows"], arrays["class_numbers"]
        estimator._check_restored()
        return estimator

    def _check_restored(self) -> None:
        """Raise a ValueError unless the pool, its vectors and the classes go together."""
        size, intents = len(self.pool_), self.classifier_.intents_
        numbers = self._class_numbers
        vectors = self._encode(self.pool_.frame["text"].iloc[:1].tolist())
        are_whole = (
            self.classifier_.shape == (size, vectors.shape[1])
            and self.pool_rows_.shape == (size,)
            and self.pool_rows_.dtype == np.int64
            and numbers.shape == (len(intents),)
            and numbers.dtype == np.int64
            and numbers.min() >= 0
            and numbers.max() < len(self.classes_)
        )
        if not are_whole:
            raise ValueError("a pool of another classifier")


IntentClassifier.__doc__ = _api.IntentClassifier.__doc__  # with its parameters, which notebooks show
