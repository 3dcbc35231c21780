"""The measures of FMDA and its baseline: what each embedding of a sentence encodes (Wu et al., section 4.3)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pandas as pd

from emu_core.data.languages import split_pair
from emu_core.data.repeats import sentence_groups
from emu_core.data.sets import LabelledSet
from emu_core.data.slots.template_pairs import TemplatePairs, template_pairs
from emu_core.data.slots.utterances import SlotPairs, Utterance, slot_pairs
from emu_core.errors import DataError, in_words
from emu_core.evaluation.arrays import DistinctTexts, Vectors, pair_name
from emu_core.evaluation.leakage import Leakage, language_leakage
from emu_core.evaluation.retrieval import (
    TemplateRetrieval,
    TranslationRetrieval,
    template_retrieval,
    translation_retrieval,
)

PROBE = "Language probe"


@dataclass(frozen=True)
class EmbeddingMetrics:
    """The share of meaning, template and language that one embedding encodes, in percent.

    Attributes:
        translation: Acc@1 of retrieving translations by "s-t", queries in s.
        template: Acc@1 of retrieving sentences of the same template, by language.
        probe: the accuracy of a linear probe of the language; None if it was not measured.
    """

    translation: Mapping[str, float] = field(default_factory=dict)
    template: Mapping[str, float] = field(default_factory=dict)
    probe: float | None = None


@dataclass(frozen=True)
class QueryCounts:
    """The number of queries of `EmbeddingMetrics`."""

    translation: Mapping[str, int] = field(default_factory=dict)
    template: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class DisentangledMetrics:
    """The measures of each embedding by name, and why some could not be measured."""

    embeddings: Mapping[str, EmbeddingMetrics]
    counts: QueryCounts
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return plain values, with the embeddings beside counts and notes."""
        measured = {
            name: {measure: value for measure, value in asdict(figures).items() if value is not None}
            for name, figures in self.embeddings.items()
        }
        return {**measured, "counts": asdict(self.counts), "notes": list(self.notes)}

    @staticmethod
    def fields_of(values: Mapping[str, Any]) -> dict[str, object]:
        """Return the fields in the output of `to_json`."""
        known = {name: value for name, value in values.items() if name in ("counts", "notes")}
        return {**known, "embeddings": {name: value for name, value in values.items() if name not in known}}


def part_table(measured: DisentangledMetrics) -> pd.DataFrame:
    """Return a row for each embedding that a run measured, its `metrics().parts`.

    Its columns are the percentages of translation retrieval by direction, of template retrieval by language, and of
    the language probe.
    """
    rows = [
        {"Embedding": part}
        | {direction(pair): value for pair, value in embedding.translation.items()}
        | {f"Templates {code}": value for code, value in embedding.template.items()}
        | ({} if embedding.probe is None else {PROBE: embedding.probe})
        for part, embedding in measured.embeddings.items()
    ]
    table = pd.DataFrame(rows)
    return table[sorted(table.columns, key=lambda name: name == PROBE)]


def direction(pair: str) -> str:
    """Return a pair such as "en-de" with an arrow between the codes."""
    return " → ".join(split_pair(pair) or [pair])


PartsOf = Callable[[Sequence[str]], Mapping[Any, Vectors]]  # by the name of the embedding
"""Return the embeddings, (N, d) each, of N sentences."""


class Embedded:
    """Sentences and those of their embeddings that are measured (`parts`), each sentence embedded once."""

    def __init__(self, embed: PartsOf, parts: Sequence[str], texts: Iterable[str]) -> None:
        """Embed all sentences that will be measured; `parts` names the embeddings to measure."""
        self._distinct = DistinctTexts(texts)
        embedded = embed(self._distinct.texts)
        self.parts = tuple(parts)
        self._vectors = {part: embedded[part] for part in parts}

    def of(self, part: str, texts: Iterable[str]) -> Vectors:
        """Return an embedding of sentences, (N, d)."""
        return self._vectors[part][self._distinct.rows(texts)]

    def translations(self, part: str, pair: SlotPairs) -> dict[str, TranslationRetrieval]:
        """Return cross-lingual retrieval by an embedding in both directions, by "s-t"."""
        first, second = ([utterance.text for utterance in side] for side in (pair.first, pair.second))
        first_vectors, second_vectors = self.of(part, first), self.of(part, second)
        return {
            pair_name(pair.source, pair.target): translation_retrieval(first_vectors, second_vectors, second),
            pair_name(pair.target, pair.source): translation_retrieval(second_vectors, first_vectors, first),
        }

    def templates(self, part: str, made: TemplatePairs) -> TemplateRetrieval:
        """Return template retrieval by an embedding."""
        targets = made.target_texts
        return template_retrieval(self.of(part, made.source_texts), self.of(part, targets), targets)

    def leakage(self, part: str, spoken: Sequence[Utterance]) -> Leakage:
        """Return how well a probe predicts the language of utterances from an embedding."""
        sentences = pd.DataFrame(
            [(utterance.text, utterance.language, utterance.id) for utterance in spoken],
            columns=["text", "language", "id"],
        )
        vectors = self.of(part, sentences["text"])
        return language_leakage(vectors, sentences["language"].tolist(), sentence_groups(sentences))


def disentangled_metrics(
    embed: PartsOf, parts: Sequence[str], held_out: LabelledSet, pairs: Sequence[tuple[str, str]]
) -> DisentangledMetrics:
    """Measure the embeddings `parts` of held-out sentences; `pairs` are those of the translations.

    Measures that the sentences do not allow are left out, with the reasons in `notes`.
    """
    notes: list[str] = []
    translation: dict[str, dict[str, float]] = {str(part): {} for part in parts}
    template: dict[str, dict[str, float]] = {str(part): {} for part in parts}
    probe: dict[str, float] = {}
    counts = QueryCounts(queries := dict[str, int](), made_queries := dict[str, int]())

    def measured() -> DisentangledMetrics:
        embeddings = {
            name: EmbeddingMetrics(translation[name], template[name], probe.get(name)) for name in translation
        }
        return DisentangledMetrics(embeddings, counts, tuple(notes))

    # First the sentences: translations, the distinct utterances of each language, and utterances with their templates.
    try:
        paired = slot_pairs(held_out, [(a, b) for a, b in pairs])
    except DataError as error:
        notes.append(error.message.worded(in_words))
        return measured()
    utterances: dict[str, dict[str, Utterance]] = {}
    for pair in paired:
        for code, side in ((pair.source, pair.first), (pair.target, pair.second)):
            utterances.setdefault(code, {}).update({utterance.id: utterance for utterance in side})
    templates: dict[str, TemplatePairs] = {}
    for code, by_id in utterances.items():
        try:
            templates[code] = template_pairs(list(by_id.values()), distinct_templates=True)
        except DataError as error:
            notes.append(f"{code}: {error.message.worded(in_words)}")
    # Then each sentence is embedded once, and every part of the embedding is measured.
    all_utterances = [utterance for by_id in utterances.values() for utterance in by_id.values()]
    made = [
        text
        for made_pairs in templates.values()
        for text in (*made_pairs.source_texts, *made_pairs.target_texts)
    ]
    embedded = Embedded(embed, parts, [*(utterance.text for utterance in all_utterances), *made])
    for pair in paired:
        for part in parts:
            for way, right in embedded.translations(part, pair).items():
                translation[part][way] = round(right.accuracy, 2)
                queries[way] = len(pair)
    for code, made_pairs in templates.items():
        made_queries[code] = len(made_pairs)
        for part in parts:
            template[part][code] = round(embedded.templates(part, made_pairs).accuracy, 2)
    try:
        for part in parts:
            probe[part] = round(embedded.leakage(part, all_utterances).probe, 2)
    except DataError as error:
        notes.append(error.message.worded(in_words))
    return measured()
