"""A regression whose ridge pulls towards a prior, against scikit-learn's and by its own gradient."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from emu_core.intents import regression
from emu_core.intents.regression import weights_with_prior

K, DIM = 4, 6


@pytest.fixture(scope="module")
def sentences() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Sentences of four intents that overlap."""
    classes = np.arange(90) % K
    return np.random.default_rng(0).normal(size=(90, DIM)).astype(np.float32) + np.eye(DIM, dtype=np.float32)[
        classes
    ], classes


@pytest.mark.parametrize("inverse_penalty", [0.3, 3.0, 30.0])
def test_without_a_prior_it_is_scikit_learns(
    inverse_penalty: float, sentences: tuple[NDArray[np.float32], NDArray[np.int64]]
) -> None:
    x, classes = sentences
    weight, bias = weights_with_prior(x, classes, np.zeros((K, DIM)), inverse_penalty)
    other = LogisticRegression(C=inverse_penalty, tol=1e-8, max_iter=5000).fit(x, classes)
    np.testing.assert_allclose(weight, other.coef_, atol=1e-3)
    # A constant that is added to all biases changes no probability.
    np.testing.assert_allclose(bias - bias.mean(), other.intercept_ - other.intercept_.mean(), atol=1e-3)


def test_sentences_count_as_scikit_learns_sample_weight_says(
    sentences: tuple[NDArray[np.float32], NDArray[np.int64]],
) -> None:
    x, classes = sentences
    counts = np.random.default_rng(2).uniform(0.1, 9, len(x))
    weight, bias = weights_with_prior(x, classes, np.zeros((K, DIM)), 3.0, sample_weight=counts)
    other = LogisticRegression(C=3.0, tol=1e-8, max_iter=5000).fit(x, classes, sample_weight=counts)
    np.testing.assert_allclose(weight, other.coef_, atol=2e-3)
    np.testing.assert_allclose(bias - bias.mean(), other.intercept_ - other.intercept_.mean(), atol=2e-3)


@pytest.mark.parametrize("inverse_penalty", [0.3, 30.0])
def test_with_a_prior_the_gradient_is_zero(
    inverse_penalty: float, sentences: tuple[NDArray[np.float32], NDArray[np.int64]]
) -> None:
    """Of sum -log softmax(W x + b)[c] + ||W - prior||^2 / (2 C), in plain loops."""
    x, classes = sentences
    prior = 3 * np.random.default_rng(1).normal(size=(K, DIM))
    weight, bias = weights_with_prior(x, classes, prior, inverse_penalty)
    by_weight, by_bias = (weight - prior) / inverse_penalty, np.zeros(K)
    for row, own in zip(x.astype(float).tolist(), classes.tolist(), strict=True):
        logits = [
            bias[c] + math.fsum(w * value for w, value in zip(weight[c], row, strict=True)) for c in range(K)
        ]
        total = math.fsum(map(math.exp, logits))
        for c in range(K):
            slope = math.exp(logits[c]) / total - (c == own)
            by_bias[c] += slope
            by_weight[c] += slope * np.array(row)
    np.testing.assert_allclose(by_bias, 0, atol=0.01)
    np.testing.assert_allclose(by_weight, 0, atol=0.01)
    assert np.abs(weight - prior).max() > 0.5, "the sentences have moved it"


def test_a_strong_penalty_leaves_the_prior_and_a_weak_one_forgets_it(
    sentences: tuple[NDArray[np.float32], NDArray[np.int64]],
) -> None:
    x, classes = sentences
    prior = np.random.default_rng(1).normal(size=(K, DIM))
    strong, weak = (weights_with_prior(x, classes, prior, c)[0] for c in (1e-6, 1e6))
    np.testing.assert_allclose(strong, prior, atol=1e-3)
    free = weights_with_prior(x, classes, np.zeros((K, DIM)), 1e6)[0]
    np.testing.assert_allclose(weak - weak.mean(axis=0), free - free.mean(axis=0), atol=0.02)


def test_of_many_intents_each_group_is_a_regression_of_its_own(
    monkeypatch: pytest.MonkeyPatch, sentences: tuple[NDArray[np.float32], NDArray[np.int64]]
) -> None:
    x, classes = sentences
    monkeypatch.setattr(regression, "MANY", 3)
    monkeypatch.setattr(regression, "GROUP", 2)
    prior = np.random.default_rng(1).normal(size=(K, DIM))
    weight, bias = weights_with_prior(x, classes, prior, 3.0)
    monkeypatch.undo()
    drawn = np.random.default_rng(0).permutation(K)
    for group in (np.sort(drawn[:2]), np.sort(drawn[2:])):
        rows = np.isin(classes, group)
        alone = weights_with_prior(x[rows], np.searchsorted(group, classes[rows]), prior[group], 3.0)
        np.testing.assert_allclose(weight[group], alone[0])
        np.testing.assert_allclose(bias[group], alone[1])
