"""Data sets of Hugging Face on disk: Arrow files as `save_to_disk` writes them, and Parquet shards as on the hub."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from emu_core.data.column_names import listed_names
from emu_core.data.wording import shown
from emu_core.errors import DataError
from emu_core.formats.collections.document import Document
from emu_core.formats.collections.rows import Rows
from emu_core.formats.collections.values import listing, mapping, objects, text_of
from emu_core.formats.limits import check_rows
from emu_core.formats.tables import arrow, parquet
from emu_core.formats.tables.cells import Cells
from emu_core.formats.tables.formats import PARQUET

_METADATA = b"huggingface"  # the key in the metadata of a schema
_LIST_KEYS = ("feature", "sequence", "list")
_CACHE = "cache-"  # results of `map` and `filter`, beside the data


def is_data_set(document: Document) -> bool:
    """Return whether it is an Arrow or Parquet file that a data set's description belongs to."""
    schema = _schema(document)
    return schema is not None and _is_data(document) and _features(document, schema) is not None


def is_arrow(document: Document) -> bool:
    """Return whether it is any other file of Arrow."""
    return arrow.is_arrow(document.payload) and _is_data(document) and not is_data_set(document)


def read_data_set(document: Document, rows: Rows) -> None:
    """Read the columns of strings and numbers; the numbers of classes become their names."""
    schema = _schema(document)
    names_by_column = {} if schema is None else _class_names(_features(document, schema))
    parse = arrow.parse if arrow.is_arrow(document.payload) else parquet.parse
    try:
        cells = parse(document.payload, document.path, names_by_column)
    except DataError:
        raise
    except Exception as error:  # a damaged file fails in dozens of ways
        raise DataError(f"{shown(document.path)} is damaged; save or download the data set again") from error
    rows.take(_with_class_names(cells, names_by_column))


def cells_of_table(table: pa.Table, name: str) -> Cells:
    """Return the cells of a table that Python holds; the numbers of classes become their names.

    Raises:
        DataError: there are too many rows or characters, or two columns of one name.
    """
    check_rows(table.num_rows, name)
    if repeated := [column for column, count in Counter(table.column_names).items() if count > 1]:
        raise DataError(
            f"{name} has two columns named {listed_names(repeated)}; rename or remove one of them"
        )
    names_by_column = _class_names(_stated_features(table.schema))
    kept = parquet.kept_columns(table.schema, name, names_by_column)
    return _with_class_names(parquet.cells_of(table.select(kept), name), names_by_column)


def _with_class_names(cells: Cells, names_by_column: Mapping[str, Sequence[str]]) -> Cells:
    columns = [
        [_named(cell, names_by_column[name]) for cell in column] if name in names_by_column else column
        for name, column in zip(cells.header, cells.columns, strict=True)
    ]
    return Cells(cells.header, columns)


def _schema(document: Document) -> pa.Schema | None:
    try:
        if arrow.is_arrow(document.payload):
            return arrow.schema_of(document.payload)
        if document.payload.startswith(PARQUET.magic):
            return pq.read_schema(pa.BufferReader(document.payload))
    except Exception:  # a damaged file fails in dozens of ways; reading it says so
        return None
    return None


def _is_data(document: Document) -> bool:
    """Return whether a file is not a leftover: `state.json` lists those of a data set."""
    state = document.beside("state.json")
    listed = {text_of(file.get("filename")) for file in objects(_value(state, "_data_files"))}
    return document.file.name in listed if listed else not document.file.name.startswith(_CACHE)


def _value(document: Document | None, key: str) -> object:
    return mapping(document.json).get(key) if document else None


def _features(document: Document, schema: pa.Schema) -> dict[str, Any] | None:
    """Return what describes each column, from the schema, the files beside it or the card; None if nothing does."""
    if (stated := _stated_features(schema)) is not None:
        return stated
    if features := _value(document.beside("dataset_info.json"), "features"):
        return mapping(features)
    older, card = document.beside("dataset_infos.json"), document.beside("README.md")
    descriptions = list(mapping(older.json).values()) if older else []
    descriptions += _of_card(card) if card else []
    return _fitting(descriptions, document)


def _of_card(card: Document) -> list[Any]:
    """Return the descriptions in the front matter of a card, one for each configuration."""
    stated = mapping(card.front_matter).get("dataset_info")
    return stated if isinstance(stated, list) else [stated]


def _stated_features(schema: pa.Schema) -> dict[str, Any] | None:
    """Return the descriptions of columns that a schema holds; None if it holds none."""
    stated = (schema.metadata or {}).get(_METADATA)
    if stated is None:
        return None
    try:
        return mapping(mapping(mapping(json.loads(stated)).get("info")).get("features"))
    except (ValueError, RecursionError):
        return {}


def _fitting(descriptions: Sequence[object], document: Document) -> dict[str, Any] | None:
    described = [item for item in map(mapping, descriptions) if item.get("features")]
    by_folder = (item for item in described if item.get("config_name") in document.file.folders)
    features = next(by_folder, described[0] if described else {}).get("features")
    if isinstance(features, list):
        return {text_of(item.get("name")): item for item in objects(features)}
    return mapping(features) or None


def _class_names(features: dict[str, Any] | None) -> Mapping[str, Sequence[str]]:
    names = {column: _names(feature) for column, feature in (features or {}).items()}
    return {column: classes for column, classes in names.items() if classes}


def _names(feature: object) -> list[str]:
    """Return the names of a column of classes or of lists of them, which a card writes with their numbers."""
    keys = mapping(feature[0] if isinstance(feature, list) and feature else feature)
    for key in _LIST_KEYS:
        if key in keys:
            return _names(keys[key])
    names = mapping(keys.get("class_label") or mapping(keys.get("dtype")).get("class_label") or keys).get(
        "names"
    )
    if isinstance(names, dict):
        return [text_of(names.get(str(number))) for number in range(len(names))]
    return list(map(text_of, listing(names)))


def _named(cell: str, names: Sequence[str]) -> str:
    """Return the name of a class, of a list the names as JSON; "" for -1, which stands for no class."""
    if cell.startswith("["):
        numbers = (text_of(number) for number in listing(json.loads(cell)))
        return json.dumps([_named(number, names) for number in numbers], ensure_ascii=False)
    if not (cell.isascii() and cell.isdigit()):
        return "" if cell == "-1" else cell
    return names[int(cell)] if len(cell) < 10 and int(cell) < len(names) else cell
