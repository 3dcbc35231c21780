"""Fitting the head method, without gradients: the encoder runs once over each sentence.

In all functions, `x` (N, d) are the training sentences' vectors in the space of the head, of length 1, and `classes`
their class numbers, from 0. `ids` are N, or none: sentences with the same id, unless it is empty, are translations or
repeats, which are held out together so that they do not reveal each other's class. All draws have a fixed seed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import polar
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from torch import Tensor

from emu_core.encoders.base import FloatArray
from emu_core.errors import Fix, TrainingError
from emu_core.evaluation.changes import LeftOut, cross_validation, new_intent_change
from emu_core.evaluation.classifier import fitted, regression
from emu_core.evaluation.run_metrics import StrengthMetrics
from emu_core.intents.regression import (
    GROUP,
    LEAST_OF_INTENT,
    MANY,
    Classes,
    Matrix,
    sampled_rows,
    weights,
    weights_of_all,
)
from emu_core.intents.space import language_axes
from emu_core.intents.whitening import NewIntentGain, class_means, gain_of_new_intents, learn_spread
from emu_core.methods.head.head import (
    TINY,
    IntentHead,
    nearness,
    neutral,
    signs_of_intent,
    spread_out,
)
from emu_core.methods.head.settings import HeadConfig
from emu_core.threads import one_thread_for_small_products

_Rows = NDArray[np.intp] | Sequence[int]

_BLOCK = 1024  # rows of cosines in memory at once
SENTENCES = 4  # parts of the sentences, one of which is left out together with a part of the intents
OPEN = -1e4  # a nearness that every sentence exceeds
FEW_SENTENCES = (
    200  # with many intents, so many serve to learn penalty and gate, and to measure intents left out
)
CROSS_VALIDATED = 2_000  # sentences at most: five heads are fitted on four fifths of them
DENSE = 2**24  # largest size of a dense matrix of sentences and intents (64 MB)
MOST_WHITENING = 0.9  # that may be chosen: at 1, there must be more sentences than dimensions
NEAR_ROWS = 4096  # rows whose nearness to all others is measured; of more, this many are drawn


@dataclass(frozen=True, eq=False)
class Examples:
    """N labelled sentences to fit a head on."""

    vectors: FloatArray  # (N, d), of the base encoder
    labels: Sequence[int]  # N class numbers, from 0, without gaps
    # By language, vectors (M, d) of the same M sentences, whose means differ only by language. May be empty if the
    # settings remove neither language directions nor a center.
    reference: Mapping[str, FloatArray] = field(default_factory=dict)
    ids: Sequence[str] = ()

    @cached_property
    def classes(self) -> Classes:
        """The labels (N,)."""
        return np.asarray(self.labels, dtype=np.int64)

    def take(self, rows: _Rows) -> "Examples":
        """Return some rows, with their classes numbered from 0."""
        labels = np.unique(self.classes[rows], return_inverse=True)[1].tolist()
        ids = [self.ids[row] for row in rows] if self.ids else ()
        return replace(self, vectors=self.vectors[rows], labels=labels, ids=ids)


def fit_head(examples: Examples, config: HeadConfig, inverse_penalty: float | None = None) -> IntentHead:
    """Fit the head, with the settings and C of the logistic regression as given, or both chosen on the labels.

    Raises:
        TrainingError: there are fewer than two classes.
    """
    classes = examples.classes
    if len(set(examples.labels)) < 2:
        raise TrainingError("a posterior is over two intents or more; add sentences of another")
    if inverse_penalty is None:
        config = choose_strength(examples, config).settings
        inverse_penalty = choose_penalty(examples, config)
    x, directions, center, spread = _space(examples, config)
    wide = x.numpy().astype(np.float64)
    with one_thread_for_small_products():
        rows = _few_intents(classes)
        few = examples.take(rows)
        known = learn_known(x[torch.from_numpy(rows)], few.classes, config, inverse_penalty, few.ids)
        weight, bias = weights_of_all(wide, classes, inverse_penalty)
    near = _nearness(x, config.gate_temperature)
    return IntentHead(
        {
            "directions": directions,
            "center": center,
            "anchors": x,
            "members": _members_of_head(classes),
            "weight": torch.from_numpy(weight.astype(np.float32)),
            "bias": torch.from_numpy(bias.astype(np.float32)),
            "spread": spread,
            "known": known,
            "intent_vectors": intent_vectors(wide, classes),
        },
        share=config.share,
        temperature=config.kernel_temperature,
        softening=config.softening,
        gate_temperature=config.gate_temperature,
        # Without a learnt second factor, the first one must exclude sentences of other kinds.
        gate_at=float(np.quantile(near, config.gate_quantile))
        if config.gate_quantile or not len(known)
        else OPEN,
        gate_slope=max(config.gate_width * float(near.std()), 1e-6),
    )


@dataclass(frozen=True)
class Strength:
    """The settings to fit with, and what left-out intents would gain by the stronger ones; None if not measured."""

    settings: HeadConfig
    gain: NewIntentGain | None

    @property
    def is_stronger(self) -> bool:
        """Whether these are the stronger settings."""
        return self.gain is not None and self.gain.is_clear

    def metrics(self) -> StrengthMetrics | None:
        """Return whitening, share, whether they are the stronger ones, and the gain; None if not measured."""
        if self.gain is None:
            return None
        used = self.settings
        return StrengthMetrics(used.whitening, used.share, self.is_stronger, self.gain.mean, self.gain.error)


def choose_strength(examples: Examples, config: HeadConfig) -> Strength:
    """Choose the stronger whitening and share where intents that are left out clearly gain by the whitening.

    The settings returned have them as `whitening` and `share`, and nothing left to choose.
    """
    weak = replace(config, whitening_factor=1.0)
    stronger = min(config.whitening_factor * config.whitening, MOST_WHITENING)
    if stronger <= config.whitening:
        return Strength(weak, None)
    rows = _few_intents(examples.classes)
    rows = np.sort(np.random.default_rng(0).permutation(rows)[:GATE_MAX_ROWS])
    few = examples.take(rows)
    x = _neutral(few, config)[0].numpy().astype(np.float64)
    group = _groups(few.ids or [""] * len(x))
    with one_thread_for_small_products():
        gain = gain_of_new_intents(x, few.classes, group, config.whitening, stronger)
    if gain is None or not gain.is_clear:
        return Strength(weak, gain)
    share = min(config.share_factor * config.share, 1.0)
    return Strength(replace(weak, whitening=stronger, share=share), gain)


def choose_penalty(examples: Examples, config: HeadConfig) -> float:
    """Choose C of the logistic regression; see `choose_inverse_penalty`."""
    x = _space(examples, config)[0].numpy().astype(np.float64)
    with one_thread_for_small_products():
        rows = _few_intents(examples.classes)
        few = examples.take(rows)
        return choose_inverse_penalty(x[rows], few.classes, config.kernel_temperature, few.ids)


def samples(labels: Sequence[int]) -> tuple[str, ...]:
    """Return a sentence on each draw from many sentences or intents."""
    cautions, rows, k = [], sampled_rows(labels), max(labels) + 1
    if len(rows) < len(labels):
        cautions.append(
            f"to save time, {len(rows):,} of {len(labels):,} labelled sentences were used, drawn with seed 0: each "
            f"intent's share, but at least {LEAST_OF_INTENT}"
        )
    if k > MANY:
        cautions.append(
            f"{k:,} intents are told apart in groups of at most {GROUP}; penalty, gate and gain of new intents are "
            f"those of {FEW_SENTENCES} of them, drawn with seed 0"
        )
    return tuple(cautions)


def _few_intents(classes: Classes) -> NDArray[np.intp]:
    """Return the rows of all intents, or of `FEW_SENTENCES` drawn ones of many."""
    k = int(classes.max()) + 1
    drawn = np.arange(k) if k <= MANY else np.random.default_rng(0).permutation(k)[:FEW_SENTENCES]
    return np.flatnonzero(np.isin(classes, drawn))


def new_intents(
    examples: Examples, languages: Sequence[str], config: HeadConfig, inverse_penalty: float
) -> LeftOut | None:
    """Measure the gain or loss of sentences whose intents were left out; see `new_intent_change`.

    All heads have these settings and this penalty, which all labels chose.
    """
    few = _few_intents(examples.classes)
    return _left_out(
        examples.take(few), [languages[row] for row in few], config, inverse_penalty, new_intent_change
    )


def cross_validated(examples: Examples, languages: Sequence[str], config: HeadConfig) -> LeftOut | None:
    """Measure the gain or loss of sentences that were left out; see `cross_validation`.

    Each head chooses its own settings and penalty. Many sentences are sampled, which finds less than all would.
    """
    few = _few_intents(examples.classes)
    few = few[sampled_rows(examples.take(few).labels, CROSS_VALIDATED)]
    return _left_out(examples.take(few), [languages[row] for row in few], config, None, cross_validation)


def _left_out(
    examples: Examples,
    languages: Sequence[str],
    config: HeadConfig,
    inverse_penalty: float | None,
    measure: Callable[..., LeftOut | None],
) -> LeftOut | None:
    def refit(rows: NDArray[np.intp]) -> Callable[[FloatArray], FloatArray]:
        head = fit_head(examples.take(rows), config, inverse_penalty)
        return lambda asked: head.in_parts(torch.from_numpy(asked)).numpy()

    names = list(map(str, examples.labels))
    return measure(examples.vectors, names, languages, examples.ids, refit, most_rows=GATE_MAX_ROWS)


def _space(examples: Examples, config: HeadConfig) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return `x` (N, d), and the directions, the center and the map that lead to its space."""
    x, directions, center = _neutral(examples, config)
    group = _groups(examples.ids or [""] * len(x))
    spread = learn_spread(x.numpy().astype(np.float64), examples.classes, group, config.whitening)
    return spread_out(x, spread), directions, center, spread


def _neutral(examples: Examples, config: HeadConfig) -> tuple[Tensor, Tensor, Tensor]:
    """Return the vectors (N, d) without language directions and center, and these two."""
    directions, center = language_space(examples.reference, config, examples.vectors.shape[1])
    vectors = torch.from_numpy(np.array(examples.vectors, dtype=np.float32))
    return neutral(vectors, directions, center), directions, center


def language_space(
    reference: Mapping[str, FloatArray], config: HeadConfig, dim: int
) -> tuple[Tensor, Tensor]:
    """Return the directions (n, dim) in which the languages' means differ most, and the part of the mean to remove.

    Raises:
        TrainingError: the reference has too few languages for the number of directions.
    """
    if not config.evens_languages:
        return torch.zeros(0, dim), torch.zeros(dim)
    if config.language_directions >= len(reference):
        raise TrainingError(
            f"{len(reference)} languages differ in {max(0, len(reference) - 1)} directions at most, not in "
            f"{config.language_directions}; lower ",
            Fix("language_directions"),
        )
    directions, center = language_axes(reference, config.language_directions, config.centering, dim)
    return torch.from_numpy(directions.astype(np.float32)), torch.from_numpy(center.astype(np.float32))


def evened_languages(
    vectors: FloatArray, reference: Mapping[str, FloatArray], config: HeadConfig
) -> FloatArray:
    """Return the method's first step alone: unit vectors (N, d) without language directions and common mean."""
    space = language_space(reference, config, vectors.shape[1])
    evened: FloatArray = neutral(torch.from_numpy(np.array(vectors, dtype=np.float32)), *space).numpy()
    return evened


def intent_vectors(x: Matrix, classes: Classes) -> Tensor:
    """Return the vectors (k, d) that embeddings are moved towards: T of `IntentHead`.

    Moving embeddings towards the means themselves would leave intents with similar means close together. These are the
    orthonormal rows nearest to the centred means, the polar factor. Of more intents than dimensions, the columns are
    orthonormal instead.
    """
    centers = class_means(x, classes)
    return torch.from_numpy(polar(centers - centers.mean(axis=0))[0].astype(np.float32))


def _nearness(x: Tensor, temperature: float) -> NDArray[np.float32]:
    """Return the nearness of each row to the others, or that of a sample of many rows: (N,) or fewer."""
    near, rows = [], torch.arange(len(x))
    if len(x) > 2 * NEAR_ROWS:
        rows = torch.from_numpy(np.random.default_rng(0).permutation(len(x))[:NEAR_ROWS])
    for part in rows.split(_BLOCK):
        cosines = x[part] @ x.T
        cosines[torch.arange(len(part)), part] = -torch.inf
        near.append(nearness(cosines, temperature)[:, 0])
    nearness_of_row: NDArray[np.float32] = torch.cat(near).numpy()
    return nearness_of_row


INVERSE_PENALTIES = (10.0, 30.0, 100.0, 300.0, 1000.0)  # C of the logistic regression
USUAL_PENALTY = 10.0
HEAD_FOLDS = 5
GATE_MAX_ROWS = 1500  # held out in turn; of more, this many are drawn
ALIKE = 0.02
"""Nats of cross-entropy, a fiftieth of the right intent's probability, by which a posterior may be worse than the best.

Held-out sentences share wordings with others in their language, which flatters a loose fit; sentences in other
languages do not."""
TEMPERATURES = (0.5, 8.0)  # the smallest and the largest


def choose_inverse_penalty(
    x: Matrix, classes: Classes, kernel_temperature: float, ids: Sequence[str] = ()
) -> float:
    """Return C of the regression whose posterior predicts held-out sentences best, or nearly so.

    The measure is the cross-entropy at the temperature that calibrates each (Guo et al. 2017, section 4.2), so that not
    the confidence of a posterior decides, but its ranking. Of those that are worse than the best by no more than
    `ALIKE`, or than the standard error of the difference, the smallest C is taken: the smoother a posterior, the closer
    it leaves two translations. `USUAL_PENALTY` is returned if each class has one sentence, and none can be held out.
    """
    group = _groups(ids or [""] * len(x))
    group = np.random.default_rng(0).permutation(group.max() + 1)[group]
    rows = np.argsort(group, kind="stable")[:GATE_MAX_ROWS]
    x, classes = x[rows], classes[rows]
    scores = _held_out_scores(x, classes, group[rows], kernel_temperature)
    usable = np.flatnonzero(~np.isnan(scores[0]).any(axis=1))
    if not len(usable):
        return USUAL_PENALTY
    losses = np.stack([_calibrated_losses(of[usable], classes[usable]) for of in scores])
    worse = losses - losses[int(np.argmin(losses.mean(axis=1)))]
    error = worse.std(axis=1) / np.sqrt(len(usable))
    as_good = worse.mean(axis=1) <= np.maximum(error, ALIKE)
    return INVERSE_PENALTIES[int(np.argmax(as_good))]


def members(classes: Classes, k: int) -> Matrix:
    """Return (N, k): 1 / sqrt(n_c) in the column of a sentence's class, 0 elsewhere."""
    count = np.bincount(classes, minlength=k)
    membership = np.zeros((len(classes), k))
    membership[np.arange(len(classes)), classes] = 1 / np.sqrt(count[classes])
    return membership


def _members_of_head(classes: Classes) -> Tensor:
    """Return `members` (N, k), or the class numbers (N,) if that would be large, as a head takes them."""
    k = int(classes.max()) + 1
    if len(classes) * k > DENSE:
        return torch.from_numpy(classes)
    return torch.from_numpy(members(classes, k).astype(np.float32))


def _groups(ids: Sequence[str]) -> Classes:
    """Return the number of each sentence's id; sentences without an id have their own."""
    number: dict[str | int, int] = {}
    return np.array([number.setdefault(name or row, len(number)) for row, name in enumerate(ids)])


def _held_out_scores(x: Matrix, classes: Classes, group: Classes, kernel_temperature: float) -> list[Matrix]:
    """Return for each penalty (N, k): log f(c), fitted without the sentence; NaN if its class was missing."""
    k = int(classes.max()) + 1
    scores = [np.full((len(x), k), np.nan) for _ in INVERSE_PENALTIES]
    names = np.unique(group)
    for held_out in np.array_split(names, min(HEAD_FOLDS, len(names))):
        held = np.isin(group, held_out)
        part, others = np.flatnonzero(held), np.flatnonzero(~held)
        classes_there = np.unique(classes[others])
        measured = part[np.isin(classes[part], classes_there)]
        if len(classes_there) < 2 or not len(measured):
            continue
        kernel = np.exp((x[measured] @ x[others].T - 1) / kernel_temperature)
        density = np.log(kernel @ members(classes[others], k) + TINY)
        model = regression(INVERSE_PENALTIES[0])
        for penalty, penalty_scores in zip(INVERSE_PENALTIES, scores, strict=True):
            weight, bias = weights(fitted(model.set_params(C=penalty), x[others], classes[others]))
            of_all = np.full((len(measured), k), np.log(TINY))
            of_all[:, classes_there] = x[measured] @ weight.T + bias
            penalty_scores[measured] = of_all + density
    return scores


def _calibrated_losses(scores: Matrix, classes: Classes) -> Matrix:
    """Return each sentence's cross-entropy (N,), at the temperature with the smallest mean."""

    def losses(log_temperature: float) -> Matrix:
        logs: Matrix = log_softmax(scores / np.exp(log_temperature), axis=1)
        return -logs[np.arange(len(logs)), classes]

    least = minimize_scalar(lambda t: losses(t).mean(), bounds=tuple(np.log(TEMPERATURES)), method="bounded")
    return losses(float(least.x))


def learn_known(
    x: Tensor, classes: Classes, config: HeadConfig, inverse_penalty: float, ids: Sequence[str] = ()
) -> Tensor:
    """Learn the weights (3,) of the gate: u_0, u_1 and u_2 of `IntentHead`.

    Intents and sentences are divided into parts. A part of the intents and a part of the other intents' sentences are
    left out, and a head is fitted on the rest. What it computes for both are the examples of a logistic regression: of
    no labelled intent, and of one. Both kinds have the same weight. With too few intents to leave one out, or a single
    part, there are no weights: (0,).
    """
    # First the sentences (translations together) and the intents are divided into parts.
    drawn = np.random.default_rng(0)
    group = _groups(ids or [""] * len(x))
    part_of_group = drawn.permutation(group.max() + 1) % SENTENCES
    rows = np.sort(drawn.permutation(len(x))[:GATE_MAX_ROWS])
    x, classes, sentence_part = x[torch.from_numpy(rows)], classes[rows], part_of_group[group[rows]]
    k = int(classes.max()) + 1
    parts = max(1, min(config.intent_parts, k))
    intent_part = drawn.permutation(k) % parts
    # Then each part of the intents is left out in turn, with a part of the sentences of the others, and the signs of
    # intent are computed for both by a head fitted on the remaining sentences.
    signs: list[NDArray[np.float64]] = []
    known: list[bool] = []
    for part in range(parts if parts > 1 else 0):
        is_new = intent_part[classes] == part
        is_held_out = ~is_new & (sentence_part == part % SENTENCES)
        is_fitted = ~is_new & ~is_held_out
        known_classes, labels = np.unique(classes[is_fitted], return_inverse=True)
        if len(known_classes) < 2:
            continue
        model = fitted(regression(inverse_penalty), x[is_fitted].numpy().astype(np.float64), labels)
        weight, bias = (torch.from_numpy(array.astype(np.float32)) for array in weights(model))
        belongs = torch.from_numpy(members(labels, len(known_classes)).astype(np.float32))
        for is_query, is_known in ((is_new, False), (is_held_out & np.isin(classes, known_classes), True)):
            queries = x[is_query]
            row_signs = signs_of_intent(
                queries @ weight.T + bias, queries @ x[is_fitted].T, belongs, config.gate_temperature
            )
            signs.append(row_signs.double().numpy())
            known += [is_known] * len(row_signs)
    if len(set(known)) < 2:
        return torch.zeros(0)
    from sklearn.linear_model import LogisticRegression

    wide = np.concatenate(signs)
    mean, scale = wide.mean(axis=0), np.maximum(wide.std(axis=0), 1e-6)
    learnt = LogisticRegression(class_weight="balanced").fit((wide - mean) / scale, known)
    slopes = learnt.coef_[0] / scale
    return torch.tensor([learnt.intercept_[0] - slopes @ mean, *slopes], dtype=torch.float32)
