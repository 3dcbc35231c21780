"""What a system's vectors are worth: translations ranked, similarity, classification, how alike languages lie."""

from collections.abc import Mapping
from dataclasses import asdict, replace

from emu_core.bench.pretrained.ranking import DOT, encode_in, ranking
from emu_core.bench.pretrained.request import PretrainedRequest
from emu_core.bench.pretrained.result import PretrainedResult
from emu_core.bench.pretrained.texts import BenchTexts, Documents
from emu_core.data.parallel.text import ParallelText
from emu_core.encoders.base import Encoder
from emu_core.errors import DataError
from emu_core.evaluation.angular_similarity import scores_of, sts, sts_across
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.eigen_similarity import eigen_similarity
from emu_core.evaluation.transfer import LabelledVectors, TransferSettings, few_shot, zero_shot
from emu_core.evaluation.translation_ranking import PAPER_DISTRACTORS

# The paper's network is 512 wide, trained on batches of 16 for 20 epochs: minutes for what is a check here.
CLASSIFIER = TransferSettings(hidden=128, learning_rate=0.002, batch_size=32, epochs=10)
MOST_SENTENCES = 6_000  # of a language, to train the classifier on, as the paper has
LEAST_FOR_EIGEN = 10  # pairs, the paper's sample


def measure(request: PretrainedRequest, encoder: Encoder | None, texts: BenchTexts) -> PretrainedResult:
    """Measure what the request's cell trained."""
    if encoder is None:
        raise TypeError("every system of this benchmark has an encoder")
    (text,) = texts.of_pairs(request.cell.pairs)[1]
    result = _translations(encoder, text)
    found, warning = _sts(encoder, texts, request.cell.languages)
    zero, few = _classified(encoder, texts, text.languages, request.cell.seed)
    facts = {"warnings": [warning]} if warning else {}
    return replace(result, sts=found, zero_shot=zero, few_shot=few, facts=facts)


def _translations(encoder: Encoder, text: ParallelText) -> PretrainedResult:
    """Section 3.4, and section 5's eigen-similarity of the same sentences."""
    first, second = (
        encode_in(encoder, side, code)
        for code, side in zip(text.languages, (text.first, text.second), strict=True)
    )
    distractors = min(PAPER_DISTRACTORS, len(text) - 1) or None
    there = ranking(DOT, first, second, text.second, distractors)
    back = ranking(DOT, second, first, text.first, distractors)
    names = pair_name(text.source, text.target), pair_name(text.target, text.source)
    eigen = {}
    if len(text) >= LEAST_FOR_EIGEN:
        found = eigen_similarity(first, second)
        eigen[names[0]] = {
            "mean": found.mean,
            "variance": found.variance,
            "standard_error": found.standard_error,
        }
    return PretrainedResult(
        ranks={DOT: {names[0]: there.ranks, names[1]: back.ranks}},
        candidates=dict.fromkeys(names, there.candidates),
        eigen=eigen,
    )


def _sts(
    encoder: Encoder, texts: BenchTexts, languages: tuple[str, ...]
) -> tuple[dict[str, dict[str, float]], str]:
    """Pearson and Spearman in each language and across; and why there is nothing across."""
    own = {code: texts.sts[code] for code in languages if code in texts.sts}
    vectors = {
        code: (encode_in(encoder, pairs.first, code), encode_in(encoder, pairs.second, code))
        for code, pairs in own.items()
    }
    scores = scores_of(own)
    found = {code: asdict(one) for code, one in sts(vectors, scores).items()} if own else {}
    if len(own) < 2:
        return found, ""
    try:
        across = sts_across(vectors, scores)
    except DataError as error:
        return found, str(error)
    return found | {way: asdict(one) for way, one in across.items()}, ""


def _classified(
    encoder: Encoder, texts: BenchTexts, languages: tuple[str, str], seed: int
) -> tuple[dict[str, float], dict[str, tuple[Mapping[str, object], ...]]]:
    """Zero-shot both ways, and few-shot in the pair's second language (section 4.2)."""
    if any(code not in texts.documents for code in languages):
        return {}, {}
    train = {code: _labelled(encoder, texts.documents[code][0], code) for code in languages}
    test = {code: _labelled(encoder, texts.documents[code][1], code) for code in languages}
    zero = {
        pair_name(source, target): right
        for source in languages
        for target, right in zero_shot(train[source], test, CLASSIFIER, seed=seed).items()
    }
    source, target = languages
    few = few_shot(train[source], train[target], test[target], settings=CLASSIFIER, seed=seed)
    return zero, {pair_name(source, target): tuple(asdict(one) for one in few)}


def _labelled(encoder: Encoder, documents: Documents, language: str) -> LabelledVectors:
    texts, labels = documents.texts[:MOST_SENTENCES], documents.labels[:MOST_SENTENCES]
    return LabelledVectors(encode_in(encoder, texts, language), labels)
