"""Presets: runs that are chosen by what they are for, made of the methods that say which part they train best."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from emu_core.encoders.specs import JOIN, encoder_kinds, joined_spec
from emu_core.errors import TrainingError
from emu_core.methods.registry import default_method, methods, planned
from emu_core.runs.config import Plan
from emu_core.training.method import Needs


@dataclass(frozen=True)
class Preset:
    """A run that is chosen by what it is for: its methods with their defaults, and its encoder.

    Attributes:
        name: on the command line.
        title: in the app.
        summary: what it is good for, what it costs and what it gives up, with the measured figures
            (benchmarks/README.md, "Joined runs, and a student of the best").
        method: what trains its encoder; several joined by "+" train a part each.
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
    """Return all presets by name, the best first; none where the methods that they are made of are not installed."""
    by_encoder = {method.best_part: method.name for method in methods().values() if method.best_part}
    encoders = [kind for kind in encoder_kinds() if kind in by_encoder]
    if not encoders:
        return {}
    best = Preset(
        "best",
        "Best: both encoders, each by the method that suits it",
        "Of SIB-200's held-out sentences, 90 % find one of their intent first; after the default training it is 85 %. "
        "Training takes minutes instead of seconds (about 3 for 3,000 sentences), and encoding a sentence takes about "
        "20 times as long. Intents without labels are found as well as after the default training, and 0.7 points "
        "less well than by both encoders untrained.",
        JOIN.join(by_encoder[kind] for kind in encoders),
        joined_spec(encoders),
    )
    fast = Preset(
        "fast",
        "Fast: what the best has learnt, at the speed of the smallest encoder",
        "Trains the best first, and then a student of it that encodes as fast as the default: of SIB-200's held-out "
        "sentences 87 % find one of their intent first, instead of 85 %. Training takes longest (about 5 minutes for "
        "3,000 sentences). It gives up intents without labels: they are found 4 points less well than after the "
        "default training, and 5 less well than by the untrained encoder.",
        default_method(Needs.SENTENCES),
        encoders[0],
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
