"""`emu evaluate`: leave-one-out Acc@1, or queries against a labelled pool from another file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emu_core.api.compare import ALL, MOST_COMPARED, RUN, divided_as, training_notes
from emu_core.api.inputs import Data, labelled_set
from emu_core.data.labelled import LabelledSet
from emu_core.data.labelled.columns import ColumnMapping
from emu_core.data.wording import counted
from emu_core.devices import pick_device
from emu_core.encoders.base import Encoder, FloatArray
from emu_core.encoders.registry import load_encoder
from emu_core.errors import EmuError
from emu_core.evaluation.arrays import rows_by_language
from emu_core.evaluation.classifier import logistic_regression
from emu_core.evaluation.guard import guard
from emu_core.evaluation.leave_one_out import LeaveOneOut, NeighbourAccuracy, PoolAccuracy, pool_accuracy
from emu_core.evaluation.projection import stratified_sample
from emu_core.evaluation.run_metrics import measure_accuracy
from emu_core.evaluation.significance import accuracy_interval
from emu_core.runs.run import Run

TRAIN = "train"
POOL_NOTE = (
    "Against a labelled pool this is classification: a query takes the intent of its nearest sentence there, and a "
    "logistic regression on the same vectors of the pool stands beside it."
)


def evaluate(
    data: Data,
    *,
    encoder: str = "use",
    pool: Data | None = None,
    languages: Sequence[str] | None = None,
    split: str | None = None,
    device: str = "auto",
    mapping: ColumnMapping | None = None,
    language: str | None = None,
) -> dict[str, Any]:
    """Measure an encoder.

    Unasked, no sentence is measured that the run was trained on: where `data` is what it was trained on, rows of split
    train are left out, as `left_out` and `notes` say. Where nothing would remain, all is measured, and a note warns.

    Against a pool, a query takes the intent of its nearest labelled sentence, which is classification: the accuracy of
    a logistic regression on the same vectors, fitted to the pool, stands beside it.

    Args:
        data: labelled sentences; the queries, where there is a pool.
        encoder: what `load_encoder` takes; `run:DIR` for a run's specialised encoder.
        pool: labelled sentences of another file to find the nearest neighbour in.
        languages: measure these only; of the queries, where there is a pool.
        split: measure rows of this split only, or of "all"; of the queries, where there is a pool.
        device: "auto", "cpu", "cuda:0".
        mapping: columns of the files, where their names are unusual.
        language: language of files that do not say it.

    Returns:
        `protocol` ("leave-one-out" or "pool"), `accuracy` in percent by "s-t" (queries in s, pool in t), `mean` over
        them, `counts` (queries), `intervals` (95 %, binomial). Leave-one-out adds `mean_with_en`, the mean of the
        directions with English on one side, where there is English; a pool adds `by_language`, each query language
        against the whole pool. For a run's encoder `guard` says what each query language gained or lost against the
        encoder it was trained from; it is None, with the reason in `guard_note`, where that can't be opened. `left_out`
        counts the sentences left out, and `notes` are what a reader of the figures must know, a sentence or more each.
        A pool also adds `classifier`, with `by_language`, `mean` and the `C` chosen; None where it has one intent.

    Raises:
        DataError: the data can't be read or measured.
        EncoderError: the encoder can't be opened.
    """
    run = Run(Path(encoder.removeprefix(RUN))) if encoder.startswith(RUN) else None
    labelled = divided_as(
        [] if run is None else [run], labelled_set(data, mapping=mapping, language=language)[0]
    )
    pooled = None if pool is None else labelled_set(pool, mapping=mapping, language=language)[0]
    asked = labelled.select(languages=languages, splits=None if split in (None, ALL) else [split])
    part, notes = (asked, list[str]()) if run is None else _not_trained_on(run, labelled, asked, split)
    place = pick_device(device)
    model = load_encoder(encoder, device=place)
    base, unguarded = (None, "") if run is None else _base(run, place)

    def measure(model: Encoder) -> NeighbourAccuracy:
        return measure_accuracy(part, model.encode) if pooled is None else _against_pool(part, pooled, model)

    found = measure(model)
    intervals = {pair: accuracy_interval(right) for pair, right in found.correct.items()}
    out: dict[str, Any] = {
        "protocol": "leave-one-out" if pooled is None else "pool",
        "encoder": encoder,
        "accuracy": found.accuracy,
        "mean": found.mean,
        "counts": found.counts,
        "intervals": {pair: [interval.low, interval.high] for pair, interval in intervals.items()},
        "left_out": len(asked) - len(part),
        "notes": notes,
    }
    if isinstance(found, PoolAccuracy) and pooled is not None:
        notes.append(POOL_NOTE)
        if run is not None and _trained_on(run, pooled):
            notes.append(f"The run {run.name} was trained on the pool's sentences.")
        out["by_language"] = found.by_language
        out["classifier"] = _classifier(part, pooled, model)
    elif isinstance(found, LeaveOneOut) and "en" in part.languages:
        out["mean_with_en"] = found.mean_with("en")
    if base is not None:
        out["guard"] = {language: change.facts() for language, change in guard(measure(base), found).items()}
    elif unguarded:
        out |= {"guard": None, "guard_note": unguarded}
    return out


def _trained_on(run: Run, labelled: LabelledSet) -> bool:
    """Return whether a set is what a run was trained on; False where its folder does not say."""
    try:
        return run.data().get("sha256") == labelled.sha256()
    except EmuError:
        return False


def _not_trained_on(
    run: Run, labelled: LabelledSet, asked: LabelledSet, split: str | None
) -> tuple[LabelledSet, list[str]]:
    """Return the sentences asked for without those that the run was trained on, and what a reader must know.

    Args:
        run: whose encoder is measured.
        labelled: the whole set.
        asked: the part that was asked for.
        split: that was asked for; None leaves out what was trained on.
    """
    try:
        if not run.config().encoder:  # trained from scratch, on no labelled sentence
            return asked, []
        notes = training_notes(run, labelled, split or ALL)
    except EmuError:  # a folder with nothing but an encoder
        return asked, []
    new = (asked.frame["split"] != TRAIN).to_numpy()
    if split is not None or not labelled.splits or not new.any() or not _trained_on(run, labelled):
        return asked, notes
    if new.all():
        return asked, []
    left_out = counted(int((~new).sum()), "sentence")
    note = (
        f"Left out: {left_out} of split {TRAIN}, which the run {run.name} was trained on. --split {ALL} measures them "
        "too."
    )
    return LabelledSet(asked.frame[new].reset_index(drop=True), asked.name), [note]


def _base(run: Run, device: str) -> tuple[Encoder | None, str]:
    """The encoder a run's was trained from, or why it can't be compared with."""
    try:
        spec = run.config().encoder
        if not spec:  # trained from scratch: there is no language that could have lost
            return None, ""
        return load_encoder(spec, device=device), ""
    except EmuError as error:
        return None, f"the encoder it was trained from can't be opened: {error}"


def _classifier(queries: LabelledSet, pool: LabelledSet, model: Encoder) -> dict[str, Any] | None:
    """Measure a logistic regression on the pool's vectors; None where the pool has a single intent.

    It is fitted without translations of the queries, which a query does not meet as neighbours either.
    """
    frame = pool.frame
    known = frame[(frame["id"] == "") | ~frame["id"].isin(queries.frame["id"])].reset_index(drop=True)
    if known["intent"].nunique() < 2:
        return None
    rows = stratified_sample(known["language"].tolist(), known["intent"].tolist(), MOST_COMPARED)
    known = known.iloc[rows]
    fitted = logistic_regression(
        model.encode(known["text"].tolist()), known["intent"].tolist(), known["id"].tolist()
    )
    right = fitted.predict(model.encode(queries.frame["text"].tolist())) == queries.frame["intent"].to_numpy()
    by_language = {
        code: 100 * float(right[own].mean())
        for code, own in rows_by_language(queries.frame["language"].tolist(), len(right)).items()
    }
    return {
        "name": "logistic regression on the same vectors",
        "C": float(fitted.C),
        "by_language": by_language,
        "mean": sum(by_language.values()) / len(by_language),
    }


def _against_pool(queries: LabelledSet, pool: LabelledSet, model: Encoder) -> PoolAccuracy:
    vectors: FloatArray = model.encode([*queries.frame["text"], *pool.frame["text"]])
    return pool_accuracy(
        vectors[: len(queries)],
        queries.frame["intent"].tolist(),
        queries.frame["language"].tolist(),
        vectors[len(queries) :],
        pool.frame["intent"].tolist(),
        pool.frame["language"].tolist(),
        query_ids=queries.frame["id"].tolist(),
        pool_ids=pool.frame["id"].tolist(),
    )
