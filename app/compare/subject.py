"""What a comparison is about: which run, which sentences, and both encoders' vectors of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.compare.measure import Comparison
from app.encoders import encoded
from emu_core.data.labelled import LabelledSet
from emu_core.encoders.base import FloatArray


@dataclass(frozen=True, eq=False)
class Subject:
    """A run's two encoders on some sentences.

    Attributes:
        specs: what `load_encoder` takes, by the encoder's name, the base first.
        part: N sentences.
        vectors: (N, dim) by the encoder's name.
        comparison: what was measured on them; None where they can't be measured.
    """

    specs: dict[str, str]
    part: LabelledSet
    vectors: dict[str, FloatArray]
    comparison: Comparison | None

    def of_texts(self, texts: Sequence[str]) -> dict[str, FloatArray] | None:
        """Return both encoders' vectors (len(texts), dim), or None while those of typed-in texts are on their way."""
        wanted = set(texts)
        found = {text: row for row, text in enumerate(self.part.frame["text"]) if text in wanted}
        typed = sorted(wanted - found.keys())
        fresh = encoded(self.specs, "", typed) if typed else {}
        if fresh is None:
            return None
        place = {text: i for i, text in enumerate(typed)}
        return {
            name: np.stack([vectors[found[t]] if t in found else fresh[name][place[t]] for t in texts])
            for name, vectors in self.vectors.items()
        }
