"""The head by hand, in float64, and vectors to try it on."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import fractional_matrix_power, helmert
from sklearn.linear_model import LogisticRegression

from emu_core.methods.head.fit import (
    choose_inverse_penalty,
)
from emu_core.methods.head.settings import HeadConfig

Matrix = NDArray[np.float64]
PLAIN = HeadConfig(
    share=0.5,
    softening=1.5,
    whitening=0.0,
    whitening_factor=1.0,
    intent_parts=0,
    gate_quantile=0.02,
    language_directions=0,
    centering=0.0,
)
FULL = replace(PLAIN, whitening=0.3, intent_parts=3)


def unit(x: Matrix) -> Matrix:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def classes(n: int, k: int, d: int, seed: int = 0) -> tuple[Matrix, list[int]]:
    """N unit vectors in k classes of unequal size, and their classes."""
    rng = np.random.default_rng(seed)
    labels = [i % k if i % 3 else 0 for i in range(n)]
    labels[:k] = range(k)
    means = rng.normal(size=(k, d))
    return unit(means[labels] + 0.7 * rng.normal(size=(n, d))), labels


def near(v: Matrix, rows: Matrix, config: HeadConfig) -> float:
    return float(np.log(sum(np.exp((v @ row - 1) / config.gate_temperature) for row in rows)))


def whitened(x: Matrix, labels: list[int], whitening: float) -> Matrix:
    """The map, of each intent's own covariance in numpy's unbiased form."""
    d = x.shape[1]
    within = np.zeros((d, d))
    for c in set(labels):
        mine = x[[label == c for label in labels]]
        if len(mine) > 1:
            within += len(mine) * np.cov(mine.T)
    return np.asarray(
        fractional_matrix_power(whitening * d * within / np.trace(within) + (1 - whitening) * np.eye(d), -0.5)
    )


def reliability(x: Matrix, labels: list[int]) -> float:
    """Ledoit and Wolf's estimate, from the independent contrasts of each intent's sentences."""
    rows = np.vstack(
        [
            helmert(labels.count(c)) @ x[[label == c for label in labels]]
            for c in set(labels)
            if labels.count(c) > 1
        ]
    )
    n, d = rows.shape
    covariance = rows.T @ rows / n
    apart = ((covariance - np.trace(covariance) / d * np.eye(d)) ** 2).sum()
    noise = sum(((np.outer(row, row) - covariance) ** 2).sum() for row in rows) / n**2
    return 1 - float(min(1, noise / apart))


def signs(v: Matrix, x: Matrix, labels: list[int], chosen: float, config: HeadConfig) -> tuple[float, float]:
    """How near a sentence is to its nearest intent, and how far the regression prefers one."""
    fitted = LogisticRegression(C=chosen, tol=1e-8, max_iter=3000).fit(x, labels)
    logits = fitted.coef_ @ v + fitted.intercept_
    if len(logits) == 1:
        logits = np.array([-logits[0], logits[0]]) / 2
    own = []
    for c in sorted(set(labels)):
        mine = x[[label == c for label in labels]]
        own.append(near(v, mine, config) - np.log(len(mine)))
    return max(own), float(logits.max() - logits.mean())


def by_hand(x: Matrix, labels: list[int], q: Matrix, config: HeadConfig, known: Matrix) -> Matrix:
    """What the method says, one sentence and one class at a time, in float64."""
    k, n = max(labels) + 1, len(labels)
    if config.whitening:
        spread = whitened(x, labels, config.whitening * min(1, reliability(x, labels) / 0.6))
        x, q = unit(x @ spread), unit(q @ spread)
    chosen = choose_inverse_penalty(x, np.array(labels), config.kernel_temperature)
    regression = LogisticRegression(C=chosen, tol=1e-8, max_iter=3000).fit(x, labels)
    corners = simplex(x, labels)
    own = [near(x[i], x[[j for j in range(n) if j != i]], config) for i in range(n)]
    at, slope = np.quantile(own, config.gate_quantile), config.gate_width * np.std(own)
    out = []
    for v in q:
        scores = []
        for c in range(k):
            mine = [j for j in range(n) if labels[j] == c]
            kernel = sum(np.exp((v @ x[j] - 1) / config.kernel_temperature) for j in mine)
            logit = regression.coef_[c] @ v + regression.intercept_[c]
            scores.append((np.exp(logit) * kernel / np.sqrt(len(mine))) ** (1 / config.softening))
        p = np.array(scores) / sum(scores)
        gate = 1.0
        if config.gate_quantile or not len(known):
            gate /= 1 + np.exp(-(near(v, x, config) - at) / slope)
        if len(known):
            second = known[0] + known[1:] @ signs(v, x, labels, chosen, config)
            gate *= 1 / (1 + np.exp(-second))
        d = np.sqrt(k / (k - 1)) * (p - 1 / k)
        s = config.share * gate * np.linalg.norm(d)
        towards = d @ corners
        out.append(np.sqrt(1 - s) * v + np.sqrt(s) * towards / np.linalg.norm(towards))
    return unit(np.array(out))


def simplex(x: Matrix, labels: list[int]) -> Matrix:
    """The orthonormal rows nearest to the centred means: those of the inverse square root of their Gram matrix."""
    means = np.array([x[[label == c for label in labels]].mean(axis=0) for c in range(max(labels) + 1)])
    apart = means - means.mean(axis=0)
    values, axes = np.linalg.eigh(apart @ apart.T)
    kept = values > 1e-9  # 0 for equal weights of all means, and for more means than dimensions
    return np.asarray(axes[:, kept] / np.sqrt(values[kept]) @ axes[:, kept].T @ apart)
