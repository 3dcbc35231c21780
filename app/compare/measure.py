"""What the Compare page measures; it runs in the background and knows no page."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from emu_core.evaluation.comparison import Comparison
from numpy.typing import NDArray

from emu_core.data.labelled import LabelledSet
from emu_core.encoders.base import FloatArray
from emu_core.errors import DataError
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.guard import guard
from emu_core.evaluation.leakage import Leakage, language_leakage
from emu_core.evaluation.leave_one_out import LeaveOneOut, leave_one_out
from emu_core.evaluation.significance import binomial_interval, paired_test, wilcoxon
from emu_core.evaluation.triples import suggest_triples

TRIPLES = 12  # suggested of each kind
SIGNIFICANT = 0.05


@dataclass(frozen=True, eq=False)
class Comparison:
    """A base and a specialised encoder on the same labelled sentences.

    Attributes:
        base: leave-one-out of the base encoder.
        new: of the specialised one.
        directions: a row for each ordered pair of languages, with `pair`, `queries`, `pool`, `n`; Acc@1 in percent
            with its 95 % binomial interval (`base`, `base_low`, `base_high`, and so for `new`); `difference` in
            points with its interval (`difference_low`, `difference_high`), `mended`, `broken` (sentences) and
            `p_value`, all of the paired test.
        guard: what each language's queries gained or lost, as it stands in a run's metrics.json.
        leakage: how well base and specialised vectors tell the language; None where they can't be asked.
        wilcoxon_p: p-value of the signed-rank test over the directions' differences.
        changed: nearest neighbours over all languages at once.
        triples: (k, 3) rows of S1, S2 and S3, all in one language.
        triples_across: (k, 3) the same with S3 in another language.
    """

    base: LeaveOneOut
    new: LeaveOneOut
    directions: pd.DataFrame
    guard: dict[str, dict[str, Any]]
    leakage: tuple[Leakage, Leakage] | None
    wilcoxon_p: float
    changed: ChangedNeighbours
    triples: NDArray[np.int64]
    triples_across: NDArray[np.int64]


def compare_encoders(base_vectors: FloatArray, new_vectors: FloatArray, part: LabelledSet) -> Comparison:
    """Measure two encoders on the same sentences.

    Args:
        base_vectors: (N, d) of the base encoder.
        new_vectors: (N, e) of the specialised encoder.
        part: the N sentences.

    Raises:
        DataError: a language has too few sentences to be measured.
    """
    intents, languages, ids, texts = (part.frame[c].tolist() for c in ("intent", "language", "id", "text"))
    base = leave_one_out(base_vectors, intents, languages, ids)
    new = leave_one_out(new_vectors, intents, languages, ids)
    directions = pd.DataFrame(
        [_direction(base, new, source, target) for source in base.languages for target in base.languages]
    )
    triples, across = (
        suggest_triples(
            base_vectors,
            intents,
            texts,
            languages,
            ids,
            TRIPLES,
            np.random.default_rng(0),
            across_languages=across,
        )
        for across in (False, True)
    )
    return Comparison(
        base,
        new,
        directions,
        {language: change.facts() for language, change in guard(base, new).items()},
        _leakage(base_vectors, new_vectors, languages, ids),
        wilcoxon(directions["difference"].to_numpy()).p_value,
        changed_neighbours(base_vectors, new_vectors, intents, languages, ids),
        triples,
        across,
    )


def _leakage(
    base_vectors: FloatArray, new_vectors: FloatArray, languages: list[str], ids: list[str]
) -> tuple[Leakage, Leakage] | None:
    try:
        return language_leakage(base_vectors, languages, ids), language_leakage(new_vectors, languages, ids)
    except DataError:  # one language, or too few sentences of one
        return None


def matrix(directions: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a column of `Comparison.directions` as a matrix: queries down, pools across, in their order."""
    order = list(dict.fromkeys(directions["queries"]))
    return directions.pivot_table(index="queries", columns="pool", values=column).reindex(
        index=order, columns=order
    )


def _direction(base: LeaveOneOut, new: LeaveOneOut, source: str, target: str) -> dict[str, object]:
    pair = pair_name(source, target)
    test = paired_test(base.correct[pair], new.correct[pair])
    row: dict[str, object] = {"pair": pair, "queries": source, "pool": target, "n": base.counts[pair]}
    for name, result in (("base", base), ("new", new)):
        interval = binomial_interval(int(result.correct[pair].sum()), result.counts[pair])
        row |= {name: result.accuracy[pair], f"{name}_low": interval.low, f"{name}_high": interval.high}
    return row | {
        "difference": test.difference,
        "difference_low": test.low,
        "difference_high": test.high,
        "mended": test.gained,
        "broken": test.lost,
        "p_value": test.p_value,
    }
