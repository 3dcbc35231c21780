"""Today's peers: other systems trained on the same encoder and labels, as cells of Emu's benchmark."""

import importlib.util
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.preprocessing import normalize
from torch import Tensor, nn
from torch.nn import functional as F

from emu_core.data.repeats import sentence_groups
from emu_core.data.sets import LabelledSet
from emu_core.devices import split_device
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.opening import open_model, quietly
from emu_core.errors import TrainingError
from emu_core.evaluation.classifier import logistic_regression
from emu_core.exporting.writers import write_sentence_transformers
from emu_core.runs.costs import Took, now, since
from emu_core.threads import one_thread_for_small_products
from emu_core.training.labels import rows_by_class

_Encode = Callable[[Sequence[str]], NDArray[np.floating]]
Classify = Callable[[Sequence[str]], Sequence[str]]
Pair = tuple[int, int]
THEIR_RATE = 2e-5  # the learning rate in the documentation of sentence-transformers and SetFit
LDA_SHRINKAGE = 0.5
SETFIT = "setfit==1.2.0"
SETFIT_PAIRS = 20  # R of Tunstall et al. 2022: pairs of each sort for each sentence
SETFIT_BATCH = 16
_TUNED, _SETFIT = "peers of sentence-transformers", "SetFit"
PACKAGES = {_TUNED: ("datasets", "accelerate"), _SETFIT: ("setfit", "datasets")}  # that kinds of peers need
_QUIET: dict[str, Any] = {"report_to": "none", "save_strategy": "no", "logging_strategy": "no"}


class Peer(StrEnum):
    """A peer system."""

    LOGISTIC = "logistic-regression"
    LDA = "lda"
    PROTOTYPES = "prototypes"
    SOFTMAX = "st-softmax"
    TRIPLET = "st-batch-all-triplet"
    RANKING = "st-multiple-negatives"
    COSENT = "st-cosent"
    SETFIT = "setfit"
    SETFIT_OWN_BUDGET = "setfit-own-budget"

    @property
    def is_frozen(self) -> bool:
        """Whether the encoder is not trained, so that seed and learning rate have no effect."""
        return self in (Peer.LOGISTIC, Peer.LDA, Peer.PROTOTYPES)

    @property
    def has_own_budget(self) -> bool:
        """Whether it is trained as its documentation says, at any cost, instead of with Emu's budget."""
        return self is Peer.SETFIT_OWN_BUDGET


@dataclass(frozen=True)
class System:
    """A trained system."""

    encode: _Encode  # sentences to vectors (N, d), whose nearest neighbours are measured
    classify: Classify | None = None  # sentences to intents; None if the system has no classifier
    took: Took = field(default_factory=Took)  # the time that training took
    facts: dict[str, object] = field(default_factory=dict)  # settings and counts for the report


@dataclass(frozen=True, eq=False)
class Prototypes:
    """A classifier that takes the intent whose labelled sentences' mean is nearest by cosine."""

    intents: NDArray[np.str_]  # (k,)
    means: NDArray[np.float64]  # (k, d), of length 1

    @classmethod
    def of(cls, vectors: NDArray[np.floating], intents: NDArray[np.str_]) -> Self:
        """Average the unit vectors (N, d) of each intent."""
        names = np.unique(intents)
        units = normalize(vectors.astype(np.float64))
        return cls(names, normalize(np.stack([units[intents == name].mean(axis=0) for name in names])))

    def cosines(self, vectors: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the cosines (N, k) of vectors (N, d) to the means."""
        return np.asarray(normalize(vectors.astype(np.float64)) @ self.means.T)

    def predict(self, vectors: NDArray[np.floating]) -> NDArray[np.str_]:
        """Return the intents (N,) of vectors (N, d)."""
        return self.intents[self.cosines(vectors).argmax(axis=1)]


@dataclass(frozen=True)
class Budget:
    """The training budget of a peer, which is that of Emu unless the peer has its own."""

    epochs: int  # passes over the sentences; with losses that take pairs, each is once the first of a pair
    batch_size: int  # sentences, or pairs, a step
    learning_rate: float  # for AdamW with linear decay and no warm-up, the trainer's defaults
    seed: int
    device: str


class SentenceModel:
    """An encoder opened by sentence-transformers, which decides which weights are trainable.

    Attributes:
        model: a SentenceTransformer without prompts.
        prompt: the prefix of each text, added by `texts`, because not every trainer supports prompts.
        dim: length of its vectors.
    """

    def __init__(self, spec: str, device: str) -> None:
        """Load an encoder; a transformer is exported first."""
        encoder = load_encoder(spec, device="cpu:fp32")
        self.dim = encoder.dim
        self.model: Any
        if isinstance(encoder, TransformerEncoder):
            with tempfile.TemporaryDirectory() as folder, quietly():
                write_sentence_transformers(encoder, Path(folder))
                self.model = open_model(folder, **encoder.model_kwargs).to(device)
        else:
            from sentence_transformers import SentenceTransformer

            from emu_core.encoders.sentence_transformers_module import EmuModule

            self.model = SentenceTransformer(modules=[EmuModule(encoder)], device=device)
        name = self.model.default_prompt_name
        self.prompt: str = self.model.prompts.get(name, "") if name else ""
        self.model.prompts, self.model.default_prompt_name = {}, None

    def texts(self, texts: Sequence[str]) -> list[str]:
        """Return the texts with the prompt."""
        return [self.prompt + text for text in texts]

    def encode(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return vectors (N, dim)."""
        return self.model.encode(self.texts(texts), show_progress_bar=False)


class Classification(nn.Module):
    """A linear layer over sentence vectors with a softmax loss: SoftmaxLoss for single sentences."""

    def __init__(self, model: Any, dim: int, n_classes: int) -> None:
        super().__init__()
        self.model = model
        self.classifier = nn.Linear(dim, n_classes)

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        """Return the mean loss of a batch of single sentences."""
        (features,) = sentence_features
        vectors = self.model(features)["sentence_embedding"]  # (B, dim)
        return F.cross_entropy(self.classifier(vectors), labels.view(-1))


def check_packages(*names: str) -> None:
    """Raise a TrainingError if a package that a peer needs is missing."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        what = [SETFIT if name == "setfit" else name for name in missing]
        raise TrainingError(f"{' and '.join(missing)} is not installed; pip install {' '.join(what)}")


def peer_settings(peer: Peer, ours: Any, is_our_rate: bool) -> dict[str, object]:
    """Return what a peer is trained with: epochs and batch size of `ours`, and its learning rate or the usual one.

    A peer with a budget of its own has the settings of its documentation; `epochs` are then how often a sentence is
    encoded.
    """
    if peer is Peer.LDA:
        return {"shrinkage": LDA_SHRINKAGE}
    if peer is Peer.PROTOTYPES:
        return {}
    if peer is Peer.LOGISTIC:
        return {"C": "chosen by cross-validation on the training sentences"}
    if peer.has_own_budget:
        return {
            "epochs": 4 * SETFIT_PAIRS,  # as passes: 2 R pairs of two sentences for each
            "batch_size": SETFIT_BATCH,
            "learning_rate": THEIR_RATE,
        }
    rate = ours.learning_rate if is_our_rate else THEIR_RATE
    return {"epochs": ours.epochs, "batch_size": ours.batch_size, "learning_rate": rate}


def trained_peer(
    peer: Peer, encoder: str, labelled: LabelledSet, settings: Mapping[str, Any], *, seed: int, device: str
) -> System:
    """Train a peer with its settings on an encoder. Raises TrainingError if it can't be trained."""
    if peer.is_frozen:
        return frozen_peer(peer, load_encoder(encoder, device=device).encode, labelled)
    device, _ = split_device(device)
    budget, sentences = Budget(**settings, seed=seed, device=device), SentenceModel(encoder, device)
    if peer in (Peer.SETFIT, Peer.SETFIT_OWN_BUDGET):
        return setfit_peer(sentences, labelled, budget)
    return tuned_peer(peer, sentences, labelled, budget)


def frozen_peer(peer: Peer, encode: _Encode, labelled: LabelledSet) -> System:
    """Fit a classifier on the base encoder's vectors of labelled sentences. Raises TrainingError if it can't be fitted.

    For retrieval, a sentence's vector is its class probabilities less 1 / k for k intents (logistic regression), its
    discriminant scores (LDA) or its cosines to the intents' mean vectors, the prototypes (Snell et al. 2017).
    Probabilities are centred because they are all positive: without that, a sentence of which nothing is known is near
    every other by cosine.
    """
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    intents = labelled.frame["intent"].to_numpy(dtype=str)
    counts = Counter(intents)
    model: Any
    if len(counts) < 2:
        raise TrainingError(
            "the training sentences have a single intent; add sentences of another, or choose another language"
        )
    start = now()
    vectors = encode(labelled.frame["text"].tolist())
    facts: dict[str, object] = {"sentence_passes": len(intents)}
    if peer is Peer.LDA:
        # With one sentence an intent there is no variance within intents, which LDA divides by.
        if len(intents) <= len(counts):
            raise TrainingError("LDA needs more sentences than intents; add a second sentence to some")
        model = LinearDiscriminantAnalysis(solver="eigen", shrinkage=LDA_SHRINKAGE)
        space = model.fit(vectors.astype(np.float64), intents).transform
    elif peer is Peer.PROTOTYPES:
        model = Prototypes.of(vectors, intents)
        space = model.cosines
    else:
        model = logistic_regression(vectors, intents.tolist(), sentence_groups(labelled.frame))
        space, facts["C"] = partial(_centred_probabilities, model), float(model.C)
    return System(
        encode=lambda texts: np.asarray(space(encode(list(texts)))),
        classify=lambda texts: [str(intent) for intent in model.predict(encode(texts))],
        took=since(start),
        facts=facts,
    )


def _centred_probabilities(model: Any, vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the probabilities (N, k) of a classifier less 1 / k."""
    return np.asarray(model.predict_proba(vectors) - 1 / len(model.classes_))


def tuned_peer(peer: Peer, sentences: SentenceModel, labelled: LabelledSet, budget: Budget) -> System:
    """Train the encoder in place with sentence-transformers. Raises TrainingError without a package or any pair."""
    check_packages(*PACKAGES[_TUNED])
    from datasets import Dataset
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
    from sentence_transformers.base.sampler import BatchSamplers
    from sentence_transformers.sentence_transformer import losses

    torch.manual_seed(budget.seed)
    rng = np.random.default_rng(budget.seed)
    intents, (texts, labels) = labelled.intents, _numbered(sentences, labelled)
    model, epochs, sampler = sentences.model, budget.epochs, BatchSamplers.BATCH_SAMPLER
    columns: dict[str, Sequence[Any]] = {"text": texts, "label": labels}
    loss: nn.Module
    classify: Classify | None = None
    if peer is Peer.SOFTMAX:
        loss = head = Classification(model, sentences.dim, len(intents)).to(budget.device)

        def classify_by_head(texts: Sequence[str]) -> list[str]:
            with torch.no_grad():
                vectors = torch.as_tensor(sentences.encode(texts)).to(head.classifier.weight)
                return [intents[i] for i in head.classifier(vectors).argmax(dim=1).tolist()]

        classify = classify_by_head
    elif peer is Peer.TRIPLET:
        loss, sampler = losses.BatchAllTripletLoss(model), BatchSamplers.GROUP_BY_LABEL
    else:
        # To have new partners in each epoch, the pairs of all epochs are drawn at once and trained on once.
        epochs = 1
        if peer is Peer.RANKING:
            loss, sampler = losses.MultipleNegativesRankingLoss(model), BatchSamplers.NO_DUPLICATES
            pairs = positive_pairs(labels, budget.epochs, rng)
            columns = {}
        else:
            loss = losses.CoSENTLoss(model)
            pairs, scores = scored_pairs(labels, budget.epochs, rng)
            columns = {"score": scores}
        anchors, partners = ([texts[row] for row in side] for side in zip(*pairs, strict=True))
        columns = {"anchor": anchors, "positive": partners, **columns}
    data = Dataset.from_dict(columns)
    with tempfile.TemporaryDirectory() as folder:
        arguments = SentenceTransformerTrainingArguments(
            output_dir=folder,
            num_train_epochs=epochs,
            per_device_train_batch_size=budget.batch_size,
            learning_rate=budget.learning_rate,
            batch_sampler=sampler,
            seed=budget.seed,
            use_cpu=budget.device == "cpu",
            dataloader_pin_memory=budget.device != "cpu",
            disable_tqdm=True,
            **_QUIET,
        )
        trainer = SentenceTransformerTrainer(model=model, args=arguments, train_dataset=data, loss=loss)
        start = now()
        trainer.train()
        took = since(start)
    model.eval()
    passes = len(data) * epochs * (1 if "text" in columns else 2)
    return System(sentences.encode, classify, took, {"sentence_passes": passes})


def setfit_peer(sentences: SentenceModel, labelled: LabelledSet, budget: Budget) -> System:
    """Train the encoder in place with the package setfit. Raises TrainingError if a package is missing.

    The encoder learns from sampled pairs with a cosine loss (Tunstall et al. 2022), R = 20 pairs of each sort for each
    sentence, and stops after as many sentence passes as the budget's epochs have. A logistic regression is then fitted
    on its vectors.
    """
    check_packages(*PACKAGES[_SETFIT])
    from datasets import Dataset
    from setfit import SetFitModel, Trainer, TrainingArguments
    from sklearn.linear_model import LogisticRegression

    intents, (texts, labels) = labelled.intents, _numbered(sentences, labelled)
    steps = math.ceil(budget.epochs * len(texts) / (2 * budget.batch_size))  # a pair is two passes
    model = SetFitModel(model_body=sentences.model, model_head=LogisticRegression())
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            batch_size=budget.batch_size,
            num_epochs=1,
            max_steps=steps,
            num_iterations=SETFIT_PAIRS,
            body_learning_rate=budget.learning_rate,
            seed=budget.seed,
            show_progress_bar=False,
            **_QUIET,
        )
        data = Dataset.from_dict({"text": texts, "label": labels})
        trainer = Trainer(model=model, args=arguments, train_dataset=data)
        start = now()
        with one_thread_for_small_products():  # for the head; torch is not affected
            trainer.train()
        took = since(start)
    sentences.model.eval()

    def classify(texts: Sequence[str]) -> list[str]:
        return [intents[int(i)] for i in np.asarray(model.model_head.predict(sentences.encode(texts)))]

    done = min(steps * budget.batch_size, 2 * SETFIT_PAIRS * len(texts))
    return System(sentences.encode, classify, took, {"sentence_passes": 2 * done})


def _numbered(sentences: SentenceModel, labelled: LabelledSet) -> tuple[list[str], list[int]]:
    """Return the texts with the model's prompt, and the indices of their intents."""
    number = {intent: i for i, intent in enumerate(labelled.intents)}
    texts = sentences.texts(labelled.frame["text"].tolist())
    return texts, [number[intent] for intent in labelled.frame["intent"]]


def positive_pairs(labels: Sequence[int], epochs: int, rng: np.random.Generator) -> list[Pair]:
    """Pair each sentence with another of its class, anew in each epoch. Raises TrainingError if no class has two."""
    by_class = rows_by_class(labels)
    pairs = [
        (row, int(rng.choice(others)))
        for _ in range(epochs)
        for row, label in enumerate(labels)
        if (others := [other for other in by_class[label] if other != row])
    ]
    if not pairs:
        raise TrainingError("no intent has two sentences to pair; add a second one to some")
    return pairs


def scored_pairs(
    labels: Sequence[int], epochs: int, rng: np.random.Generator
) -> tuple[list[Pair], list[float]]:
    """Pair every sentence, in each epoch, alternately with one of its class (score 1) and one of another class (0).

    Raises:
        TrainingError: there is a single class.
    """
    by_class, classes = rows_by_class(labels), np.asarray(labels)
    if len(by_class) < 2:
        raise TrainingError("the training sentences have a single intent; add sentences of another")
    pairs: list[Pair] = []
    scores: list[float] = []
    for epoch in range(epochs):
        for row, label in enumerate(labels):
            same = [other for other in by_class[label] if other != row]
            is_same = bool(same) and (row + epoch) % 2 == 0
            options = same if is_same else np.flatnonzero(classes != label)
            pairs.append((row, int(rng.choice(options))))
            scores.append(float(is_same))
    return pairs, scores
