"""Collins' averaged perceptron against plain loops and against arithmetic by hand."""

import numpy as np
import pytest

from emu_core.errors import DataError
from emu_core.evaluation.transfer import AveragedPerceptron, averaged_perceptron


def by_loops(
    vectors: list[list[float]], labels: list[int], classes: int, epochs: int, seed: int
) -> list[list[float]]:
    """The mean of all weights that there ever were, each kept."""
    width, draws = len(vectors[0]), np.random.default_rng(seed)
    weights = [[0.0] * width for _ in range(classes)]
    history: list[list[list[float]]] = []
    for _ in range(epochs):
        for row in draws.permutation(len(vectors)).tolist():
            x, right = vectors[row], labels[row]
            scores = [sum(w * v for w, v in zip(own, x, strict=True)) for own in weights]
            guess = scores.index(max(scores))
            if guess != right:
                weights[right] = [w + v for w, v in zip(weights[right], x, strict=True)]
                weights[guess] = [w - v for w, v in zip(weights[guess], x, strict=True)]
            history.append([list(own) for own in weights])
    return [
        [sum(step[c][d] for step in history) / len(history) for d in range(width)] for c in range(classes)
    ]


def test_one_example_by_hand() -> None:
    # The first time 0 is guessed (all scores are 0), which is wrong; after that it is right three times.
    model = averaged_perceptron(np.array([[2.0, -1.0]]), np.array([1]), 2, epochs=4)
    np.testing.assert_array_equal(model.weights, [[-2.0, 1.0], [2.0, -1.0]])


def test_the_mean_is_over_the_steps_without_a_mistake_too() -> None:
    """Two passes over x = 1 of class 1 and x = -1 of class 0, by hand.

    In this order weights are, after each of the four: (-1, 1), (-1, 1), (-1, 1), (-1, 1). In the other, x = -1 comes
    first and 0 is guessed, right; so (0, 0), (-1, 1), (-1, 1), (-1, 1), whose mean is 3/4.
    """
    vectors, labels = np.array([[1.0], [-1.0]]), np.array([1, 0])
    seen = set()
    for seed in range(20):
        first = int(np.random.default_rng(seed).permutation(2)[0])
        expected = 1.0 if first == 0 else 0.75
        model = averaged_perceptron(vectors, labels, 2, epochs=2, seed=seed)
        np.testing.assert_array_equal(model.weights, [[-expected], [expected]])
        seen.add(first)
    assert seen == {0, 1}


@pytest.mark.parametrize("seed", [0, 3])
def test_three_classes_by_plain_loops(seed: int) -> None:
    draws = np.random.default_rng(5)
    vectors, labels = draws.normal(size=(17, 4)), draws.integers(0, 3, 17)
    model = averaged_perceptron(vectors, labels, 3, epochs=5, seed=seed)
    expected = by_loops(vectors.tolist(), labels.tolist(), 3, 5, seed)
    np.testing.assert_allclose(model.weights, expected, rtol=1e-10, atol=1e-12)


def test_separable_classes_are_learnt_and_ties_go_to_the_first() -> None:
    draws = np.random.default_rng(0)
    labels = draws.integers(0, 3, 200)
    vectors = np.eye(3)[labels] * 4 + draws.normal(size=(200, 3)) * 0.2
    model = averaged_perceptron(vectors, labels, 3)
    np.testing.assert_array_equal(model.predict(vectors), labels)
    assert AveragedPerceptron(np.zeros((3, 2))).predict(np.ones((2, 2))).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("vectors", "labels"),
    [(np.zeros((0, 2)), []), (np.ones((2, 2)), [0]), (np.ones((1, 2)), [2]), (np.ones((1, 2)), [-1])],
)
def test_labels_that_fit_nothing(vectors: np.ndarray, labels: list[int]) -> None:
    with pytest.raises(DataError):
        averaged_perceptron(vectors, np.array(labels, dtype=np.int64), 2)
