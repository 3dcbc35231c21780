"""Transfer of a classifier on frozen vectors from one language to others."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from emu_core.data.languages import ordered
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError
from emu_core.evaluation.arrays import Vectors, as_matrix, check_dimensions, check_length, turns

if TYPE_CHECKING:
    import torch

SHARES = (0, 10, 20, 40, 80, 100)
"""Percent of the target language's training data, as in Table 6."""


@dataclass(frozen=True, eq=False)
class LabelledVectors:
    """Sentence vectors (N, d) of one language and their N labels; a DataError where a vector is not finite."""

    vectors: Vectors
    labels: Sequence[str]

    def __post_init__(self) -> None:
        as_matrix(self.vectors)
        check_length(self.labels, len(self.vectors), "labels")
        if not np.isfinite(self.vectors).all():
            raise DataError("a vector has a number that is not finite; leave the sentence out")

    def take(self, rows: NDArray[np.int64]) -> "LabelledVectors":
        """Return the given rows."""
        return LabelledVectors(self.vectors[rows], [self.labels[row] for row in rows])


@dataclass(frozen=True)
class TransferSettings:
    """The classifier of the paper (section 4.2), except that the paper tunes the epoch on its development set."""

    hidden: int = 512  # units of each layer, with tanh
    layers: int = 2
    learning_rate: float = 0.0005  # Adam's
    decay: float = 0.9  # factor of the learning rate, at every epoch
    batch_size: int = 16
    epochs: int = 20  # the best of them on held-out sentences is taken
    dev_share: float = 0.1  # share of the training sentences that is held out


_PAPER = TransferSettings()


@dataclass(frozen=True)
class FewShot:
    """Accuracy in the target language, in percent: a column of Table 6.

    Attributes:
        share: percent of the target language's training sentences used.
        few_shot: trained on those and on all of the source language's.
        monolingual: trained on those only; None if there are fewer than four, or only one label among them.
    """

    share: float
    few_shot: float
    monolingual: float | None


def zero_shot(
    train: LabelledVectors,
    tests: Mapping[str, LabelledVectors],
    settings: TransferSettings = _PAPER,
    *,
    seed: int = 0,
) -> dict[str, float]:
    """Train on one language and return the accuracy in percent on the test sentences of each, English first.

    Args:
        train: sentences of the source language.
        tests: test sentences by language; may include the source language.
        settings: the classifier's.
        seed: of the held-out sentences, the weights and the batches.

    Raises:
        DataError: there are fewer than two labels or four sentences to train on, or the dimensions differ.
    """
    predict = fit_classifier(train, settings, seed=seed)
    return {language: transfer_accuracy(predict, tests[language]) for language in ordered(tests)}


def few_shot(
    source: LabelledVectors,
    target: LabelledVectors,
    test: LabelledVectors,
    shares: Sequence[float] = SHARES,
    settings: TransferSettings = _PAPER,
    *,
    seed: int = 0,
) -> list[FewShot]:
    """Train on growing shares of the target language's sentences, with and without the source language's.

    A larger share contains the sentences of the smaller ones.

    Args:
        source: training sentences of the source language.
        target: training sentences of the target language.
        test: test sentences of the target language.
        shares: percents of `target`, from 0 to 100.
        settings: the classifier's.
        seed: of the draw, and as for `zero_shot`.

    Raises:
        DataError: a share is not from 0 to 100, or as for `zero_shot`.
    """
    if wrong := [share for share in shares if not 0 <= share <= 100]:
        raise DataError(f"can't use {wrong[0]:g} % of the sentences; choose shares from 0 to 100")
    order = np.random.default_rng(seed).permutation(len(target.labels))
    accuracies = []
    for share in shares:
        training_set, alone = source, None
        if count := round(share / 100 * len(order)):
            part = target.take(order[:count])
            check_dimensions(source.vectors, part.vectors)
            training_set = LabelledVectors(
                np.concatenate([source.vectors, part.vectors]), [*source.labels, *part.labels]
            )
            if len(part.labels) >= 4 and len(set(part.labels)) > 1:
                alone = transfer_accuracy(fit_classifier(part, settings, seed=seed), test)
        accuracies.append(
            FewShot(share, transfer_accuracy(fit_classifier(training_set, settings, seed=seed), test), alone)
        )
    return accuracies


def transfer_accuracy(predict: Callable[[Vectors], list[str]], test: LabelledVectors) -> float:
    """Return the percent of labels that a classifier has right."""
    pairs = zip(predict(test.vectors), test.labels, strict=True)
    return 100 * sum(predicted == label for predicted, label in pairs) / len(test.labels)


def fit_classifier(
    train: LabelledVectors, settings: TransferSettings = _PAPER, *, seed: int = 0
) -> Callable[[Vectors], list[str]]:
    """Train a feed-forward softmax classifier on vectors, and return its function of other vectors.

    The vectors are divided by the training vectors' root mean square, so that their scale does not matter. The epoch
    with the best accuracy on held-out sentences is taken, the first of equals.

    Args:
        train: sentences and labels; `dev_share` of each label is held out.
        settings: the settings of the network and of its training.
        seed: of the held-out sentences, the weights and the batches.

    Raises:
        DataError: there are fewer than two labels or four sentences.
    """
    import torch
    from torch import nn
    from torch.nn import functional as F

    names, numbers = np.unique(np.asarray(train.labels, dtype=str), return_inverse=True)
    if len(names) < 2 or len(train.labels) < 4:
        raise DataError(
            f"{len(train.labels):,} sentences with the labels {listed(names.tolist())} are too few to learn from; "
            "give 4 or more, with two labels or more"
        )
    scale = float(np.sqrt(np.square(train.vectors, dtype=np.float64).mean())) or 1.0
    dim = train.vectors.shape[1]

    def scaled(vectors: Vectors) -> torch.Tensor:
        check_dimensions(train.vectors, vectors)
        return torch.from_numpy((vectors / scale).astype(np.float32))

    trained, held_out = _held_out(numbers, settings.dev_share, seed)
    features, labels = scaled(train.vectors), torch.from_numpy(numbers)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        widths = [dim, *[settings.hidden] * settings.layers]
        layers = [part for a, b in pairwise(widths) for part in (nn.Linear(a, b), nn.Tanh())]
        network = nn.Sequential(*layers, nn.Linear(widths[-1], len(names)))
        optimizer = torch.optim.Adam(network.parameters(), settings.learning_rate)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, settings.decay)
        best, best_state = -1.0, network.state_dict()
        for _ in range(settings.epochs):
            for batch in trained[torch.randperm(len(trained))].split(settings.batch_size):
                optimizer.zero_grad()
                F.cross_entropy(network(features[batch]), labels[batch]).backward()
                optimizer.step()
            schedule.step()
            with torch.no_grad():
                right = (network(features[held_out]).argmax(dim=1) == labels[held_out]).double().mean().item()
            if right > best:
                best = right
                best_state = {name: value.clone() for name, value in network.state_dict().items()}
    network.load_state_dict(best_state)

    def predict(vectors: Vectors) -> list[str]:
        with torch.no_grad():
            return names[network(scaled(vectors)).argmax(dim=1).numpy()].tolist()

    return predict


def _held_out(numbers: NDArray[np.int64], share: float, seed: int) -> tuple["torch.Tensor", "torch.Tensor"]:
    """Return the rows to train on and those held out: `share` of each label, in all at least one row."""
    import torch

    order = np.random.default_rng(seed).permutation(len(numbers))
    by_label = order[np.argsort(numbers[order], kind="stable")]
    counts = np.bincount(numbers)
    # `share` of the label, rounded; the last row of a label is never held out.
    wanted = np.minimum(np.floor(share * counts + 0.5), counts - 1)
    if not wanted.any():
        wanted[counts.argmax()] = 1
    is_out = turns(numbers[by_label]) < np.repeat(wanted, counts)  # the first of each label
    return torch.from_numpy(by_label[~is_out]), torch.from_numpy(by_label[is_out])


SIZES = (100, 200, 500, 1000, 5000, 10000)
"""Numbers of training documents (Hermann and Blunsom, figure 2)."""


@dataclass(frozen=True)
class TransferAccuracy:
    """One point of the paper's figure 2.

    Attributes:
        source: language of the training documents.
        target: language of the test documents.
        size: the number of training documents.
        accuracy: percent of the test documents that are right, the mean over the draws.
        deviation: sample standard deviation over the draws, in points; 0 for a single draw.
        draws: the number of sets of `size` documents drawn.
        majority: percent of the test documents in their most frequent class.
    """

    source: str
    target: str
    size: int
    accuracy: float
    deviation: float
    draws: int
    majority: float


def document_vectors(
    sentences: Vectors, document: NDArray[np.integer], documents: int
) -> NDArray[np.float64]:
    """Return the mean of each document's sentence vectors (section 4.2).

    Args:
        sentences: (S, d).
        document: (S,) the number of each sentence's document, from 0.
        documents: the number of documents.

    Returns:
        (documents, d).

    Raises:
        DataError: a document has no sentence, or the lengths differ.
    """
    check_length(list(document), len(sentences), "document numbers")
    counts = np.bincount(document, minlength=documents)
    if len(counts) > documents or not counts.all():
        raise DataError("documents are numbered from 0, and each needs a sentence; leave empty ones out")
    sums = np.zeros((documents, sentences.shape[1]))
    np.add.at(sums, document, sentences)
    return sums / counts[:, None]


def bags(
    train: Sequence[Sequence[str]], test: Sequence[Sequence[str]], most: int = 2_000
) -> tuple[NDArray[np.float64], ...]:
    """Return documents as relative frequencies of the words that are most frequent in the training documents.

    Args:
        train: the words of each training document.
        test: the words of each test document; words of no training document are left out.
        most: the number of words that are features.

    Returns:
        (train, words) and (test, words).
    """
    from sklearn.feature_extraction.text import CountVectorizer

    known = [word for word, _ in Counter(w for text in train for w in text).most_common(most)]
    count = CountVectorizer(analyzer=list, vocabulary=known, dtype=np.float64)

    def bag(documents: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        counts = count.transform(documents).toarray()
        return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))

    return bag(train), bag(test)


def classify_across(
    train: Mapping[str, LabelledVectors],
    test: Mapping[str, LabelledVectors],
    *,
    sizes: Sequence[int] = SIZES,
    draws: int = 10,
    epochs: int = 10,
    seed: int = 0,
) -> list[TransferAccuracy]:
    """Train an averaged perceptron on documents of each language, and test it on those of each other.

    The documents of a draw are different. If a language has fewer documents than the largest size, its last size is
    all of them, in a different order in each draw.

    Args:
        train: training documents by language: their vectors (see `document_vectors`) and classes.
        test: test documents by language, all used in each draw; none a translation of one in `train`.
        sizes: numbers of training documents.
        draws: sets of documents for each size.
        epochs: passes of the averaged perceptron.
        seed: of the draws and of the perceptron's order.

    Returns:
        One for each direction and size, in the order of `train` and `test`.

    Raises:
        DataError: there are no two languages, or no training document of the other language has a test class.
    """
    directions = [(source, target) for source in train for target in test if source != target]
    if not directions:
        raise DataError(
            "documents of two languages are needed, to train on one and test on the other; add another"
        )
    results = []
    for source, target in directions:
        labels, most = test[target].labels, len(train[source].labels)
        majority = 100 * max(Counter(labels).values()) / len(labels)
        for size in sorted({min(size, most) for size in sizes}):
            right = [
                _accuracy(train[source], test[target], size, epochs, (seed, draw)) for draw in range(draws)
            ]
            mean, deviation = float(np.mean(right)), float(np.std(right, ddof=1)) if draws > 1 else 0.0
            results.append(TransferAccuracy(source, target, size, mean, deviation, draws, majority))
    return results


def _accuracy(
    train: LabelledVectors, test: LabelledVectors, size: int, epochs: int, seed: tuple[int, int]
) -> float:
    classes = sorted(set(train.labels))
    if missing := sorted(set(test.labels) - set(classes)):
        raise DataError(
            f"no training document has the class '{shown(missing[0])}'; take it out of the test, or add some"
        )
    drawn = train.take(np.random.default_rng(seed).permutation(len(train.labels))[:size])
    labels = np.searchsorted(classes, drawn.labels)
    model = averaged_perceptron(drawn.vectors, labels, len(classes), epochs=epochs, seed=seed[1])
    return transfer_accuracy(lambda vectors: [classes[n] for n in model.predict(vectors)], test)


@dataclass(frozen=True, eq=False)
class AveragedPerceptron:
    """A linear classifier, whose weights (classes, d) are the mean of the weights after each example."""

    weights: NDArray[np.float64]

    def predict(self, vectors: Vectors) -> NDArray[np.int64]:
        """Return the class of each of N vectors (N, d): that of the highest product, of equals the first."""
        return np.argmax(vectors @ self.weights.T, axis=1).astype(np.int64)


def averaged_perceptron(
    vectors: Vectors, labels: NDArray[np.integer], classes: int, *, epochs: int = 10, seed: int = 0
) -> AveragedPerceptron:
    """Train an averaged perceptron without bias on one example after another.

    An example of class y that is classified as z is added to the weights of y and subtracted from those of z. The
    weights are averaged over all examples, including those classified correctly.

    Args:
        vectors: (N, d).
        labels: (N,) from 0 to `classes` - 1.
        classes: the number of classes.
        epochs: passes over the examples.
        seed: of the order, drawn once for each pass.

    Raises:
        DataError: no example, another number of labels than of vectors, or a label that is no class.
    """
    check_length(list(labels), len(vectors), "labels")
    if not len(labels) or labels.min() < 0 or labels.max() >= classes:
        raise DataError(f"labels are numbers from 0 to {classes - 1}, one or more; renumber the classes")
    examples = np.asarray(vectors, dtype=np.float64)
    weights = np.zeros((classes, examples.shape[1]))
    late = np.zeros_like(weights)  # each change times the number of examples before it
    draws = np.random.default_rng(seed)
    seen = 0
    for _ in range(epochs):
        for row in draws.permutation(len(examples)).tolist():
            vector, right = examples[row], int(labels[row])
            guess = int(np.argmax(weights @ vector))
            if guess != right:
                weights[right] += vector
                weights[guess] -= vector
                late[right] += seen * vector
                late[guess] -= seen * vector
            seen += 1
    return AveragedPerceptron(weights - late / seen)
