"""The kernel density of each intent's examples, in plain loops."""

import math

import numpy as np
from numpy.typing import NDArray

from emu_core.intents.kernel import KERNEL_TEMPERATURE, Kernel


def units(n: int, seed: int) -> NDArray[np.float32]:
    x = np.random.default_rng(seed).normal(size=(n, 4))
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def test_a_density_is_the_sum_of_kernels_by_the_root_of_their_number() -> None:
    x, queries = units(11, 0), units(5, 1)
    classes = np.array([4, 0, 2, 0, 4, 0, 2, 0, 0, 2, 4])  # not in order, and none of 1 and 3
    found = Kernel.of(x, classes, 5).log_densities(queries)
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
    assert np.isfinite(kernel.log_densities(-units(3, 0))).all()


def test_the_density_of_one_intent_for_each_query_is_that_among_all() -> None:
    classes = np.array([4, 0, 2, 0, 4, 0, 2, 0, 0, 2, 4])
    kernel, queries = Kernel.of(units(11, 0), classes, 5), units(6, 1)
    intents = np.array([0, 4, 2, 3, 0, 1])
    expected = kernel.log_densities(queries)[np.arange(6), intents]
    np.testing.assert_allclose(kernel.log_density(queries, intents), expected, rtol=0, atol=1e-5)
