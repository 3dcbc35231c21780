"""Training of FMDA (Wu et al. 2022, sections 3.5 and 4.6) and of its baseline (Tiyajamorn et al. 2021)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.evaluation.retrieval import template_retrieval, translation_retrieval
from emu_core.losses.cosine_contrast import clipped_contrast, cosine_contrast
from emu_core.losses.language_embedding import language_attraction, language_repulsion
from emu_core.methods.fmda.batches import DisentangleData, HeldOut
from emu_core.methods.fmda.layers import Fmda, FmdaOutput, MeaningLanguage
from emu_core.methods.fmda.parts import Part
from emu_core.methods.fmda.settings import FmdaConfig, MeaningLanguageConfig
from emu_core.training.fit import Stage, Trainer

Model = Fmda | MeaningLanguage
Config = FmdaConfig | MeaningLanguageConfig
Losses = dict[str, Tensor]
Terms = dict[str, Callable[[], Tensor]]
_Score = Callable[[], float]
BATCH = 1024  # sentences encoded at a time


@dataclass(frozen=True, kw_only=True)
class FmdaObjective(Stage):
    """A stage with the losses that it minimises."""

    weights: list[nn.Parameter]  # to train; all others are frozen
    pairs: Tensor  # (P, 2), row numbers of sentences
    losses: Callable[[Tensor], Losses]  # the weighted losses of a batch


class DisentangleTrainer(Trainer[Tensor]):
    """Trains the layers of FMDA or of its baseline by Adam, in a stage per objective, each with early stopping.

    A batch (B, 4) has the rows of pairs of sentences and then of a negative for each.
    """

    weighs_by_size = True
    model: Model
    stages: Sequence[FmdaObjective]

    def __init__(
        self, encoder: TransformerEncoder, data: DisentangleData, config: Config, *, seed: int
    ) -> None:
        """Initialise the layers on a frozen encoder.

        `data` is from `prepare_disentangling` with the same settings. Each epoch uses the next column of negatives.
        """
        torch.manual_seed(seed)
        if isinstance(config, FmdaConfig):
            self.model = Fmda(encoder.state_dim, data.languages, config.hidden, config.language_hidden)
            self.stages = _objectives(self.model, data, config)
        else:
            self.model = MeaningLanguage(encoder.state_dim, data.languages)
            losses = partial(_baseline_losses, self.model, data, config)
            score = _score(self.model, data.held_out, Part.MEANING)
            weights = list(self.model.parameters())
            self.stages = [_objective(config, "all losses", weights, data.pairs, losses, score)]
        self.model.to(encoder.device)
        if config.standardised:
            self.model.standard.fit(data.sentences.cls)
        self.negatives, self.config, self.seed, self.stage = data.sentences.negatives, config, seed, 0

    @contextmanager
    def training(self) -> Iterator[None]:
        """Make all weights trainable again at the end."""
        try:
            yield
        finally:
            self.model.requires_grad_(True)

    def start_stage(self, number: int) -> None:
        """Freeze all weights except the stage's."""
        self.stage, weights = number, self.stages[number].weights
        self.model.requires_grad_(False)
        for weight in weights:
            weight.requires_grad_(True)
        self.optimizer = torch.optim.Adam(weights, lr=self.config.learning_rate)

    def sentences(self, batch: Tensor) -> int:
        """Return the number of sentences: a pair and its negative in each row."""
        return batch.numel()

    def batches(self, epoch: int, done: int) -> list[Tensor]:
        """Draw the order of the pairs, by a separate generator for each epoch."""
        pairs = self.stages[self.stage].pairs
        draws = torch.Generator().manual_seed(self.seed * 1_000_003 + self.stage * 10_007 + epoch)
        order = torch.randperm(len(pairs), generator=draws).to(pairs.device)
        column = self.negatives[:, (epoch - 1) % self.negatives.shape[1]]  # (N,)
        groups = torch.cat([pairs, column[pairs]], dim=1)
        return [groups[rows] for rows in order.split(self.config.batch_size)[done:]]

    def step(self, batch: Tensor) -> dict[str, float]:
        """Update the stage's weights once."""
        losses = self.stages[self.stage].losses(batch)
        loss = torch.stack(list(losses.values())).sum()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return {name: value.item() for name, value in losses.items()} | {"loss": loss.item()}

    def shortened(self, batch: Tensor, size: int) -> Tensor:
        """Return the first pairs."""
        return batch[:size]


def _score(model: Model, held_out: HeldOut | None, part: Part) -> _Score | None:
    """Return a function that measures the mean Acc@1 of an embedding in percent, or None without held-out data.

    Meanings retrieve translations, in both directions of each language pair; templates retrieve sentences of the same
    template, in each language.
    """
    if held_out is None or (part is Part.TEMPLATE and not held_out.templates):
        return None
    states, sets = held_out.states, held_out.templates
    retrieval: Callable[..., Any] = template_retrieval
    if part is Part.MEANING:
        retrieval = translation_retrieval
        sets = [rows for pairs in held_out.pairs for rows in (pairs, pairs.flip(1))]

    def score() -> float:
        all_rows = torch.arange(len(states), device=states.starts.device)
        with torch.no_grad():
            part_vectors = [model(*states.batch(rows)).parts()[part] for rows in all_rows.split(BATCH)]
        vectors = torch.cat(part_vectors).cpu().numpy()  # (N, d)
        return float(np.mean([retrieval(*vectors[rows.T.cpu().numpy()]).accuracy for rows in sets]))

    return score


def weighted(config: Config, terms: Terms) -> Losses:
    """Compute the losses by name, each times its weight in the settings, except those of weight 0."""
    weights = {name: getattr(config, f"{name}_weight") for name in terms}
    return {name: weights[name] * loss() for name, loss in terms.items() if weights[name]}


def _objective(
    config: Config,
    name: str,
    weights: list[nn.Parameter],
    pairs: Tensor,
    losses: Callable[[Tensor], Losses],
    score: Callable[[], float] | None,
) -> FmdaObjective:
    stage = config.epochs, -(-len(pairs) // config.batch_size), score, config.patience, name
    return FmdaObjective(*stage, weights=weights, pairs=pairs, losses=losses)


def _objectives(model: Fmda, data: DisentangleData, config: FmdaConfig) -> list[FmdaObjective]:
    """Return one objective with all losses, or the template encoder's and then the rest's."""
    score, losses = _score(model, data.held_out, Part.MEANING), partial(_losses, model, data, config)
    weights = list(model.parameters())
    if data.template_pairs is None:
        return [_objective(config, "all losses", weights, data.pairs, partial(losses, True, True), score)]
    frozen = {id(weight) for weight in model.template_layers()}
    first = [*model.template_layers(), *model.language.parameters()]
    trained = [weight for weight in weights if id(weight) not in frozen]
    template = _score(model, data.held_out, Part.TEMPLATE)
    return [
        _objective(config, "template", first, data.template_pairs, partial(losses, True, False), template),
        _objective(config, "rest", trained, data.pairs, partial(losses, False, True), score),
    ]


def _losses(
    model: Fmda, data: DisentangleData, config: FmdaConfig, template: bool, others: bool, batch: Tensor
) -> Losses:
    """Compute the losses of eq. 5 for a batch (B, 4): the template's (eq. 1 to 3), the others (with eq. 4), or all."""
    sentences, pairs = data.sentences, batch.T[:2]
    out: FmdaOutput = model(*sentences.states.batch(batch.T.flatten()))  # for 4B sentences
    columns = [getattr(out, name).chunk(4) for name in FmdaOutput.__dataclass_fields__]
    a, b, not_a, not_b = (FmdaOutput(*quarter) for quarter in zip(*columns, strict=True))
    terms: Terms = {}
    if template:
        tp_a, tp_b = model.standard(sentences.template_target[pairs])
        terms |= {
            "template": lambda: _error((a.template + a.language, tp_a), (b.template + b.language, tp_b)),
            "template_cross": lambda: _error(
                (a.template + b.language, tp_b), (b.template + a.language, tp_a)
            ),
            "template_contrast": lambda: cosine_contrast(
                a.template, b.template, not_a.template, not_b.template
            ),
        }
    if others:
        cls_a, cls_b = (model.standard(sentences.states.first(side)) for side in pairs)
        rs_a, rs_b = model.standard(sentences.residual_target[pairs])
        terms |= {
            "language": lambda: _language_loss(model, a.language, b.language, sentences.language[pairs]),
            "utterance": lambda: _error((model.rebuilt(a), cls_a), (model.rebuilt(b), cls_b)),
            "utterance_cross": lambda: _error(
                (model.rebuilt(a, b.language), cls_b), (model.rebuilt(b, a.language), cls_a)
            ),
            "residual": lambda: _error((a.residual + a.language, rs_a), (b.residual + b.language, rs_b)),
            "residual_cross": lambda: _error(
                (a.residual + b.language, rs_b), (b.residual + a.language, rs_a)
            ),
            "meaning_contrast": lambda: cosine_contrast(a.meaning, b.meaning, not_a.meaning, not_b.meaning),
        }
    return weighted(config, terms)


def _error(*rebuilt: tuple[Tensor, Tensor]) -> Tensor:
    """Add up the mean squared errors of pairs of a reconstruction and its target."""
    return torch.stack([F.mse_loss(rebuilt_vectors, target) for rebuilt_vectors, target in rebuilt]).sum()


def _language_loss(model: Model, a: Tensor, b: Tensor, languages: Tensor) -> Tensor:
    """Compute the loss of language identification for the language embeddings of both sides."""
    of_a, of_b = languages
    return F.cross_entropy(model.language_logits(a), of_a) + F.cross_entropy(model.language_logits(b), of_b)


def _baseline_losses(
    model: MeaningLanguage,
    data: DisentangleData,
    config: MeaningLanguageConfig,
    batch: Tensor,
) -> Losses:
    """Compute all losses for a batch (B, 4)."""
    sentences = data.sentences
    cls = sentences.states.first(batch.T.flatten())  # (4B, d)
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
            "language": lambda: _language_loss(model, l_a, l_b, sentences.language[batch.T[:2]]),
            "repulsion": lambda: language_repulsion(l_a, l_b),
        },
    )
