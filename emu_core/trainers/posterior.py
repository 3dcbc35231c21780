"""Fitting the posterior method: no gradient, the encoder runs once over each sentence."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from emu_core.config import PosteriorConfig
from emu_core.encoders.base import FloatArray
from emu_core.errors import TrainingError
from emu_core.models.posterior_head import PosteriorHead, nearness, neutral
from emu_core.threads import one_thread_for_small_products
from emu_core.trainers.posterior_regression import choose_inverse_penalty, members, regression, weights

BLOCK = 1024  # rows of cosines held at once


def fit_head(
    vectors: FloatArray,
    labels: Sequence[int],
    reference: Mapping[str, FloatArray],
    config: PosteriorConfig,
    ids: Sequence[str] = (),
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

    Raises:
        TrainingError: fewer than two classes.
    """
    check_rows(labels)
    classes = np.asarray(labels, dtype=np.int64)
    count = np.bincount(classes)
    directions, center = language_space(reference, config, vectors.shape[1])
    x = neutral(torch.from_numpy(np.array(vectors, dtype=np.float32)), directions, center)
    wide = x.numpy().astype(np.float64)
    with one_thread_for_small_products():
        inverse_penalty = choose_inverse_penalty(wide, classes, config.kernel_temperature, ids)
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
        },
        share=config.share,
        temperature=config.kernel_temperature,
        softening=config.softening,
        gate_temperature=config.gate_temperature,
        gate_at=float(np.quantile(near, config.gate_quantile)),
        gate_slope=max(config.gate_width * float(near.std()), 1e-6),
    )


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
