"""Apache Arrow's streams and files (Feather), as data sets of Hugging Face are stored on disk."""

import struct
from collections.abc import Collection

import pyarrow as pa

from emu_core.formats.limits import check_characters, check_rows
from emu_core.formats.tables.cells import Cells
from emu_core.formats.tables.parquet import cells_of, kept_columns

_FILE = b"ARROW1\0\0"  # a file is a stream behind these bytes, and before an index
_STREAM = b"\xff\xff\xff\xff"
# Numbers of fields in Arrow's schema of messages (format/Message.fbs)
_HEADER, _DICTIONARY_DATA, _BUFFERS, _COMPRESSION = 2, 1, 2, 3


def is_arrow(payload: bytes) -> bool:
    """Return whether a file begins as a stream or a file of Arrow does."""
    return payload.startswith((_FILE, _STREAM))


def schema_of(payload: bytes) -> pa.Schema:
    """Return the schema of a stream or a file; a damaged one raises almost anything."""
    with pa.ipc.open_stream(_stream(payload)) as reader:
        return reader.schema


def parse(payload: bytes, name: str, lists: Collection[str] = ()) -> Cells:
    """Read the columns as strings, as `parquet.parse` does; a damaged file raises almost anything."""
    table = _table(payload, name)
    return cells_of(table.select(kept_columns(table.schema, name, lists)), name)


def _table(payload: bytes, name: str) -> pa.Table:
    size = 0
    for message in pa.ipc.MessageReader.open_stream(_stream(payload)):
        size += _unpacked_size(message)
        check_characters(size, name)
    batches, rows = [], 0
    with pa.ipc.open_stream(_stream(payload)) as reader:
        for batch in reader:
            rows += batch.num_rows
            check_rows(rows, name)
            batch.validate(full=True)  # it comes from outside: an offset may lie anywhere
            batches.append(batch)
        return pa.Table.from_batches(batches, reader.schema)


def _stream(payload: bytes) -> pa.BufferReader:
    start = len(_FILE) if payload.startswith(_FILE) else 0
    return pa.BufferReader(pa.py_buffer(payload).slice(start))


def _unpacked_size(message: pa.ipc.Message) -> int:
    """Return the bytes that the body of a message unpacks to; each packed buffer begins with its unpacked size."""
    metadata = bytes(message.metadata)
    root = _reference(metadata, 0)
    header = _reference(metadata, _field(metadata, root, _HEADER))
    if message.type == "dictionary":
        header = _reference(metadata, _field(metadata, header, _DICTIONARY_DATA))
    if message.body is None or message.type == "schema" or not _field(metadata, header, _COMPRESSION):
        return 0 if message.body is None else message.body.size
    body = memoryview(message.body)
    buffers = _reference(metadata, _field(metadata, header, _BUFFERS))
    (count,) = struct.unpack_from("<I", metadata, buffers)
    size = 0
    for start, length in struct.iter_unpack("<qq", metadata[buffers + 4 : buffers + 4 + 16 * count]):
        (unpacked,) = struct.unpack_from("<q", body, start) if length else (0,)
        size += max(unpacked, length)  # -1 stands for a buffer that is not packed
    return size


def _reference(metadata: bytes, position: int) -> int:
    """Return the position that a reference of a flat buffer leads to."""
    return int(position + struct.unpack_from("<I", metadata, position)[0])


def _field(metadata: bytes, table: int, number: int) -> int:
    """Return the position of a field of a table in a flat buffer, 0 if it has none."""
    fields = table - struct.unpack_from("<i", metadata, table)[0]
    (size,) = struct.unpack_from("<H", metadata, fields)
    at = 4 + 2 * number
    offset = struct.unpack_from("<H", metadata, fields + at)[0] if at < size else 0
    return table + offset if offset else 0
