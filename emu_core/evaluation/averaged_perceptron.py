"""Collins' averaged perceptron (2002) for several classes, the classifier of BiCVM's document classification."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emu_core.errors import DataError
from emu_core.evaluation.arrays import check_length


@dataclass(frozen=True, eq=False)
class AveragedPerceptron:
    """A linear classifier.

    Attributes:
        weights: (classes, d), the mean of the weights after every example seen.
    """

    weights: NDArray[np.float64]

    def predict(self, vectors: NDArray[np.floating]) -> NDArray[np.int64]:
        """The class of each of N vectors (N, d): the highest product, of equals the first."""
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
    is kept is the mean of the weights after every example, right ones too. There is no bias.

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
