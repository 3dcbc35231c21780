"""Transfer of a classifier of frozen vectors from one language to others."""

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
from emu_core.evaluation.arrays import as_matrix, check_dimensions, check_length

if TYPE_CHECKING:
    import torch

SHARES = (0, 10, 20, 40, 80, 100)
"""Percent of the target language's training data, as in Table 6."""


@dataclass(frozen=True, eq=False)
class LabelledVectors:
    """Sentence vectors (N, d) of one language and their N labels."""

    vectors: NDArray[np.floating]
    labels: Sequence[str]

    def __post_init__(self) -> None:
        """Check the shapes.

        Raises:
            DataError: they don't fit, or a vector is not finite.
        """
        as_matrix(self.vectors)
        check_length(self.labels, len(self.vectors), "labels")
        if not np.isfinite(self.vectors).all():
            raise DataError("a vector has a number that is not finite; leave the sentence out")

    def take(self, rows: NDArray[np.int64]) -> "LabelledVectors":
        """Return the given rows."""
        return LabelledVectors(self.vectors[rows], [self.labels[row] for row in rows])


@dataclass(frozen=True)
class TransferSettings:
    """The classifier: the paper's (section 4.2), but for the epoch, which the paper tunes on its development set."""

    hidden: int = 512  # units of each layer, with tanh
    layers: int = 2
    learning_rate: float = 0.0005  # of Adam
    decay: float = 0.9  # of the learning rate, at every epoch
    batch_size: int = 16
    epochs: int = 20  # the one that is best on held-out sentences is taken
    dev_share: float = 0.1  # of the training sentences, held out


PAPER = TransferSettings()


@dataclass(frozen=True)
class FewShot:
    """Accuracy in the target language, in percent, as a column of Table 6.

    Attributes:
        share: percent of the target language's training sentences used.
        few_shot: trained on those and on all of the source language's.
        monolingual: trained on those alone; None where there are none, or only one label among them.
    """

    share: float
    few_shot: float
    monolingual: float | None


def zero_shot(
    train: LabelledVectors,
    tests: Mapping[str, LabelledVectors],
    settings: TransferSettings = PAPER,
    *,
    seed: int = 0,
) -> dict[str, float]:
    """Train on one language and return the accuracy, in percent, on the test sentences of each, English first.

    Args:
        train: sentences of the source language.
        tests: language -> its test sentences, the source's own as well if its figure is wanted.
        settings: the classifier's.
        seed: of the held-out sentences, the weights and the batches.

    Raises:
        DataError: there are fewer than two labels or four sentences to train on, or the dimensions differ.
    """
    predict = fit_classifier(train, settings, seed=seed)
    return {language: accuracy(predict, tests[language]) for language in ordered(tests)}


def few_shot(
    source: LabelledVectors,
    target: LabelledVectors,
    test: LabelledVectors,
    shares: Sequence[float] = SHARES,
    settings: TransferSettings = PAPER,
    *,
    seed: int = 0,
) -> list[FewShot]:
    """Add more and more of the target language's labelled sentences, with the source language's and without.

    A larger share holds the sentences of the smaller ones.

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
        raise DataError(f"{wrong[0]:g} % of the sentences can't be used; choose shares from 0 to 100")
    order = np.random.default_rng(seed).permutation(len(target.labels))
    found = []
    for share in shares:
        part = (
            target.take(order[: round(share / 100 * len(order))]) if round(share / 100 * len(order)) else None
        )
        both = source if part is None else _joined(source, part)
        alone = None
        if part is not None and len(part.labels) >= 4 and len(set(part.labels)) > 1:
            alone = accuracy(fit_classifier(part, settings, seed=seed), test)
        found.append(FewShot(share, accuracy(fit_classifier(both, settings, seed=seed), test), alone))
    return found


def accuracy(predict: Callable[[NDArray[np.floating]], list[str]], test: LabelledVectors) -> float:
    """Return the percent of labels that a classifier has right."""
    pairs = zip(predict(test.vectors), test.labels, strict=True)
    return 100 * sum(found == label for found, label in pairs) / len(test.labels)


def fit_classifier(
    train: LabelledVectors, settings: TransferSettings = PAPER, *, seed: int = 0
) -> Callable[[NDArray[np.floating]], list[str]]:
    """Train a feed-forward network with a softmax on vectors, and return the function that classifies others.

    The vectors are divided by one number, the training vectors' root mean square, so that an encoder's unit does not
    matter. The epoch that is right most often on held-out sentences is taken, the first of equals.

    Args:
        train: sentences and labels; `dev_share` of them, of each label alike, are held out.
        settings: the network's and the training's.
        seed: of the held-out sentences, the weights and the batches.

    Raises:
        DataError: there are fewer than two labels or four sentences.
    """
    import torch
    from torch import nn
    from torch.nn import functional as F

    names = sorted(set(train.labels))
    if len(names) < 2 or len(train.labels) < 4:
        raise DataError(
            f"{len(train.labels):,} sentences with the labels {listed(names)} are too few to learn from; "
            "give 4 or more, with two labels or more"
        )
    scale = float(np.sqrt(np.square(train.vectors, dtype=np.float64).mean())) or 1.0
    dim = train.vectors.shape[1]

    def scaled(vectors: NDArray[np.floating]) -> torch.Tensor:
        check_dimensions(train.vectors, vectors)
        return torch.from_numpy((vectors / scale).astype(np.float32))

    numbers = np.array([names.index(label) for label in train.labels])
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

    def predict(vectors: NDArray[np.floating]) -> list[str]:
        with torch.no_grad():
            return [names[number] for number in network(scaled(vectors)).argmax(dim=1).tolist()]

    return predict


def _joined(first: LabelledVectors, second: LabelledVectors) -> LabelledVectors:
    check_dimensions(first.vectors, second.vectors)
    return LabelledVectors(np.concatenate([first.vectors, second.vectors]), [*first.labels, *second.labels])


def _held_out(numbers: NDArray[np.int64], share: float, seed: int) -> tuple["torch.Tensor", "torch.Tensor"]:
    """Return the rows to train on and those held out: `share` of each label, one row at least."""
    import torch

    order = np.random.default_rng(seed).permutation(len(numbers))
    by_label = order[np.argsort(numbers[order], kind="stable")]
    counts = np.bincount(numbers)
    places = np.arange(len(numbers)) - np.repeat(np.cumsum(counts) - counts, counts)  # within the row's label
    # Half a row more than `share` of the label is rounded up; the last row of a label is never held out.
    wanted = np.minimum(np.floor(share * counts + 0.5), counts - 1)
    if not wanted.any():
        wanted[counts.argmax()] = 1
    is_out = places < np.repeat(wanted, counts)
    return torch.from_numpy(by_label[~is_out]), torch.from_numpy(by_label[is_out])


SIZES = (100, 200, 500, 1000, 5000, 10000)
"""Documents to train on (Hermann and Blunsom, figure 2)."""


@dataclass(frozen=True)
class TransferAccuracy:
    """One point of the paper's figure 2.

    Attributes:
        source: language of the training documents.
        target: language of the test documents.
        size: documents trained on.
        accuracy: percent of the test documents that are right, the mean over the draws.
        deviation: standard deviation over the draws (of the sample), in points; 0 for a single draw.
        draws: how many sets of `size` documents were drawn.
        majority: percent that the most frequent class of the test documents would give.
    """

    source: str
    target: str
    size: int
    accuracy: float
    deviation: float
    draws: int
    majority: float


def document_vectors(
    sentences: NDArray[np.floating], document: NDArray[np.integer], documents: int
) -> NDArray[np.float64]:
    """Return the mean of each document's sentence vectors (section 4.2).

    Args:
        sentences: (S, d).
        document: (S,) number of each sentence's document, from 0.
        documents: how many there are.

    Returns:
        (documents, d).

    Raises:
        DataError: a document has no sentence, or the lengths differ.
    """
    check_length(list(document), len(sentences), "document numbers")
    counts = np.bincount(document, minlength=documents)
    if len(counts) > documents or not counts.all():
        raise DataError("documents are numbered from 0, and each has a sentence; leave empty ones out")
    sums = np.zeros((documents, sentences.shape[1]))
    np.add.at(sums, document, sentences)
    return sums / counts[:, None]


def classify_across(
    train: Mapping[str, LabelledVectors],
    test: Mapping[str, LabelledVectors],
    *,
    sizes: Sequence[int] = SIZES,
    draws: int = 10,
    epochs: int = 10,
    seed: int = 0,
) -> list[TransferAccuracy]:
    """Train on documents of each language, and test on those of each other.

    The documents of a draw are taken at random, without repeats. Where a language has fewer than the largest size, all
    that it has are its last size; they are one draw, in several orders.

    Args:
        train: documents to train on, by language: their vectors (see `document_vectors`) and classes.
        test: documents to test on, by language, all of them in each draw; none a translation of one in `train`.
        sizes: documents to train on.
        draws: sets of documents for each size.
        epochs: passes of the averaged perceptron.
        seed: of the draws and of the perceptron's order.

    Returns:
        One for each direction and size, in the order of `train` and `test`.

    Raises:
        DataError: there are no two languages, or a test class stands in no training document of the other language.
    """
    directions = [(source, target) for source in train for target in test if source != target]
    if not directions:
        raise DataError(
            "documents of two languages are needed, to train on one and test on the other; add another"
        )
    results = []
    for source, target in directions:
        for size in _possible(sizes, len(train[source].labels)):
            right = [
                _accuracy(train[source], test[target], size, epochs, (seed, draw)) for draw in range(draws)
            ]
            results.append(
                TransferAccuracy(
                    source,
                    target,
                    size,
                    float(np.mean(right)),
                    float(np.std(right, ddof=1)) if draws > 1 else 0.0,
                    draws,
                    100 * max(Counter(test[target].labels).values()) / len(test[target].labels),
                )
            )
    return results


def _possible(sizes: Sequence[int], most: int) -> list[int]:
    """The sizes that there are documents for, and all documents in place of those that are too large."""
    fitting = sorted({size for size in sizes if size <= most})
    return fitting if max(sizes) <= most or most in fitting else [*fitting, most]


def _accuracy(
    train: LabelledVectors, test: LabelledVectors, size: int, epochs: int, seed: tuple[int, int]
) -> float:
    classes = sorted(set(train.labels))
    if missing := sorted(set(test.labels) - set(classes)):
        raise DataError(
            f"no training document has the class '{shown(missing[0])}'; take it out of the test, or add some"
        )
    number = {label: n for n, label in enumerate(classes)}
    rows = np.random.default_rng(seed).permutation(len(train.labels))[:size]
    labels = np.array([number[train.labels[row]] for row in rows], dtype=np.int64)
    model = averaged_perceptron(train.vectors[rows], labels, len(classes), epochs=epochs, seed=seed[1])
    return accuracy(lambda vectors: [classes[n] for n in model.predict(vectors)], test)


@dataclass(frozen=True, eq=False)
class AveragedPerceptron:
    """A linear classifier.

    Attributes:
        weights: (classes, d), the mean of the weights after every example seen.
    """

    weights: NDArray[np.float64]

    def predict(self, vectors: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the class of each of N vectors (N, d): the highest product, of equals the first."""
        return np.argmax(vectors @ self.weights.T, axis=1).astype(np.int64)


def averaged_perceptron(
    vectors: NDArray[np.floating],
    labels: NDArray[np.integer],
    classes: int,
    *,
    epochs: int = 10,
    seed: int = 0,
) -> AveragedPerceptron:
    """Train by examples one after another.

    An example of class y that is taken for z adds its vector to the weights of y and takes it from those of z; what
    is returned is the mean of the weights after every example, right ones too. There is no bias.

    Args:
        vectors: (N, d).
        labels: (N,) from 0 to `classes` - 1.
        classes: how many there are.
        epochs: passes over the examples.
        seed: of the order, drawn once for each pass.

    Raises:
        DataError: no example, another number of labels than of vectors, or a label that is no class.
    """
    check_length(list(labels), len(vectors), "labels")
    if not len(labels) or labels.min() < 0 or labels.max() >= classes:
        raise DataError(f"labels are numbers from 0 to {classes - 1}, one or more; number the classes anew")
    examples = np.asarray(vectors, dtype=np.float64)
    weights = np.zeros((classes, examples.shape[1]))
    late = np.zeros_like(weights)  # each change times the number of examples that came before it
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
