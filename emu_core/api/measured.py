"""What a run measures of its encoder before and after training, and how that stands in metrics.json."""

from dataclasses import dataclass
from typing import Any

from emu_core.api.inputs import measure
from emu_core.data.labelled import LabelledSet
from emu_core.encoders.encode import Encode
from emu_core.errors import DataError
from emu_core.evaluation.guard import guard
from emu_core.evaluation.leakage import Leakage, language_leakage
from emu_core.evaluation.leave_one_out import LeaveOneOut

UNGUARDED: dict[str, Any] = {"guard": None, "leakage": None}
"""What metrics.json has instead where no sentences were held out."""


@dataclass(frozen=True, eq=False)
class Measured:
    """An encoder on the held-out sentences.

    Attributes:
        accuracy: leave-one-out, of every direction.
        leakage: None where there are too few sentences or languages to measure it.
    """

    accuracy: LeaveOneOut
    leakage: Leakage | None


def measure_all(labelled: LabelledSet, encode: Encode) -> Measured:
    """Encode the held-out sentences once and measure everything on them."""
    frame = labelled.frame
    vectors = encode(frame["text"].tolist())
    accuracy = measure(labelled, lambda _: vectors)
    try:
        leakage = language_leakage(vectors, frame["language"].tolist(), frame["id"].tolist())
    except DataError:  # one language, or one of a single sentence: there is nothing to tell apart
        leakage = None
    return Measured(accuracy, leakage)


def harm(base: Measured, specialised: Measured) -> dict[str, Any]:
    """The language guard and the leakage of both encoders, for metrics.json."""
    changes = guard(base.accuracy, specialised.accuracy)
    leakage = None
    if base.leakage is not None and specialised.leakage is not None:
        leakage = {"base": base.leakage.facts(), "specialised": specialised.leakage.facts()}
    return {"guard": {language: change.facts() for language, change in changes.items()}, "leakage": leakage}
