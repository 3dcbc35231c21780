"""The losses on the labelled sentences, one row per objective: a new loss is a row of `LABELLED_LOSSES`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from emu_core.losses.contrastive import contrastive_loss
from emu_core.losses.n_pair import n_pair_loss
from emu_core.losses.softmax import l2_constrained_softmax_loss, softmax_loss
from emu_core.methods.emu.batches import EmuBatch, Labelled, n_pairs, partners
from emu_core.methods.emu.settings import EmuConfig, Objective


@dataclass(frozen=True)
class LossInputs:
    """Vectors and labels of a batch, from which its loss is computed."""

    u: Tensor  # (B, dim), vectors of the sentences
    labels: Tensor  # (B,), their class numbers
    partners: Tensor  # (B, dim), vectors of their partners; (0, dim) for a loss without partners
    partner_labels: Tensor  # (B,), or (0,)
    classifier: tuple[Tensor, Tensor]  # weight (classes, dim) and bias (classes,)


def _batch_alone(
    batch: EmuBatch, labelled: Labelled, _config: EmuConfig, _rng: np.random.Generator
) -> tuple[EmuBatch, EmuBatch]:
    return batch, labelled.batch(batch.language, [])


def _with_partners(
    batch: EmuBatch, labelled: Labelled, _config: EmuConfig, rng: np.random.Generator
) -> tuple[EmuBatch, EmuBatch]:
    return batch, partners(batch, labelled, rng)


def _n_pairs(
    batch: EmuBatch, labelled: Labelled, config: EmuConfig, rng: np.random.Generator
) -> tuple[EmuBatch, EmuBatch]:
    anchors, positives = n_pairs(labelled, config.batch_size, rng)
    return labelled.batch(batch.language, anchors), labelled.batch(batch.language, positives)


@dataclass(frozen=True)
class LabelledLoss:
    """A loss on the labelled sentences.

    Attributes:
        name: in the log.
        loss: computes the scalar, given a batch and the settings.
        draw: returns the sentences to encode and their partners (none by default), given a batch of the epoch, all
            labelled sentences in its language, and the generator of all draws.
    """

    name: str
    loss: Callable[[LossInputs, EmuConfig], Tensor]
    draw: Callable[[EmuBatch, Labelled, EmuConfig, np.random.Generator], tuple[EmuBatch, EmuBatch]] = (
        _batch_alone
    )


LABELLED_LOSSES: Mapping[Objective, LabelledLoss] = {
    Objective.L2_SOFTMAX: LabelledLoss(
        "softmax",
        lambda x, config: l2_constrained_softmax_loss(x.u, x.labels, *x.classifier, config.alpha),
    ),
    Objective.SOFTMAX: LabelledLoss(
        "softmax",
        lambda x, _config: softmax_loss(x.u, x.labels, *x.classifier),
    ),
    Objective.CONTRASTIVE: LabelledLoss(
        "contrastive",
        lambda x, config: contrastive_loss(
            x.u, x.partners, x.labels == x.partner_labels, config.contrastive_margin
        ),
        _with_partners,
    ),
    Objective.N_PAIR: LabelledLoss(
        "n_pair",
        lambda x, config: n_pair_loss(x.u, x.partners, config.n_pair_scale),
        _n_pairs,
    ),
}
