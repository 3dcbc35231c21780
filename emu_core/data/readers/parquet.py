"""Parquet."""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from emu_core.data.readers.cells import Cells
from emu_core.data.readers.limits import MAX_COLUMNS, cell_text, check_characters, check_rows
from emu_core.data.wording import shown
from emu_core.errors import DataError

_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)


def parse(payload: bytes, name: str) -> Cells:
    """Read the columns of a Parquet file as strings, without fixed-size binary and nested ones.

    A list of strings, such as labels, becomes JSON text.
    """
    file = pq.ParquetFile(pa.BufferReader(payload))
    check_rows(file.metadata.num_rows, name)
    check_characters(
        sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups)), name
    )
    kept = [field.name for field in file.schema_arrow if _is_read(field.type)]
    if len(kept) > MAX_COLUMNS:
        raise DataError(f"{shown(name)} has {len(kept):,} columns; keep text, intent and language")
    # As dictionaries, a long value of every row is stored once until its true size is known.
    paths = (file.schema.column(number).path for number in range(len(file.schema)))
    leaves = [path for path in paths if path in kept or path.partition(".")[0] in kept]
    table = pq.ParquetFile(pa.BufferReader(payload), read_dictionary=leaves).read(columns=kept)
    check_characters(sum(_characters(chunk) for column in table.columns for chunk in column.chunks), name)
    columns = []
    for column in table.columns:
        plain = pc.cast(column, column.type.value_type) if pa.types.is_dictionary(column.type) else column
        columns.append(_texts(plain))
    return Cells(table.column_names, columns)


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_read(kind: pa.DataType) -> bool:
    if _is_list(kind):
        inner = kind.value_type
        inner = inner.value_type if pa.types.is_dictionary(inner) else inner
        return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner))
    return not (pa.types.is_nested(kind) or pa.types.is_fixed_size_binary(kind))


def _texts(column: pa.ChunkedArray) -> list[str]:
    kind = column.type
    if pa.types.is_float16(kind) or pa.types.is_float32(kind):
        # Widened in decimal: 0.1 is 0.1, and not 0.10000000149011612.
        column = pc.cast(pc.cast(column, pa.string()), pa.float64())
    if any(test(kind) for test in _TEXTS):
        return list(pc.fill_null(pc.cast(column, pa.large_string()), "").to_pylist())
    return list(map(cell_text, column.to_pylist()))


def _characters(chunk: pa.Array) -> int:
    """Return the bytes of text that a part of a column expands to; 0 for other types."""
    if _is_list(chunk.type):
        chunk = chunk.flatten()
    is_dictionary = pa.types.is_dictionary(chunk.type)
    values = chunk.dictionary if is_dictionary else chunk
    if not any(test(values.type) for test in _TEXTS):
        return 0
    lengths = pc.cast(pc.binary_length(values), pa.int64())
    return pc.sum(lengths.take(chunk.indices) if is_dictionary else lengths).as_py() or 0
