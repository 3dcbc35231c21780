"""What both reports say of what was run."""

from collections.abc import Mapping
from typing import Any

from emu_core.bench.pretrained.results import PretrainedResults
from emu_core.bench.pretrained.setting import PretrainedSetting
from emu_core.bench.pretrained.texts import BenchTexts, Documents
from emu_core.evaluation.arrays import pair_name


def shared_facts(setting: PretrainedSetting, texts: BenchTexts, results: PretrainedResults) -> dict[str, Any]:
    """Data, pairs, seeds."""
    return {
        "data": setting.data_name,
        "data_sha256": setting.data_sha256,
        "pairs_trained_on": {pair_name(*text.languages): f"{len(text):,}" for text in texts.train},
        "pairs_measured": {pair_name(*text.languages): f"{len(text):,}" for text in texts.test},
        "pairs_trained_on_that_share_a_sentence_with_those_measured": f"{_shared(texts):,}",
        "chosen_epoch": "of the pairs trained on, up to 1,000 (a tenth at most) are kept to choose the epoch by",
        "seeds": list(results.seeds),
        "device": setting.device,
    }


def counts_of(documents: Mapping[str, tuple[Documents, Documents]], part: int) -> dict[str, str]:
    """Numbers of documents by language."""
    return {code: f"{len(both[part].texts):,}" for code, both in documents.items()}


def _shared(texts: BenchTexts) -> int:
    measured = {
        (code, sentence)
        for text in texts.test
        for code, side in zip(text.languages, (text.first, text.second), strict=True)
        for sentence in side
    }
    return sum(
        (text.source, first) in measured or (text.target, second) in measured
        for text in texts.train
        for first, second in zip(text.first, text.second, strict=True)
    )
