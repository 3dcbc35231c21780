"""The sentences that an encoder has learnt, with their labels or from another encoder, as hashes beside its weights.

On those, it recognises what it has memorised, so that no accuracy on them says anything about new sentences.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from emu_core.data.repeats import repeat_keys, sentence_groups
from emu_core.data.sets import LabelledSet
from emu_core.encoders.specs import parts_of
from emu_core.errors import RunError
from emu_core.runs.run import Run

TRAINED_ON = "trained_on.safetensors"
_HASHES, _RULE, _UNKNOWN = "hashes", "rule", "unknown"
# Its hash changes with what counts as the same sentence, and then those of another rule can't be compared.
_PROBE = pd.DataFrame(
    {"language": ["en"], "text": ["  Ｃａｆé\u200b ﬁnds\xa0İstanbul’s STRASSE, ße\u0301 ½\u200f 한글 "]}
)


@dataclass(frozen=True, eq=False)
class TrainedOn:
    """The sentences that an encoder was trained on with their labels, or to be as near as another encoder has them.

    An encoder has learnt what those have that it was trained from, or learnt from.

    Attributes:
        hashes: 64 bits of each sentence in its language.
        unknown: the encoder, this one or one of those, of which they are not known; "" for none.
    """

    hashes: NDArray[np.uint64]
    unknown: str = ""

    def joined(self, sentences: pd.DataFrame) -> "TrainedOn":
        """Return these sentences and others, with the columns text and language."""
        return TrainedOn(np.union1d(self.hashes, _hashed(sentences)), self.unknown)

    def with_those_of(self, other: "TrainedOn") -> "TrainedOn":
        """Return these sentences and those of another encoder, from which this one has learnt."""
        return TrainedOn(np.union1d(self.hashes, other.hashes), self.unknown or other.unknown)

    def rows(self, sentences: pd.DataFrame) -> NDArray[np.bool_]:
        """Return whether each of N sentences, or a repeat or translation of it among them, was trained on, (N,).

        Args:
            sentences: with the columns text, language and id, "" for none.
        """
        if not len(self.hashes) or not (seen := np.isin(_hashed(sentences), self.hashes)).any():
            return np.zeros(len(sentences), dtype=bool)
        groups = pd.Series(sentence_groups(sentences))
        return seen | (groups.isin(set(groups[seen]) - {""})).to_numpy()

    def save(self, folder: Path) -> None:
        """Write the file into an encoder's folder."""
        save_file(
            {_HASHES: self.hashes, _RULE: _hashed(_PROBE)}, folder / TRAINED_ON, {_UNKNOWN: self.unknown}
        )


def trained_on(spec: str) -> TrainedOn:
    """Return what an encoder, given as `load_encoder` takes it, or any part of a joined one was trained on.

    Nothing is known of a model of `hf:`, and of a folder without the file, or with one of another version's rule.

    Raises:
        RunError: the file is damaged.
    """
    if len(parts := parts_of(spec)) > 1:
        of_parts = [trained_on(part) for part in parts]
        unknown = next((known.unknown for known in of_parts if known.unknown), "")
        return TrainedOn(np.unique(np.concatenate([known.hashes for known in of_parts])), unknown)
    kind, _, name = spec.partition(":")
    nothing = np.empty(0, np.uint64)
    if kind != "run":
        return TrainedOn(nothing, spec if kind == "hf" else "")
    path = Run(Path(name)).encoder_folder / TRAINED_ON
    if not path.is_file():
        return TrainedOn(nothing, spec)
    try:
        with safe_open(path, framework="numpy") as file:
            hashes, rule, unknown = (
                file.get_tensor(_HASHES),
                file.get_tensor(_RULE),
                file.metadata()[_UNKNOWN],
            )
    except (SafetensorError, OSError, KeyError, TypeError):
        raise RunError(f"{path} is damaged; train the run again") from None
    if not np.array_equal(rule, _hashed(_PROBE)):
        return TrainedOn(nothing, spec)
    return TrainedOn(hashes.astype(np.uint64), unknown)


def trained_rows(spec: str, labelled: LabelledSet) -> tuple[NDArray[np.bool_], str]:
    """Return whether an encoder was trained on each row of a set, (N,), and `TrainedOn.unknown`.

    Of the very set that a run was trained on, that is the whole split train, with the sentences that were used without
    their labels.

    Raises:
        RunError: the run's folder is damaged.
    """
    if len(parts := parts_of(spec)) > 1:
        of_parts = [trained_rows(part, labelled) for part in parts]
        return np.logical_or.reduce([rows for rows, _ in of_parts]), next(
            filter(None, (of for _, of in of_parts)), ""
        )
    known, (kind, _, folder) = trained_on(spec), spec.partition(":")
    rows, unknown = known.rows(labelled.frame), known.unknown
    if kind == "run" and Run(Path(folder)).data().sha256 == labelled.sha256():
        rows |= (labelled.frame["split"] == "train").to_numpy() | (not labelled.splits)
        unknown = "" if unknown == spec else unknown  # a run from before there were hashes
    return rows, unknown


def _hashed(sentences: pd.DataFrame) -> NDArray[np.uint64]:
    keys = (key.encode("utf-8", "surrogatepass") for key in repeat_keys(sentences))
    digests = b"".join(hashlib.blake2b(key, digest_size=8).digest() for key in keys)
    return np.frombuffer(digests, "<u8").astype(np.uint64)
