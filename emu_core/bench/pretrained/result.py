"""What one cell measured, and its file."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from emu_core.bench.outcome import OUTCOME, Outcome

Ranks = NDArray[np.int64]


@dataclass(frozen=True)
class WordView:
    """Words on a plane.

    Attributes:
        languages: of each word.
        words: the words.
        points: their places (N, 2).
        note: which words these are.
        found: by "a-b", how many of these words of a have the right one nearest among all words of b, and how many
            there are.
    """

    languages: tuple[str, ...]
    words: tuple[str, ...]
    points: tuple[tuple[float, float], ...]
    note: str = ""
    found: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class PretrainedResult(Outcome):
    """What a cell measured; a benchmark fills what it measures, beside its costs.

    Attributes:
        ranks: by measure and direction "s-t", the rank of each source's translation, 1 for the best.
        candidates: by direction, targets that each source was compared with.
        documents: document classification: what `TransferAccuracy` has, for each direction and size.
        sts: by language "a" or two "a-b", what `Correlation` has.
        zero_shot: by direction "a-b" (trained in a, tested in b, which may be a), accuracy in percent.
        few_shot: by direction "a-b", what `FewShot` has for each share.
        eigen: by pair "a-b", mean, variance and standard error.
        views: pictures of words, by name.
        speed: sentence pairs a second ("seconds") and a second of the processor ("cpu_seconds") of training.
    """

    ranks: Mapping[str, Mapping[str, Ranks]] = field(default_factory=dict)
    candidates: Mapping[str, int] = field(default_factory=dict)
    documents: tuple[Mapping[str, Any], ...] = ()
    sts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    zero_shot: Mapping[str, float] = field(default_factory=dict)
    few_shot: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    eigen: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    views: Mapping[str, WordView] = field(default_factory=dict)
    speed: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            **{name: getattr(self, name) for name in _PLAIN},
            "ranks": {
                measure: {way: values.tolist() for way, values in ways.items()}
                for measure, ways in self.ranks.items()
            },
            "documents": [dict(one) for one in self.documents],
            "few_shot": {way: [dict(one) for one in shares] for way, shares in self.few_shot.items()},
            "views": {name: asdict(view) for name, view in self.views.items()},
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Read what `to_json` made. Raises KeyError, TypeError or ValueError where it is not that."""
        return cls(
            ranks={
                measure: {way: _ranks(own) for way, own in ways.items()}
                for measure, ways in values["ranks"].items()
            },
            documents=tuple(_numbers(one, _DOCUMENT) for one in values["documents"]),
            few_shot={
                way: tuple(_numbers(one, ("share", "few_shot")) for one in shares)
                for way, shares in values["few_shot"].items()
            },
            views={
                name: WordView(
                    tuple(str(code) for code in view["languages"]),
                    tuple(str(word) for word in view["words"]),
                    tuple((float(x), float(y)) for x, y in view["points"]),
                    str(view["note"]),
                    {way: (int(right), int(count)) for way, (right, count) in view["found"].items()},
                )
                for name, view in values["views"].items()
            },
            **{name: values[name] for name in _PLAIN},
        )


_PLAIN = (*OUTCOME, "candidates", "sts", "zero_shot", "eigen", "speed")
_DOCUMENT = ("size", "accuracy", "deviation", "draws", "majority")


def _ranks(values: Any) -> Ranks:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind != "i" or not (array >= 1).all():
        raise ValueError("ranks are a list of whole numbers, 1 or more")
    return array.astype(np.int64)


def _numbers(values: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    if any(not isinstance(values[name], int | float) for name in names):
        raise ValueError(f"not a number where one of {', '.join(names)} should be")
    return dict(values)
