"""Records of a run's log."""

import json
from typing import Any

from emu_core.runs.log import Record, record_of


def record(kind: str, **values: Any) -> Record:
    """The record of a step or an epoch, as a line of the log has it."""
    made = record_of(json.dumps({"kind": kind, "step": 1, "epoch": 1, "loss": 1.0, **values}))
    assert made is not None
    return made
