"""`emu evaluate`: leave-one-out Acc@1, or queries against a labelled pool from another file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emu_core.api.inputs import Data, labelled_set
from emu_core.data.labelled import LabelledSet
from emu_core.data.labelled.columns import ColumnMapping
from emu_core.devices import pick_device
from emu_core.encoders.base import Encoder, FloatArray
from emu_core.encoders.registry import load_encoder
from emu_core.errors import EmuError
from emu_core.evaluation.guard import guard
from emu_core.evaluation.leave_one_out import LeaveOneOut, NeighbourAccuracy, PoolAccuracy, pool_accuracy
from emu_core.evaluation.run_metrics import measure_accuracy
from emu_core.evaluation.significance import accuracy_interval
from emu_core.runs.run import Run


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

    Args:
        data: labelled sentences; the queries, where there is a pool.
        encoder: what `load_encoder` takes; `run:DIR` for a run's specialised encoder.
        pool: labelled sentences of another file to find the nearest neighbour in.
        languages: measure these only; of the queries, where there is a pool.
        split: measure rows of this split only; of the queries, where there is a pool.
        device: "auto", "cpu", "cuda:0".
        mapping: columns of the files, where their names are unusual.
        language: language of files that do not say it.

    Returns:
        `protocol` ("leave-one-out" or "pool"), `accuracy` in percent by "s-t" (queries in s, pool in t), `mean` over
        them, `counts` (queries), `intervals` (95 %, binomial). Leave-one-out adds `mean_with_en`, the mean of the
        directions with English on one side, where there is English; a pool adds `by_language`, each query language
        against the whole pool. For a run's encoder `guard` says what each query language gained or lost against the
        encoder it was trained from; it is None, with the reason in `guard_note`, where that can't be opened.

    Raises:
        DataError: the data can't be read or measured.
        EncoderError: the encoder can't be opened.
    """
    labelled, _ = labelled_set(data, mapping=mapping, language=language)
    part = labelled.select(languages=languages, splits=None if split is None else [split])
    pooled = None if pool is None else labelled_set(pool, mapping=mapping, language=language)[0]
    place = pick_device(device)
    model = load_encoder(encoder, device=place)
    base, unguarded = _base(encoder, place)

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
    }
    if isinstance(found, PoolAccuracy):
        out["by_language"] = found.by_language
    elif isinstance(found, LeaveOneOut) and "en" in part.languages:
        out["mean_with_en"] = found.mean_with("en")
    if base is not None:
        out["guard"] = {language: change.facts() for language, change in guard(measure(base), found).items()}
    elif unguarded:
        out |= {"guard": None, "guard_note": unguarded}
    return out


def _base(encoder: str, device: str) -> tuple[Encoder | None, str]:
    """The encoder a run's was trained from, or why it can't be compared with; neither where it is no run's."""
    kind, colon, where = encoder.partition(":")
    if kind + colon != "run:":
        return None, ""
    try:
        spec = Run(Path(where)).config().encoder
        if not spec:  # trained from scratch: there is no language that could have lost
            return None, ""
        return load_encoder(spec, device=device), ""
    except EmuError as error:
        return None, f"the encoder it was trained from can't be opened: {error}"


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
