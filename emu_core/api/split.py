"""Sentences split by a disentangled encoder: their tokens, embeddings and neighbours, and samples for maps."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.data.cleaning import normal_form
from emu_core.data.languages import ordered
from emu_core.data.slots.template_pairs import template_pairs
from emu_core.data.slots.utterances import Utterance, parse_annotated
from emu_core.encoders.base import Encoder, FloatArray
from emu_core.encoders.saved import read_config
from emu_core.errors import DataError, EncoderError
from emu_core.methods.fmda.encoder import DisentangledEncoder
from emu_core.methods.fmda.parts import Part
from emu_core.methods.registry import methods_that_need
from emu_core.training.method import Needs

BLANK = "␣"  # shown for a token that is a space
MAX_POOL = 10_000  # sentences; six vectors of each are computed and stored
SHOWN_NEIGHBOURS = 5
MOST_PAIRS = 800  # as in the paper's Figure 4
TEMPLATES, EACH = 4, 5  # as in its Figure 4c: 20 sentences
MAX_NAMED_TEMPLATES = 7  # templates with their own colour; the eighth colour is grey
OTHER_TEMPLATES = "… all others"  # sorts after letters and brackets


@dataclass(frozen=True)
class Token:
    """A token, its place in the sentence and its attention weights."""

    word: str
    start: int
    end: int
    is_added: bool  # by the encoder to every sentence
    template: float  # its share of the template embedding, 0 to 1
    residual: float  # its share of the residual embedding

    def touches(self, spans: Sequence[tuple[int, int]]) -> bool:
        """Return whether it overlaps one of the spans (start, end) of the sentence."""
        return any(self.start < end and start < self.end for start, end in spans)


@dataclass(frozen=True, eq=False)
class SplitSentence:
    """A sentence split by a disentangled encoder."""

    tokens: tuple[Token, ...]  # empty if the encoder has no attention
    parts: dict[Part, FloatArray]  # its embeddings, (dim,) each
    languages: dict[str, float]  # probability of each language according to the language embedding


def splits_sentences(folder: Path) -> bool:
    """Return whether a saved encoder gives several embeddings of a sentence. Raises EncoderError if it is damaged."""
    return read_config(folder)["encoder"] == DisentangledEncoder.spec


def splitting_encoder(encoder: Encoder) -> DisentangledEncoder:
    """Return an encoder that splits sentences as what it is. Raises EncoderError for any other encoder."""
    if not isinstance(encoder, DisentangledEncoder):
        raise EncoderError(
            f"the encoder '{encoder.spec}' does not split sentences; choose a run of the method "
            f"{' or '.join(methods_that_need(Needs.SLOTS))}"
        )
    return encoder


def split_sentence(encoder: DisentangledEncoder, text: str) -> SplitSentence:
    """Split a sentence, which must not begin or end with spaces."""
    import torch

    parts = {part: vectors[0] for part, vectors in encoder.parts([text]).items()}
    with torch.no_grad():
        language = torch.from_numpy(parts[Part.LANGUAGE]).to(encoder.device).unsqueeze(0)
        shares = torch.softmax(encoder.head.language_logits(language)[0], dim=-1).tolist()
    tokens = _tokens(encoder, text) if Part.TEMPLATE in parts else ()
    return SplitSentence(tokens, parts, dict(zip(encoder.head.languages, shares, strict=True)))


def _tokens(encoder: DisentangledEncoder, text: str) -> tuple[Token, ...]:
    prompt = encoder.base.prompt
    whole = prompt + text
    _, (places,) = encoder.base.tokens_with_offsets([text])
    tokens = []
    for (name, *shares), (start, end) in zip(encoder.attention(text), places, strict=True):
        letters = whole[start:end]
        begin = start + len(letters) - len(letters.lstrip())  # a token may include the space before its word
        word = letters.strip() or (BLANK if letters else name)
        added = end <= len(prompt)
        where = (0, 0) if added else (max(begin - len(prompt), 0), end - len(prompt))
        tokens.append(Token(word, *where, added, *shares))
    return tuple(tokens)


@dataclass(frozen=True, eq=False)
class Pool:
    """N sentences."""

    key: str  # identifies them in all sessions
    frame: pd.DataFrame  # their rows, with a new index
    utterances: tuple[Utterance, ...]  # N, with slots if they have a valid annotation
    unread: int  # number of annotations that are invalid or do not match their sentence
    total: int  # number of sentences that these were drawn from

    @property
    def texts(self) -> list[str]:
        """The texts of the N sentences."""
        return [utterance.text for utterance in self.utterances]

    def rows(self, language: str) -> list[int]:
        """Return the row numbers of a language's sentences."""
        return np.flatnonzero(self.frame["language"].to_numpy() == language).tolist()


def read_pool(key: str, frame: pd.DataFrame) -> Pool:
    """Return a labelled set's sentences with their slots, at most `MAX_POOL`; translations stay together."""
    part = frame
    if len(frame) > MAX_POOL:
        groups, _ = pd.factorize(frame["id"].where(frame["id"] != "", frame.index.astype(str) + " alone"))
        drawn = np.random.default_rng(0).permutation(groups.max() + 1)
        sizes = np.bincount(groups)[drawn].cumsum()
        part = frame[np.isin(groups, drawn[sizes <= MAX_POOL])]
    part = part.reset_index(drop=True)
    utterances, unread = [], 0
    for row in part.to_dict("records"):
        try:
            plain, slots = parse_annotated(row["annotated"])
            fits = plain == row["text"] or not row["annotated"]
        except DataError:
            slots, fits = (), False
        unread += not fits
        utterances.append(
            Utterance(row["text"], slots if fits else (), row["intent"], row["id"], row["language"])
        )
    return Pool(key, part, tuple(utterances), unread, len(frame))


def language_pairs(pool: Pool, fewest: int) -> list[tuple[str, str]]:
    """Return the pairs of languages with at least `fewest` translations in the pool."""
    ids: dict[str, set[str]] = defaultdict(set)
    for utterance in pool.utterances:
        if utterance.id:
            ids[utterance.language].add(utterance.id)
    return [(a, b) for a, b in combinations(ordered(ids), 2) if len(ids[a] & ids[b]) >= fewest]


def pairs_of(pool: Pool, first: str, second: str) -> list[int]:
    """Return the row numbers of up to `MOST_PAIRS` translations of two languages: both sentences of each."""
    rows = [
        {
            utterance.id: row
            for row, utterance in enumerate(pool.utterances)
            if utterance.language == code and utterance.id
        }
        for code in (first, second)
    ]
    shared_ids = [key for key in rows[0] if key in rows[1]]
    drawn = sorted(np.random.default_rng(0).permutation(len(shared_ids))[:MOST_PAIRS].tolist())
    return [row[shared_ids[at]] for row in rows for at in drawn]


def intents_with_templates(pool: Pool, language: str) -> list[str]:
    """Return the intents with at least `TEMPLATES` templates with slots in a language."""
    templates: dict[str, set[str]] = defaultdict(set)
    for utterance in pool.utterances:
        if utterance.language == language and utterance.slots:
            templates[utterance.intent].add(normal_form(utterance.template))
    return sorted(
        intent for intent, intent_templates in templates.items() if len(intent_templates) >= TEMPLATES
    )


def template_sample(pool: Pool, language: str, intent: str) -> tuple[list[Utterance], int]:
    """Return `EACH` sentences, or fewer, for each of `TEMPLATES` templates of an intent, and how many are new.

    If a template has too few sentences in the pool, more are made by filling in other values of its slots.
    """
    of_language = [utterance for utterance in pool.utterances if utterance.language == language]
    by_template: dict[str, dict[str, int]] = defaultdict(dict)
    for row, utterance in enumerate(of_language):
        if utterance.intent == intent and utterance.slots:
            by_template[normal_form(utterance.template)].setdefault(normal_form(utterance.text), row)
    made = _made(of_language)
    filled = []
    for rows in by_template.values():
        originals = [of_language[row] for row in rows.values()][:EACH]
        known_texts = {normal_form(utterance.text) for utterance in originals}
        new = [
            utterance
            for utterance in made.get(next(iter(rows.values())), ())
            if normal_form(utterance.text) not in known_texts
        ][: EACH - len(originals)]
        filled.append((originals, new))
    # Prefer templates with the most sentences, then those with the fewest new ones.
    filled.sort(key=lambda group: (-len(group[0]) - len(group[1]), len(group[1])))
    chosen = filled[:TEMPLATES]
    return [utterance for originals, new in chosen for utterance in (*originals, *new)], sum(
        len(new) for _, new in chosen
    )


def neighbours(
    utterance: Utterance,
    parts: Mapping[Part, FloatArray],
    pool: Pool,
    vectors: FloatArray,
    allowed: NDArray[np.bool_],
) -> pd.DataFrame:
    """Return the nearest sentences by each embedding, nearest first.

    Args:
        utterance: the sentence whose neighbours are looked for.
        parts: its embeddings (dim,), in the order of `vectors`.
        pool: N sentences.
        vectors: (P, N, dim), their embeddings.
        allowed: (N,), whether a sentence may be a neighbour.
    """
    columns = ["embedding", "rank", "cosine", "sentence", "language", "intent", "what it shares"]
    rows: list[tuple[object, ...]] = []
    candidates = np.flatnonzero(allowed)
    for (part, part_vectors), of_pool in zip(parts.items(), vectors, strict=True):
        others = of_pool[candidates]
        lengths = np.linalg.norm(others, axis=1) * np.linalg.norm(part_vectors)
        cosines = others @ part_vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
        for rank, at in enumerate(np.argsort(-cosines, kind="stable")[:SHOWN_NEIGHBOURS], start=1):
            other = pool.utterances[candidates[at]]
            facts = other.text, other.language, other.intent, shared(utterance, other)
            rows.append((part, rank, float(cosines[at]), *facts))
    return pd.DataFrame(rows, columns=columns)


def shared(first: Utterance, second: Utterance) -> str:
    """Return in words what two utterances have in common, at most two things."""
    if first.id and first.id == second.id and first.language != second.language:
        return "translation"
    parts = []
    # Languages need not be compared: a template in another language has another text.
    if first.slots and second.slots and normal_form(first.template) == normal_form(second.template):
        parts.append("same template")
    second_slots = {(slot.name, normal_form(slot.value)) for slot in second.slots}
    same = [slot for slot in first.slots if (slot.name, normal_form(slot.value)) in second_slots]
    parts += [f"same {slot.name}: {slot.value}" for slot in same]
    if first.intent and first.intent == second.intent:
        parts.append("same intent")
    return ", ".join(parts[:2])


def points_of(sentences: Sequence[Utterance]) -> pd.DataFrame:
    """Return the points of `sentence_maps`; only the `MAX_NAMED_TEMPLATES` most frequent templates keep their names.

    Translations share the template of the first one.
    """
    first: dict[str, str] = {}
    templates = [
        first.setdefault(utterance.id, utterance.template) if utterance.id else utterance.template
        for utterance in sentences
        if utterance.slots
    ]
    named = {template for template, _ in Counter(templates).most_common(MAX_NAMED_TEMPLATES)}
    of_each = [
        first.get(utterance.id, utterance.template) if utterance.slots else OTHER_TEMPLATES
        for utterance in sentences
    ]
    return pd.DataFrame(
        {
            "text": [utterance.text for utterance in sentences],
            "intent": [utterance.intent for utterance in sentences],
            "language": [utterance.language for utterance in sentences],
            "template": [template if template in named else OTHER_TEMPLATES for template in of_each],
            "row": np.arange(len(sentences), dtype=np.int32),
        }
    )


def _made(utterances: Sequence[Utterance]) -> dict[int, tuple[Utterance, ...]]:
    """Return new sentences of the same template with other values by row number, at most `EACH` - 1."""
    targets_by_row: dict[int, tuple[Utterance, ...]] = {}
    for count in range(1, EACH):
        try:
            made = template_pairs(utterances, target_count=count)
        except DataError:  # no sentence has so many other values
            break
        targets_by_row |= dict(zip(made.rows, made.targets, strict=True))
    return targets_by_row
