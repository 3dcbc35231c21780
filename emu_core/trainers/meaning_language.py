"""Training of FMDA's baseline (Tiyajamorn et al., 2021)."""

import torch
import torch.nn.functional as F
from torch import Tensor

from emu_core.config import MeaningLanguageConfig
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.losses.cosine_contrast import clipped_contrast
from emu_core.losses.language_embedding import language_attraction, language_repulsion
from emu_core.models.meaning_language import MeaningLanguage
from emu_core.trainers.disentangle import DisentangleTrainer, Losses, Objective, translation_score, weighted
from emu_core.trainers.disentangle_data import DisentangleData


def meaning_language_trainer(
    encoder: TransformerEncoder, data: DisentangleData, config: MeaningLanguageConfig, *, seed: int
) -> DisentangleTrainer:
    """Return the trainer of the baseline's layers, in one stage.

    Args:
        encoder: the frozen one.
        data: its states, from `prepare_disentangling` with the same settings.
        config: the settings.
        seed: of first weights and order; the same seed on the same CPU gives the same weights.
    """
    torch.manual_seed(seed)
    model = MeaningLanguage(encoder.state_dim, data.languages).to(encoder.device)
    if config.standardised:
        model.standard.fit(data.sentences.cls)
    objective = Objective(
        "all losses",
        list(model.parameters()),
        data.pairs,
        lambda *rows: _losses(model, data, config, *rows),
        translation_score(model, data.held_out),
    )
    return DisentangleTrainer(model, [objective], data.sentences.negatives, config, seed=seed)


def _losses(
    model: MeaningLanguage,
    data: DisentangleData,
    config: MeaningLanguageConfig,
    pairs: Tensor,
    negatives: Tensor,
) -> Losses:
    """Compute every loss for pairs (B, 2) and their negatives (B, 2)."""
    sentences = data.sentences
    every = torch.cat([pairs.T, negatives.T])  # (4, B)
    cls = sentences.states.first(every.flatten())
    out = model.split(cls)
    meaning, language = out.meaning.chunk(4), out.language.chunk(4)
    cls_a, cls_b = model.standard(cls).chunk(4)[:2]
    (m_a, m_b, m_a_neg, m_b_neg), (l_a, l_b, l_a_neg, l_b_neg) = meaning, language
    of_a, of_b = sentences.language[pairs.T]
    return weighted(
        config,
        {
            "reconstruction": lambda: F.mse_loss(m_a + l_a, cls_a) + F.mse_loss(m_b + l_b, cls_b),
            "cross_reconstruction": lambda: F.mse_loss(m_a + l_b, cls_b) + F.mse_loss(m_b + l_a, cls_a),
            "meaning": lambda: clipped_contrast(m_a, m_b, m_a_neg, m_b_neg),
            "attraction": lambda: language_attraction(l_a, l_a_neg) + language_attraction(l_b, l_b_neg),
            "language": lambda: (
                F.cross_entropy(model.language_logits(l_a), of_a)
                + F.cross_entropy(model.language_logits(l_b), of_b)
            ),
            "repulsion": lambda: language_repulsion(l_a, l_b),
        },
    )
