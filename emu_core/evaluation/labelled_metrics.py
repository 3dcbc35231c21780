"""The evaluation of a base and a specialised encoder on a labelled set, as metrics.json holds it."""

from typing import Any

from emu_core.data.labelled import LabelledSet
from emu_core.evaluation.arrays import Encode
from emu_core.evaluation.comparison import Measured, guard_and_leakage, measure_encoder
from emu_core.evaluation.leave_one_out import LeaveOneOut, leave_one_out


def measure_accuracy(labelled: LabelledSet, encode: Encode) -> LeaveOneOut:
    """Return leave-one-out Acc@1 of every ordered pair of a labelled set's languages."""
    frame = labelled.frame
    return leave_one_out(
        encode(frame["text"].tolist()),
        frame["intent"].tolist(),
        frame["language"].tolist(),
        frame["id"].tolist(),
    )


def measure_all(labelled: LabelledSet, encode: Encode) -> Measured:
    """Encode the held-out sentences once and return every figure that is measured on them."""
    frame = labelled.frame
    return measure_encoder(frame, encode(frame["text"].tolist()))


def labelled_metrics(
    held_out: LabelledSet | None, base: Measured | None, specialised: Measured | None
) -> dict[str, Any]:
    """Return accuracy before and after, the language guard and the leakage, as metrics.json holds them.

    Args:
        held_out: the sentences measured on; None where there are none.
        base: the base encoder on them.
        specialised: the specialised one.
    """
    if held_out is None or base is None or specialised is None:
        return {
            "note": "no rows of split test or dev, so nothing was measured and no language could be guarded: measure "
            "on other sentences with emu evaluate FILE --run DIR",
            "guard": None,
            "leakage": None,
        }
    # With English among the languages the mean is the paper's, over the directions with English on one side.
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
