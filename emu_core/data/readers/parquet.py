"""Parquet files, read as text and bounded before they are unfolded."""

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from emu_core.data.readers.table import MAX_COLUMNS, build_table, check_characters, check_rows
from emu_core.data.wording import shown
from emu_core.errors import DataError


def parse_parquet(payload: bytes, name: str, max_rows: int) -> pd.DataFrame:
    """Read the flat columns of a Parquet file as strings; nested columns (lists, structs) are left out.

    Raises:
        DataError: the file is damaged, too large once unfolded, or a column's values have no text form.
    """
    try:
        return _read(payload, name, max_rows)
    except DataError:
        raise
    except Exception as error:  # a damaged file fails in many ways, all of them the file's
        raise DataError(
            f"{shown(name)} can't be read as Parquet; write it again, or as CSV in UTF-8"
        ) from error


def _read(payload: bytes, name: str, max_rows: int) -> pd.DataFrame:
    file = pq.ParquetFile(pa.BufferReader(payload))
    check_rows(file.metadata.num_rows, max_rows, name)
    check_characters(
        sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups)), name
    )
    flat = [field.name for field in file.schema_arrow if not pa.types.is_nested(field.type)]
    if len(flat) > MAX_COLUMNS:
        raise DataError(f"{shown(name)} has {len(flat):,} columns; keep text, intent and language")
    # As dictionaries, a long value that stands in every row is held once until its true size is known.
    table = pq.ParquetFile(pa.BufferReader(payload), read_dictionary=flat).read(columns=flat)
    check_characters(sum(_characters(column) for column in table.columns), name)
    columns = [pc.fill_null(_plain(column), "").to_pylist() for column in table.columns]
    return build_table(table.column_names, columns, name)


def _characters(column: pa.ChunkedArray) -> int:
    """Return how many bytes of text the column unfolds to (0 for what is not text)."""
    total = 0
    for chunk in column.chunks:
        if pa.types.is_dictionary(chunk.type) and pa.types.is_string(chunk.type.value_type):
            lengths = pc.binary_length(chunk.dictionary).take(chunk.indices)
            total += pc.sum(pc.cast(lengths, pa.int64())).as_py() or 0
    return total


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    return pc.cast(column, pa.large_string())
