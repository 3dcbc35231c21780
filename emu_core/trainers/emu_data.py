"""Emu's training data: sentences tokenised once and checked, and the seeded draws of batches from them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from emu_core.config import Adversary, EmuConfig, Objective
from emu_core.data.labelled import LabelledSet, UnlabelledSet
from emu_core.encoders.base import Encoder, TokenIds
from emu_core.errors import TrainingError


@dataclass(frozen=True)
class Batch:
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
    """Labelled sentences of one language: token ids, class numbers and parallel ids ("" where unknown)."""

    ids: list[TokenIds]
    labels: list[int]
    keys: list[str]

    def batch(self, language: str, rows: Sequence[int]) -> Batch:
        """Return the sentences at `rows`."""
        rows = list(rows)
        return Batch(language, rows, [self.ids[r] for r in rows], [self.labels[r] for r in rows])


@dataclass(frozen=True)
class TrainingData:
    """Sentences tokenised once.

    Attributes:
        labelled: by training language.
        unlabelled: by adversarial language; empty without an adversary.
        translations: by adversarial language and parallel id; empty but for Emu-Parallel.
        intents: the class names, in the order of the class numbers.
        warnings: what there is little of, a sentence each.
    """

    labelled: dict[str, Labelled]
    unlabelled: dict[str, list[TokenIds]]
    translations: dict[str, dict[str, TokenIds]]
    intents: tuple[str, ...]
    warnings: tuple[str, ...]


def prepare(
    encoder: Encoder,
    labelled: LabelledSet,
    unlabelled: UnlabelledSet | None,
    train_languages: Sequence[str],
    config: EmuConfig,
) -> TrainingData:
    """Tokenise and check the sentences.

    Args:
        encoder: its tokenizer is used.
        labelled: the rows to train on; those outside `train_languages` are not read.
        unlabelled: the adversarial languages' sentences.
        train_languages: languages whose labels are used.
        config: what the method needs.

    Raises:
        TrainingError: nothing to train on, with how to fix it.
    """
    part = labelled.select(languages=train_languages)
    intents = _intents(part, train_languages)
    number = {intent: i for i, intent in enumerate(intents)}
    sentences: dict[str, Labelled] = {}
    warnings: list[str] = []
    for language in train_languages:
        frame = part.select(languages=[language]).frame
        sentences[language] = Labelled(
            encoder.token_ids(frame["text"].tolist()),
            [number[intent] for intent in frame["intent"]],
            frame["id"].tolist(),
        )
        warnings += _thin(frame["intent"].tolist(), language, config)
    unlabelled_ids: dict[str, list[TokenIds]] = {}
    translations: dict[str, dict[str, TokenIds]] = {}
    if config.adversary is not Adversary.NONE:
        others = _other_languages(unlabelled, train_languages)
        for language, (texts, keys) in others.items():
            ids = encoder.token_ids(texts)
            if config.parallel:
                translations[language] = dict(zip(keys, ids, strict=True))
            else:
                unlabelled_ids[language] = ids
                if len(texts) < config.batch_size:
                    warnings.append(
                        f"only {len(texts)} unlabelled sentences in {language}, fewer than a batch of "
                        f"{config.batch_size}: they are drawn again and again; add more of them"
                    )
        if config.parallel:
            _check_parallel(sentences, translations)
    return TrainingData(sentences, unlabelled_ids, translations, intents, tuple(warnings))


def labelled_rows(
    labelled: LabelledSet, train_languages: Sequence[str]
) -> tuple[list[str], list[int], list[str]]:
    """Return the training languages' sentences, their class numbers, in the order of the intents' names, and their ids.

    Raises:
        TrainingError: they have a single intent, with how to fix it.
    """
    part = labelled.select(languages=train_languages)
    number = {intent: i for i, intent in enumerate(_intents(part, train_languages))}
    frame = part.frame
    return frame["text"].tolist(), [number[intent] for intent in frame["intent"]], frame["id"].tolist()


def _intents(part: LabelledSet, train_languages: Sequence[str]) -> tuple[str, ...]:
    intents = part.intents
    if len(intents) < 2:
        raise TrainingError(
            f"the labelled sentences in {', '.join(train_languages)} have the single intent '{intents[0]}'; "
            "add sentences of another, or choose another training language"
        )
    return intents


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
) -> dict[str, tuple[list[str], list[str]]]:
    frames = {} if unlabelled is None else dict(iter(unlabelled.frame.groupby("language")))
    others = {str(language): (f["text"].tolist(), f["id"].tolist()) for language, f in frames.items()}
    for t in train_languages:
        if not any(language != t for language in others):
            raise TrainingError(
                f"the language discriminator needs unlabelled sentences in a language other than {t}; add them "
                "(--unlabelled FILE) or use the method emu-without-ld"
            )
    return others


def _check_parallel(labelled: dict[str, Labelled], translations: dict[str, dict[str, TokenIds]]) -> None:
    for t, sentences in labelled.items():
        for language, translated in translations.items():
            missing = 0 if language == t else sum(not key or key not in translated for key in sentences.keys)
            if missing:
                raise TrainingError(
                    f"emu-parallel needs each labelled sentence's translation by id; {missing} of "
                    f"{len(sentences.keys)} in {t} have none in {language}: add an id column, leave {language} out, "
                    "or use the method emu"
                )


def epoch_batches(
    labelled: Mapping[str, Labelled], batch_size: int, rng: np.random.Generator
) -> Iterator[Batch]:
    """Yield one pass over all labelled sentences; each batch is of one language, languages in random order.

    Drawing the order of the batches is Emu's random choice of t without leaving any sentence out.
    """
    batches: list[tuple[str, list[int]]] = []
    for language, sentences in labelled.items():
        order = rng.permutation(len(sentences.ids)).tolist()
        cuts = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
        if len(cuts) > 1 and len(cuts[-1]) == 1:  # a batch of one sentence teaches no loss anything
            cuts[-2:] = [cuts[-2] + cuts[-1]]
        batches += [(language, cut) for cut in cuts]
    for i in rng.permutation(len(batches)).tolist():
        language, rows = batches[i]
        yield labelled[language].batch(language, rows)


def draw_rows(pool: int, count: int, rng: np.random.Generator) -> list[int]:
    """Draw `count` row numbers below `pool`, afresh; with replacement only where the pool is smaller."""
    return rng.choice(pool, size=count, replace=pool < count).tolist()


def partners(batch: Batch, labelled: Labelled, rng: np.random.Generator) -> Batch:
    """Draw a second sentence for each of the batch, of the same class for every other one (the contrastive loss).

    A sentence whose class has no second sentence gets a partner of another class.
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
    """Draw rows of anchors and of their positives, of at most `count` different classes with two sentences or more."""
    by_class = {c: rows for c, rows in rows_by_class(labelled.labels).items() if len(rows) > 1}
    chosen = rng.permutation(sorted(by_class))[:count].tolist()
    pairs = [rng.choice(by_class[c], size=2, replace=False).tolist() for c in chosen]
    return [a for a, _ in pairs], [p for _, p in pairs]


def rows_by_class(labels: Sequence[int]) -> dict[int, list[int]]:
    """Return the row numbers of each class."""
    rows: dict[int, list[int]] = {}
    for row, label in enumerate(labels):
        rows.setdefault(label, []).append(row)
    return rows
