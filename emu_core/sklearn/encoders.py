"""Encoders as transformers from sentences to vectors."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from emu_core.api.execute import Hooks
from emu_core.api.inputs import RUN_SPEC, is_given, unlabelled_set
from emu_core.api.labelled_texts import labelled_texts
from emu_core.api.train import train
from emu_core.data.held_texts import Texts, texts_of
from emu_core.devices import pick_device
from emu_core.encoders.base import Encoder, FloatArray
from emu_core.encoders.estimators import ENCODER, about_estimator, copied_spec, spec_in
from emu_core.encoders.registry import kinds_of, load_encoder, open_encoder
from emu_core.encoders.remembered import opened_encoder, remembered_vectors
from emu_core.errors import InputError, TrainingError
from emu_core.formats.in_memory import Sources
from emu_core.methods.registry import default_method, method_named, methods_that_need
from emu_core.runs.trained_on import trained_on
from emu_core.settings import Settings
from emu_core.sklearn.pickled import bytes_of_encoder, encoder_from_bytes
from emu_core.sklearn.stored import Stored, StoredEstimator, labels_from_json, labels_to_json
from emu_core.sklearn.wording import in_words_of_fit
from emu_core.training.method import Needs

_UNSEEN = Hooks(measures=False)  # of a run that is deleted once its encoder is open
_LARGEST_SEED = 2**31 - 1


class SentenceTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, StoredEstimator):
    """A transformer of sentences."""

    def __sklearn_tags__(self) -> Any:
        """Return the tags of a transformer of sentences."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.transformer_tags.preserves_dtype = []  # sentences have no type of numbers
        return tags


class SentenceEncoder(SentenceTransformer):
    """Turns sentences into the vectors of an encoder; it needs no `fit`.

    It remembers in this process what it has encoded, so that a grid search encodes each sentence once.

    Args:
        encoder: what `load_encoder` takes: `use`, `e5-small`, `hf:NAME`, `run:DIR`, `use+e5-small` ...
        device: "auto", "cpu", "cuda:0".

    Examples:
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.pipeline import make_pipeline
        >>> from emu_core.sklearn import SentenceEncoder
        >>> texts = ["Where is the pool?", "Can I swim here?", "Call me a taxi", "I need a cab"]
        >>> pipeline = make_pipeline(SentenceEncoder("use"), LogisticRegression(C=30))
        >>> pipeline.fit(texts, ["pool", "pool", "taxi", "taxi"]).predict(["Wo ist der Pool?"]).item()
        'pool'
    """

    def __init__(self, encoder: str = "use", *, device: str = "auto") -> None:
        self.encoder = encoder
        self.device = device

    def __sklearn_tags__(self) -> Any:
        """Return the tags of a transformer of sentences that needs no `fit`."""
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    def fit(self, X: Texts, y: Any = None) -> Self:  # noqa: N803 - as in all of scikit-learn
        """Check that the encoder can be opened and that `X` are sentences; nothing is learnt.

        Raises:
            DataError: these are no sentences.
            EncoderError: the encoder can't be opened.
        """
        self._opened()
        if not texts_of(X):
            raise InputError("Found array with 0 sample(s) while a minimum of 1 is required: give sentences")
        return self

    def transform(self, X: Texts) -> FloatArray:  # noqa: N803
        """Return the vectors (N, dim) of N sentences: a list, a Series or an array of strings.

        Raises:
            DataError: these are no sentences.
            EncoderError: the encoder can't be opened.
        """
        return remembered_vectors(self._opened(), texts_of(X))

    def held_encoder(self) -> str:
        """Return the spec of the encoder."""
        return self.encoder

    def _stored_parameters(self, folder: Path) -> dict[str, Any]:
        return super()._stored_parameters(folder) | {"encoder": copied_spec(self.encoder, folder)}

    @classmethod
    def _restored(cls, stored: Stored) -> Self:
        estimator = cls(
            **stored.parameters | {"encoder": spec_in(stored.parameters["encoder"], stored.folder)}
        )
        estimator._opened()
        return estimator

    @property
    def _n_features_out(self) -> int:
        return self._opened().dim

    def _opened(self) -> Encoder:
        return opened_encoder(self.encoder, pick_device(self.device))


class SpecialisedEncoder(SentenceTransformer):
    """Specialises an encoder on labelled sentences, as `emu_core.train` does, and turns sentences into its vectors.

    Args:
        encoder: what `load_encoder` takes.
        method: the name of a method that specialises an encoder; None takes the default, which takes seconds.
        random_state: a whole number gives the vectors of `emu_core.train(..., seed=...)`; a `RandomState` or None draws
            a seed.
        device: "auto", "cpu", "cuda:0".
        **settings: of the method, as `emu_core.configure` takes them; the others have the defaults for the encoder.

    Attributes:
        encoder_: the specialised encoder.
        classes_: the intents that it was specialised on, sorted.
        languages_: the languages of their sentences.
        trained_on_: hashes of the sentences it was trained on.

    Examples:
        >>> from emu_core.sklearn import SpecialisedEncoder
        >>> texts = ["Where is the pool?", "Can I swim here?", "Call me a taxi", "I need a cab"]
        >>> encoder = SpecialisedEncoder("use", share_factor=2.0).fit(texts, ["pool", "pool", "taxi", "taxi"])
        >>> encoder.transform(["Wo ist der Pool?"]).shape
        (1, 512)
    """

    def __init__(
        self,
        encoder: str = "use",
        method: str | None = None,
        *,
        random_state: Any = 0,
        device: str = "auto",
        **settings: Any,
    ) -> None:
        self.encoder = encoder
        self.method = method
        self.random_state = random_state
        self.device = device
        self._settings = settings

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with the settings of the method that were given."""
        return {**super().get_params(deep), **self._settings}

    def set_params(self, **params: Any) -> Self:
        """Set parameters and settings of the method, which `fit` checks."""
        known = super().get_params(deep=False)
        super().set_params(**{name: value for name, value in params.items() if name in known})
        self._settings = {**self._settings, **{name: params[name] for name in params if name not in known}}
        return self

    def __sklearn_tags__(self) -> Any:
        """Return the tags of a transformer of sentences that needs intents."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @in_words_of_fit(id_column="groups=, and a column id in unlabelled")
    def fit(
        self,
        X: Texts,  # noqa: N803
        y: Any,
        *,
        languages: str | Sequence[str] | None = None,
        groups: Sequence[Any] | None = None,
        unlabelled: Sources | None = None,
        **others: Any,
    ) -> Self:
        """Specialise the encoder.

        Args:
            X: P sentences, whose labels are all used.
            y: P intents, texts or whole numbers; those such as "out_of_scope" stand for none of the others.
            languages: the language of all sentences, or of each; needed by a method that tells languages apart.
            groups: the same value for translations of each other.
            unlabelled: sentences without labels with their languages, in other languages as a rule, for a method that
                learns from such: files, or a DataFrame with the columns text and language, and id if `groups` has ids
                of the same sentences.
            **others: refused: no method takes the weights of sentences.

        Raises:
            EmuError: the sentences can't be read or trained on; a ValueError where `X`, `y` or a parameter is wrong.
        """
        if others:
            name = next(iter(others))
            raise InputError(
                f"fit of {type(self).__name__} takes no {name}; leave it out, or give it to the next step of a "
                f"pipeline: fit(X, y, logisticregression__{name}=...)"
            )
        given = labelled_texts(X, y, languages=languages, groups=groups)
        config = self._config(languages is not None, is_given(unlabelled))
        if is_given(unlabelled):
            with in_words_of_fit(language="in unlabelled, a DataFrame with the columns text and language"):
                unlabelled = unlabelled_set(unlabelled)
        with TemporaryDirectory(prefix="emu-") as folder:
            run = train(
                given.labelled,
                out=Path(folder) / "run",
                method=self.method,
                encoder=self.encoder,
                train_languages=given.labelled.languages,
                unlabelled=unlabelled,
                seed=self._seed(),
                device=self.device,
                config=config,
                hooks=_UNSEEN,
                on_progress=lambda status: None,  # a notebook shows none
            )
            spec = f"{RUN_SPEC}{run.folder}"
            self.encoder_ = load_encoder(spec, device=pick_device(self.device))
            self.trained_on_ = trained_on(spec)
        self.classes_, self.languages_ = given.classes, given.labelled.languages
        return self

    def _config(self, knows_languages: bool, has_unlabelled: bool) -> Settings:
        """Return the settings of the method. Raises InputError if they are wrong, or the method lacks something."""
        name = self.method or default_method()
        try:
            method = method_named(name)
            settings = method.configure(kinds_of(self.encoder), **self._settings)
        except TrainingError as error:
            raise InputError(error) from None
        if method.needs not in (Needs.INTENTS, Needs.SENTENCES):
            others = ", ".join(methods_that_need(Needs.INTENTS, Needs.SENTENCES))
            raise InputError(
                f"the method {name} learns from {method.needs}, and fit takes none; choose one of {others}"
            )
        tells_languages_apart = method.reads_unlabelled(settings)
        if tells_languages_apart and not knows_languages:
            raise InputError(
                f"the method {name} tells languages apart: give fit languages=, the language of all sentences or of "
                "each, and unlabelled=, sentences in another"
            )
        if has_unlabelled and not tells_languages_apart and method.needs is Needs.INTENTS:
            raise InputError(f"the method {name} learns from labelled sentences only; leave unlabelled= out")
        return settings

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(_LARGEST_SEED))

    def transform(self, X: Texts) -> FloatArray:  # noqa: N803
        """Return the vectors (N, dim) of N sentences: a list, a Series or an array of strings.

        Raises:
            DataError: these are no sentences.
        """
        check_is_fitted(self)
        return self.encoder_.encode(texts_of(X))

    def held_encoder(self) -> Encoder:
        """Return the specialised encoder. Raises NotFittedError if there is none yet."""
        check_is_fitted(self)
        encoder: Encoder = self.encoder_
        return encoder

    @property
    def _n_features_out(self) -> int:
        check_is_fitted(self)
        return self.encoder_.dim

    def _state(self, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
        self.encoder_.save(folder / ENCODER)
        self.trained_on_.save(folder / ENCODER)
        return {"classes": labels_to_json(self.classes_), "languages": list(self.languages_)}, {}

    @classmethod
    def _restored(cls, stored: Stored) -> Self:
        estimator = cls(**stored.parameters)
        estimator.encoder_ = open_encoder(stored.folder / ENCODER).placed(pick_device(estimator.device))
        estimator.trained_on_ = trained_on(f"{RUN_SPEC}{stored.folder}")
        estimator.classes_ = labels_from_json(stored.facts["classes"])
        estimator.languages_ = tuple(map(str, stored.facts["languages"]))
        return estimator

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickle and joblib, with the encoder as the files that it is saved in."""
        state: dict[str, Any] = super().__getstate__()
        if "encoder_" in state:
            state = {**state, "encoder_": bytes_of_encoder(state["encoder_"])}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what `__getstate__` returned."""
        if "encoder_" in state:
            device = pick_device(state["device"])
            state = {**state, "encoder_": encoder_from_bytes(state["encoder_"], device)}
        super().__setstate__(state)


def open_transformer(folder: Path, device: str | None) -> SentenceTransformer:
    """Open the transformer in a folder, whichever of these it is. Raises InputError if it is none."""
    classes: dict[str, type[SentenceTransformer]] = {
        stored.__name__: stored for stored in (SentenceEncoder, SpecialisedEncoder)
    }
    return classes[str(about_estimator(folder)["estimator"])].read_from(folder, device)
