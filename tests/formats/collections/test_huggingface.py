"""Data sets of Hugging Face on disk, and tables of Arrow, without its package."""

import struct

import pyarrow as pa
import pytest

from emu_core.errors import DataError
from emu_core.formats import limits
from emu_core.formats.source_files import source_files
from emu_core.formats.source_tables import read_tables
from emu_core.formats.tables import arrow
from tests.support.exports import Files, arrow_of, classes, parquet_of, tables_of

TEXTS = ["hi Ann", "bye", "hello"]
COLUMNS = {"utterance": TEXTS, "label": [1, 0, 1]}
FEATURES = {"utterance": {"dtype": "string", "_type": "Value"}, "label": classes("bye", "greet")}


def label_cells(files: Files) -> list[list[str]]:
    """Return the cells of the column `label` of each table."""
    return [table.frame["label"].tolist() for table in tables_of(files)[0]]


@pytest.mark.parametrize("write", [parquet_of, arrow_of])
def test_no_class_and_lists_of_classes(write: object) -> None:
    assert callable(write)
    columns = {"text": TEXTS, "label": [-1, 1, 7], "tags": [[0], [0, 1], []]}
    features = {"label": classes("bye", "greet"), "tags": {"feature": classes("x", "y"), "_type": "Sequence"}}

    [table], _ = tables_of({"x": write(columns, features)})

    assert table.frame["label"].tolist() == ["", "greet", "7"]
    assert table.frame["tags"].tolist() == ['["x"]', '["x", "y"]', "[]"]


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("is_file", [False, True])
def test_streams_and_files_of_arrow(is_file: bool, compression: str | None) -> None:
    columns = {
        "text": pa.array(["a", "b", None], pa.string_view()),
        "label": pa.array(["x", "y", "x"]).dictionary_encode(),
        "vector": [[1.0], [2.0], [3.0]],
        "is_new": [True, None, False],
        "score": pa.array([0.1, 2.0, 3.0], pa.float32()),
    }

    [table], _ = tables_of({"x.arrow": arrow_of(columns, is_file=is_file, compression=compression)})

    assert table.recognised == "Arrow"
    assert table.frame.to_dict("list") == {
        "text": ["a", "b", ""],
        "label": ["x", "y", "x"],
        "is_new": ["true", "", "false"],
        "score": ["0.1", "2", "3"],
    }


@pytest.mark.parametrize(
    "features", ["x", [], {"label": 3}, {"label": {"names": 3}}, {"label": classes()}, {"label": [[]]}]
)
def test_descriptions_of_another_shape_name_nothing(features: object) -> None:
    assert label_cells({"x.arrow": arrow_of(COLUMNS, features)}) == [["1", "0", "1"]]


def test_a_damaged_file_is_refused() -> None:
    whole = arrow_of({"text": ["hello"] * 50}, FEATURES)

    for payload in (whole[:-300], parquet_of(COLUMNS, FEATURES)[:-9]):
        with pytest.raises(DataError, match=r"x\.parquet (is damaged|can't be read)"):
            tables_of({"x.parquet": payload})


def test_rows_and_characters_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = arrow_of({"text": ["a" * 50_000] * 40}, compression="zstd")
    shared = arrow_of({"text": pa.array(["a" * 50_000] * 40).dictionary_encode()})
    views = arrow_of({"text": pa.array(["a" * 50_000] * 40, pa.string_view())}, compression="zstd")
    monkeypatch.setattr(limits, "MAX_FILE_BYTES", 500_000)

    for payload in (packed, shared, views):
        assert len(payload) < 500_000
        with pytest.raises(DataError, match="expands to"):
            tables_of({"x.arrow": payload})

    monkeypatch.setattr(limits, "MAX_ROWS", 5)
    with pytest.raises(DataError, match="more than 5 rows"):
        tables_of({"x.arrow": arrow_of({"text": ["a"] * 6})})


def test_a_buffer_that_claims_to_be_large_is_refused_before_it_is_unpacked() -> None:
    payload = arrow_of({"text": ["a" * 5_000] * 2}, compression="lz4")
    body = payload.rindex(struct.pack("<q", 10_000))
    claimed = payload[:body] + struct.pack("<q", 2**40) + payload[body + 8 :]

    with pytest.raises(DataError, match="expands to"):
        arrow.parse(claimed, "x.arrow")


def test_an_ordinary_parquet_file_is_a_table() -> None:
    tables, _ = read_tables(source_files([("x.parquet", parquet_of(COLUMNS))]))

    assert [table.recognised for table in tables] == [""]
