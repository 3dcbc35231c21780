"""Small files in every format of tables, made in memory for the tests."""

import gzip
import io
from collections.abc import Callable, Mapping

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from emu_core.formats.tables.formats import CSV, JSON_LINES, PARQUET, TSV, XLSX, TableFormat


def workbook(rows: list[list[object]]) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def parquet(columns: dict[str, object]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


WRITERS: Mapping[TableFormat, Callable[[pd.DataFrame], bytes]] = {
    CSV: lambda frame: frame.to_csv(index=False).encode(),
    TSV: lambda frame: frame.to_csv(index=False, sep="\t").encode(),
    JSON_LINES: lambda frame: frame.to_json(orient="records", lines=True).encode(),
    PARQUET: lambda frame: parquet({name: frame[name].tolist() for name in frame}),
    XLSX: lambda frame: workbook([list(frame.columns), *frame.to_numpy().tolist()]),
}
ENDINGS: Mapping[str, TableFormat] = {
    ending: table_format
    for table_format in WRITERS
    for plain in table_format.endings
    for ending in (plain, plain.upper(), *([] if table_format.magic else [f"{plain}.gz"]))
}
"""Every ending that a table's name may have, with its format."""


def written(frame: pd.DataFrame, ending: str) -> bytes:
    """Return a frame as the content of a file with one of `ENDINGS`."""
    payload = WRITERS[ENDINGS[ending]](frame)
    return gzip.compress(payload) if ending.endswith(".gz") else payload
