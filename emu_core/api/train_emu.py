"""Training by Emu and the other systems of its Table 2, which move the encoder's weights."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import nn

from emu_core.api.inputs import measure
from emu_core.api.job import Job, Outcome
from emu_core.config import EmuConfig
from emu_core.data.labelled import LabelledSet
from emu_core.devices import Precision
from emu_core.encoders.encode import Encode, shared_encode
from emu_core.trainers.loop import fit, steps_per_epoch
from emu_core.trainers.prepare import prepare

CHOSEN_ON_MEASURED = (
    "The epoch was chosen on sentences of split dev that the run is measured on too, so what is measured is a little "
    "too good; name rows of a split test to measure on those."
)


def train_emu(job: Job, config: EmuConfig) -> Outcome:
    """Train the encoder in place, from its checkpoint if there is one."""
    said = job.said
    encode = shared_encode(job.encoder, job.processes)
    data = prepare(job.encoder, job.labelled.train_part(), job.unlabelled, said["train_languages"], config)
    job.before(encode)
    at = job.checkpoint.facts()
    steps = steps_per_epoch(data, config) * config.epochs
    selection = _selection(job.labelled, said["train_languages"], encode)
    _import_optimizers()
    with job.progress.training(steps, at.get("epoch", 0), at.get("step", 0)) as record:
        fitted = fit(
            job.encoder,
            data,
            config,
            seed=said["seed"],
            on_record=record,
            should_stop=job.should_stop,
            held_out_accuracy=selection,
            checkpoint=job.checkpoint,
            precision=Precision(said["precision"]),
            processes=job.processes,
        )
    if selection is not None and config.epochs > 1 and "test" not in job.labelled.splits:
        fitted = replace(fitted, warnings=(*fitted.warnings, CHOSEN_ON_MEASURED))
    return Outcome(job.encoder, encode, fitted)


def _import_optimizers() -> None:
    """Have torch import what its first optimizer needs: a second that would count as the first step's."""
    torch.optim.Adam([nn.Parameter(torch.zeros(1))])


def _selection(
    labelled: LabelledSet, train_languages: Sequence[str], encode: Encode
) -> Callable[[], float] | None:
    """What chooses the epoch: labels of the training languages only, since the others' must stay unread."""
    dev = labelled.dev_part()
    if dev is None or not set(train_languages) <= set(dev.languages):
        return None
    part = dev.select(languages=train_languages)
    return lambda: measure(part, encode).mean
