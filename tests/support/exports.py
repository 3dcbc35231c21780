"""Samples of formats, which are folders of tests/formats/samples, and the ways to read them.

Beside the files of a sample are what they are read as: `expected.csv`, or `expected-sentences.csv` where no intent is
needed, `expected-pairs.csv` of parallel text, or `expected-table.csv`, the columns as the file has them; and
`expected-notes.txt` where it matters what is said about them. To write these for a new sample, and then to read what
they say:

    python -m tests.support.exports NAME
"""

import io
import json
import re
import sys
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from emu_core.data.sets import LABELLED_COLUMNS
from emu_core.formats.collections.formats import COLLECTION_FORMATS
from emu_core.formats.in_memory import LABELLED, SENTENCES
from emu_core.formats.parallel.files import read_parallel
from emu_core.formats.read import read_files
from emu_core.formats.source_files import SourceFile, source_files
from emu_core.formats.source_tables import SourceTable, read_tables
from emu_core.formats.tables.read import read_table
from tests.support.paths import ROOT

SAMPLES = ROOT / "tests" / "formats" / "samples"
ROWS, UNLABELLED, PAIRS, TABLE, NOTES = (
    f"expected{rest}" for rest in (".csv", "-sentences.csv", "-pairs.csv", "-table.csv", "-notes.txt")
)

Files = Mapping[str, Any]
"""Path within the export -> text, bytes, or an object that is written as JSON."""


def payload_of(content: object) -> bytes:
    """Return a file's bytes."""
    if isinstance(content, bytes):
        return content
    return (content if isinstance(content, str) else json.dumps(content)).encode()


def zip_of(files: Files) -> bytes:
    """Return an archive of the files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, payload_of(content))
    return packed.getvalue()


def folder_of(folder: Path, files: Files) -> Path:
    """Write the files into a folder."""
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(payload_of(content))
    return folder


def tables_of(files: Files) -> tuple[list[SourceTable], tuple[str, ...]]:
    """Return the tables of a zip archive, and what is said about them; those of a file alone, if there is one."""
    return read_tables(opened(files))


def opened(files: Files) -> list[SourceFile]:
    """Return the files of a zip archive; a single one alone."""
    [(path, content), *others] = files.items()
    return source_files([("export.zip", zip_of(files)) if others else (path, payload_of(content))])


def rows_of(files: Files) -> pd.DataFrame:
    """Return the rows of an export in the six columns, and `title`, the name of the format."""
    tables, _ = tables_of(files)
    frames = [table.frame.assign(title=table.recognised) for table in tables]
    columns = [*LABELLED_COLUMNS, "title"]
    return pd.concat([frame.reindex(columns=columns, fill_value="") for frame in frames], ignore_index=True)


def cells(files: Files, *columns: str) -> list[tuple[str, ...]]:
    """Return some columns of the rows of an export."""
    return list(rows_of(files)[list(columns)].itertuples(index=False, name=None))


def classes(*names: str) -> dict[str, object]:
    """Return how Hugging Face describes a column of classes in JSON."""
    return {"names": list(names), "_type": "ClassLabel"}


def arrow_of(
    columns: Mapping[str, object],
    features: object = None,
    *,
    is_file: bool = False,
    compression: str | None = None,
) -> bytes:
    """Return a stream or a file of Arrow, with the features that Hugging Face writes into its schema."""
    table = described_table(columns, features)
    packed = io.BytesIO()
    writer = pa.ipc.new_file if is_file else pa.ipc.new_stream
    with writer(packed, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as sink:
        sink.write_table(table, max_chunksize=2)
    return packed.getvalue()


def parquet_of(columns: Mapping[str, object], features: object = None) -> bytes:
    """Return a Parquet file, with the features that Hugging Face writes into its schema."""
    packed = io.BytesIO()
    pq.write_table(described_table(columns, features), packed)
    return packed.getvalue()


def described_table(columns: Mapping[str, object], features: object) -> pa.Table:
    """Return a table of Arrow, with features in the metadata of its schema unless they are None."""
    table = pa.table(dict(columns))
    info = {} if features is None else {"huggingface": json.dumps({"info": {"features": features}})}
    return table.replace_schema_metadata(info)


def sample(name: str) -> dict[str, bytes]:
    """Return the files of a sample by path."""
    folder = SAMPLES / name
    files = {
        path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()
    }
    return {name: path.read_bytes() for name, path in files.items() if not name.startswith("expected")}


def read_sample(name: str, kind: str) -> tuple[str, str]:
    """Return what a sample is read as, as CSV, and what is said about it, a note a line.

    Args:
        name: of the sample's folder.
        kind: ROWS, UNLABELLED, PAIRS or TABLE.
    """
    if kind == TABLE:
        [(path, payload)] = sample(name).items()
        table = read_table(payload, path)
        return _as_csv(table, [*filter(None, [table.attrs["recognised"]]), *table.attrs["notes"]])
    if kind == PAIRS:
        texts = read_parallel([SAMPLES / name / path for path in sample(name)])
        rows = pd.concat(text.to_frame().assign(source=text.source, target=text.target) for text in texts)
        return _as_csv(rows, [note for text in texts for note in text.notes])
    expected = SENTENCES if kind == UNLABELLED else LABELLED
    data = read_files(opened(sample(name)), expected, required=("text",))
    rows = data.rows.drop(columns="row")
    is_told = {"text", "intent"} | {
        column for column in rows if rows[column].nunique() > 1 or any(rows[column])
    }
    rows = rows.drop(columns=["source"] if rows["source"].nunique() == 1 else [])
    return _as_csv(rows[[column for column in rows if column in is_told]], data.notes)


def _as_csv(rows: pd.DataFrame, notes: Iterable[str]) -> tuple[str, str]:
    return rows.to_csv(index=False, lineterminator="\n"), "".join(f"{note}\n" for note in notes)


def expected_in(folder: Path) -> dict[str, str]:
    """Return what is written beside a sample, by the name of the file."""
    return {path.name: path.read_bytes().decode() for path in sorted(folder.glob("expected*"))}


def name_of_sample(title: str) -> str:
    """Return the name of the sample that shows a format of COLLECTION_FORMATS."""
    return "-".join(re.findall(r"[a-z0-9]+", title.lower().replace(".", "")))


EXPORTS: dict[str, Files] = {
    title: sample(name_of_sample(title)) for title in (format.title for format in COLLECTION_FORMATS)
}
"""Title of a format -> an export of a bot that knows two intents; where there are entities, "Ann" is one."""


if __name__ == "__main__":
    for name in sys.argv[1:]:
        present = expected_in(SAMPLES / name)
        for kind in [kind for kind in (ROWS, UNLABELLED, PAIRS, TABLE) if kind in present] or [ROWS]:
            rows, notes = read_sample(name, kind)
            (SAMPLES / name / kind).write_text(rows, "utf-8", newline="")
        (SAMPLES / name / NOTES).write_text(notes, "utf-8", newline="")
