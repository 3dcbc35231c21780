"""Emu's training data: tokenised sentences, seeded draws of batches, and the alarm for a collapse of the vectors."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import nn

from emu_core.data.sets import LabelledSet, UnlabelledSet
from emu_core.encoders.base import TokenIds
from emu_core.errors import Fix, TrainingError
from emu_core.methods.emu.settings import EmuConfig, Objective, has_adversary
from emu_core.training.labels import labelled_rows, rows_by_class


@dataclass(frozen=True)
class EmuBatch:
    """Labelled sentences of one training language."""

    language: str
    rows: list[int]
    ids: list[TokenIds]
    labels: list[int]

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self.ids)


@dataclass(frozen=True)
class Labelled:
    """Labelled sentences of one language: token ids, class numbers and parallel ids ("" if unknown)."""

    ids: list[TokenIds]
    labels: list[int]
    keys: list[str]

    def batch(self, language: str, rows: Sequence[int]) -> EmuBatch:
        """Return the sentences at `rows`."""
        rows = list(rows)
        return EmuBatch(language, rows, [self.ids[r] for r in rows], [self.labels[r] for r in rows])


@dataclass(frozen=True)
class TrainingData:
    """The sentences of a training, of which those without labels are tokenised when they are drawn."""

    labelled: dict[str, Labelled]  # by training language
    # By adversarial language, if there is an adversary, and then by row, or by parallel id for Emu-Parallel.
    unlabelled: dict[str, dict[Any, str]]
    intents: tuple[str, ...]  # in the order of the class numbers
    warnings: tuple[str, ...]
    tokens: Callable[[str], TokenIds]  # remembers the sentences that were drawn


def prepare_batches(
    token_ids: Callable[[Sequence[str]], list[TokenIds]],
    labelled: LabelledSet,
    unlabelled: UnlabelledSet | None,
    train_languages: Sequence[str],
    config: EmuConfig,
) -> TrainingData:
    """Tokenise and check the sentences.

    Args:
        token_ids: the encoder's tokenizer.
        labelled: the rows to train on; only those in `train_languages` are read.
        unlabelled: sentences in the adversarial languages.
        train_languages: languages whose labels are used.
        config: decides which data are needed.

    Raises:
        TrainingError: the data do not suffice.
    """
    rows = labelled_rows(labelled, train_languages)
    sentences: dict[str, Labelled] = {}
    warnings: list[str] = []
    for language in train_languages:
        language_rows = rows[rows["language"] == language]
        texts, labels, ids, intents = (
            language_rows[name].tolist() for name in ("text", "label", "id", "intent")
        )
        sentences[language] = Labelled(token_ids(texts), labels, ids)
        warnings += _thin(intents, language, config)
    others: dict[str, dict[Any, str]] = {}
    if has_adversary(config):
        for language, frame in _other_languages(unlabelled, train_languages).items():
            keys = frame["id"] if config.parallel else range(len(frame))
            others[language] = dict(zip(keys, frame["text"].tolist(), strict=True))
            if len(frame) < config.batch_size and not config.parallel:
                warnings.append(
                    f"only {len(frame)} unlabelled sentences in {language}, fewer than a batch of "
                    f"{config.batch_size}: they are drawn again and again; add more of them"
                )
        if config.parallel:
            _check_parallel(sentences, others)
    tokens = cache(lambda text: token_ids([text])[0])
    intents = tuple(sorted(set(rows["intent"])))
    return TrainingData(sentences, others, intents, tuple(warnings), tokens)


def _thin(intents: list[str], language: str, config: EmuConfig) -> list[str]:
    count = Counter(intents)
    if len(count) < 2:
        raise TrainingError(
            f"every labelled sentence in {language} has the intent '{intents[0]}', so each batch would be of one "
            "class; add sentences of another intent, or leave that language out"
        )
    single = sorted(intent for intent, n in count.items() if n == 1)
    if config.objective is Objective.N_PAIR and len(count) - len(single) < 2:
        raise TrainingError(
            f"N-pair needs two intents with two sentences or more in {language}; add sentences, or use another method"
        )
    if not single:
        return []
    left_out = " and N-pair can't use them" if config.objective is Objective.N_PAIR else ""
    return [
        f"one sentence only in {language} of: {', '.join(single[:5])}{' ...' if len(single) > 5 else ''}; "
        f"nothing can be learnt about what its sentences share{left_out}; add a second one"
    ]


def _other_languages(
    unlabelled: UnlabelledSet | None, train_languages: Sequence[str]
) -> dict[str, pd.DataFrame]:
    groups = () if unlabelled is None else unlabelled.frame.groupby("language")
    others = {str(language): frame for language, frame in groups}
    for t in train_languages:
        if not any(language != t for language in others):
            raise TrainingError(
                f"the language discriminator needs unlabelled sentences in a language other than {t}; add them "
                "(",
                Fix("unlabelled"),
                ") or use the method emu-without-ld",
            )
    return others


def _check_parallel(labelled: dict[str, Labelled], translations: dict[str, dict[Any, str]]) -> None:
    for t, sentences in labelled.items():
        for language, translated in translations.items():
            missing = 0 if language == t else sum(not key or key not in translated for key in sentences.keys)
            if missing:
                raise TrainingError(
                    f"emu-parallel needs each labelled sentence's translation by id; {missing} of "
                    f"{len(sentences.keys)} in {t} have none in {language}: add ids, the same for translations (",
                    Fix("id_column"),
                    f"), leave {language} out, or use the method emu",
                )


def epoch_batches(
    labelled: Mapping[str, Labelled], batch_size: int, rng: np.random.Generator
) -> Iterator[EmuBatch]:
    """Yield the batches of one pass over all labelled sentences in random order, each in a single language.

    The random order implements Emu's random choice of t without leaving out any sentence.
    """
    batches: list[tuple[str, list[int]]] = []
    for language, sentences in labelled.items():
        order = rng.permutation(len(sentences.ids)).tolist()
        cuts = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
        if len(cuts) > 1 and len(cuts[-1]) == 1:  # no loss can learn from a single sentence
            cuts[-2:] = [cuts[-2] + cuts[-1]]
        batches += [(language, cut) for cut in cuts]
    for i in rng.permutation(len(batches)).tolist():
        language, rows = batches[i]
        yield labelled[language].batch(language, rows)


def draw_rows(pool: int, count: int, rng: np.random.Generator) -> list[int]:
    """Draw `count` row numbers below `pool`; with replacement only if the pool is smaller."""
    return rng.choice(pool, size=count, replace=pool < count).tolist()


def partners(batch: EmuBatch, labelled: Labelled, rng: np.random.Generator) -> EmuBatch:
    """Draw a partner for each sentence of the batch, alternately of the same and of another class (contrastive loss).

    A sentence that is the only one of its class gets a partner of another class.
    """
    by_class = rows_by_class(labelled.labels)
    classes = np.asarray(labelled.labels)
    rows = []
    for i, (row, label) in enumerate(zip(batch.rows, batch.labels, strict=True)):
        same = [r for r in by_class[label] if r != row]
        options = same if i % 2 == 0 and same else np.flatnonzero(classes != label).tolist()
        rows.append(int(rng.choice(options)))
    return labelled.batch(batch.language, rows)


def n_pairs(labelled: Labelled, count: int, rng: np.random.Generator) -> tuple[list[int], list[int]]:
    """Draw rows of anchors and their positives, from at most `count` different classes with two or more sentences."""
    by_class = {c: rows for c, rows in rows_by_class(labelled.labels).items() if len(rows) > 1}
    chosen = rng.permutation(sorted(by_class))[:count].tolist()
    pairs = [rng.choice(by_class[c], size=2, replace=False).tolist() for c in chosen]
    return [a for a, _ in pairs], [p for _, p in pairs]


WATCHED_MAX_SENTENCES = 64
"""Size of the watched sample; a larger one would noticeably slow down epochs over a few hundred rows."""

CLOSE, NEARER = 0.95, 0.5
"""A mean cosine above `CLOSE` is an alarm if training also closed at least the share `NEARER` of its distance to 1.

Some encoders start high: any two sentences of e5 have a cosine of 0.8 or more, so going from 0.94 to 0.96 is no
collapse."""

RANK_LEFT, RANK_OF_INTENTS = 0.25, 0.5
"""An effective rank below both shares is an alarm: `RANK_LEFT` of the base encoder's rank, and `RANK_OF_INTENTS` of the
directions that separate the intents, one fewer than there are intents.

A softmax over few intents that is trained for long loses all other directions without harm to the intents; the
forgetting check measures what that costs. Rare intents contribute little variance, hence half."""

ONE_CLASS = 0.2  # share of single-intent batches that is an alarm: there, softmax learns only the class prior
DEAD = 0.1  # share of steps without a usable gradient that is an alarm

_NOISE = 1e-6  # smaller singular values of unit vectors are float32 rounding errors


@dataclass(frozen=True)
class Spread:
    """How far apart some sentences' vectors are."""

    mean_cosine: float  # over all pairs of sentences
    effective_rank: float  # effective number of dimensions that the vectors vary in; 0 if all are equal


def vector_spread(vectors: NDArray[np.float32]) -> Spread:
    """Measure the spread of vectors (N, d), N at least 2, normalised to length 1.

    The effective rank is exp(H(p)) (Roy and Vetterli 2007), with p the shares of variance: of the squared singular
    values, where theirs are of the singular values. The vectors are centred first; otherwise an encoder whose vectors
    share a direction, such as e5, would have a rank of little more than 1 from the start.

    Raises:
        TrainingError: a vector is not finite.
    """
    if not np.isfinite(vectors).all():
        raise TrainingError(
            "the encoder's vectors are no longer finite numbers; lower ",
            Fix("learning_rate"),
            " and train again",
        )
    wide = vectors.astype(np.float64)
    units = wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    n = len(units)
    total = units.sum(axis=0)
    mean_cosine = float((total @ total - (units * units).sum()) / (n * (n - 1)))
    centred = units - total / n
    squares = np.linalg.eigvalsh(centred @ centred.T)  # squared singular values, ten times faster than by SVD
    squares = squares[squares > _NOISE**2 * n]
    shares = squares / squares.sum()
    rank = float(np.exp(-(shares * np.log(shares)).sum())) if len(shares) else 0.0
    return Spread(mean_cosine, rank)


def watched(labelled: Mapping[str, Labelled], seed: int) -> list[TokenIds]:
    """Draw a fixed sample of the training sentences, by a generator of its own, to measure the spread of."""
    ids = [sentence for sentences in labelled.values() for sentence in sentences.ids]
    rows = np.random.default_rng([seed, WATCHED_MAX_SENTENCES]).permutation(len(ids))[:WATCHED_MAX_SENTENCES]
    return [ids[row] for row in sorted(rows.tolist())]


def gradient_length(weights: Iterable[nn.Parameter]) -> float:
    """Return the Euclidean norm of the gradient of weights; not finite if a number in it is not.

    Gradients below 1e-23 count as 0, since their squares are 0 in float32.
    """
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    # The largest absolute value would take ten times longer.
    return float(nn.utils.get_total_norm(gradients)) if gradients else 0.0


def spread_alarms(base: Spread, now: Spread, intents: int) -> list[str]:
    """Return a sentence for each way in which the vectors have collapsed since the base encoder."""
    alarms = []
    if now.mean_cosine > CLOSE and 1 - now.mean_cosine <= NEARER * (1 - base.mean_cosine):
        alarms.append(
            f"the vectors have collapsed towards one direction: the mean cosine of two training sentences went from "
            f"{base.mean_cosine:.2f} to {now.mean_cosine:.2f}; lower the learning rate, or train for fewer epochs"
        )
    if now.effective_rank < min(RANK_LEFT * base.effective_rank, RANK_OF_INTENTS * (intents - 1)):
        alarms.append(
            f"the vectors have collapsed into few directions: the effective rank of the training sentences went from "
            f"{base.effective_rank:.1f} to {now.effective_rank:.1f}, too few to keep {intents} intents apart; lower "
            "the learning rate, or train for fewer epochs"
        )
    return alarms


def step_alarms(steps: int, one_class: int, dead: int) -> list[str]:
    """Return a sentence for each reason for which too many steps taught the encoder nothing.

    Args:
        steps: number of steps taken.
        one_class: steps whose batch had a single intent.
        dead: steps in which the encoder's gradient was zero or not finite.
    """
    alarms = []
    if steps and one_class >= ONE_CLASS * steps:
        alarms.append(one_class_warning(steps, one_class))
    if steps and dead >= DEAD * steps:
        alarms.append(
            f"{dead} of {steps} steps left the encoder unchanged, since its gradient was zero or not finite; lower the "
            "learning rate, or choose another method"
        )
    return alarms


def one_class_warning(steps: int, one_class: int) -> str:
    """Return the warning about single-intent batches."""
    return f"{one_class} of {steps} batches held one intent only and taught little; raise the batch size"
