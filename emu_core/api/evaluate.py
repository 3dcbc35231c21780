"""Evaluate an encoder: leave-one-out Acc@1, or queries against a labelled pool from another file."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NotRequired, TypedDict

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.api.compare import ALL, MOST_COMPARED, divided_as, training_notes
from emu_core.api.inputs import labelled_set, load_base, reading_notes, runs_of
from emu_core.data.intent_names import Difference, spelt_as
from emu_core.data.reading import READING_OPTIONS, Reading, checked_reading
from emu_core.data.repeats import group_numbers, is_repeat, sentence_groups
from emu_core.data.sets import LabelledSet
from emu_core.data.wording import counted, listed
from emu_core.devices import pick_device
from emu_core.encoders.base import Encoder
from emu_core.encoders.registry import load_encoder, precision_notes
from emu_core.errors import EmuError, in_words
from emu_core.evaluation.arrays import Encode, rows_by_language
from emu_core.evaluation.changes import similar_changes
from emu_core.evaluation.classifier import logistic_regression
from emu_core.evaluation.leave_one_out import LeaveOneOut, NeighbourAccuracy, PoolAccuracy, pool_accuracy
from emu_core.evaluation.projection import stratified_sample
from emu_core.evaluation.run_metrics import measure_accuracy
from emu_core.evaluation.significance import accuracy_interval
from emu_core.formats.in_memory import Sources
from emu_core.runs.trained_on import trained_rows

POOL_NOTE = (
    "Against a labelled pool this is classification: a query takes the intent of its nearest sentence in the pool. A "
    "logistic regression on the same vectors is measured for comparison."
)


class ClassifierFigures(TypedDict):
    """The accuracy of a logistic regression fitted on the pool's vectors."""

    name: str
    C: float  # the inverse strength of its regularisation
    by_language: dict[str, float]  # percent, by query language
    mean: float


class ChangeFigures(TypedDict):
    """A `PairedChange` in JSON: the change of a query language compared with the base encoder."""

    base: float
    specialised: float
    difference: float
    low: float
    high: float
    verdict: str
    queries: int


class ChangeResult(TypedDict, total=False):
    """How a run's encoder changed each language, or why that is unknown."""

    changes: dict[str, ChangeFigures] | None
    changes_note: str


class Evaluation(ChangeResult):
    """The result of `evaluate`, which explains the keys."""

    protocol: Literal["leave-one-out", "pool"]
    encoder: str
    accuracy: dict[str, float]
    mean: float | None
    counts: dict[str, int]
    intervals: dict[str, list[float]]
    left_out: int
    notes: list[str]
    mean_with_en: NotRequired[float]
    by_language: NotRequired[dict[str, float]]
    classifier: NotRequired[ClassifierFigures | None]


def evaluate(
    data: Sources,
    *,
    encoder: str = "use",
    pool: Sources | None = None,
    languages: Sequence[str] | None = None,
    split: str | None = None,
    device: str = "auto",
    reading: Reading | None = None,
) -> Evaluation:
    """Measure the nearest-neighbour accuracy of an encoder.

    Without `split`, sentences of split train are left out if a run was trained on them. Without `pool`, each sentence
    is a query against all others; with a pool, queries take the intent of their nearest sentence there, which is
    compared with a logistic regression fitted on the pool's vectors.

    Args:
        data: labelled sentences; the queries, if there is a pool.
        encoder: what `load_encoder` takes; `run:DIR` for a run's specialised encoder.
        pool: labelled sentences of another file to find the nearest neighbour in.
        languages: only these languages (of the queries, if there is a pool).
        split: only rows of this split, or "all" (of the queries, if there is a pool).
        device: "auto", "cpu", "cuda:0".
        reading: columns with unusual names, the language of files that state none, and more; see `Reading`.

    Returns:
        `protocol` ("leave-one-out" or "pool"), `accuracy` in percent by "s-t" (queries in s, pool in t), `mean` over
        them, `counts` (queries), `intervals` (95 %, binomial), `left_out` (number of sentences left out) and `notes`
        (sentences on how to read the results, and the findings of the audit). Leave-one-out adds `mean_with_en`, the
        mean of the directions with English on one side, if there are any. A pool adds `by_language` (each query
        language against the whole pool) and `classifier` (`by_language`, `mean`, `C`; None if the pool has a single
        intent). For a run's encoder, `changes` has the gain or loss of each query language compared with the base
        encoder, or is None if that can't be opened, for the reason in `changes_note`. If the pool has none of the
        queries' intents, nothing is measured: `mean` is None, and a note says why.

    Raises:
        DataError: the data can't be read or measured.
        EncoderError: the encoder can't be opened.

    Examples:
        >>> import emu_core
        >>> measured = emu_core.evaluate("demo", encoder="run:runs/hotel", languages=["en", "de"])
        >>> list(measured["accuracy"]), measured["left_out"]
        (['en-en', 'en-de', 'de-en', 'de-de'], 672)
    """
    runs = runs_of(encoder)
    named, was = ("run", "was") if len(runs) == 1 else ("runs", "were")
    named += f" {listed(run.name for run in runs)}"
    reading, sets = checked_reading(reading), [data] if pool is None else [data, pool]
    are_read = not all(isinstance(given, LabelledSet) for given in sets)
    elsewhere = READING_OPTIONS if are_read else () if pool is None else ("merge_intents",)
    read = partial(labelled_set, reading=reading, elsewhere=elsewhere)
    labelled, audit = read(data)
    labelled = divided_as(runs, labelled)
    pooled, pool_audit = (None, ()) if pool is None else read(pool)
    findings = dict.fromkeys([*audit[1:], *pool_audit[1:]])
    asked = labelled.selected(languages=languages, splits=None if split in (None, ALL) else [split])
    query_rows, notes = asked, list[str]()
    seen, unknown = trained_rows(encoder, labelled)
    if runs and split is None and (asked & seen).any() and (asked & ~seen).any():
        query_rows = asked & ~seen
        notes.append(
            f"Left out: {counted(int((asked & seen).sum()), 'sentence')} that the {named} {was} trained on, or "
            f"translations of such. The split {ALL} has them, too."
        )
    notes += training_notes(encoder, seen[query_rows], unknown)
    part = LabelledSet(labelled.frame[query_rows].reset_index(drop=True), labelled.name)
    if pooled is not None:
        if Difference.CASE in reading.merge_intents:
            spelling = spelt_as(part.frame["intent"], pooled.intents)
            part = LabelledSet(part.frame.assign(intent=spelling), part.name)
        notes += _foreign_intents(part, pooled)
        if set(part.intents).isdisjoint(pooled.intents):
            return {
                "protocol": "pool",
                "encoder": encoder,
                "accuracy": {},
                "counts": {},
                "intervals": {},
                "by_language": {},
                "mean": None,
                "classifier": None,
                "left_out": int(asked.sum()) - len(part),
                "notes": [*notes, *findings],
            }
    frames = [part.frame] if pooled is None else [part.frame, pooled.frame]
    notes += reading_notes(encoder, pd.concat(frames))
    chosen_device = pick_device(device)
    model = load_encoder(encoder, device=chosen_device)
    notes += precision_notes(encoder, chosen_device)

    def measure(model: Encoder) -> NeighbourAccuracy:
        if pooled is None:
            return measure_accuracy(part, model.encode)
        return against_pool(part, pooled, model.encode)

    accuracies = measure(model)
    out: Evaluation = {
        "protocol": "leave-one-out" if pooled is None else "pool",
        "encoder": encoder,
        "accuracy": accuracies.accuracy,
        "mean": accuracies.mean,
        "counts": accuracies.counts,
        "intervals": {pair: list(accuracy_interval(right)) for pair, right in accuracies.correct.items()},
        "left_out": int(asked.sum()) - len(part),
        "notes": notes,
    }
    if isinstance(accuracies, PoolAccuracy) and pooled is not None:
        notes.append(POOL_NOTE)
        if repeats := int(is_repeat(part.frame, pooled.frame).sum()):
            queries = counted(len(part), "query", "queries")
            notes.append(f"{repeats:,} of {queries} are in the pool, too: no query is an answer to itself.")
        if runs and (of_pool := trained_rows(encoder, pooled)[0]).any():
            notes.append(
                f"The {named} {was} trained on {int(of_pool.sum()):,} of the pool's {len(pooled):,} sentences."
            )
        out["by_language"] = accuracies.by_language
        out["classifier"] = _classifier(part, pooled, model)
    elif isinstance(accuracies, LeaveOneOut) and "en" in part.languages:
        out["mean_with_en"] = accuracies.mean_with("en")
    notes += findings
    return (
        {**out, **_changes_from_base(encoder, chosen_device, measure, accuracies, group_numbers(part.frame))}
        if runs
        else out
    )


def _foreign_intents(queries: LabelledSet, pool: LabelledSet) -> list[str]:
    """Return a note if queries have intents that the pool lacks, which counts them as wrong."""
    foreign = sorted(set(queries.intents) - set(pool.intents))
    if not foreign:
        return []
    if len(foreign) == len(queries.intents):
        return [
            f"Nothing was measured, because the pool has none of the queries' intents ({listed(foreign, 4)}) but "
            f"others ({listed(pool.intents, 4)}); name the intents alike in both files."
        ]
    count = int(queries.frame["intent"].isin(foreign).sum())
    return [
        f"{counted(count, 'query', 'queries')} of {len(queries):,} can't be right, because the pool lacks their "
        f"intents ({listed(foreign, 4)}); name the intents alike in both files."
    ]


def _changes_from_base(
    encoder: str,
    device: str,
    measure: Callable[[Encoder], NeighbourAccuracy],
    accuracies: NeighbourAccuracy,
    groups: NDArray[np.integer],
) -> ChangeResult:
    """Return how each language changed from a run's base encoder, or why that is unknown; nothing from scratch."""
    try:
        base = load_base(encoder, device=device)
    except EmuError as error:
        reason = f"the encoder it was trained from can't be opened: {error.message.worded(in_words)}"
        return {"changes": None, "changes_note": reason}
    if base is None:
        return {}
    changes = similar_changes(measure(base), accuracies, groups)
    return {"changes": msgspec.to_builtins(changes.by_language)}


def _classifier(queries: LabelledSet, pool: LabelledSet, model: Encoder) -> ClassifierFigures | None:
    """Measure a logistic regression on the pool's vectors; None if the pool has a single intent.

    As in the search for neighbours, repeats and translations of the queries are excluded.
    """
    query_groups, pool_groups = _groups(queries, pool)
    frame = pool.frame.assign(group=pool_groups)
    known = frame[(frame["group"] == "") | ~frame["group"].isin(query_groups)].reset_index(drop=True)
    if known["intent"].nunique() < 2:
        return None
    rows = stratified_sample(known["language"].tolist(), known["intent"].tolist(), MOST_COMPARED)
    known = known.iloc[rows]
    fitted = logistic_regression(
        model.encode(known["text"].tolist()), known["intent"].tolist(), known["group"].tolist()
    )
    right = fitted.predict(model.encode(queries.frame["text"].tolist())) == queries.frame["intent"].to_numpy()
    by_language = {
        code: 100 * float(right[language_rows].mean())
        for code, language_rows in rows_by_language(queries.frame["language"].tolist(), len(right)).items()
    }
    return {
        "name": "logistic regression on the same vectors",
        "C": float(fitted.C),
        "by_language": by_language,
        "mean": sum(by_language.values()) / len(by_language),
    }


def against_pool(queries: LabelledSet, pool: LabelledSet, encode: Encode) -> PoolAccuracy:
    """Measure how often a query's nearest sentence in a pool has its intent, by an encoder's `encode`.

    Repeats and translations of a query are no answers to it.
    """
    (asked, *query_labels), (known, *others) = (
        [part.frame[column].tolist() for column in ("text", "intent", "language")] for part in (queries, pool)
    )
    vectors = encode([*asked, *known])
    query_groups, pool_groups = _groups(queries, pool)
    arguments = vectors[: len(asked)], *query_labels, vectors[len(asked) :], *others
    return pool_accuracy(*arguments, query_ids=query_groups, pool_ids=pool_groups)


def _groups(queries: LabelledSet, pool: LabelledSet) -> tuple[list[str], list[str]]:
    """Return `sentence_groups` of the queries and of the pool, formed among both together."""
    groups = sentence_groups(pd.concat([queries.frame, pool.frame], ignore_index=True))
    return groups[: len(queries)], groups[len(queries) :]
