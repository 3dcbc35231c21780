"""The training data of FMDA and its baseline: the states of a frozen encoder, and negatives chosen by BLEU."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from emu_core.data.cleaning import normalised, texts_hash
from emu_core.data.slots.template_pairs import template_pairs
from emu_core.data.slots.utterances import SlotPairs, Utterance
from emu_core.data.wording import counted, shown
from emu_core.encoders.base import ReportProgress
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.token_states import (
    Span,
    TokenStates,
    cls_states,
    joined_states,
    masked_ids,
    template_spans,
    token_states,
)
from emu_core.errors import DataError, in_words
from emu_core.files import whole_file
from emu_core.methods.fmda.settings import FmdaConfig, MeaningLanguageConfig


@dataclass(frozen=True)
class FmdaSentences:
    """N sentences encoded by the frozen encoder. For the baseline, the targets are empty (0, d)."""

    states: TokenStates
    language: Tensor  # (N,), the number of each sentence's language
    template_target: Tensor  # (N, d), [CLS] of the sentence with its slots masked
    residual_target: Tensor  # (N, d), [CLS] with its template masked; 0 for the second of a template pair
    negatives: Tensor  # (N, each), rows of sentences of the same language with another meaning

    @property
    def cls(self) -> Tensor:
        """The [CLS] states (N, d)."""
        return self.states.first(torch.arange(len(self.states), device=self.language.device))


@dataclass(frozen=True)
class HeldOut:
    """Held-out sentences, to choose the epoch by."""

    states: TokenStates
    pairs: list[Tensor]  # for each language pair, rows (P, 2) of sentences of one meaning
    templates: list[Tensor]  # for each language, rows (T, 2) of one template; empty if not needed


@dataclass(frozen=True)
class DisentangleData:
    """The data that training reads."""

    languages: tuple[str, ...]  # codes, in the order of `Sentences.language`
    sentences: FmdaSentences  # the training pairs' sentences, and the template pairs' if there are any
    pairs: Tensor  # (P, 2), rows of translations, of all language pairs together
    template_pairs: Tensor | None  # (T, 2), rows of one template in one language; None for one stage
    held_out: HeldOut | None  # None if nothing was held out
    warnings: tuple[str, ...] = ()  # one sentence each


def prepare_disentangling(
    encoder: TransformerEncoder,
    train: Sequence[SlotPairs],
    dev: Sequence[SlotPairs],
    config: FmdaConfig | MeaningLanguageConfig,
    *,
    seed: int,
    cache: Path | None = None,
    on_progress: ReportProgress | None = None,
) -> DisentangleData:
    """Encode each sentence as it is, with its slots masked and with its template masked, and draw the negatives.

    Args:
        encoder: the frozen encoder, on its device.
        train: language pairs to train on; a language may be in several.
        dev: the same language pairs with other meanings, to choose the epoch; may be empty.
        config: decides which targets are needed.
        seed: for the negatives and the template pairs.
        cache: folder for negatives and states, for other runs on the same sentences.
        on_progress: called with (sentences encoded, total).

    Raises:
        DataError: a sentence has too few negatives, or no template pair can be made.
        EncoderError: slots can't be masked with this encoder.
    """
    # First the distinct utterances are numbered, and in two stages joined by others with their templates.
    languages = tuple(dict.fromkeys(code for pair in train for code in (pair.source, pair.target)))
    utterances, pairs = _numbered(train)
    dev_utterances, dev_pairs = _numbered(dev)
    two_stage = isinstance(config, FmdaConfig) and config.two_stage
    made = template_pairs(utterances, seed=seed) if two_stage else None
    dev_made, dev_templates, warnings = _dev_templates(dev_utterances, languages, seed if two_stage else None)
    same_template = [] if made is None else [targets[0] for targets in made.targets]
    masked = isinstance(config, FmdaConfig)

    # Then the frozen encoder reads each group once: the states of all tokens, and FMDA's targets, which are the [CLS]
    # states of the utterances with their slots masked (template) and with all but their slots masked (residual).
    groups = [utterances, same_template, dev_utterances, dev_made]
    progress_of_group = _told(on_progress, [*map(len, groups), *([len(utterances)] * 2 if masked else [])])
    states = [
        token_states(
            encoder,
            encoder.ids_of([utterance.text for utterance in group]),
            cache=cache,
            on_progress=next(progress_of_group),
        )
        for group in groups
    ]
    template_target = residual_target = torch.empty(0, encoder.state_dim, device=encoder.device)
    if masked:
        texts = [utterance.text for utterance in utterances]
        slots: list[list[Span]] = [
            [(slot.start, slot.end) for slot in utterance.slots] for utterance in utterances
        ]
        templates = [template_spans(len(text), spans) for text, spans in zip(texts, slots, strict=True)]
        template_target, residual_target = (
            cls_states(
                encoder, masked_ids(encoder, texts, spans), cache=cache, on_progress=next(progress_of_group)
            )
            for spans in (slots, templates)
        )
    # At last negatives are drawn, and the utterances added for their templates take over what belongs to them.
    negatives = _negatives(utterances, languages, config.negatives, seed, cache)
    pairs_of_templates = None
    device = encoder.device
    if made is not None:
        # The second utterance of a template pair has the same template target and no residual target.
        rows = torch.tensor(made.rows, device=device)
        template_target = torch.cat([template_target, template_target[rows]])
        residual_target = torch.cat(
            [residual_target, residual_target.new_zeros(len(rows), encoder.state_dim)]
        )
        negatives = np.concatenate([negatives, negatives[list(made.rows)]])
        pairs_of_templates = torch.stack([rows, len(utterances) + torch.arange(len(rows), device=device)], 1)
        utterances = [*utterances, *same_template]
    number = {code: language_number for language_number, code in enumerate(languages)}
    return DisentangleData(
        languages=languages,
        sentences=FmdaSentences(
            states=joined_states(states[:2]),
            language=torch.tensor([number[utterance.language] for utterance in utterances], device=device),
            template_target=template_target,
            residual_target=residual_target,
            negatives=torch.from_numpy(negatives).to(device),
        ),
        pairs=torch.tensor([row for group_rows in pairs for row in group_rows], device=device),
        template_pairs=pairs_of_templates,
        held_out=HeldOut(
            states=joined_states(states[2:]),
            pairs=[torch.tensor(group_rows, device=device) for group_rows in dev_pairs],
            templates=[torch.tensor(group_rows, device=device) for group_rows in dev_templates],
        )
        if dev
        else None,
        warnings=warnings,
    )


def _told(on_progress: ReportProgress | None, sizes: Sequence[int]) -> Iterator[ReportProgress | None]:
    """Yield the callback of each encoding, given their numbers of sentences."""
    for before, size in zip(accumulate(sizes, initial=0), sizes, strict=False):
        yield None if on_progress is None else partial(_tell, on_progress, before, size, sum(sizes))


def _tell(on_progress: ReportProgress, before: int, size: int, total: int, done: int, of: int) -> None:
    on_progress(before + done * size // of, total)


def _numbered(pairs: Sequence[SlotPairs]) -> tuple[list[Utterance], list[list[tuple[int, int]]]]:
    """Return the distinct utterances, and each pair's row numbers among them."""
    rows: dict[tuple[str, str], int] = {}
    utterances: list[Utterance] = []

    def row(utterance: Utterance) -> int:
        number = rows.setdefault((utterance.language, utterance.id), len(utterances))
        if number == len(utterances):
            utterances.append(utterance)
        return number

    numbered = [[(row(a), row(b)) for a, b in zip(pair.first, pair.second, strict=True)] for pair in pairs]
    return utterances, numbered


def _negatives(
    utterances: Sequence[Utterance],
    languages: Sequence[str],
    per_utterance: int,
    seed: int,
    cache: Path | None,
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    negatives = np.empty((len(utterances), per_utterance), dtype=np.int64)
    for language in languages:
        language_rows = np.array(
            [row for row, utterance in enumerate(utterances) if utterance.language == language]
        )
        texts = [utterances[row].text for row in language_rows]
        negatives[language_rows] = language_rows[
            draw_negatives(texts, language, seed=seed, per_text=per_utterance, cache=cache)
        ]
    return negatives


def _dev_templates(
    utterances: Sequence[Utterance], languages: Sequence[str], seed: int | None
) -> tuple[list[Utterance], list[list[tuple[int, int]]], tuple[str, ...]]:
    """Return a new utterance for each held-out template, row pairs by language, and a warning if there are none.

    The new utterances are numbered after the given ones. Without a seed, or without utterances, there are none.
    """
    if seed is None or not utterances:
        return [], [], ()
    template_targets: list[Utterance] = []
    templates = []
    try:
        for language in languages:
            language_rows = [
                row for row, utterance in enumerate(utterances) if utterance.language == language
            ]
            made = template_pairs(
                [utterances[row] for row in language_rows], seed=seed, distinct_templates=True
            )
            first = len(utterances) + len(template_targets)
            templates.append([(language_rows[row], first + number) for number, row in enumerate(made.rows)])
            template_targets += [targets[0] for targets in made.targets]
    except DataError as error:
        reason = error.message.worded(in_words)
        return [], [], (f"the template encoder's last epoch was kept, since for the dev sentences {reason}",)
    return template_targets, templates, ()


MOST_BLEU = 10.0
"""Upper limit of a negative's BLEU against its sentence: the paper's 0.1 on sacrebleu's scale up to 100."""

CHARACTERS = frozenset({"ja", "zh", "zh-tw", "yue", "wuu", "th", "lo", "km", "my", "bo"})
"""Languages written without spaces between words, for which n-grams of characters are used."""

# Identifies the algorithm in the names of cached files.
_RULE = "sacrebleu 2 exp effective lowercase <10, draws 2"
_FIRST_DRAWS = 16  # drawn for all sentences at once; most need one or two


def draw_negatives(
    texts: Sequence[str], language: str, *, seed: int, per_text: int = 1, cache: Path | None = None
) -> NDArray[np.int64]:
    """Draw negatives for each sentence: random others of the same language whose BLEU against it is below 0.1.

    A sentence with the same text (ignoring case and surrounding spaces) is no negative, and the negatives of a sentence
    have different texts.

    BLEU is sacrebleu's sentence score of the candidate against the sentence: n-grams up to 4, or up to the candidate's
    length if that is shorter (effective order); precisions of 0 are smoothed by `exp` (counted as 1/2, 1/4, ... of a
    match); lower case; words of tokenizer 13a, or characters for `CHARACTERS`. Two sentences without a common word have
    0; "wake me up at five am this week" has 0.37 against "wake me up at nine am on friday".

    Args:
        texts: N sentences of one language.
        language: its code, which decides between words and characters.
        seed: of the draws, 0 or more.
        per_text: number of negatives per sentence.
        cache: folder that the rows are stored in, and read from if the other arguments are the same.

    Returns:
        Row numbers (N, per_text) of `texts`.

    Raises:
        DataError: there are no sentences, a number is out of range, or a sentence has fewer than `per_text` negatives.
    """
    if not len(texts) or per_text < 1 or seed < 0:
        raise DataError(
            f"can't draw {per_text} negatives with seed {seed} for {counted(len(texts), 'sentence')}; give sentences, "
            "and numbers that are not negative"
        )
    if cache is None:
        return _draw(texts, language, seed, per_text)
    prefix = f"{_RULE}\0{language}\0{seed}\0{per_text}\0{len(texts)}\0".encode()
    path = cache / f"negatives-{texts_hash(prefix, texts)[:32]}.npy"
    rows = _read(path, (len(texts), per_text))
    if rows is None:
        rows = _draw(texts, language, seed, per_text)
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as written, written.open("wb") as file:
            np.save(file, rows, allow_pickle=False)
    return rows


def _draw(texts: Sequence[str], language: str, seed: int, per_text: int) -> NDArray[np.int64]:
    from sacrebleu.metrics import BLEU

    bleu = BLEU(
        tokenize="char" if language in CHARACTERS else "13a",
        lowercase=True,
        smooth_method="exp",
        effective_order=True,
    )
    n = len(texts)
    same = pd.factorize(np.array(normalised(texts), dtype=object))[0].tolist()
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n, (n, _FIRST_DRAWS)).tolist()
    rows = np.empty((n, per_text), dtype=np.int64)
    for row, text in enumerate(texts):
        refused = {same[row]}  # tried already, or the sentence itself
        reference, chosen = [text], 0
        for candidate in _candidates(first[row], n, rng):
            if same[candidate] in refused:
                continue
            refused.add(same[candidate])
            if bleu.sentence_score(texts[candidate], reference).score < MOST_BLEU:
                rows[row, chosen] = candidate
                chosen += 1
                if chosen == per_text:
                    break
        else:
            raise DataError(
                f"row {row + 1:,}, '{shown(text)}', has {counted(chosen, 'sentence')} of {per_text} among all others "
                f"in '{language}' whose BLEU against it is below {MOST_BLEU / 100}; add sentences of another sort, or "
                "leave this one out"
            )
    return rows


def _candidates(first: list[int], n: int, rng: np.random.Generator) -> Iterator[int]:
    """Yield the first draws, then all rows in random order, which are only drawn if they are needed."""
    yield from first
    yield from rng.permutation(n).tolist()


def _read(path: Path, shape: tuple[int, int]) -> NDArray[np.int64] | None:
    """Return the cached rows, or None if there are no usable ones."""
    try:
        with path.open("rb") as file:  # np.load would also open a zip archive
            rows = np.lib.format.read_array(file, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    usable = rows.dtype == np.int64 and rows.shape == shape
    return rows if usable and rows.min() >= 0 and rows.max() < shape[0] else None
