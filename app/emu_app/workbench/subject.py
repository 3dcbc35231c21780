"""The workbench's subject: the sentences on its maps, and two encoders on the sentences that are measured."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeVar

import pandas as pd

from emu_app.shell.session import Remembered
from emu_core.encoders.base import FloatArray
from emu_core.evaluation.comparison import Comparison


@dataclass(frozen=True, eq=False)
class Space:
    """The sentences on the maps, with their vectors by those of the encoders A and B that have encoded them."""

    specs: dict[str, str]  # for `load_encoder`, by the encoder's name, A first
    titles: dict[str, str]  # in figures, by the encoder's name
    points: pd.DataFrame  # N sentences: text, intent, language, split, id, and row, the number in the data
    vectors: dict[str, FloatArray]  # (N, dim) by the encoder's name


@dataclass(frozen=True, eq=False)
class Subject:
    """Two encoders on some sentences."""

    specs: dict[str, str]  # for `load_encoder`, by the encoder's name, A first
    key: str  # identifies the data and rows
    comparison: Comparison  # between the two encoders
    is_measured: bool  # whether accuracy, leakage and neighbours can be measured on these sentences
    seen: bool  # whether a run was trained on some of them


_Value = TypeVar("_Value")


def computed_once(what: str, key: Hashable, compute: Callable[[], _Value]) -> _Value:
    """Return what was computed last under this name in the session if the key is still the same, or compute it.

    A change of colour or filter runs the maps again on the same `Space`, whose neighbours take a third of a second
    among 20,000 sentences.
    """
    last = Remembered[tuple[Hashable, _Value] | None](f"once-{what}", None)
    if (known := last.get()) is None or known[0] != key:
        last.set(known := (key, compute()))
    return known[1]
