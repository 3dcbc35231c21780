"""Encoding to one of the embeddings that a disentangled encoder splits a sentence into."""

from emu_core.data.wording import shown
from emu_core.encoders.base import Encoder
from emu_core.encoders.disentangled import DisentangledEncoder
from emu_core.encoders.shared import Encode
from emu_core.errors import EncoderError


def part_encode(encoder: Encoder, name: str) -> Encode:
    """What gives the embedding of that name: N texts -> (N, dim), of the length that the layers gave it.

    Args:
        encoder: of a run of the method fmda or meaning-language.
        name: a `Part`.

    Raises:
        EncoderError: the encoder has no such embedding.
    """
    if not isinstance(encoder, DisentangledEncoder):
        raise EncoderError(
            f"the encoder '{encoder.spec}' has no embedding '{shown(name)}' but one of the whole sentence; name a run "
            "of the method fmda or meaning-language, or leave --part out"
        )
    part = next((part for part in encoder.part_names if part == name), None)
    if part is None:
        raise EncoderError(
            f"this run has no embedding '{shown(name)}'; there are: {', '.join(encoder.part_names)}. Choose one with "
            "--part"
        )
    return lambda texts: encoder.parts(texts)[part]
