"""FMDA's training: eq. 5, all losses at once or in two stages (sections 3.5 and 4.6)."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from emu_core.config import FmdaConfig
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.losses.cosine_contrast import cosine_contrast
from emu_core.models.fmda import Fmda, FmdaOutput
from emu_core.trainers.disentangle import (
    DisentangleTrainer,
    Losses,
    Objective,
    template_score,
    translation_score,
    weighted,
)
from emu_core.trainers.disentangle_data import DisentangleData, Sentences


def fmda_trainer(
    encoder: TransformerEncoder, data: DisentangleData, config: FmdaConfig, *, seed: int
) -> DisentangleTrainer:
    """Return the trainer of FMDA's layers: one stage with every loss, or the template encoder's and then the rest's.

    Args:
        encoder: the frozen one.
        data: its states, from `prepare_disentangling` with the same settings.
        config: the settings.
        seed: of first weights and order; the same seed on the same CPU gives the same weights.
    """
    torch.manual_seed(seed)
    model = Fmda(encoder.state_dim, data.languages, config.hidden, config.language_hidden).to(encoder.device)
    if config.standardised:
        model.standard.fit(data.sentences.cls)
    return DisentangleTrainer(
        model, _objectives(model, data, config), data.sentences.negatives, config, seed=seed
    )


def _objectives(model: Fmda, data: DisentangleData, config: FmdaConfig) -> list[Objective]:
    score, losses = translation_score(model, data.held_out), partial(_losses, model, data, config)
    weights = list(model.parameters())
    if data.template_pairs is None:
        return [Objective("all losses", weights, data.pairs, partial(losses, True, True), score)]
    frozen = {id(weight) for weight in model.template_layers()}
    first = [*model.template_layers(), *model.language.parameters()]
    rest = [weight for weight in weights if id(weight) not in frozen]
    template = template_score(model, data.held_out)
    return [
        Objective("template", first, data.template_pairs, partial(losses, True, False), template),
        Objective("rest", rest, data.pairs, partial(losses, False, True), score),
    ]


def _losses(
    model: Fmda, data: DisentangleData, config: FmdaConfig, template: bool, others: bool, *rows: Tensor
) -> Losses:
    """Compute the losses of eq. 5 for pairs (B, 2) and their negatives (B, 2): the template's, the others, or all."""
    batch = _Batch(model, data.sentences, *rows)
    return (_template_losses(model, batch, data.sentences, config) if template else {}) | (
        _other_losses(model, batch, data, config) if others else {}
    )


class _Batch:
    """The model's output for B pairs, row by row, and for their negatives."""

    def __init__(self, model: Fmda, sentences: Sentences, pairs: Tensor, negatives: Tensor) -> None:
        self.rows = pairs.T  # (2, B)
        every = torch.cat([pairs.T, negatives.T]).flatten()  # four utterances a step: (4B,)
        out: FmdaOutput = model(*sentences.states.batch(every))
        self.first, self.second, self.first_negative, self.second_negative = _quarters(out)


def _quarters(out: FmdaOutput) -> list[FmdaOutput]:
    columns = [getattr(out, name).chunk(4) for name in FmdaOutput.__dataclass_fields__]
    return [FmdaOutput(*(column[i] for column in columns)) for i in range(4)]


def _error(*rebuilt: tuple[Tensor, Tensor]) -> Tensor:
    """Add up the mean squared errors between what was rebuilt and what it should be."""
    return torch.stack([F.mse_loss(found, target) for found, target in rebuilt]).sum()


def _template_losses(model: Fmda, batch: _Batch, sentences: Sentences, config: FmdaConfig) -> Losses:
    """Compute reconstruction of the template targets (eq. 1, 2), and contrast of the templates (eq. 3)."""
    a, b = batch.first, batch.second
    to_a, to_b = model.standard(sentences.template_target[batch.rows])
    return weighted(
        config,
        {
            "template": lambda: _error((a.template + a.language, to_a), (b.template + b.language, to_b)),
            "template_cross": lambda: _error(
                (a.template + b.language, to_b), (b.template + a.language, to_a)
            ),
            "template_contrast": lambda: cosine_contrast(
                a.template, b.template, batch.first_negative.template, batch.second_negative.template
            ),
        },
    )


def _other_losses(model: Fmda, batch: _Batch, data: DisentangleData, config: FmdaConfig) -> Losses:
    """Compute language identification, reconstruction of utterance and residual, contrast of meanings (eq. 4)."""
    sentences = data.sentences
    a, b = batch.first, batch.second
    of_a, of_b = sentences.language[batch.rows]
    cls_a, cls_b = (model.standard(sentences.states.first(rows)) for rows in batch.rows)
    to_a, to_b = model.standard(sentences.residual_target[batch.rows])
    return weighted(
        config,
        {
            "language": lambda: (
                F.cross_entropy(model.language_logits(a.language), of_a)
                + F.cross_entropy(model.language_logits(b.language), of_b)
            ),
            "utterance": lambda: _error((model.rebuilt(a), cls_a), (model.rebuilt(b), cls_b)),
            "utterance_cross": lambda: _error(
                (model.rebuilt(a, b.language), cls_b), (model.rebuilt(b, a.language), cls_a)
            ),
            "residual": lambda: _error((a.residual + a.language, to_a), (b.residual + b.language, to_b)),
            "residual_cross": lambda: _error(
                (a.residual + b.language, to_b), (b.residual + a.language, to_a)
            ),
            "meaning_contrast": lambda: cosine_contrast(
                a.meaning, b.meaning, batch.first_negative.meaning, batch.second_negative.meaning
            ),
        },
    )
