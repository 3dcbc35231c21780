"""How many held-out sentences' intents are named right, before training and after, by the run's own intent model."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emu_core.evaluation.arrays import rows_by_language
from emu_core.evaluation.changes import Changes, paired_change

FEW = 100  # sentences; of fewer the number is given, and no percentage


@dataclass(frozen=True)
class Share:
    """Some of a number of sentences."""

    count: int
    of: int

    @property
    def percent(self) -> float:
        """The share in percent; NaN of no sentence."""
        return 100 * self.count / self.of if self.of else float("nan")


@dataclass(frozen=True)
class BeforeAndAfter:
    """A share of the same sentences by the base encoder, and by the specialised one."""

    base: Share
    specialised: Share


@dataclass(frozen=True)
class RightIntents(Changes):
    """The right intents among held-out sentences, whether or not they are also rejected; see `Changes`.

    Overall, each language counts once; of fewer than `FEW` sentences, which are counted, each sentence.

    Attributes:
        pool: the number of labelled sentences that the intent model is fitted on.
        base_rule: what decides with the base encoder, a value of `emu_core.intents.factors.Rule`.
        specialised_rule: what decides with the specialised one.
        rejected: of the right intents, those that are answered "no known intent".
        unknown: of sentences of unknown intents, those that are answered "no known intent"; None if not measured.
        are_left_out: whether the unknown intents are labelled ones that were left out in turn, and not held-out ones
            without a label.
    """

    pool: int
    base_rule: str
    specialised_rule: str
    rejected: BeforeAndAfter
    unknown: BeforeAndAfter | None = None
    are_left_out: bool = False


@dataclass(frozen=True, eq=False)
class Predicted:
    """The answers of an intent model on an encoder to held-out sentences.

    Attributes:
        pool: the number of labelled sentences that it is fitted on.
        rule: what decides.
        languages: of Q sentences of its intents.
        groups: (Q,) the same number for translations and repeats of one sentence.
        right: (Q,) whether the most probable intent is right.
        is_known: (Q,) whether it is answered, or "no known intent".
        unknown: held-out sentences of unknown intents that are found as such.
        left_out: the same of intents that were left out of the model in turn; None if that was not measured.
    """

    pool: int
    rule: str
    languages: tuple[str, ...]
    groups: NDArray[np.integer]
    right: NDArray[np.bool_]
    is_known: NDArray[np.bool_]
    unknown: Share
    left_out: Share | None

    @property
    def rejected(self) -> Share:
        """The right intents that are answered "no known intent"."""
        return Share(int((self.right & ~self.is_known).sum()), int(self.right.sum()))


def right_intents(base: Predicted | None, specialised: Predicted | None) -> RightIntents | None:
    """Return how many more or fewer intents are right; None if nothing was predicted."""
    if base is None or specialised is None:
        return None
    rows = rows_by_language(base.languages, len(base.languages))
    by_language = {
        code: paired_change(base.right[own], specialised.right[own], base.groups[own])
        for code, own in rows.items()
    }
    weights = np.ones(len(base.right))
    for own in rows.values() if len(weights) >= FEW else ():
        weights[own] = 1 / len(own)
    unknown, left_out = BeforeAndAfter(base.unknown, specialised.unknown), None
    if base.left_out is not None and specialised.left_out is not None:
        left_out = BeforeAndAfter(base.left_out, specialised.left_out)
    return RightIntents(
        paired_change(base.right, specialised.right, base.groups, weights),
        by_language,
        base.pool,
        base.rule,
        specialised.rule,
        BeforeAndAfter(base.rejected, specialised.rejected),
        unknown if base.unknown.of else left_out,
        are_left_out=not base.unknown.of and left_out is not None,
    )
