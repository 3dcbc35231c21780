"""Cross-lingual document classification (Klementiev et al. 2012): trained on one language, tested on another."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emu_core.data.wording import shown
from emu_core.errors import DataError
from emu_core.evaluation.arrays import check_length
from emu_core.evaluation.transfer import LabelledVectors

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
    truth = np.array([number[label] for label in test.labels], dtype=np.int64)
    return 100 * float(np.mean(model.predict(test.vectors) == truth))


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
