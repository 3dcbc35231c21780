"""Measure encoders trained from scratch for docs/evidence.md.

Writes benchmarks/results/from_scratch.csv, a row for each system, its training pairs, measure and direction: right
answers of translation retrieval by cosine, Pearson's correlation with STS scores across languages, and CPU seconds of
training. Tests recompute the page's table from this file. One thread, seed 0.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import emu_core  # noqa: F401  - first: it sets how OpenMP threads wait, before torch starts them

# isort: split
import pandas as pd
import torch

from emu_core.bench.parallel.experiment import Recipe, encode_pairs
from emu_core.bench.results import pair_names
from emu_core.data.texts.held_out import hold_out, usual_count
from emu_core.data.texts.parallel import ParallelText
from emu_core.data.texts.tasks import Tasks
from emu_core.encoders.base import Encoder, encode_in
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.similarity import scores_of, sts_across
from emu_core.evaluation.translation_ranking import COSINE, ranking_by
from emu_core.formats.parallel.files import read_parallel
from emu_core.formats.texts.scored_pairs import read_scored_pairs
from emu_core.methods.bicvm.settings import TUNED_BICVM, BicvmConfig
from emu_core.methods.dual_encoder.settings import SUM_OF_WORDS, TUNED_DUAL_ENCODER, DualEncoderConfig
from emu_core.runs.costs import Pace, now, since

OUT = Path(__file__).parent / "results" / "from_scratch.csv"
COLUMNS = ["system", "trained_on", "measure", "where", "value", "of"]
PAIRS = (("en", "de"), ("en", "fr"))
SEED = 0
_TRAINED: dict[str, Recipe] = {
    "bicvm": Recipe(BicvmConfig(**TUNED_BICVM)),
    "sum-of-words": Recipe(DualEncoderConfig(**SUM_OF_WORDS)),
    "dual-encoder-without-layers": Recipe(DualEncoderConfig(**{**TUNED_DUAL_ENCODER, "layers": 0})),
    "dual-encoder": Recipe(DualEncoderConfig(**TUNED_DUAL_ENCODER)),
}


def jobs() -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """Yield a system and the training pairs of each model on the page."""
    yield "bicvm", PAIRS[:1]
    yield "bicvm", PAIRS
    for system in list(_TRAINED)[1:]:
        for pair in PAIRS[:1] if system == "dual-encoder" else PAIRS:  # the slowest to train
            yield system, (pair,)


def captions(data: Path, part: str, source: str, target: str) -> ParallelText:
    """Read Multi30k's captions of a part, such as train."""
    return read_parallel([data / "multi30k" / f"{part}.{code}.gz" for code in (source, target)])[0]


def measured(
    encoder: Encoder, tests: Sequence[ParallelText], data: Path
) -> Iterator[tuple[str, str, float, int]]:
    """Yield measure, direction, value and number of queries of a trained encoder."""
    for text in tests:
        first, second = encode_pairs(encoder, text)
        for source, own, target, others, texts in (
            (text.source, first, text.target, second, text.second),
            (text.target, second, text.source, first, text.first),
        ):
            ranks = ranking_by(COSINE, own, others, texts).ranks
            yield "right", pair_name(source, target), int((ranks == 1).sum()), len(ranks)
    codes = {code for text in tests for code in text.languages}
    pairs = {code: own for code, own in read_scored_pairs(data / "stsb").items() if code in codes}
    vectors = {
        code: (encode_in(encoder, own.first, code), encode_in(encoder, own.second, code))
        for code, own in pairs.items()
    }
    scores: Mapping[str, Sequence[float]] = scores_of(pairs)
    for where, found in sts_across(vectors, scores).items():
        yield "pearson", where, round(found.pearson, 4), len(scores["en"])


def main() -> None:
    """Train, measure and write; each finished model is written at once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="a folder with multi30k and stsb")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[tuple[object, ...]] = []
    for system, pairs in jobs():
        whole = [captions(options.data, "train", *pair) for pair in pairs]
        train, dev = hold_out(whole, usual_count(whole), SEED)
        start = now()
        encoder, _ = _TRAINED[system].fit(train, dev, Tasks(), seed=SEED, device="cpu", pace=Pace())
        cpu = since(start).cpu_seconds
        tested = [*pairs, ("de", "fr")] if len(pairs) > 1 else pairs
        tests = [captions(options.data, "val", *pair) for pair in tested]
        on = " ".join(pair_names(pairs))
        rows += [(system, on, *row) for row in measured(encoder, tests, options.data)]
        rows.append((system, on, "cpu_seconds", "", round(cpu, 1), ""))
        pd.DataFrame(rows, columns=COLUMNS, dtype=object).to_csv(OUT, index=False)
        print(f"{system} on {on}: {cpu:.0f} CPU s", flush=True)


if __name__ == "__main__":
    main()
