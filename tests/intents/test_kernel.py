"""The kernel density of each intent's examples, in plain loops."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

import emu_core.intents.kernel as kernels
from emu_core.intents.kernel import KERNEL_TEMPERATURE, Kernel


def units(n: int, seed: int) -> NDArray[np.float32]:
    x = np.random.default_rng(seed).normal(size=(n, 4))
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def test_a_density_is_the_sum_of_kernels_by_the_root_of_their_number() -> None:
    x, queries = units(11, 0), units(5, 1)
    classes = np.array([4, 0, 2, 0, 4, 0, 2, 0, 0, 2, 4])  # not in order, and none of 1 and 3
    found = Kernel.of(x, classes, 5).log_densities(queries, np.zeros((5, 5)))
    assert found.shape == (5, 5)
    for query, of_query in zip(queries, found, strict=True):
        logs = []
        for intent in (0, 2, 4):
            kernels = [
                math.exp(
                    sum(float(a) * float(b) for a, b in zip(query, row, strict=True)) / KERNEL_TEMPERATURE
                )
                for row, of in zip(x, classes, strict=True)
                if of == intent
            ]
            logs.append(math.log(math.fsum(kernels) / math.sqrt(len(kernels))))
        # But for a constant.
        np.testing.assert_allclose(of_query[[0, 2, 4]] - of_query[0], np.array(logs) - logs[0], atol=1e-3)
        assert of_query[[1, 3]].max() < of_query.min(initial=0, where=[1, 0, 1, 0, 1]) - 10, (
            "nothing speaks for them"
        )


def test_what_is_too_far_from_all_examples_is_finite() -> None:
    kernel = Kernel.of(units(3, 0), np.array([0, 1, 1]), 2)
    assert np.isfinite(kernel.log_densities(-units(3, 0), np.zeros((3, 2)))).all()


def test_the_density_of_one_intent_for_each_query_is_that_among_all() -> None:
    classes = np.array([4, 0, 2, 0, 4, 0, 2, 0, 0, 2, 4])
    kernel, queries = Kernel.of(units(11, 0), classes, 5), units(6, 1)
    intents = np.array([0, 4, 2, 3, 0, 1])
    expected = kernel.log_densities(queries, np.zeros((6, 5)))[np.arange(6), intents]
    np.testing.assert_allclose(kernel.log_density(queries, intents), expected, rtol=0, atol=1e-5)


def test_of_many_intents_those_that_can_count_have_their_density_and_the_others_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(2)
    classes = rng.permutation(np.repeat(np.arange(12), [1, 2, 3, 4, 5, 5, 5, 5, 6, 7, 8, 9]))
    near = units(12, 3)[classes] + 0.1 * units(60, 5)
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    kernel, queries = Kernel.of(near, classes, 13), units(40, 4)  # one intent has no example
    others = np.log(rng.dirichlet(np.ones(13), size=40))
    exact = kernel.log_densities(queries, others)
    monkeypatch.setattr(kernels, "MANY", 11)
    monkeypatch.setattr(kernels, "LARGE", 59)
    monkeypatch.setattr(kernels, "LIKELY", 6)
    found = kernel.log_densities(queries, others)
    assert (found <= exact + 1e-4).all()
    is_exact = np.isclose(found, exact, rtol=0, atol=1e-4)
    assert (is_exact.sum(axis=1) >= 6).all()
    middles = np.stack([near[classes == intent].astype(float).mean(axis=0) for intent in range(12)])
    bounds = queries @ middles.T / KERNEL_TEMPERATURE + np.log(np.bincount(classes)) / 2
    rest = ~is_exact[:, :12]
    assert rest.any()
    np.testing.assert_allclose(found[:, :12][rest], bounds[rest], rtol=0, atol=1e-4)
    rows = np.arange(40)
    assert is_exact[rows, (exact + others).argmax(axis=1)].all()
    assert ((found + others).argmax(axis=1) == (exact + others).argmax(axis=1)).all()
    monkeypatch.setattr(kernels, "LARGE", 60)
    np.testing.assert_array_equal(kernel.log_densities(queries, others), exact)
