"""Compare two encoders on labelled sentences: a run with its base encoder, two runs, or any two encoders."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from emu_core.api.inputs import RUN_SPEC, encoder_title, finished_run, labelled_set
from emu_core.data.reading import Reading
from emu_core.data.sets import LabelledSet
from emu_core.data.wording import counted
from emu_core.devices import pick_device
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.specs import joined_spec, parts_of
from emu_core.errors import DataError
from emu_core.evaluation.arrays import DistinctTexts
from emu_core.evaluation.projection import stratified_sample
from emu_core.formats.in_memory import Sources
from emu_core.runs.data_facts import LabelledFacts
from emu_core.runs.forgetting import read_forgetting
from emu_core.runs.run import Run
from emu_core.runs.trained_on import trained_rows

if TYPE_CHECKING:
    from emu_core.notebook.comparison import RunComparison

ALL = "all"  # rows of every split
MOST_COMPARED = 20_000  # sentences; each is compared with every other


def compare(
    data: Sources,
    run: str | Path | Run | None = None,
    other: str | Path | Run | None = None,
    *,
    encoder: str | Sequence[str] | None = None,
    split: str | None = None,
    languages: Sequence[str] | None = None,
    device: str = "auto",
    reading: Reading | None = None,
) -> "RunComparison":
    """Compare two encoders on the same labelled sentences.

    Args:
        data: labelled sentences.
        run: a finished run, to compare with its base encoder or with `other`.
        other: a second finished run, whose gain over the first is measured.
        encoder: what `load_encoder` takes: two encoders instead of runs, or one to compare `run` with instead of its
            base encoder.
        split: rows of this split, or "all"; None takes test, else dev, else all rows.
        languages: only these languages; None takes all.
        device: "auto", "cpu", "cuda:0".
        reading: columns with unusual names, the language of files that state none, and more; see `Reading`.

    Returns:
        The comparison, which shows itself in a notebook. Its `notes` tell which sentences a run was trained on, and
        whether only a sample was measured.

    Raises:
        DataError: the data can't be read or measured, or there are not two encoders to compare.
        RunError: a run is damaged or not finished.
        EncoderError: an encoder can't be opened.

    Examples:
        >>> import emu_core
        >>> comparison = emu_core.compare("demo", "runs/hotel", languages=["en", "de"])
        >>> comparison.means["over"].tolist()
        ['4 directions', '3 directions with English']
        >>> bool((comparison.means["difference"] > 10).all())
        True
    """
    from emu_core.notebook.comparison import RunComparison  # imports Plotly

    runs = [
        finished_run(run_or_folder, "compare") for run_or_folder in (run, other) if run_or_folder is not None
    ]
    specs = _specs(runs, [encoder] if isinstance(encoder, str) else list(encoder or ()))
    labelled = labelled_set(data, reading)[0]
    labelled = divided_as(runs, labelled)
    part, notes = choose_rows(labelled, split, languages)
    measured = labelled.selected(languages=languages, splits=splits_of(labelled, split))
    for trained_run in runs:
        spec = f"{RUN_SPEC}{trained_run.folder}"
        seen, unknown = trained_rows(spec, labelled)
        notes += training_notes(spec, seen[measured], unknown)
    chosen_device, texts = pick_device(device), part.frame["text"].tolist()
    distinct = DistinctTexts(texts)
    rows = distinct.rows(texts)
    base, new = (load_encoder(spec, device=chosen_device).encode(distinct.texts)[rows] for spec in specs)
    alone = len(runs) == 1 and specs[0] == runs[0].config().encoder
    return RunComparison(
        part.frame,
        base,
        new,
        _names(specs),
        read_forgetting(runs[0]) if alone else None,
        tuple(dict.fromkeys(notes)),
        runs[0] if alone else None,
        runs,
    )


def divided_as(runs: Sequence[Run], labelled: LabelledSet) -> LabelledSet:
    """Return a set with the splits of the first run that held out a share; unchanged if it has splits already."""
    for run in runs:
        if not labelled.splits and (share := run.data(LabelledFacts).hold_out):
            return labelled.hold_out(share, run.config().seed)
    return labelled


def usual_split(labelled: LabelledSet) -> str:
    """Return the split that encoders are compared on by default: test, else dev, else all rows."""
    return next((split for split in ("test", "dev") if split in labelled.splits), ALL)


def splits_of(labelled: LabelledSet, split: str | None) -> list[str] | None:
    """Return the splits that `split` stands for, as `compare` takes it; None for all rows."""
    split = split or usual_split(labelled)
    return None if split == ALL else [split]


def choose_rows(
    labelled: LabelledSet, split: str | None, languages: Sequence[str] | None
) -> tuple[LabelledSet, list[str]]:
    """Return the sentences to compare on, at most `MOST_COMPARED`, and a note if they are a sample.

    The split and the languages are those of `compare`.

    Raises:
        DataError: there is no such split or language.
    """
    part = labelled.select(languages=languages or None, splits=splits_of(labelled, split))
    if len(part) <= MOST_COMPARED:
        return part, []
    frame = part.frame
    rows = stratified_sample(frame["language"].tolist(), frame["intent"].tolist(), MOST_COMPARED)
    note = (
        f"Measured on {MOST_COMPARED:,} of {counted(len(part), 'sentence')}, drawn evenly from every intent in every "
        "language, since each is compared with every other."
    )
    return replace(part, frame=frame.iloc[rows].reset_index(drop=True)), [note]


def training_notes(spec: str, seen: NDArray[np.bool_], unknown: str) -> list[str]:
    """Return a note if an encoder was trained on some of the sentences that it is measured on, and if that is unknown.

    Args:
        spec: the encoder, as `load_encoder` takes it.
        seen: (N,), whether it was trained on each of these sentences, and
        unknown: an encoder of which that is unknown, as `trained_rows` returns both.
    """
    notes = []
    if seen.any():
        which = "these sentences" if seen.all() else f"{int(seen.sum()):,} of these {len(seen):,} sentences"
        notes.append(
            f"{encoder_title(spec)} was trained on {which}, or on translations of them, so the accuracy in its "
            "training languages says little about new sentences."
        )
    if unknown:
        notes.append(
            f"{encoder_title(unknown)} does not say which sentences it was trained on: if these are among them, they "
            "are measured like new ones."
        )
    return notes


def _specs(runs: Sequence[Run], encoders: Sequence[str]) -> tuple[str, str]:
    """Return the specs of the base encoder and of the other one."""
    specs = [*encoders, *(f"{RUN_SPEC}{run.folder}" for run in runs)]
    if len(runs) == 1 and not encoders:
        base = runs[0].config().encoder
        if not base:
            raise DataError(
                f"{runs[0].folder} was trained from scratch and has no base encoder; name one to compare it with, such "
                "as use"
            )
        specs.insert(0, base)
    if len(specs) != 2:
        raise DataError(
            f"{counted(len(specs), 'encoder')} can't be compared; name a run, two runs, two encoders, or a run and an "
            "encoder"
        )
    if specs[0] == specs[1]:
        raise DataError(f"{specs[0]} can't be compared with itself; name another encoder")
    return specs[0], specs[1]


def _names(specs: tuple[str, str]) -> tuple[str, str]:
    """Return short names of two encoders, or their specs if the names are equal."""
    first, second = (
        joined_spec(Path(part.partition(":")[2] or part).name for part in parts_of(spec)) for spec in specs
    )
    return specs if first == second else (first, second)
