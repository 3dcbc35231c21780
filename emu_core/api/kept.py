"""The sentences a run trains on, kept in its folder until it is finished, so that it can be resumed from there."""

import pandas as pd

from emu_core.data.labelled import LabelledSet, UnlabelledSet
from emu_core.errors import DataError, RunError
from emu_core.runs.run import LABELLED, UNLABELLED, Run


def keep_sentences(run: Run, labelled: LabelledSet, unlabelled: UnlabelledSet | None) -> None:
    """Write both sets into the run's training folder."""
    run.training_folder.mkdir(exist_ok=True)
    if unlabelled is not None:
        unlabelled.frame.to_parquet(run.training_folder / UNLABELLED)
    partial = run.training_folder / f".{LABELLED}"
    labelled.frame.to_parquet(partial)
    partial.replace(run.training_folder / LABELLED)  # last and whole: it says that all is there


def kept_sentences(run: Run) -> tuple[LabelledSet, UnlabelledSet | None]:
    """Read what `keep_sentences` wrote. Raises RunError where that is damaged."""
    unlabelled = run.training_folder / UNLABELLED
    name = str(run.data().get("name", ""))
    try:
        labelled = LabelledSet(pd.read_parquet(run.training_folder / LABELLED), name)
        pool = UnlabelledSet(pd.read_parquet(unlabelled), name) if unlabelled.exists() else None
    except (OSError, ValueError, DataError):
        raise RunError(f"the sentences in {run.training_folder} are damaged; train the run again") from None
    return labelled, pool
