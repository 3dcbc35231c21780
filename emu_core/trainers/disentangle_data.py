"""The training data of FMDA and its baseline: a frozen encoder's states, computed once, and negatives by BLEU."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from emu_core.config import FmdaConfig, MeaningLanguageConfig
from emu_core.data.cleaning import texts_hash
from emu_core.data.slots.template_pairs import template_pairs
from emu_core.data.slots.utterances import SlotPairs, Utterance
from emu_core.data.wording import counted, shown
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.token_states import (
    Span,
    TokenStates,
    cls_states,
    joined,
    masked_ids,
    template_spans,
    token_states,
)
from emu_core.errors import DataError
from emu_core.files import whole_file

OnEncoded = Callable[[int, int], None]


@dataclass(frozen=True)
class Sentences:
    """N sentences as the frozen encoder sees them.

    Attributes:
        states: of their tokens.
        language: (N,), a number for each sentence's language.
        template_target: (N, d), [CLS] of the sentence with its slots masked; (0, d) where nothing reads it.
        residual_target: (N, d), [CLS] of the sentence with its template masked; the same. 0 for the second of a
            template pair.
        negatives: (N, each), rows of sentences of the same language with another meaning.
    """

    states: TokenStates
    language: Tensor
    template_target: Tensor
    residual_target: Tensor
    negatives: Tensor

    @property
    def cls(self) -> Tensor:
        """The [CLS] states of all: (N, d)."""
        return self.states.first(torch.arange(len(self.states), device=self.language.device))


@dataclass(frozen=True)
class HeldOut:
    """Sentences that choose the epoch.

    Attributes:
        states: of their tokens.
        pairs: for each language pair, rows (P, 2) of sentences of one meaning.
        templates: for each language, rows (T, 2) of sentences of one template; empty where no stage needs them.
    """

    states: TokenStates
    pairs: list[Tensor]
    templates: list[Tensor]


@dataclass(frozen=True)
class DisentangleData:
    """Everything that training reads.

    Attributes:
        languages: codes, in the order of `Sentences.language`.
        sentences: of the training pairs, and of the template pairs if there are any.
        pairs: (P, 2), rows of sentences of one meaning in two languages; all language pairs together.
        template_pairs: (T, 2), rows of sentences of one template in one language; None for one stage.
        held_out: None where there is nothing to choose the epoch by.
        warnings: what a person should know of the data, a sentence each.
    """

    languages: tuple[str, ...]
    sentences: Sentences
    pairs: Tensor
    template_pairs: Tensor | None
    held_out: HeldOut | None
    warnings: tuple[str, ...] = ()


def prepare_disentangling(
    encoder: TransformerEncoder,
    train: Sequence[SlotPairs],
    dev: Sequence[SlotPairs],
    config: FmdaConfig | MeaningLanguageConfig,
    *,
    seed: int,
    cache: Path | None = None,
    on_progress: OnEncoded | None = None,
) -> DisentangleData:
    """Encode every sentence once, with its slots masked and with its template masked once, and draw the negatives.

    Args:
        encoder: frozen; on its device.
        train: language pairs to train on; a language may stand in several.
        dev: the same language pairs of other meanings, to choose the epoch by; may be empty.
        config: which losses there are, and so which targets are needed.
        seed: of the negatives and the template pairs.
        cache: folder that keeps negatives and states, for another training on the same sentences.
        on_progress: called with (sentences encoded, of so many).

    Raises:
        DataError: a sentence has too few negatives; no template pair can be made.
        EncoderError: slots can't be masked with this encoder.
    """
    languages = tuple(dict.fromkeys(code for pair in train for code in (pair.source, pair.target)))
    utterances, pairs = _numbered(train)
    dev_utterances, dev_pairs = _numbered(dev)
    two_stage = isinstance(config, FmdaConfig) and config.two_stage
    made = template_pairs(utterances, seed=seed) if two_stage else None
    dev_made, dev_templates, warnings = _dev_templates(dev_utterances, languages, seed if two_stage else None)
    others = [] if made is None else [targets[0] for targets in made.targets]
    masked = isinstance(config, FmdaConfig)

    groups = [utterances, others, dev_utterances, dev_made]
    counter = _Counter(on_progress, sum(map(len, groups)) + 2 * masked * len(utterances))
    encode = _Encode(encoder, cache, counter)
    states = [encode.states(group) for group in groups]
    template_target, residual_target = (
        encode.targets(utterances)
        if masked
        else [torch.empty(0, encoder.state_dim, device=encoder.device)] * 2
    )
    negatives = _negatives(utterances, languages, config.negatives, seed, cache)
    if made is not None:
        # What a template pair's second utterance differs in is masked in the template's target, and not trained on.
        rows = torch.tensor(made.rows, device=encoder.device)
        template_target = torch.cat([template_target, template_target[rows]])
        residual_target = torch.cat(
            [residual_target, residual_target.new_zeros(len(rows), encoder.state_dim)]
        )
        negatives = np.concatenate([negatives, negatives[list(made.rows)]])
        utterances = [*utterances, *others]
    device = encoder.device
    number = {code: place for place, code in enumerate(languages)}
    return DisentangleData(
        languages=languages,
        sentences=Sentences(
            states=joined(states[:2]),
            language=torch.tensor([number[one.language] for one in utterances], device=device),
            template_target=template_target,
            residual_target=residual_target,
            negatives=torch.from_numpy(negatives).to(device),
        ),
        pairs=torch.tensor([row for some in pairs for row in some], device=device),
        template_pairs=None
        if made is None
        else torch.tensor(
            [[row, len(utterances) - len(others) + n] for n, row in enumerate(made.rows)], device=device
        ),
        held_out=HeldOut(
            states=joined(states[2:]),
            pairs=[torch.tensor(some, device=device) for some in dev_pairs],
            templates=[torch.tensor(some, device=device) for some in dev_templates],
        )
        if dev
        else None,
        warnings=warnings,
    )


class _Encode:
    """Runs the frozen encoder over sentences, or reads what it gave for them before."""

    def __init__(self, encoder: TransformerEncoder, cache: Path | None, counter: "_Counter") -> None:
        self._encoder, self._cache, self._counter = encoder, cache, counter

    def states(self, utterances: Sequence[Utterance]) -> TokenStates:
        """States of every token."""
        ids = self._encoder.token_ids([one.text for one in utterances])
        return token_states(
            self._encoder, ids, cache=self._cache, on_progress=self._counter.part(len(utterances))
        )

    def targets(self, utterances: Sequence[Utterance]) -> list[Tensor]:
        """[CLS] with the slots masked, and with the template masked."""
        texts = [one.text for one in utterances]
        slots: list[list[Span]] = [[(slot.start, slot.end) for slot in one.slots] for one in utterances]
        templates = [template_spans(len(text), own) for text, own in zip(texts, slots, strict=True)]
        return [
            cls_states(
                self._encoder,
                masked_ids(self._encoder, texts, spans),
                cache=self._cache,
                on_progress=self._counter.part(len(utterances)),
            )
            for spans in (slots, templates)
        ]


def _numbered(pairs: Sequence[SlotPairs]) -> tuple[list[Utterance], list[list[tuple[int, int]]]]:
    """Each utterance once, and each pair's row numbers among them."""
    rows: dict[tuple[str, str], int] = {}
    found: list[Utterance] = []

    def row(one: Utterance) -> int:
        place = rows.setdefault((one.language, one.id), len(found))
        if place == len(found):
            found.append(one)
        return place

    numbered = [[(row(a), row(b)) for a, b in zip(pair.first, pair.second, strict=True)] for pair in pairs]
    return found, numbered


def _negatives(
    utterances: Sequence[Utterance], languages: Sequence[str], each: int, seed: int, cache: Path | None
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    negatives = np.empty((len(utterances), each), dtype=np.int64)
    for language in languages:
        own = np.array([row for row, one in enumerate(utterances) if one.language == language])
        texts = [utterances[row].text for row in own]
        negatives[own] = own[draw_negatives(texts, language, seed=seed, each=each, cache=cache)]
    return negatives


def _dev_templates(
    utterances: Sequence[Utterance], languages: Sequence[str], seed: int | None
) -> tuple[list[Utterance], list[list[tuple[int, int]]], tuple[str, ...]]:
    """One more utterance for each template of the held-out ones, their pairs by language, and what went wrong.

    The added utterances stand behind the given ones. Without a seed, or without utterances, there are none.
    """
    if seed is None or not utterances:
        return [], [], ()
    found: list[Utterance] = []
    templates = []
    try:
        for language in languages:
            own = [row for row, one in enumerate(utterances) if one.language == language]
            made = template_pairs([utterances[row] for row in own], seed=seed, distinct_templates=True)
            first = len(utterances) + len(found)
            templates.append([(own[row], first + number) for number, row in enumerate(made.rows)])
            found += [targets[0] for targets in made.targets]
    except DataError as error:
        said = f"the template encoder's last epoch was kept, since of the sentences that choose it {error}"
        return [], [], (said,)
    return found, templates, ()


class _Counter:
    """Adds the progress of several encodings up."""

    def __init__(self, on_progress: OnEncoded | None, total: int) -> None:
        self._on_progress, self._total, self._before = on_progress, total, 0

    def part(self, size: int) -> OnEncoded | None:
        """Return the callback of the next encoding, of at most so many sentences."""
        if self._on_progress is None:
            return None
        tell, before = self._on_progress, self._before
        self._before += size
        return lambda done, of: tell(before + done * size // of, self._total)


MOST_BLEU = 10.0
"""A negative's BLEU against its sentence is below this; sacrebleu's scale ends at 100, so the paper's 0.1."""

CHARACTERS = frozenset({"ja", "zh", "zh-tw", "yue", "wuu", "th", "lo", "km", "my", "bo"})
"""Languages written without spaces between words, whose n-grams are of characters."""

# The rule that decides the rows beside the arguments: another must not read the files of this one.
_RULE = "sacrebleu 2 exp effective lowercase <10, draws 1"
_FIRST_DRAWS = 16  # drawn for all sentences at once; most need one or two


def draw_negatives(
    texts: Sequence[str], language: str, *, seed: int, each: int = 1, cache: Path | None = None
) -> NDArray[np.int64]:
    """Draw for every sentence others of the same language whose BLEU against it is below 0.1.

    Random sentences are drawn until enough pass; where the first draws do not give them, all others are tried in random
    order. A sentence is never its own negative, nor is one of the same text (whatever its case and outer spaces), and
    the negatives of one sentence differ from one another.

    BLEU is sacrebleu's sentence score of the candidate against the sentence: n-grams up to 4, or up to the candidate's
    length where that is shorter (effective order); a precision of 0 smoothed by `exp` (counted as 1/2, 1/4, ... of a
    match); lower case; words as tokenizer 13a splits them, or characters for `CHARACTERS`. Two sentences without a
    common word have 0; "wake me up at five am this week" has 0.37 against "wake me up at nine am on friday".

    Args:
        texts: N sentences of one language.
        language: its code, which decides between words and characters.
        seed: of the draws, 0 or more.
        each: negatives a sentence.
        cache: folder where the rows are stored, and read from when texts, language, seed and each are the same.

    Returns:
        Row numbers (N, each) of `texts`.

    Raises:
        DataError: there is no sentence, a number is out of range, or a sentence has fewer than `each` negatives among
            all others.
    """
    if not len(texts) or each < 1 or seed < 0:
        raise DataError(
            f"can't draw {each} negatives with seed {seed} for {counted(len(texts), 'sentence')}; give sentences, and "
            "numbers that are not negative"
        )
    if cache is None:
        return _draw(texts, language, seed, each)
    path = cache / f"negatives-{_key(texts, language, seed, each)}.npy"
    rows = _read(path, (len(texts), each))
    if rows is None:
        rows = _draw(texts, language, seed, each)
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as partial, partial.open("wb") as file:
            np.save(file, rows, allow_pickle=False)
    return rows


def _draw(texts: Sequence[str], language: str, seed: int, each: int) -> NDArray[np.int64]:
    from sacrebleu.metrics import BLEU

    bleu = BLEU(
        tokenize="char" if language in CHARACTERS else "13a",
        lowercase=True,
        smooth_method="exp",
        effective_order=True,
    )
    n = len(texts)
    numbers: dict[str, int] = {}
    same = [numbers.setdefault(text.strip().casefold(), len(numbers)) for text in texts]
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n, (n, _FIRST_DRAWS)).tolist()
    rows = np.empty((n, each), dtype=np.int64)
    for row, text in enumerate(texts):
        refused = {same[row]}  # tried already, chosen already, or the sentence itself
        reference, chosen = [text], 0
        for candidate in _candidates(first[row], n, rng):
            if same[candidate] in refused:
                continue
            refused.add(same[candidate])
            if bleu.sentence_score(texts[candidate], reference).score < MOST_BLEU:
                rows[row, chosen] = candidate
                chosen += 1
                if chosen == each:
                    break
        else:
            raise DataError(
                f"row {row + 1:,}, '{shown(text)}', has {counted(chosen, 'sentence')} of {each} among all others in "
                f"'{language}' whose BLEU against it is below {MOST_BLEU / 100}; add sentences of another sort, or "
                "leave this one out"
            )
    return rows


def _candidates(first: list[int], n: int, rng: np.random.Generator) -> Iterator[int]:
    yield from first
    yield from rng.permutation(n).tolist()


def _key(texts: Sequence[str], language: str, seed: int, each: int) -> str:
    prefix = f"{_RULE}\0{language}\0{seed}\0{each}\0{len(texts)}\0".encode()
    return texts_hash(prefix, texts)[:32]


def _read(path: Path, shape: tuple[int, int]) -> NDArray[np.int64] | None:
    """Return the cached rows; None where there are none, or none usable."""
    try:
        with path.open("rb") as file:  # np.load would take a zip archive too
            rows = np.lib.format.read_array(file, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    usable = rows.dtype == np.int64 and rows.shape == shape
    return rows if usable and rows.min() >= 0 and rows.max() < shape[0] else None
