"""The classifier of intents, which shows itself in notebooks with what was measured."""

from collections.abc import Sequence
from html import escape
from typing import Any

from emu_core.api import intent_classifier as _api
from emu_core.data.collections.in_memory import Texts
from emu_core.evaluation.arrays import Vectors
from emu_core.notebook.predictions import Predictions, shown
from emu_core.reports.prediction_notes import prediction_notes


class IntentClassifier(_api.IntentClassifier):
    """Predicts intents from labelled sentences; see `emu_core.api.intent_classifier.IntentClassifier`."""

    def explain(
        self,
        X: Texts,  # noqa: N803 - as in all of scikit-learn
        *,
        vectors: Vectors | None = None,
        languages: str | Sequence[str] = (),
    ) -> Predictions:
        """Return predictions with their reasons; see `emu_core.api.intent_classifier.IntentClassifier.explain`."""
        return shown(super().explain(X, vectors=vectors, languages=languages))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """Return scikit-learn's diagram for Jupyter and, once fitted, how far predictions hold."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        notes = prediction_notes(self.facts) if hasattr(self, "classifier_") else []
        if notes and "text/html" in bundle:
            bundle["text/html"] += f"<p>{'<br>'.join(map(escape, notes))}</p>"
        return bundle


IntentClassifier.__doc__ = _api.IntentClassifier.__doc__  # with its parameters, which notebooks show
