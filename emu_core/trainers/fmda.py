"""Training of FMDA (Wu et al. 2022, sections 3.5 and 4.6) and of its baseline (Tiyajamorn et al. 2021)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from emu_core.config import FmdaConfig, MeaningLanguageConfig
from emu_core.encoders.transformer.encoder import TransformerEncoder
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

Model = Fmda | MeaningLanguage
Config = FmdaConfig | MeaningLanguageConfig
Losses = dict[str, Tensor]
Score = Callable[[], float]
BATCH = 1024  # sentences encoded at a time


@dataclass(frozen=True)
class Objective:
    """The losses that a stage of training minimises."""

    name: str  # of the stage, for the log
    weights: list[nn.Parameter]  # to train; all others are frozen
    pairs: Tensor  # (P, 2), row numbers of sentences
    losses: Callable[
        [Tensor, Tensor], Losses
    ]  # weighted, of pairs (B, 2) and negatives (B, 2) of each sentence
    score: Score | None  # held-out accuracy in percent, which chooses the epoch; None takes the last one


@dataclass(frozen=True)
class Batch:
    """Pairs of sentences."""

    pairs: Tensor  # (B, 2), row numbers
    negatives: Tensor  # (B, 2), row numbers of a negative of each

    def __len__(self) -> int:
        """Return B."""
        return len(self.pairs)


class DisentangleTrainer(Trainer[Batch]):
    """Trains a model by Adam, in a stage per objective, each with early stopping."""

    weighs_by_size = True
    model: Model
    optimizer: torch.optim.Optimizer

    def __init__(
        self, model: Model, objectives: Sequence[Objective], negatives: Tensor, config: Config, *, seed: int
    ) -> None:
        """Initialise the trainer.

        Args:
            model: on its device.
            objectives: in order.
            negatives: (N, each), rows of each sentence's negatives; each epoch uses the next column.
            config: batch size, learning rate, epochs and patience.
            seed: for the order of the pairs.
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
        """Make all weights trainable again at the end."""
        try:
            yield
        finally:
            self.model.requires_grad_(True)

    def start_stage(self, number: int) -> None:
        """Freeze all weights except the stage's."""
        self.stage, weights = number, self.objectives[number].weights
        self.model.requires_grad_(False)
        for weight in weights:
            weight.requires_grad_(True)
        self.optimizer = torch.optim.Adam(weights, lr=self.config.learning_rate)

    def batches(self, epoch: int, done: int) -> list[Batch]:
        """Draw the order of the pairs, by a separate generator for each epoch."""
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
        """Return model and optimiser."""
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: State) -> None:
        """Restore what `state_dict` returned."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])

    def shortened(self, batch: Batch, size: int) -> Batch:
        """Return the first pairs."""
        return Batch(batch.pairs[:size], batch.negatives[:size])


def disentangle_trainer(
    encoder: TransformerEncoder, data: DisentangleData, config: Config, *, seed: int
) -> DisentangleTrainer:
    """Return the trainer of FMDA's layers, or of its baseline's.

    Args:
        encoder: the frozen encoder.
        data: its states, from `prepare_disentangling` with the same settings.
        config: the settings of FMDA or of its baseline.
        seed: for initial weights and order; the same seed on the same CPU gives the same weights.
    """
    torch.manual_seed(seed)
    if isinstance(config, FmdaConfig):
        fmda = Fmda(encoder.state_dim, data.languages, config.hidden, config.language_hidden)
        model: Model = fmda
        objectives = _objectives(fmda, data, config)
    else:
        model = baseline = MeaningLanguage(encoder.state_dim, data.languages)
        losses = partial(_baseline_losses, baseline, data, config)
        score = _score(model, data.held_out, Part.MEANING)
        objectives = [Objective("all losses", list(model.parameters()), data.pairs, losses, score)]
    model.to(encoder.device)
    if config.standardised:
        model.standard.fit(data.sentences.cls)
    return DisentangleTrainer(model, objectives, data.sentences.negatives, config, seed=seed)


def _score(model: Model, held_out: HeldOut | None, part: Part) -> Score | None:
    """Return a function that measures the mean Acc@1 of an embedding in percent, or None without held-out data.

    Meanings retrieve translations, in both directions of each language pair; templates retrieve sentences of the same
    template, in each language.
    """
    if held_out is None or (part is Part.TEMPLATE and not held_out.templates):
        return None
    states, sets = held_out.states, held_out.templates
    retrieval: Callable[..., TranslationRetrieval | TemplateRetrieval] = template_retrieval
    if part is Part.MEANING:
        retrieval = translation_retrieval
        sets = [rows for pairs in held_out.pairs for rows in (pairs, pairs.flip(1))]

    def score() -> float:
        every = torch.arange(len(states), device=states.starts.device)
        with torch.no_grad():
            found = [model(*states.batch(rows)).parts()[part] for rows in every.split(BATCH)]
        vectors = torch.cat(found).cpu().numpy()  # (N, d)
        return float(np.mean([retrieval(*vectors[rows.T.cpu().numpy()]).accuracy for rows in sets]))

    return score


def weighted(config: Config, terms: Mapping[str, Callable[[], Tensor]]) -> Losses:
    """Compute the losses by name, each times its weight in the settings, except those of weight 0."""
    weights = {name: getattr(config, f"{name}_weight") for name in terms}
    return {name: weights[name] * loss() for name, loss in terms.items() if weights[name]}


def _objectives(model: Fmda, data: DisentangleData, config: FmdaConfig) -> list[Objective]:
    """Return one objective with all losses, or the template encoder's and then the rest's."""
    score, losses = _score(model, data.held_out, Part.MEANING), partial(_losses, model, data, config)
    weights = list(model.parameters())
    if data.template_pairs is None:
        return [Objective("all losses", weights, data.pairs, partial(losses, True, True), score)]
    frozen = {id(weight) for weight in model.template_layers()}
    first = [*model.template_layers(), *model.language.parameters()]
    rest = [weight for weight in weights if id(weight) not in frozen]
    template = _score(model, data.held_out, Part.TEMPLATE)
    return [
        Objective("template", first, data.template_pairs, partial(losses, True, False), template),
        Objective("rest", rest, data.pairs, partial(losses, False, True), score),
    ]


def _losses(
    model: Fmda,
    data: DisentangleData,
    config: FmdaConfig,
    template: bool,
    others: bool,
    pairs: Tensor,
    negatives: Tensor,
) -> Losses:
    """Compute the losses of eq. 5 for pairs (B, 2) and their negatives (B, 2): the template's, the others, or all."""
    rows = torch.cat([pairs.T, negatives.T]).flatten()  # four sentences per example: (4B,)
    out: FmdaOutput = model(*data.sentences.states.batch(rows))
    columns = [getattr(out, name).chunk(4) for name in FmdaOutput.__dataclass_fields__]
    batch = [FmdaOutput(*quarter) for quarter in zip(*columns, strict=True)]
    losses: Losses = {}
    if template:
        losses |= _template_losses(model, batch, pairs.T, data.sentences, config)
    if others:
        losses |= _other_losses(model, batch, pairs.T, data.sentences, config)
    return losses


def _error(*rebuilt: tuple[Tensor, Tensor]) -> Tensor:
    """Add up the mean squared errors of pairs of a reconstruction and its target."""
    return torch.stack([F.mse_loss(found, target) for found, target in rebuilt]).sum()


def _template_losses(
    model: Fmda, batch: Sequence[FmdaOutput], rows: Tensor, sentences: Sentences, config: FmdaConfig
) -> Losses:
    """Compute the reconstruction of the template targets (eq. 1, 2) and the contrast of the templates (eq. 3)."""
    a, b, not_a, not_b = batch
    to_a, to_b = model.standard(sentences.template_target[rows])
    return weighted(
        config,
        {
            "template": lambda: _error((a.template + a.language, to_a), (b.template + b.language, to_b)),
            "template_cross": lambda: _error(
                (a.template + b.language, to_b), (b.template + a.language, to_a)
            ),
            "template_contrast": lambda: cosine_contrast(
                a.template, b.template, not_a.template, not_b.template
            ),
        },
    )


def _other_losses(
    model: Fmda, batch: Sequence[FmdaOutput], rows: Tensor, sentences: Sentences, config: FmdaConfig
) -> Losses:
    """Compute language identification, utterance and residual reconstruction, and contrast of meanings (eq. 4)."""
    a, b, not_a, not_b = batch
    cls_a, cls_b = (model.standard(sentences.states.first(side)) for side in rows)
    to_a, to_b = model.standard(sentences.residual_target[rows])
    return weighted(
        config,
        {
            "language": lambda: _language_loss(model, a.language, b.language, sentences.language[rows]),
            "utterance": lambda: _error((model.rebuilt(a), cls_a), (model.rebuilt(b), cls_b)),
            "utterance_cross": lambda: _error(
                (model.rebuilt(a, b.language), cls_b), (model.rebuilt(b, a.language), cls_a)
            ),
            "residual": lambda: _error((a.residual + a.language, to_a), (b.residual + b.language, to_b)),
            "residual_cross": lambda: _error(
                (a.residual + b.language, to_b), (b.residual + a.language, to_a)
            ),
            "meaning_contrast": lambda: cosine_contrast(a.meaning, b.meaning, not_a.meaning, not_b.meaning),
        },
    )


def _language_loss(model: Model, a: Tensor, b: Tensor, languages: Tensor) -> Tensor:
    """Compute the loss of language identification for the language embeddings of both sides."""
    of_a, of_b = languages
    return F.cross_entropy(model.language_logits(a), of_a) + F.cross_entropy(model.language_logits(b), of_b)


def _baseline_losses(
    model: MeaningLanguage,
    data: DisentangleData,
    config: MeaningLanguageConfig,
    pairs: Tensor,
    negatives: Tensor,
) -> Losses:
    """Compute all losses for pairs (B, 2) and their negatives (B, 2)."""
    sentences = data.sentences
    cls = sentences.states.first(torch.cat([pairs.T, negatives.T]).flatten())  # (4B, d)
    out = model.split(cls)
    m_a, m_b, m_not_a, m_not_b = out.meaning.chunk(4)
    l_a, l_b, l_not_a, l_not_b = out.language.chunk(4)
    cls_a, cls_b = model.standard(cls).chunk(4)[:2]
    return weighted(
        config,
        {
            "reconstruction": lambda: F.mse_loss(m_a + l_a, cls_a) + F.mse_loss(m_b + l_b, cls_b),
            "cross_reconstruction": lambda: F.mse_loss(m_a + l_b, cls_b) + F.mse_loss(m_b + l_a, cls_a),
            "meaning": lambda: clipped_contrast(m_a, m_b, m_not_a, m_not_b),
            "attraction": lambda: language_attraction(l_a, l_not_a) + language_attraction(l_b, l_not_b),
            "language": lambda: _language_loss(model, l_a, l_b, sentences.language[pairs.T]),
            "repulsion": lambda: language_repulsion(l_a, l_b),
        },
    )
