"""A labelled file among an app's data, stored as if it had been uploaded."""

from pathlib import Path

import pytest

from emu_app.data.library import ChosenData, add
from emu_app.data.tables import labelled_from_upload, read_upload


def stored_set(runs: Path, file: Path) -> str:
    """Store a file whose rows have splits for the app with these runs, and return its name in the address."""
    upload = read_upload(file.name, [(file.name, file.read_bytes())])
    labelled, audit, rows = labelled_from_upload(upload, upload.guess(), None, 0.0, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMU_RUNS", str(runs))
        return add(ChosenData(labelled, audit, ""), rows)
