"""What a benchmark is made of: one system, trained on some languages' labels, with one seed."""

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum

from emu_core.methods.method import Needs
from emu_core.methods.registry import methods_that_need


class Kind(StrEnum):
    """What a cell trains."""

    BASE = "base"
    TRANSLATION = "translation"
    METHOD = "method"
    PEER = "peer"


class Peer(StrEnum):
    """What others do with the same encoder and labels today."""

    LOGISTIC = "logistic-regression"
    LDA = "lda"
    SOFTMAX = "st-softmax"
    TRIPLET = "st-batch-all-triplet"
    RANKING = "st-multiple-negatives"
    COSENT = "st-cosent"
    SETFIT = "setfit"

    @property
    def is_frozen(self) -> bool:
        """Whether the encoder stays as it is; there is then nothing that a seed or a learning rate could change."""
        return self in (Peer.LOGISTIC, Peer.LDA)


class Rate(StrEnum):
    """Which learning rate a peer is trained with."""

    NONE = ""
    THEIRS = "theirs"
    OURS = "ours"


@dataclass(frozen=True)
class Cell:
    """One system to train and measure.

    Attributes:
        kind: what it is.
        name: the method's or the peer's; empty for the base encoder.
        train_languages: languages whose labels it sees; empty where it sees none.
        seed: of every draw.
        rate: for a peer that trains the encoder.
    """

    kind: Kind
    name: str = ""
    train_languages: tuple[str, ...] = ()
    seed: int = 0
    rate: Rate = Rate.NONE

    @property
    def key(self) -> str:
        """The name of the cell's file without its ending."""
        parts = (self.kind, self.name, self.rate, file_part(self.train_languages), f"s{self.seed}")
        return ".".join(part for part in parts if part)

    @property
    def label(self) -> str:
        """What to call it while it runs."""
        words = [self.name or self.kind]
        if self.train_languages:
            words += ["on", "+".join(self.train_languages)]
        if self.rate:
            words.append(f"({self.rate} learning rate)")
        return " ".join([*words, f"seed {self.seed}"]) if self.kind is not Kind.BASE else "base encoder"


BASE = Cell(Kind.BASE)
TRANSLATION = Cell(Kind.TRANSLATION)
# Table 2's order; a method that the paper does not have comes after them.
PAPER_ORDER = (
    "contrastive",
    "n-pair",
    "softmax",
    "emu",
    "emu-without-ld",
    "emu-without-ld-cl",
    "emu-parallel",
)
LABELS = {
    Kind.BASE.value: "base encoder",
    "contrastive": "Contrastive loss",
    "n-pair": "N-pair loss",
    "softmax": "Softmax loss",
    "emu": "Emu",
    "emu-without-ld": "Emu w/o LD",
    "emu-without-ld-cl": "Emu w/o LD+CL",
    "emu-parallel": "Emu-Parallel",
    Peer.LOGISTIC.value: "frozen + logistic regression",
    Peer.LDA.value: "frozen + LDA (shrinkage 0.5)",
    Peer.SOFTMAX.value: "sentence-transformers, softmax classifier",
    Peer.TRIPLET.value: "sentence-transformers, BatchAllTripletLoss",
    Peer.RANKING.value: "sentence-transformers, MultipleNegativesRankingLoss",
    Peer.COSENT.value: "sentence-transformers, CoSENTLoss",
    Peer.SETFIT.value: "SetFit",
}


def methods() -> tuple[str, ...]:
    """Every method that learns from intents, the paper's first and in its order."""
    return (*PAPER_ORDER, *(method for method in methods_that_need(Needs.INTENTS) if method not in PAPER_ORDER))


def label_of(name: str) -> str:
    """What a table calls a method or a peer."""
    return LABELS.get(name, name)


def file_part(codes: tuple[str, ...]) -> str:
    """Return codes as a part of a file's name: a code may be any text that a person put into a language column."""
    joined = "+".join(codes)
    if re.fullmatch(r"[a-z0-9+-]{0,60}", joined):
        return joined
    return "x" + hashlib.sha256("\0".join(codes).encode()).hexdigest()[:12]
