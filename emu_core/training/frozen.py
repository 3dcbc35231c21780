"""Methods that are fitted in seconds on the vectors of an encoder that stays as it is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the registry of methods imports this file, and the command's help needs no numpy
    from emu_core.encoders.base import FloatArray
    from emu_core.evaluation.arrays import Encode

    Vectors = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class FrozenFit:
    """A fitted method, as functions of the encoder's vectors (n, dim).

    Attributes:
        embed: the specialised embeddings (n, new dim).
        probabilities: of the intents, by label (n, k).
        mapped: the embeddings before they are moved towards intents (n, dim), in which sentences can be told apart.
    """

    embed: "Vectors"
    probabilities: "Vectors"
    mapped: "Vectors"

    def encode_with(self, encode: "Encode") -> "Encode":
        """Return the specialised encoder's `encode`, given that of the encoder under it."""
        return lambda texts: self.embed(encode(texts))


@dataclass(frozen=True)
class FitFrozen:
    """How a method is fitted on a frozen encoder.

    Attributes:
        fit: fits it, given the settings, `encode`, and for each labelled sentence its text, label and id.
        reference: returns the sentences by language that it encodes besides the labelled ones, given the settings.
    """

    fit: Callable[[Any, "Encode", Sequence[str], Sequence[int], Sequence[str]], FrozenFit]
    reference: Callable[[Any], Mapping[str, Sequence[str]]] = lambda _settings: {}
