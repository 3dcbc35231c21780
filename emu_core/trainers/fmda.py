"""Training of FMDA (eq. 5, all losses at once or in two stages, sections 3.5 and 4.6) and of its baseline."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from emu_core.config import FmdaConfig, MeaningLanguageConfig
from emu_core.encoders.base import FloatArray
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.token_states import TokenStates
from emu_core.evaluation.retrieval import (
    TemplateRetrieval,
    TranslationRetrieval,
    template_retrieval,
    translation_retrieval,
)
from emu_core.losses.cosine_contrast import clipped_contrast, cosine_contrast
from emu_core.losses.language_embedding import language_attraction, language_repulsion
from emu_core.models.fmda import Fmda, FmdaOutput, MeaningLanguage
from emu_core.models.parts import Part
from emu_core.runs.checkpoint import State
from emu_core.trainers.disentangle_data import DisentangleData, HeldOut, Sentences
from emu_core.trainers.fit import Stage, Trainer

Losses = dict[str, Tensor]
Score = Callable[[], float]
BATCH = 1024  # sentences encoded at a time


@dataclass(frozen=True)
class Objective:
    """A stage of training: its weights and its data.

    Attributes:
        name: of the stage, for the log.
        weights: what it trains; all other weights stay as they are.
        pairs: (P, 2), row numbers of sentences.
        losses: of pairs (B, 2) and, at the same places, negatives (B, 2): scalars by name, weighted.
        score: held-out accuracy in percent, which chooses the epoch; None takes the last one's weights.
    """

    name: str
    weights: list[nn.Parameter]
    pairs: Tensor
    losses: Callable[[Tensor, Tensor], Losses]
    score: Score | None


@dataclass(frozen=True)
class Batch:
    """Pairs of sentences.

    Attributes:
        pairs: (B, 2), row numbers.
        negatives: (B, 2), row numbers of a negative of each.
    """

    pairs: Tensor
    negatives: Tensor

    def __len__(self) -> int:
        """Return B."""
        return len(self.pairs)


class DisentangleTrainer(Trainer[Batch]):
    """Trains a model by Adam, a stage for each objective.

    A stage ends when its held-out accuracy has not risen for `config.patience` epochs.

    Attributes:
        model: on its device.
        objectives: in their order.
    """

    weighs_by_size = True
    model: Fmda | MeaningLanguage
    optimizer: torch.optim.Optimizer

    def __init__(
        self,
        model: Fmda | MeaningLanguage,
        objectives: Sequence[Objective],
        negatives: Tensor,
        config: FmdaConfig | MeaningLanguageConfig,
        *,
        seed: int,
    ) -> None:
        """Take a model and what it is trained on.

        Args:
            model: on its device.
            objectives: in their order.
            negatives: (N, each), rows of negatives of every sentence; each epoch uses the next column.
            config: batch size, learning rate, epochs and patience.
            seed: of the order of the pairs.
        """
        self.model, self.objectives, self.negatives = model, objectives, negatives
        self.config, self.seed = config, seed
        self.stages = [
            Stage(
                config.epochs, -(-len(one.pairs) // config.batch_size), one.score, config.patience, one.name
            )
            for one in objectives
        ]
        self.stage = 0

    @contextmanager
    def training(self) -> Iterator[None]:
        """Leave all weights trainable, whatever the stages froze."""
        try:
            yield
        finally:
            self.model.requires_grad_(True)

    def start_stage(self, number: int) -> None:
        """Let gradients reach the stage's weights alone."""
        self.stage, weights = number, self.objectives[number].weights
        self.model.requires_grad_(False)
        for weight in weights:
            weight.requires_grad_(True)
        self.optimizer = torch.optim.Adam(weights, lr=self.config.learning_rate)

    def batches(self, epoch: int, done: int) -> list[Batch]:
        """Draw the order of the pairs by a generator of the epoch's own, which another process draws alike."""
        pairs = self.objectives[self.stage].pairs
        draws = torch.Generator().manual_seed(self.seed * 1_000_003 + self.stage * 10_007 + epoch)
        order = torch.randperm(len(pairs), generator=draws).to(pairs.device)
        column = self.negatives[:, (epoch - 1) % self.negatives.shape[1]]  # (N,)
        return [
            Batch(pairs[rows], column[pairs[rows]]) for rows in order.split(self.config.batch_size)[done:]
        ]

    def step(self, batch: Batch) -> dict[str, float]:
        """Update the stage's weights once."""
        losses = self.objectives[self.stage].losses(batch.pairs, batch.negatives)
        loss = torch.stack(list(losses.values())).sum()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return {name: value.item() for name, value in losses.items()} | {"loss": loss.item()}

    def state_dict(self) -> State:
        """Return model and optimiser; what else a step reads is drawn anew."""
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: State) -> None:
        """Restore what `state_dict` returned."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])

    def shortened(self, batch: Batch, size: int) -> Batch:
        """Return the first pairs."""
        return Batch(batch.pairs[:size], batch.negatives[:size])


def weighted(config: FmdaConfig | MeaningLanguageConfig, terms: Mapping[str, Callable[[], Tensor]]) -> Losses:
    """Compute the losses by name, each times its weight in the settings; one of weight 0 is left out."""
    weights = {name: getattr(config, f"{name}_weight") for name in terms}
    return {name: weights[name] * loss() for name, loss in terms.items() if weights[name]}


def translation_score(model: Fmda | MeaningLanguage, held_out: HeldOut | None) -> Score | None:
    """Return what measures the meaning embeddings: Acc@1 in percent, cross-lingual, mean over pairs and both ways."""
    if held_out is None:
        return None
    both_ways = [rows for pairs in held_out.pairs for rows in (pairs, pairs.flip(1))]
    return partial(_mean_accuracy, model, held_out.states, Part.MEANING, both_ways, translation_retrieval)


def template_score(model: Fmda, held_out: HeldOut | None) -> Score | None:
    """Return what measures the template embeddings: Acc@1 in percent in template retrieval, mean over languages."""
    if held_out is None or not held_out.templates:
        return None
    return partial(
        _mean_accuracy, model, held_out.states, Part.TEMPLATE, held_out.templates, template_retrieval
    )


def _mean_accuracy(
    model: Fmda | MeaningLanguage,
    states: TokenStates,
    part: Part,
    pairs: Sequence[Tensor],
    retrieval: Callable[..., TranslationRetrieval | TemplateRetrieval],
) -> float:
    """Return the mean Acc@1 over sets of row pairs (P, 2), in percent."""
    vectors = part_vectors(model, states, part)
    return float(np.mean([retrieval(*vectors[rows.T.cpu().numpy()]).accuracy for rows in pairs]))


@torch.no_grad()
def part_vectors(model: Fmda | MeaningLanguage, states: TokenStates, part: Part) -> FloatArray:
    """Compute one embedding of every sentence: (N, d)."""
    every = torch.arange(len(states), device=states.starts.device)
    return torch.cat([model(*states.batch(some)).parts()[part] for some in every.split(BATCH)]).cpu().numpy()


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
    model = Fmda(encoder.state_dim, data.languages, config.hidden, config.language_hidden)
    _fit_standard(model, encoder, data, config)
    return DisentangleTrainer(
        model, _objectives(model, data, config), data.sentences.negatives, config, seed=seed
    )


def _fit_standard(
    model: Fmda | MeaningLanguage,
    encoder: TransformerEncoder,
    data: DisentangleData,
    config: FmdaConfig | MeaningLanguageConfig,
) -> None:
    """Move a model to the encoder's device, and have it standardise states if the settings say so."""
    model.to(encoder.device)
    if config.standardised:
        model.standard.fit(data.sentences.cls)


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
    model = MeaningLanguage(encoder.state_dim, data.languages)
    _fit_standard(model, encoder, data, config)
    losses, score = partial(_baseline_losses, model, data, config), translation_score(model, data.held_out)
    objective = Objective("all losses", list(model.parameters()), data.pairs, losses, score)
    return DisentangleTrainer(model, [objective], data.sentences.negatives, config, seed=seed)


def _baseline_losses(
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
