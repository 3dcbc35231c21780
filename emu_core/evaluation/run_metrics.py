"""The figures of a run in metrics.json: on a labelled set, and on parallel text."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from emu_core.data.labelled import LabelledSet
from emu_core.data.parallel.held_out import joined_by_pivot
from emu_core.data.parallel.text import ParallelText
from emu_core.evaluation.arrays import DistinctTexts, Encode, Vectors, pair_name, unit_vectors
from emu_core.evaluation.comparison import COLUMNS, Measured, guard_and_leakage, measure_encoder
from emu_core.evaluation.eigen_similarity import eigen_similarity
from emu_core.evaluation.leave_one_out import LeaveOneOut, leave_one_out
from emu_core.evaluation.translation_ranking import NS, TranslationRanking, both_ways


def measure_accuracy(labelled: LabelledSet, encode: Encode) -> LeaveOneOut:
    """Return leave-one-out Acc@1 of every ordered pair of a labelled set's languages."""
    texts, *facts = (labelled.frame[column].tolist() for column in COLUMNS)
    return leave_one_out(encode(texts), *facts)


def measure_all(labelled: LabelledSet, encode: Encode) -> Measured:
    """Encode the held-out sentences once and return all their measures."""
    frame = labelled.frame
    return measure_encoder(frame, encode(frame["text"].tolist()))


def labelled_metrics(
    held_out: LabelledSet | None, base: Measured | None, specialised: Measured | None
) -> dict[str, Any]:
    """Return the accuracy of both encoders on held-out sentences, the language guard and the leakage."""
    if held_out is None or base is None or specialised is None:
        return {
            "note": "no rows of split test or dev, so nothing was measured and no language could be guarded: evaluate "
            "the run on other sentences",
            "guard": None,
            "leakage": None,
        }
    # As in the paper, the mean is over the directions with English on one side, if there is English.
    average = "en" if "en" in held_out.languages and len(held_out.languages) > 1 else None
    before, after = base.accuracy, specialised.accuracy
    return {
        "split": held_out.splits[0],
        "languages": list(held_out.languages),
        "counts": before.counts,
        "base": before.accuracy,
        "specialised": after.accuracy,
        "mean_over": f"directions with {average} on one side" if average else "all directions",
        "mean_base": before.mean_with(average) if average else before.mean,
        "mean_specialised": after.mean_with(average) if average else after.mean,
        **guard_and_leakage(base, specialised),
    }


LEAST_FOR_EIGEN = 10  # pairs: the sample size of the paper


def parallel_metrics(encode: Encode, held_out: Sequence[ParallelText]) -> dict[str, Any]:
    """Return translation ranking by cosine in both directions, and eigen-similarity, of each held-out language pair.

    Two languages whose sentences are translations of the same sentences in a third are measured, too: an encoder may
    align them without having been trained on pairs of the two.

    Returns:
        {"translation": {"en-de": {"p_at_1", "p_at_3", "p_at_10", "candidates", "low", "high", "trained"}, ...},
        "eigen_similarity": {"en-de": {"mean", "variance", "standard_error", "trained"}, ...}}.
    """
    translation: dict[str, Any] = {}
    eigen: dict[str, Any] = {}
    joined = joined_by_pivot(held_out)
    for text, sides, ways in _rankings(encode, [*held_out, *joined]):
        trained = text not in joined
        for way, found in zip((text, text.turned()), ways, strict=True):
            translation[pair_name(*way.languages)] = {
                **{f"p_at_{n}": found.precision(n) for n in NS},
                **found.interval()._asdict(),
                "candidates": found.candidates,
                "trained": trained,
            }
        if len(text) >= LEAST_FOR_EIGEN:
            spectra = eigen_similarity(*sides)
            eigen[pair_name(*text.languages)] = {
                **{name: getattr(spectra, name) for name in ("mean", "variance", "standard_error")},
                "trained": trained,
            }
    return {"translation": translation, "eigen_similarity": eigen}


def mean_p_at_1(encode: Encode, held_out: Sequence[ParallelText]) -> float:
    """Return P@1 of translation ranking by cosine in percent, averaged over language pairs and directions."""
    return float(
        np.mean([ranking.precision() for *_, ways in _rankings(encode, held_out) for ranking in ways])
    )


def _rankings(
    encode: Encode, texts: Sequence[ParallelText]
) -> Iterator[tuple[ParallelText, list[Vectors], tuple[TranslationRanking, TranslationRanking]]]:
    """Yield each text with the unit vectors of its two sides and `both_ways`; each sentence is encoded once."""
    distinct = DistinctTexts(
        sentence for text in texts for side in (text.first, text.second) for sentence in side
    )
    units = unit_vectors(encode(distinct.texts))
    for text in texts:
        first, second = (units[distinct.rows(side)] for side in (text.first, text.second))
        yield text, [first, second], both_ways((first, text.first), (second, text.second))
