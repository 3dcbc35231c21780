"""What a system's space is worth: translations found, documents classified across languages, words laid out."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import permutations

import numpy as np

from emu_core.bench.bicvm.glosses import bags, glosses
from emu_core.bench.bicvm.word_lists import Meanings, shown_words
from emu_core.bench.pretrained.ranking import COSINE, EUCLID, encode_in, ranking, tested_pairs
from emu_core.bench.pretrained.request import PretrainedRequest
from emu_core.bench.pretrained.result import PretrainedResult, Ranks, WordView
from emu_core.bench.pretrained.texts import BenchTexts, Documents
from emu_core.data.parallel_text import ParallelText
from emu_core.data.reuters import sentences
from emu_core.encoders.base import Encoder
from emu_core.encoders.bicvm.encoder import BicvmEncoder
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.document_classification import TransferAccuracy, classify_across, document_vectors
from emu_core.evaluation.projection import FEWEST, Projection, project
from emu_core.evaluation.transfer import LabelledVectors
from emu_core.evaluation.word_neighbours import word_neighbours

DRAWS, QUICK_DRAWS = 10, 3
MOST_NEIGHBOURS = 50_000  # words of a language, the most frequent, among which a translation is looked for


def measure(request: PretrainedRequest, encoder: Encoder | None, texts: BenchTexts) -> PretrainedResult:
    """Measure what the request's cell trained."""
    train, test = texts.of_pairs(request.cell.pairs)
    draws = QUICK_DRAWS if request.setting.quick else DRAWS
    documents = {code: texts.documents[code] for code in request.cell.languages if code in texts.documents}
    if encoder is None:
        return PretrainedResult(documents=_glossed(documents, train[0], draws, request.cell.seed))
    ranks, candidates = _ranks(encoder, test)
    views = {}
    if request.in_figure and isinstance(encoder, BicvmEncoder):
        views = _views(encoder, train)
    return PretrainedResult(
        ranks=ranks,
        candidates=candidates,
        documents=_classified(encoder, documents, draws, request.cell.seed),
        views=views,
    )


def _ranks(
    encoder: Encoder, test: Sequence[ParallelText]
) -> tuple[dict[str, dict[str, Ranks]], dict[str, int]]:
    ranks: dict[str, dict[str, Ranks]] = {COSINE: {}, EUCLID: {}}
    candidates: dict[str, int] = {}
    for text in tested_pairs(test):
        sides = [
            (encode_in(encoder, side, code), side)
            for code, side in zip(text.languages, (text.first, text.second), strict=True)
        ]
        for name, (own, _), (other, found) in (
            (pair_name(text.source, text.target), sides[0], sides[1]),
            (pair_name(text.target, text.source), sides[1], sides[0]),
        ):
            for by, ways in ranks.items():
                ranked = ranking(by, own, other, found)
                ways[name], candidates[name] = ranked.ranks, ranked.candidates
    return ranks, candidates


def _classified(
    encoder: Encoder, documents: Mapping[str, tuple[Documents, Documents]], draws: int, seed: int
) -> tuple[dict[str, object], ...]:
    if len(documents) < 2:
        return ()
    vectors = {
        code: tuple(LabelledVectors(_vectors(encoder, part.texts, code), part.labels) for part in both)
        for code, both in documents.items()
    }
    train, test = ({code: both[part] for code, both in vectors.items()} for part in (0, 1))
    return _facts(classify_across(train, test, draws=draws, seed=seed))


def _vectors(encoder: Encoder, documents: Sequence[str], language: str) -> np.ndarray:
    """Each document's vector: the mean over its sentences (section 4.2)."""
    cut = [sentences(text) or (text,) for text in documents]
    numbers = np.repeat(np.arange(len(cut)), [len(own) for own in cut])
    flat = [sentence for own in cut for sentence in own]
    return document_vectors(encode_in(encoder, flat, language), numbers, len(cut))


def _glossed(
    documents: Mapping[str, tuple[Documents, Documents]], text: ParallelText, draws: int, seed: int
) -> tuple[dict[str, object], ...]:
    """The paper's baseline: the test documents word for word in the language trained on, as bags of words."""
    found: list[TransferAccuracy] = []
    for way in (text, text.turned()):
        if way.source in documents and way.target in documents:
            train, test = documents[way.source][0], documents[way.target][1]
            own, other = bags(train.texts, test.texts, glosses(way.turned()))
            found += classify_across(
                {way.source: LabelledVectors(own, train.labels)},
                {way.target: LabelledVectors(other, test.labels)},
                draws=draws,
                seed=seed,
            )
    return _facts(found)


def _facts(found: Sequence[TransferAccuracy]) -> tuple[dict[str, object], ...]:
    return tuple(asdict(one) for one in found)


def _views(encoder: BicvmEncoder, texts: Sequence[ParallelText]) -> dict[str, WordView]:
    """Figure 3's two charts, of those words that the encoder knows; a chart with too few of them is left out."""
    spaces = {}
    for code in encoder.languages:
        known, points = encoder.word_vectors(code)
        spaces[code] = known[:MOST_NEIGHBOURS], points[:MOST_NEIGHBOURS]
    both = shown_words(texts, {code: set(known) for code, (known, _) in spaces.items()})
    return {
        name: _view(meanings, spaces)
        for name, meanings in zip(("left", "right"), both, strict=True)
        if len(meanings.rows) * len(meanings.languages) > FEWEST
    }


def _view(meanings: Meanings, spaces: Mapping[str, tuple[Sequence[str], np.ndarray]]) -> WordView:
    place = {code: {word: row for row, word in enumerate(known)} for code, (known, _) in spaces.items()}
    shown = [
        (code, row[i]) for i, code in enumerate(meanings.languages) for row in dict.fromkeys(meanings.rows)
    ]
    vectors = np.array([spaces[code][1][place[code][word]] for code, word in shown])
    points = project(vectors, Projection.TSNE).astype(float).round(3)
    found = {
        pair_name(a, b): (
            sum(
                word_neighbours(row[i], a, {a: spaces[a], b: spaces[b]}, 1)[b][0][0] == row[j]
                for row in meanings.rows
            ),
            len(meanings.rows),
        )
        for (i, a), (j, b) in permutations(enumerate(meanings.languages), 2)
    }
    return WordView(
        tuple(code for code, _ in shown),
        tuple(word for _, word in shown),
        tuple((x, y) for x, y in points.tolist()),
        meanings.note,
        found,
    )
