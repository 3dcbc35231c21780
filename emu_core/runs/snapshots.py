"""Snapshots: the vectors of some sentences before training and after each epoch, stored in the run's folder."""

import math
from collections.abc import Callable
from copy import copy

import numpy as np
import pandas as pd
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from emu_core.encoders.saved import check_files, write_checksums
from emu_core.errors import Fix, RunError
from emu_core.evaluation.arrays import Encode
from emu_core.evaluation.film import Film, film
from emu_core.evaluation.projection import sample_together
from emu_core.files import remove_partial, write_whole
from emu_core.runs.run import Run
from emu_core.runs.stored_data import LabelledData, StoredData

_MOST_SENTENCES = 2_000
MOST_EPOCHS = 30  # stored; of more epochs every second, third ... and the last
_PART_FRAMES = 1_000_000  # the numbers of the frames of a part, at most one an epoch
BEFORE = "before training"
SENTENCES, COLUMNS = "sentences.parquet", ["text", "intent", "language", "id"]


class Snapshots:
    """The snapshots of a run that is training.

    Each frame holds unit vectors in float16, some 2 MB for 2,000 sentences of 512 dimensions; there are at most 32
    frames. Files are written atomically, and a resumed run writes the same bytes again.

    Attributes:
        folder: contains `sentences.parquet`, and a safetensors file for each frame, named by its number.
        last: the number of the last frame; 0 is before training.
    """

    def __init__(self, run: Run, data: StoredData, *, writes: bool = True) -> None:
        """Draw the sentences, with seed 0, and store them in the one of several processes that `writes`.

        They are held-out rows, or training rows where there are none, or the pairs of parallel text that the encoder
        is measured on.
        """
        self.folder, self.last, self._writes = run.snapshots_folder, 0, writes
        self._before, self._most_epochs, self._title = 0, MOST_EPOCHS, ""
        self._whole: Callable[[Encode], Encode] = lambda encode: encode
        frame = _sentences(data)
        languages, intents, ids = (frame[column].tolist() for column in ("language", "intent", "id"))
        frame = frame.iloc[sample_together(languages, intents, ids, _MOST_SENTENCES)]
        self._texts: list[str] = frame["text"].tolist()
        if writes:
            self.folder.mkdir(exist_ok=True)
            remove_partial(self.folder)  # of a process that was killed
            write_whole(self.folder / SENTENCES, frame[COLUMNS].reset_index(drop=True).to_parquet())

    def of_part(self, title: str, count: int, whole: Callable[[Encode], Encode]) -> "Snapshots":
        """Return snapshots while one of `count` parts of a joined encoder is trained, whose frames follow those so far.

        `whole` returns the joined encoder's `encode`, given that of the part.
        """
        part = copy(self)
        part._before, part._most_epochs, part._title = self.last, MOST_EPOCHS // count, f"{title}: "
        part.last, part._whole = 0, whole
        self.last += _PART_FRAMES
        return part

    def take(self, number: int, title: str, encode: Encode) -> None:
        """Store the sentences' vectors as frame `number`; to be called by all processes."""
        vectors = self._whole(encode)(self._texts)
        self.last = max(self.last, number)
        number, title = self._before + number, self._title + title
        if self._writes:
            length = np.linalg.norm(vectors, axis=1, keepdims=True)
            units = (vectors / np.where(length > 0, length, 1)).astype(np.float16)
            # A single entry of metadata: safetensors writes several in arbitrary order.
            write_whole(self.folder / f"{number:09}.safetensors", save({"vectors": units}, {"title": title}))

    def after_epoch(self, epoch: int, epochs: int, encode: Encode) -> None:
        """Take the frame of an epoch (0 is before the first), unless it is one to skip of too many `epochs`."""
        if epoch == 0:
            self.take(0, BEFORE, encode)
        elif epoch == epochs or epoch % math.ceil(epochs / self._most_epochs) == 0:
            self.take(epoch, f"epoch {epoch}", encode)

    def finish(self) -> None:
        """Write the checksums."""
        if self._writes:
            write_checksums(self.folder)


def _sentences(data: StoredData) -> pd.DataFrame:
    if isinstance(data, LabelledData):
        part = data.labelled.held_out_part()
        if part is None and data.unlabelled is not None and not data.labelled.has_train_part:
            return data.unlabelled.frame.assign(intent="")
        return (data.labelled.train_part() if part is None else part).frame
    return pd.concat(
        pd.DataFrame({"text": side, "intent": "", "language": code}).assign(
            id=[f"{text_row}-{row}" for row in range(len(side))]
        )
        for text_row, text in enumerate(data.test or data.dev)
        for code, side in zip(text.languages, (text.first, text.second), strict=True)
    )


def read_film(run: Run) -> Film:
    """Read the snapshots of a finished run, lay them out on one map and measure their accuracy.

    Raises:
        RunError: there are none, or they are damaged.
        EncoderError: a file differs from the one written.
        DataError: a vector is zero.
    """
    folder = run.snapshots_folder
    if not (folder / SENTENCES).is_file():
        raise RunError(f"{run.folder} has no snapshots; train it again with ", Fix("snapshots", True))
    check_files(folder)
    selected = run.metrics().selected_epoch
    titles, frames = [], []
    try:
        sentences = pd.read_parquet(folder / SENTENCES, columns=COLUMNS)
        for path in sorted(folder.glob("*.safetensors"))[: MOST_EPOCHS + 2]:
            with safe_open(path, framework="np") as opened:
                titles.append(opened.metadata()["title"])
                frames.append(opened.get_tensor("vectors").astype(np.float32))
            if frames[-1].ndim != 2 or not 0 < len(frames[-1]) == len(sentences):
                raise ValueError(path.name)
        is_selected = [f"epoch {selected}" == title for title in titles]
        if any(is_selected[:-1]):  # the last epoch needs no mark
            titles[is_selected.index(True)] += " (chosen)"
    except (OSError, ValueError, KeyError, TypeError, SafetensorError):
        raise RunError(f"the snapshots in {folder} are damaged; delete that folder, or train again") from None
    return film(sentences, frames, titles)
