"""scikit-learn estimators of sentences: encoders as transformers, and a classifier of intents.

They go into a `Pipeline`, `GridSearchCV` and `cross_val_score` as scikit-learn's own do; `X` is a list, a Series or an
array of sentences. Nothing else of Emu imports this package.
"""

from emu_core.sklearn.encoders import SentenceEncoder as SentenceEncoder
from emu_core.sklearn.encoders import SpecialisedEncoder as SpecialisedEncoder
from emu_core.sklearn.intent_classifier import IntentClassifier as IntentClassifier

__all__ = ["IntentClassifier", "SentenceEncoder", "SpecialisedEncoder"]
