"""`emu embed`: sentences to vectors in a Parquet file, a part at a time."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from emu_core.api.inputs import files_of
from emu_core.data.demo import DEMO, demo_paths
from emu_core.data.labelled.columns import ColumnMapping
from emu_core.data.labelled.rows import read_sentences
from emu_core.data.languages import language_of_file
from emu_core.devices import pick_device
from emu_core.encoders.disentangled import part_encode
from emu_core.encoders.encode import shared_encode
from emu_core.encoders.registry import load_encoder
from emu_core.errors import DataError
from emu_core.files import disk_fault, whole_file
from emu_core.processes import join_processes
from emu_core.threads import give_memory_back

TEXT_COLUMNS = ("id", "text", "intent", "language", "split")
UNDETERMINED = "und"  # ISO 639-2's word for a language nobody stated
PART = 8192  # rows in memory at once, and a row group of the file


def embed(
    data: str | Path | Sequence[str | Path],
    *,
    out: str | Path,
    encoder: str = "use",
    part: str | None = None,
    device: str = "auto",
    mapping: ColumnMapping | None = None,
    language: str | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> int:
    """Write columns id, text, intent, language, split and vector (a list of `dim` float32), a row for each row read.

    Args:
        data: files, a folder of files, or "demo"; text files are read one sentence a line.
        out: the Parquet file; it appears when it is whole.
        encoder: what `load_encoder` takes.
        part: a `Part` to write instead of the meaning, of the length that it was learnt with; for a run of fmda or its
            baseline.
        device: "auto", "cpu", "cuda:0".
        mapping: columns of the files, where their names are unusual.
        language: language of files that do not say it.
        on_progress: called with (sentences done, all).

    Returns:
        Number of sentences written.

    Raises:
        DataError: the data can't be read, or `out` can't be written.
        EncoderError: there is no such encoder, or no such part of it.
    """
    named = [data] if isinstance(data, str | Path) else list(data)
    files = (
        demo_paths() if [str(name) for name in named] == [DEMO] else [Path(name) for name in files_of(named)]
    )
    frame = pd.concat(
        [
            read_sentences(path, mapping, language or language_of_file(path.name) or UNDETERMINED)
            for path in files
        ],
        ignore_index=True,
    )
    if frame.empty:
        raise DataError("no sentence to embed in the files named; check that they have rows")
    place = pick_device(device)
    processes = join_processes(place)
    model = load_encoder(encoder, device=place)
    encode = shared_encode(model, processes) if part is None else part_encode(model, part)
    schema = pa.schema(
        [
            *((name, pa.string()) for name in TEXT_COLUMNS),
            ("vector", pa.list_(pa.float32(), model.dim)),
        ]
    )
    if not processes.main:  # it encodes its share and leaves the file to the first
        shared = len(frame) if part is None else 0  # the first encodes a part alone
        for start in range(0, shared, PART):
            encode(frame["text"].iloc[start : start + PART].tolist())
        return len(frame)
    target = Path(out)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with (
            whole_file(target) as partial,
            partial.open("wb") as file,
            pq.ParquetWriter(file, schema) as writer,
        ):
            for start in range(0, len(frame), PART):
                rows = frame.iloc[start : start + PART]
                vectors = pa.array(encode(rows["text"].tolist()).ravel())
                columns = [pa.array(rows[name].tolist(), pa.string()) for name in TEXT_COLUMNS]
                columns.append(pa.FixedSizeListArray.from_arrays(vectors, model.dim))
                writer.write_table(pa.Table.from_arrays(columns, schema=schema))
                give_memory_back()
                if on_progress is not None:
                    on_progress(start + len(rows), len(frame))
    except OSError as error:
        raise DataError(
            f"can't write {target}: {disk_fault(error)}; choose another file with --out"
        ) from None
    return len(frame)
