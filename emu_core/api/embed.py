"""Write sentence embeddings to a Parquet file, in parts."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from emu_core.api.inputs import reading_notes
from emu_core.api.split import splitting_encoder
from emu_core.data.cleaning import stripped
from emu_core.data.export_csv import safe_csv
from emu_core.data.languages import UNDETERMINED
from emu_core.data.reading import ABOUT_INTENTS, Reading, checked_reading
from emu_core.data.wording import counted
from emu_core.devices import pick_device
from emu_core.encoders.encode import shared_encode
from emu_core.encoders.registry import load_encoder, precision_notes
from emu_core.errors import DataError, Fix
from emu_core.files import disk_fault, whole_file
from emu_core.formats.in_memory import SENTENCES, Sources
from emu_core.formats.read import read
from emu_core.formats.tables.formats import (
    JSON_LINES,
    PARQUET,
    TSV,
    WRITTEN_ENDINGS,
    TableFormat,
    any_of,
    format_of,
)
from emu_core.processes import join_processes
from emu_core.threads import give_memory_back

TEXT_COLUMNS = ("id", "text", "intent", "language", "split")
PART = 8192  # rows in memory at once, and in a row group of the file


def embed(
    data: Sources,
    *,
    out: str | Path,
    encoder: str = "use",
    part: str | None = None,
    device: str = "auto",
    reading: Reading | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    on_note: Callable[[str], object] | None = None,
) -> int:
    """Write the columns id, text, intent, language, split and vector (a list of `dim` float32), one row per sentence.

    Args:
        data: sentences (a list, a Series, a DataFrame with a column of them), files of them, or "demo"; text files have
            a sentence a line.
        out: the Parquet file; it appears when it is complete.
        encoder: what `load_encoder` takes.
        part: for a run that splits sentences, the name of the part to write instead of the meaning, at the length that
            it was trained with.
        device: "auto", "cpu", "cuda:0".
        reading: columns with unusual names, and the language of files that state none; see `Reading`.
        on_progress: called with (sentences done, total).
        on_note: called with each note on what the encoder does not read of the sentences.

    Returns:
        Number of sentences written.

    Raises:
        DataError: the data can't be read, or `out` can't be written.
        EncoderError: the encoder, or the part of it, does not exist.

    Examples:
        >>> import emu_core
        >>> import pandas as pd
        >>> emu_core.embed(["Where is the pool?", "Wo ist der Pool?"], out="vectors.parquet")
        2
        >>> len(pd.read_parquet("vectors.parquet")["vector"][0])
        512
    """
    refuse_input(out, data)
    frame = read_inputs(data, reading)
    frame["language"] = frame["language"].replace("", UNDETERMINED)
    if frame.empty:
        raise DataError("there are no sentences; check that the data has rows")
    chosen_device = pick_device(device)
    processes = join_processes(chosen_device)
    model = load_encoder(encoder, device=chosen_device)
    encode = shared_encode(model, processes) if part is None else splitting_encoder(model).encode_part(part)
    columns = [(name, pa.string()) for name in TEXT_COLUMNS]
    schema = pa.schema([*columns, ("vector", pa.list_(pa.float32(), model.dim))])
    if not processes.main:  # it encodes its share, and the main process writes the file
        if part is None:  # the main process computes parts alone
            for rows in in_parts(frame):
                encode(rows["text"].tolist())
        return len(frame)
    if on_note is not None:
        for note in (*reading_notes(encoder, frame), *precision_notes(encoder, chosen_device)):
            on_note(note)
    with writing(out, schema, PARQUET) as write:
        for rows in in_parts(frame, on_progress):
            vectors = pa.array(encode(rows["text"].tolist()).ravel())
            arrays = [pa.array(rows[name].tolist(), pa.string()) for name in TEXT_COLUMNS]
            arrays.append(pa.FixedSizeListArray.from_arrays(vectors, model.dim))
            write(pa.Table.from_arrays(arrays, schema=schema))
    return len(frame)


def in_parts(
    frame: pd.DataFrame, on_progress: Callable[[int, int], None] | None = None
) -> Iterator[pd.DataFrame]:
    """Yield the rows of a frame, `PART` at a time; call `on_progress` with (rows done, all) after each part."""
    for start in range(0, len(frame), PART):
        rows = frame.iloc[start : start + PART]
        yield rows
        give_memory_back()
        if on_progress is not None:
            on_progress(start + len(rows), len(frame))


def read_inputs(data: Sources, reading: Reading | None = None) -> pd.DataFrame:
    """Return the rows of sentences in any of the forms of `Sources`; only the column text is required.

    Raises:
        DataError: a file can't be read.
    """
    reading = checked_reading(reading)
    reading.refuse("these sentences are read as they are labelled", *ABOUT_INTENTS)
    return read(data, SENTENCES, reading=reading, required=("text",)).rows


def sentence_rows(
    data: Sources, reading: Reading | None = None, on_note: Callable[[str], object] | None = None
) -> pd.DataFrame:
    """Return the rows of sentences without their intents, of which those without a sentence are left out.

    `on_note` is called with a note on these, if there are any.
    """
    reading = checked_reading(reading)
    if reading.mapping is not None:
        reading = replace(reading, mapping=replace(reading.mapping, intent=None, split=None))
    frame = read_inputs([data] if isinstance(data, str) else data, reading)
    frame = frame.assign(text=stripped(frame["text"]))
    is_blank = frame["text"] == ""
    if is_blank.all():
        raise DataError("there are no sentences; check that the data has rows")
    if on_note is not None and is_blank.any():
        on_note(f"{counted(int(is_blank.sum()), 'row')} without a sentence left out")
    return frame[~is_blank]


def refuse_input(out: str | Path, data: Sources) -> None:
    """Raise a DataError if `out` is one of the files that are read."""
    target = Path(out).resolve()
    named = [data] if isinstance(data, str | Path) else data if isinstance(data, Sequence) else ()
    # Of a million sentences, none is taken for a path.
    alike = (item for item in named if isinstance(item, str | Path) and str(item).endswith(target.name))
    if any(Path(item).resolve() == target for item in alike):
        raise DataError(f"{out} is read, and would be overwritten; name another file with ", Fix("out"))


@contextmanager
def writing(
    out: str | Path, schema: pa.Schema, table_format: TableFormat | None = None
) -> Iterator[Callable[[pa.Table | pd.DataFrame], None]]:
    """Yield a function that writes rows of a table to a file, which appears when the block ends.

    The format is the given one, or else that of the ending of its name. Its folder is created if necessary.

    Raises:
        DataError: the file can't be written, or its ending is unknown.
    """
    target = Path(out)
    if table_format is None and target.suffix.lower() in WRITTEN_ENDINGS:
        table_format = format_of(target.name)
    if table_format is None:
        raise DataError(
            f"can't tell what kind of file {target} is; end its name in {any_of(WRITTEN_ENDINGS)}"
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            file = stack.enter_context(stack.enter_context(whole_file(target)).open("wb"))
            parquet = stack.enter_context(pq.ParquetWriter(file, schema)) if table_format is PARQUET else None

            def write(rows: pa.Table | pd.DataFrame) -> None:
                if parquet is not None:
                    if isinstance(rows, pd.DataFrame):
                        rows = pa.Table.from_pandas(rows, schema, preserve_index=False)
                    parquet.write_table(rows)
                elif table_format is JSON_LINES:
                    lines = rows.to_json(orient="records", lines=True, force_ascii=False)
                    file.write(lines.encode("utf-8", "replace"))
                else:
                    delimiter = "\t" if table_format is TSV else ","
                    file.write(safe_csv(rows, delimiter, is_continued=file.tell() > 0))

            yield write
    except OSError as error:
        raise DataError(
            f"can't write {target}: {disk_fault(error)}; choose another file (",
            Fix("out"),
            ")",
        ) from None
