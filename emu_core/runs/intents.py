"""The intent model in a run's folder, with which the run names intents by itself."""

import shutil
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import pandas as pd
from safetensors.numpy import load_file, save_file

from emu_core.data.sets import LABELLED_COLUMNS, LabelledSet
from emu_core.encoders.saved import DAMAGE, changed_file, write_checksums
from emu_core.errors import DataError, Fix, RunError
from emu_core.files import read_json, whole_folder, write_json
from emu_core.intents.model import IntentModel

INTENTS = "intents"
_FACTS, _ARRAYS, _SENTENCES = "intents.json", "intents.safetensors", "sentences.parquet"
_NOT_KEPT = "(not kept)"
_KEPT = ("text", "intent", "language")


@dataclass(frozen=True, eq=False)
class StoredIntents:
    """A run's intent model, and the labelled sentences that it is fitted on."""

    model: IntentModel
    labelled: LabelledSet


def store_intents(run: PathLike[str], stored: StoredIntents, *, keep_examples: bool = True) -> None:
    """Write the model, with checksums, into the folder of a run; without the sentences unless they are kept."""
    folder = Path(run) / INTENTS
    if folder.exists():  # left by a process that was killed before the final status
        shutil.rmtree(folder)
    frame = stored.labelled.frame[list(_KEPT)]
    if not keep_examples:
        frame = frame.assign(text=_NOT_KEPT)
    with whole_folder(folder) as partial:
        facts, arrays = stored.model.state()
        save_file({name: array.copy() for name, array in arrays.items()}, partial / _ARRAYS)
        write_json(partial / _FACTS, {**facts, "name": stored.labelled.name})
        frame.to_parquet(partial / _SENTENCES)
        write_checksums(partial)


def has_intents(run: PathLike[str]) -> bool:
    """Return whether a run has an intent model, which may be damaged."""
    return (Path(run) / INTENTS).is_dir()


def load_intents(run: PathLike[str]) -> StoredIntents:
    """Read what `store_intents` wrote.

    Raises:
        RunError: the run has none, or it is damaged.
    """
    folder = Path(run) / INTENTS
    if not has_intents(run):
        raise RunError(
            f"{Path(run)} has no intents to name: it was trained without labels, or is not finished; give labelled "
            "sentences to predict from: ",
            Fix("pool"),
        )
    try:
        if changed_file(folder):
            raise ValueError("not the files that were saved")
        return _read(folder)
    except (DataError, *DAMAGE):
        raise RunError(f"the intent model in {folder} is damaged; train the run again") from None


def _read(folder: Path) -> StoredIntents:
    facts, sentences = read_json(folder / _FACTS), pd.read_parquet(folder / _SENTENCES)
    model = IntentModel.from_state(facts, load_file(folder / _ARRAYS))
    frame = sentences[list(_KEPT)].reindex(columns=list(LABELLED_COLUMNS), fill_value="").astype("str")
    labelled = LabelledSet(frame.reset_index(drop=True), str(facts["name"]))
    if len(labelled) != model.shape[0] or not set(labelled.intents) <= set(model.intents_):
        raise ValueError("sentences of another model")
    return StoredIntents(model, labelled)
