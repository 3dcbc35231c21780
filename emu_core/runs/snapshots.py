"""Snapshots: the vectors of some sentences before training and after each epoch, stored in the run's folder."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save

from emu_core.encoders.saved import check_files, write_checksums
from emu_core.errors import Fix, RunError
from emu_core.evaluation.arrays import Encode, Vectors
from emu_core.evaluation.film import Film, film
from emu_core.evaluation.projection import sample_together
from emu_core.files import remove_partial, write_whole
from emu_core.runs.run import Run
from emu_core.runs.stored_data import LabelledData, StoredData

_MOST_SENTENCES = 1_000
MOST_EPOCHS = 30  # stored; of more epochs every second, third ... and the last
_PART_FRAMES = 1_000_000  # the numbers of the frames of a part, at most one an epoch
STILL = 1e-3  # a vector of length 1 whose numbers differ by less, float16's precision, has not moved
BEFORE = "before training"
SENTENCES, COLUMNS = "sentences.parquet", ["text", "intent", "language", "id"]


class Snapshots:
    """The snapshots of a run that is training.

    Each frame holds unit vectors in float16, some 1 MB for 1,000 sentences of 512 dimensions; there are at most 32
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
        self._store(number, title, self._units(encode))

    def take_trained(self, encode: Encode) -> None:
        """Take a last frame, of the trained encoder, unless the latest frame is already that; by all processes."""
        units = self._units(encode)
        # Of the files, since a run that is resumed took the latest frame in another process.
        files = sorted(self.folder.glob("*.safetensors"))
        latest = load_file(files[-1])["vectors"] if files else None
        if latest is not None and latest.shape == units.shape:
            moved = np.abs(latest.astype(np.float32) - units.astype(np.float32)).max()
            if moved <= STILL:
                return
        self._store(self.last + 1, "trained", units)

    def _units(self, encode: Encode) -> NDArray[np.float16]:
        vectors = self._whole(encode)(self._texts)
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        units: NDArray[np.float16] = (vectors / np.where(length > 0, length, 1)).astype(np.float16)
        return units

    def _store(self, number: int, title: str, units: NDArray[np.float16]) -> None:
        self.last = max(self.last, number)
        number, title = self._before + number, self._title + title
        if self._writes:
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


@dataclass(frozen=True, eq=False)
class StoredFrames:
    """The frames of a run so far, which may still be training, or have been stopped.

    Attributes:
        sentences: N rows with the columns of `COLUMNS`.
        files: a file for each frame, in their order.
    """

    sentences: pd.DataFrame
    files: tuple[Path, ...]

    def read(self, number: int) -> tuple[str, Vectors]:
        """Return a frame's title and its vectors (N, d), of length 1 in float16's precision.

        Raises:
            RunError: the file is damaged.
        """
        path = self.files[number]
        with _undamaged(path.parent):
            with safe_open(path, framework="np") as opened:
                title, vectors = opened.metadata()["title"], opened.get_tensor("vectors").astype(np.float32)
            if vectors.ndim != 2 or not 0 < len(vectors) == len(self.sentences):
                raise ValueError(path.name)
        return title, vectors


def frames_so_far(run: Run) -> StoredFrames | None:
    """Return the frames that a run has stored until now; None if it stores none, or has none yet.

    Raises:
        RunError: they are damaged.
    """
    folder = run.snapshots_folder
    files = sorted(folder.glob("*.safetensors"))[: MOST_EPOCHS + 2]
    if not files or not (folder / SENTENCES).is_file():
        return None
    with _undamaged(folder):
        return StoredFrames(pd.read_parquet(folder / SENTENCES, columns=COLUMNS), tuple(files))


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
    stored = frames_so_far(run)
    if stored is None:
        return film(pd.DataFrame(columns=COLUMNS), [], [])
    read = [stored.read(number) for number in range(len(stored.files))]
    titles, frames = [title for title, _ in read], [vectors for _, vectors in read]
    chosen = f"epoch {run.metrics().selected_epoch}"
    if chosen in titles[:-1]:  # the last epoch needs no mark
        titles[titles.index(chosen)] += " (chosen)"
    return film(stored.sentences, frames, titles)


@contextmanager
def _undamaged(folder: Path) -> Iterator[None]:
    """Raise a RunError if a file of snapshots can't be read."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, SafetensorError):
        raise RunError(f"the snapshots in {folder} are damaged; delete that folder, or train again") from None
