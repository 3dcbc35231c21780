"""Peers that train the encoder with sentence-transformers' own trainer."""

import tempfile
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from emu_core.bench.costs import now, since
from emu_core.bench.peers.sentence_model import SentenceModel, check_packages
from emu_core.bench.peers.system import Budget, Peer, System
from emu_core.data.labelled import LabelledSet
from emu_core.errors import TrainingError
from emu_core.trainers.emu_data import rows_by_class

Pair = tuple[int, int]


class Classification(nn.Module):
    """A linear layer over a sentence's vector and softmax loss: SoftmaxLoss for single sentences."""

    def __init__(self, model: Any, dim: int, n_classes: int) -> None:
        """Put a new layer over a SentenceTransformer."""
        super().__init__()
        self.model = model
        self.classifier = nn.Linear(dim, n_classes)

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        """Return the mean loss of a batch of one column of sentences."""
        (features,) = sentence_features
        vectors = self.model(features)["sentence_embedding"]  # (B, dim)
        return F.cross_entropy(self.classifier(vectors), labels.view(-1))


def tuned_peer(peer: Peer, sentences: SentenceModel, labelled: LabelledSet, budget: Budget) -> System:
    """Train a peer in place.

    Args:
        peer: one of sentence-transformers' losses.
        sentences: the model.
        labelled: sentences of the training languages.
        budget: what it may use.

    Raises:
        TrainingError: a package is missing, or the labels give no pairs.
    """
    check_packages("datasets", "accelerate")
    from datasets import Dataset
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
    from sentence_transformers.base.sampler import BatchSamplers
    from sentence_transformers.sentence_transformer import losses

    torch.manual_seed(budget.seed)
    rng = np.random.default_rng(budget.seed)
    texts = sentences.texts(labelled.frame["text"].tolist())
    number = {intent: i for i, intent in enumerate(labelled.intents)}
    labels = [number[intent] for intent in labelled.frame["intent"]]
    model, epochs, sampler = sentences.model, budget.epochs, BatchSamplers.BATCH_SAMPLER
    columns: dict[str, Sequence[Any]] = {"text": texts, "label": labels}
    loss: nn.Module
    if peer is Peer.SOFTMAX:
        loss = Classification(model, sentences.dim, len(number)).to(budget.device)
    elif peer is Peer.TRIPLET:
        loss, sampler = losses.BatchAllTripletLoss(model), BatchSamplers.GROUP_BY_LABEL
    else:
        # Fresh partners each epoch: all epochs' pairs are drawn at once and passed over once.
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
            report_to="none",
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
        )
        trainer = SentenceTransformerTrainer(model=model, args=arguments, train_dataset=data, loss=loss)
        start = now()
        trainer.train()
        took = since(start)
    model.eval()
    return System(
        sentences.encode,
        classify=_classifier(loss, sentences, labelled.intents) if isinstance(loss, Classification) else None,
        took=took,
        facts={"sentence_passes": len(data) * epochs * (1 if "text" in columns else 2)},
    )


def _classifier(loss: Classification, sentences: SentenceModel, intents: Sequence[str]) -> Any:
    def classify(texts: Sequence[str]) -> list[str]:
        with torch.no_grad():
            weight = loss.classifier.weight
            logits = loss.classifier(torch.as_tensor(sentences.encode(texts)).to(weight))
        return [intents[i] for i in logits.argmax(dim=1).tolist()]

    return classify


def positive_pairs(labels: Sequence[int], epochs: int, rng: np.random.Generator) -> list[Pair]:
    """Return, for each epoch, every sentence once with another of its class; one alone in its class is left out.

    Raises:
        TrainingError: no class has two sentences.
    """
    by_class = rows_by_class(labels)
    pairs = []
    for _ in range(epochs):
        for row, label in enumerate(labels):
            others = [other for other in by_class[label] if other != row]
            if others:
                pairs.append((row, int(rng.choice(others))))
    if not pairs:
        raise TrainingError("no intent has two sentences to pair; add a second one to some")
    return pairs


def scored_pairs(
    labels: Sequence[int], epochs: int, rng: np.random.Generator
) -> tuple[list[Pair], list[float]]:
    """Return, for each epoch, every sentence once, with one of its class (score 1) or of another (0), in turn.

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
