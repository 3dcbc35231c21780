"""The log of a run: a record of each training step and each epoch, a line each in log.jsonl."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import msgspec

LOG_FILE = "log.jsonl"
LogValues = Mapping[str, float | str]
"""Figures and texts by name, as trainers return them."""


class RecordKind(StrEnum):
    """The subject of a record."""

    STEP = "step"
    EPOCH = "epoch"


@dataclass(frozen=True, kw_only=True)
class Record:
    """A training step or an epoch.

    Attributes:
        kind: which of the two it is.
        step: the step's number, from 1; of an epoch, the number of its last step.
        epoch: the epoch's number, from 1.
        loss: the loss that is minimised; of an epoch, its mean over the steps.
        part: the part of a joined encoder that is trained, as in the status; "" for any other encoder. Steps and
            epochs are counted over the parts.
        stage: the stage of training; "" if there is only one.
        dev_accuracy: the score by which epochs are selected; None if this one has none.
        seconds: since training began.
        sentences: that the step read; 0 if unknown. They are not written.
        figures: others by name, such as the parts of the loss.
        texts: other facts by name, such as the language of a step or the alarm of an epoch.
    """

    kind: RecordKind
    step: int
    epoch: int
    loss: float
    part: str = ""
    stage: str = ""
    dev_accuracy: float | None = None
    seconds: float = 0.0
    sentences: int = field(default=0, compare=False)  # not in the log, whose records are the same
    figures: Mapping[str, float] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The part and the stage in words; "" if there is one of each."""
        return ", ".join(filter(None, (self.part, self.stage)))

    @property
    def is_step(self) -> bool:
        """Whether this is a step, and not an epoch."""
        return self.kind is RecordKind.STEP

    def values(self) -> dict[str, float | int | str]:
        """Return the record as it is written: all figures and texts beside each other, without those it lacks."""
        known = {name: text for name, text in (("part", self.part), ("stage", self.stage)) if text}
        measured = {} if self.dev_accuracy is None else {"dev_accuracy": self.dev_accuracy}
        return {
            "kind": self.kind.value,
            "step": self.step,
            "epoch": self.epoch,
            **known,
            **self.texts,
            "loss": self.loss,
            **self.figures,
            **measured,
            "seconds": self.seconds,
        }


_KNOWN = frozenset(Record.__dataclass_fields__) - {"figures", "texts"}


def record_of(line: str) -> Record | None:
    """Return the record in a line of the log; None for an invalid line, such as one that is still being written."""
    try:
        values: dict[str, object] = msgspec.convert(json.loads(line), dict[str, object])
        known = {name: value for name, value in values.items() if name in _KNOWN}
        others = {name: value for name, value in values.items() if name not in _KNOWN}
        texts = {name: value for name, value in others.items() if isinstance(value, str)}
        figures = {name: value for name, value in others.items() if name not in texts}
        return msgspec.convert({**known, "figures": figures, "texts": texts}, Record)
    except (ValueError, RecursionError):
        return None


def read_log(file: Path) -> list[Record]:
    """Return the records of a log so far; invalid lines are skipped."""
    try:
        text = file.read_text("utf-8", "replace")
    except OSError:
        return []
    return [record for line in text.splitlines() if (record := record_of(line)) is not None]
