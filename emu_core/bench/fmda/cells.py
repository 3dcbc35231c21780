"""What the benchmark is made of: one system, trained on some language pairs, with one seed."""

from dataclasses import dataclass
from enum import StrEnum

from emu_core.bench.cells import file_part
from emu_core.evaluation.arrays import pair_name
from emu_core.models.parts import Part

Pair = tuple[str, str]


class System(StrEnum):
    """What a cell trains."""

    BASE = "base"
    BASELINE = "baseline"
    FMDA = "fmda"
    TWO_STAGE = "fmda-two-stage"
    WITHOUT_RECONSTRUCTION = "fmda-without-reconstruction"
    WITHOUT_UTTERANCE = "fmda-without-utterance"
    WITHOUT_TEMPLATE = "fmda-without-template"
    WITHOUT_RESIDUAL = "fmda-without-residual"
    WITHOUT_CONTRAST = "fmda-without-contrast"
    EQUATION_5 = "fmda-equation-5"

    @property
    def parts(self) -> tuple[Part, ...]:
        """The embeddings that are the system's own."""
        if self is System.BASE:
            return (Part.CLS, Part.MEAN)
        if self is System.BASELINE:
            return (Part.LANGUAGE, Part.MEANING)
        return (Part.LANGUAGE, Part.TEMPLATE, Part.RESIDUAL, Part.MEANING)


ABLATION = (
    System.WITHOUT_RECONSTRUCTION,
    System.WITHOUT_UTTERANCE,
    System.WITHOUT_TEMPLATE,
    System.WITHOUT_RESIDUAL,
    System.WITHOUT_CONTRAST,
    System.EQUATION_5,
)
LABELS = {
    System.BASE: "frozen encoder",
    System.BASELINE: "Tiyajamorn et al. (2021)",
    System.FMDA: "FMDA",
    System.TWO_STAGE: "FMDA, two stages",
    System.WITHOUT_RECONSTRUCTION: "w/o all reconstruction losses",
    System.WITHOUT_UTTERANCE: "w/o utterance reconstruction loss",
    System.WITHOUT_TEMPLATE: "w/o template reconstruction loss",
    System.WITHOUT_RESIDUAL: "w/o residual reconstruction loss",
    System.WITHOUT_CONTRAST: "w/o contrastive loss",
    System.EQUATION_5: "w/o our utterance cross-reconstruction (eq. 5)",
}
PART_LABELS = {Part.CLS: "[CLS]", Part.MEAN: "mean pooling"}


@dataclass(frozen=True)
class FmdaCell:
    """One system to train and measure.

    Attributes:
        system: what it is.
        pairs: language pairs that it is trained on, all in one model; none for the frozen encoder.
        seed: of every draw.
    """

    system: System
    pairs: tuple[Pair, ...] = ()
    seed: int = 0

    @property
    def key(self) -> str:
        """The name of the cell's file without its ending."""
        names = file_part(tuple(pair_name(*pair) for pair in self.pairs))
        return ".".join(part for part in (self.system, names, f"s{self.seed}") if part)

    @property
    def label(self) -> str:
        """What to call it while it runs."""
        if self.system is System.BASE:
            return LABELS[self.system]
        return f"{self.system} on {', '.join(pair_name(*pair) for pair in self.pairs)} seed {self.seed}"


BASE = FmdaCell(System.BASE)


def part_label(part: Part) -> str:
    """What a table calls an embedding."""
    return PART_LABELS.get(part, part.value)
