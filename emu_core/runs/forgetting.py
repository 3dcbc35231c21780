"""What a run's encoder has forgotten, as it is stored beside the run."""

import json
from dataclasses import astuple, fields

import msgspec
import pandas as pd

from emu_core.errors import Call, RunError
from emu_core.evaluation.forgetting import Forgetting, MeasureChange
from emu_core.runs.run import Run

FORGETTING_FILE = "forgetting.json"
FORGETTING_COLUMNS = ["part", "name", *(field.name for field in fields(MeasureChange))]


def read_forgetting(run: Run) -> pd.DataFrame | None:
    """Return the measures in a run's forgetting.json, a row each; None if there is no such file.

    The columns are `part` ("sts" or "translations"), `name` (a language, or two such as "de-en"), `base`,
    `specialised`, `difference`, `low`, `high`, `count` and `flagged`; `attrs["measured_on"]` describes the small set.

    Raises:
        RunError: the file is damaged.
    """
    path = run.folder / FORGETTING_FILE
    try:
        measured = msgspec.convert(json.loads(path.read_text("utf-8")), Forgetting)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, msgspec.ValidationError):
        raise RunError(
            f"{path} can't be read; make it again with ", Call("forgetting", str(run.folder))
        ) from None
    rows = [
        (part, name, *astuple(change))
        for part, changes in measured.parts.items()
        for name, change in changes.items()
    ]
    table = pd.DataFrame(rows, columns=FORGETTING_COLUMNS)
    table.attrs["measured_on"] = measured.measured_on
    return table
