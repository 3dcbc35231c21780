"""Presets: runs that are chosen by what they are for."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from emu_core.encoders.specs import BOTH, joined_spec
from emu_core.errors import TrainingError
from emu_core.methods.registry import default_method, planned
from emu_core.runs.config import Plan
from emu_core.training.method import Needs


@dataclass(frozen=True)
class Preset:
    """A run that is chosen by what it is for: its methods with their defaults, and its encoder.

    Attributes:
        name: on the command line.
        title: in the app.
        summary: what it is good for, what it costs and what it gives up, with the measured figures
            (benchmarks/README.md, "Two encoders joined").
        method: what trains its encoder, every part of a joined one.
        encoder: its encoder's spec.
        teacher: what is trained first, in the same run, for the encoder to learn from; None for nothing.
    """

    name: str
    title: str
    summary: str
    method: str
    encoder: str
    teacher: "Preset | None" = None

    @property
    def of_labels(self) -> "Preset":
        """The preset that learns from the labels: this one, or its teacher."""
        return self.teacher or self

    def plan(self) -> Plan:
        """Return the plan of its training with the default settings; see `planned`."""
        teacher = None if self.teacher is None else self.teacher.plan()
        return replace(planned(self.method, self.encoder), teacher=teacher)


@cache
def presets() -> Mapping[str, Preset]:
    """Return all presets by name, the best first.

    Raises:
        TrainingError: as `default_method`.
    """
    best = Preset(
        "best",
        "Best: both encoders joined, without fine-tuning",
        "Names the right intent more often than the default with the same labels, most with few: with all, for 90.6 % "
        "of xSID's messages instead of 85.3 %, for 88.6 % of SIB-200's instead of 87.0 %, but for 77.0 % of Home "
        "Assistant's (Italian, Dutch, Polish) instead of 77.9 %. Of SIB-200's held-out sentences, 85.9 % "
        "find one of their intent first instead of 83.1 %, and intents without labels are found at least as well. "
        "Training takes seconds once the sentences are encoded, and encoding takes about 20 times as long.",
        default_method(),
        joined_spec(BOTH),
    )
    fast = Preset(
        "fast",
        "Fast: what the best has learnt, at the speed of the smallest encoder",
        "Trains the best first, and then a student of it, which learns how the best sees the sentences of all "
        "languages of the data, and encodes as fast as the default. Training takes minutes. How much of the best the "
        "student keeps is not measured.",
        default_method(Needs.SENTENCES),
        BOTH[0],
        best,
    )
    return {preset.name: preset for preset in (best, fast)}


def preset_of(plan: Plan) -> str | None:
    """Return the name of the preset with which a run was made whose teacher was trained in it; None for another run."""
    same = (
        name
        for name, preset in presets().items()
        if preset.teacher is not None and (preset.method, preset.encoder) == (plan.method, plan.encoder)
    )
    return next(same, None) if plan.teacher else None


def preset_named(name: str) -> Preset:
    """Return a preset. Raises TrainingError for an unknown name."""
    try:
        return presets()[name]
    except KeyError:
        raise TrainingError(f"no preset '{name}'; there are: {', '.join(presets())}") from None
