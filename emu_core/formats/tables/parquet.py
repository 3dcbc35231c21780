"""Parquet, and the tables of Apache Arrow that it is read as."""

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from emu_core.data.cleaning import cell_text
from emu_core.data.wording import shown
from emu_core.errors import DataError
from emu_core.formats.limits import MAX_COLUMNS, check_characters, check_rows
from emu_core.formats.tables.cells import Cells

_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
_VIEWS = (pa.types.is_string_view, pa.types.is_binary_view)


def parse(payload: bytes, name: str, lists: Collection[str] = ()) -> Cells:
    """Read the columns of a Parquet file as strings, without fixed-size binary and most nested ones.

    A list of strings, such as labels, and an object of strings and numbers, such as translations or a label with its
    score, become JSON text; so does a list of such objects.

    Args:
        payload: the file.
        name: its name, for messages.
        lists: the columns of which lists of numbers are read, too.
    """
    file = pq.ParquetFile(pa.BufferReader(payload))
    check_rows(file.metadata.num_rows, name)
    check_characters(
        sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups)), name
    )
    kept = kept_columns(file.schema_arrow, name, lists)
    # As dictionaries, a long value of every row is stored once until its true size is known.
    paths = (file.schema.column(number).path for number in range(len(file.schema)))
    leaves = [path for path in paths if path in kept or path.partition(".")[0] in kept]
    table = pq.ParquetFile(pa.BufferReader(payload), read_dictionary=leaves).read(columns=kept)
    return cells_of(table, name)


def kept_columns(schema: pa.Schema, name: str, lists: Collection[str] = ()) -> list[str]:
    """Return the names of the columns that are read. Raises DataError if they are too many."""
    kept = [field.name for field in schema if _is_read(field.type, field.name in lists)]
    if len(kept) > MAX_COLUMNS:
        raise DataError(f"{shown(name)} has {len(kept):,} columns; keep text, intent and language")
    return kept


def cells_of(table: pa.Table, name: str) -> Cells:
    """Return the cells of a table as strings. Raises DataError if they are too many characters."""
    check_characters(sum(_characters(chunk) for column in table.columns for chunk in column.chunks), name)
    columns = []
    for column in table.columns:
        plain = pc.cast(column, column.type.value_type) if pa.types.is_dictionary(column.type) else column
        columns.append(_texts(plain))
    return Cells(table.column_names, columns)


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_named(kind: pa.DataType) -> bool:
    """Return whether it is an object of strings and numbers, such as the name of an intent with its confidence."""
    if not pa.types.is_struct(kind):
        return False
    kinds = [part.type for part in kind.fields]
    are_plain = all(
        _is_string(inner) or pa.types.is_integer(inner) or pa.types.is_floating(inner) for inner in kinds
    )
    return are_plain and any(map(_is_string, kinds))


def _is_read(kind: pa.DataType, is_list_read: bool) -> bool:
    if _is_list(kind):
        inner = kind.value_type
        inner = inner.value_type if pa.types.is_dictionary(inner) else inner
        return _is_named(inner) or _is_string(inner) or (is_list_read and bool(pa.types.is_integer(inner)))
    if pa.types.is_struct(kind):
        return _is_named(kind)
    left_out = (pa.types.is_nested, pa.types.is_fixed_size_binary, pa.types.is_run_end_encoded)
    return not any(test(kind) for test in left_out)


def _texts(column: pa.ChunkedArray) -> list[str]:
    kind = column.type
    if pa.types.is_float16(kind) or pa.types.is_float32(kind):
        # Widened in decimal: 0.1 is 0.1, and not 0.10000000149011612.
        column = pc.cast(pc.cast(column, pa.string()), pa.float64())
    if any(test(kind) for test in (*_TEXTS, *_VIEWS)):
        return list(pc.fill_null(pc.cast(column, pa.large_string()), "").to_pylist())
    return list(map(cell_text, column.to_pylist()))


def _characters(chunk: pa.Array) -> int:
    """Return the bytes of text that a part of a column expands to; 0 for other types."""
    if pa.types.is_struct(chunk.type):
        return sum(map(_characters, chunk.flatten()))
    if _is_list(chunk.type):
        chunk = chunk.flatten()
    if any(test(chunk.type) for test in _VIEWS):  # 16 bytes a cell, of which the first four are its length
        views = np.frombuffer(chunk.buffers()[1] or b"", dtype="<i4").reshape(-1, 4)
        return int(views[chunk.offset : chunk.offset + len(chunk), 0].clip(0).sum(dtype="i8"))
    is_dictionary = pa.types.is_dictionary(chunk.type)
    values = chunk.dictionary if is_dictionary else chunk
    if not any(test(values.type) for test in _TEXTS):
        return 0
    lengths = pc.cast(pc.binary_length(values), pa.int64())
    return pc.sum(lengths.take(chunk.indices) if is_dictionary else lengths).as_py() or 0
