"""Fitting the posterior method: no gradient, the encoder runs once over each sentence."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from emu_core.config import PosteriorConfig
from emu_core.encoders.base import FloatArray
from emu_core.errors import TrainingError
from emu_core.evaluation.guard import NewIntents, new_intent_guard
from emu_core.models.posterior_head import PosteriorHead, nearness, neutral, spread_out
from emu_core.threads import one_thread_for_small_products
from emu_core.trainers.posterior_regression import (
    MOST_ROWS,
    choose_inverse_penalty,
    members,
    regression,
    weights,
)
from emu_core.trainers.posterior_unknown import learn_known

BLOCK = 1024  # rows of cosines held at once
EVEN = 1e-9  # a variance below this share of the largest is none


def fit_head(
    vectors: FloatArray,
    labels: Sequence[int],
    reference: Mapping[str, FloatArray],
    config: PosteriorConfig,
    ids: Sequence[str] = (),
    inverse_penalty: float | None = None,
) -> PosteriorHead:
    """Fit the head on the training sentences' vectors.

    Args:
        vectors: (N, d), by the encoder as it is.
        labels: N class numbers, from 0, each class there.
        reference: by language, vectors (M, d) of the same M sentences in each: what differs between their means is
            the languages alone. Read where `config` takes language directions or a center out; else it may be empty.
        config: the settings.
        ids: N; sentences with the same one are translations, which must not tell each other's class where some are held
            out. Empty ones have none; without any, no sentence has.
        inverse_penalty: C of the logistic regression; None chooses it on sentences that are held out.

    Raises:
        TrainingError: fewer than two classes.
    """
    check_rows(labels)
    classes = np.asarray(labels, dtype=np.int64)
    count = np.bincount(classes)
    if inverse_penalty is None:
        inverse_penalty = choose_penalty(vectors, labels, reference, config, ids)
    x, directions, center, spread = _space(vectors, classes, reference, config)
    wide = x.numpy().astype(np.float64)
    with one_thread_for_small_products():
        known = learn_known(x, classes, config, inverse_penalty, ids)
        weight, bias = weights(regression(inverse_penalty).fit(wide, classes))
    near = _nearness(x, config.gate_temperature)
    return PosteriorHead(
        {
            "directions": directions,
            "center": center,
            "anchors": x,
            "members": torch.from_numpy(members(classes, len(count)).astype(np.float32)),
            "weight": torch.from_numpy(weight.astype(np.float32)),
            "bias": torch.from_numpy(bias.astype(np.float32)),
            "spread": spread,
            "known": known,
        },
        share=config.share,
        temperature=config.kernel_temperature,
        softening=config.softening,
        gate_temperature=config.gate_temperature,
        gate_at=float(np.quantile(near, config.gate_quantile)),
        gate_slope=max(config.gate_width * float(near.std()), 1e-6),
    )


def choose_penalty(
    vectors: FloatArray,
    labels: Sequence[int],
    reference: Mapping[str, FloatArray],
    config: PosteriorConfig,
    ids: Sequence[str] = (),
) -> float:
    """Choose C of the logistic regression; see `choose_inverse_penalty`, and `fit_head` for the arguments.

    Raises:
        TrainingError: fewer than two classes.
    """
    check_rows(labels)
    classes = np.asarray(labels, dtype=np.int64)
    x = _space(vectors, classes, reference, config)[0].numpy().astype(np.float64)
    with one_thread_for_small_products():
        return choose_inverse_penalty(x, classes, config.kernel_temperature, ids)


def new_intents(
    vectors: FloatArray,
    labels: Sequence[int],
    languages: Sequence[str],
    reference: Mapping[str, FloatArray],
    config: PosteriorConfig,
    ids: Sequence[str],
    inverse_penalty: float,
) -> NewIntents | None:
    """Measure what sentences of intents without labels gain or lose; see `new_intent_guard`, and `fit_head`.

    The heads are fitted with the penalty of the whole, which no sentence's label chose for itself.
    """
    classes = np.asarray(labels, dtype=np.int64)

    def refit(rows: NDArray[np.intp]) -> Callable[[FloatArray], FloatArray]:
        own = np.unique(classes[rows], return_inverse=True)[1]
        names = [ids[row] for row in rows] if ids else ()
        head = fit_head(vectors[rows], own.tolist(), reference, config, names, inverse_penalty)
        return lambda asked: head.in_parts(torch.from_numpy(asked)).numpy()

    return new_intent_guard(
        vectors, [str(label) for label in labels], languages, ids, refit, most_rows=MOST_ROWS
    )


def _space(
    vectors: FloatArray,
    classes: NDArray[np.int64],
    reference: Mapping[str, FloatArray],
    config: PosteriorConfig,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Where the head compares sentences: their x (N, d), and the directions, the center and the map that lead there."""
    directions, center = language_space(reference, config, vectors.shape[1])
    x = neutral(torch.from_numpy(np.array(vectors, dtype=np.float32)), directions, center)
    spread = learn_spread(x.numpy().astype(np.float64), classes, config.whitening)
    return spread_out(x, spread), directions, center, spread


def check_rows(labels: Sequence[int]) -> None:
    """Raise TrainingError where there are too few classes for a head."""
    if len(set(labels)) < 2:
        raise TrainingError("a posterior is over two intents or more; add sentences of another")


def language_space(
    reference: Mapping[str, FloatArray], config: PosteriorConfig, dim: int
) -> tuple[Tensor, Tensor]:
    """The directions (n, dim) in which the languages' means differ most, and the part of the mean that is taken out.

    Raises:
        TrainingError: the reference has too few languages for so many directions.
    """
    if not (config.language_directions or config.centering):
        return torch.zeros(0, dim), torch.zeros(dim)
    if config.language_directions >= len(reference):
        raise TrainingError(
            f"{len(reference)} languages differ in {max(0, len(reference) - 1)} directions at most, not in "
            f"{config.language_directions}; lower them (--language-directions)"
        )
    units = {language: _unit(vectors) for language, vectors in reference.items()}
    means = np.stack([vectors.mean(axis=0) for vectors in units.values()])  # (languages, dim)
    _, _, axes = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
    directions = axes[: config.language_directions]
    mean = means.mean(axis=0)
    center = config.centering * (mean - mean @ directions.T @ directions)
    return torch.from_numpy(directions.astype(np.float32)), torch.from_numpy(center.astype(np.float32))


def learn_spread(x: NDArray[np.float64], classes: NDArray[np.int64], whitening: float) -> Tensor:
    """The map (d, d) that evens out in which directions sentences of one intent differ; (0, d) for no whitening.

    It is (w S + (1 - w) I) ^ (-1/2), with w the whitening and S the covariance within the intents, scaled to a mean
    variance of 1. What sentences of one intent differ by says little of the intent, and of intents without labels
    too.

    Args:
        x: (N, d), of length 1.
        classes: N class numbers, from 0.
        whitening: 0 to 1.
    """
    n, d = x.shape
    count = np.bincount(classes)
    means = np.zeros((len(count), d))
    np.add.at(means, classes, x)
    # A sentence is nearer to a mean that it is part of than to its intent's own: by n / (n - 1) of the variance.
    unbiased = np.sqrt(count / np.maximum(count - 1, 1))[classes, None]
    apart = (x - (means / count[:, None])[classes]) * unbiased
    variance = np.square(apart).sum() / d
    if not whitening or not variance > 0:  # no intent has two sentences that differ
        return torch.zeros(0, d)
    values, axes = np.linalg.eigh(whitening * apart.T @ apart / variance + (1 - whitening) * np.eye(d))
    if values[0] <= EVEN * values[-1]:
        raise TrainingError(
            f"{n} sentences do not differ in each of {d} directions, which a whitening of {whitening:g} would even "
            "out; lower it (--whitening)"
        )
    return torch.from_numpy(((axes * values**-0.5) @ axes.T).astype(np.float32))


def _nearness(x: Tensor, temperature: float) -> NDArray[np.float32]:
    """How near each row is to the others: (N,)."""
    near = []
    for start in range(0, len(x), BLOCK):
        cosines = x[start : start + BLOCK] @ x.T
        cosines[torch.arange(len(cosines)), torch.arange(start, start + len(cosines))] = -torch.inf
        near.append(nearness(cosines, temperature)[:, 0])
    found: NDArray[np.float32] = torch.cat(near).numpy()
    return found


def _unit(vectors: FloatArray) -> NDArray[np.float64]:
    wide = vectors.astype(np.float64)
    return wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-12)
