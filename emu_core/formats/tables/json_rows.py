"""The rows in a JSON value, whatever way its lists and objects hold them.

    [{"text": ..., "intent": ...}]  [[text, intent]]  [text]  {"data": any of these}
    {intent: [text]}  {split: [[text, intent]]}  {language: {intent: [text]}}
    [{"intent": ..., "examples": [text]}]
    pandas' to_json, of any orient

Keys around the rows become their columns intent, split and language; what stands beside them there, such as
{"locale": "de", "data": [...]}, holds for all of them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeGuard

from emu_core.data.column_names import has_role, role_of_name
from emu_core.data.languages import is_known, stated_code
from emu_core.data.splits import SPLIT_NAMES
from emu_core.data.wording import counted, shown
from emu_core.errors import DataError
from emu_core.formats.tables.cells import numbered

Record = Mapping[str, Any]

_ROW_LISTS = ("data", "rows", "examples", "items", "records", "results", "instances", "samples", "entries")
_SENTENCE_LISTS = (
    *("texts", "sentences", "utterances", "queries", "questions", "phrases", "training_phrases"),
    *("examples", "samples", "patterns", "variations"),
)
_INHERITED = ("language", "split", "intent")
_MAX_DEPTH = 6
_SAMPLE_ROWS = 50
_WORD = re.compile(r"[^\W_]+")


def rows_of_json(value: Any, name: str) -> Iterator[Record]:
    """Yield the rows in a decoded value. Raises DataError for values that are no rows."""
    return _rows(value, {}, name, _MAX_DEPTH)


def _rows(value: Any, around: Record, name: str, depth: int) -> Iterator[Record]:
    """Yield the rows in a value; `around` is what the objects around it state about all of them."""
    if isinstance(value, list):
        yield from _rows_of_list(value, around, name, depth)
    elif isinstance(value, dict) and depth:
        yield from _rows_of_object(value, around, name, depth)
    else:
        raise DataError(
            f"{shown(name)} is JSON without a list of rows; write one object a line, with the keys text and intent"
        )


def _rows_of_list(values: list[Any], around: Record, name: str, depth: int) -> Iterator[Record]:
    kinds = {type(value) for value in values}
    if kinds == {dict} and all(map(_is_intent_alone, values)):
        for value in values:
            yield from _rows_of_object(value, around, name, depth)
    elif kinds == {dict}:
        yield from _records(values, around, name, depth)
    elif kinds == {list}:
        yield from _records(_without_keys(values, name), around, name, depth)
    elif kinds == {str}:
        yield from ({**around, "text": value} for value in values)
    elif kinds:
        number = next((at for at, value in enumerate(values, 1) if not isinstance(value, dict)), 1)
        raise DataError(
            f"{shown(name)}: value {number} is not an object; write each as an object with the keys text and intent"
        )


def _is_intent_alone(value: Record) -> bool:
    """Return whether an object has nothing but an intent with its sentences."""
    return (
        len(value) == 1
        and all(_holds(texts, str) for texts in value.values())
        and not has_role(value, "text")
    )


def _without_keys(rows: Sequence[list[Any]], name: str) -> list[Record]:
    """Return rows of equal length as records; the first row may name the columns."""
    width = len(rows[0])
    for number, row in enumerate(rows, 1):
        if len(row) != width:
            raise DataError(
                f"{shown(name)}: row {number} has {counted(len(row), 'cell')} but the first has {width}; "
                "write each row with as many cells"
            )
    first = [str(cell) for cell in rows[0]]
    is_header = len(set(first)) == width and has_role(first, "text") and has_role(first, "intent", "language")
    header, body = (first, rows[1:]) if is_header else (numbered(width), rows)
    return [dict(zip(header, row, strict=True)) for row in body]


def _records(records: Sequence[Record], around: Record, name: str, depth: int) -> Iterator[Record]:
    """Yield records, and one for each sentence of those that hold a list of sentences."""
    sentences, translations = _keys_of_sentences(records), _keys_of_translations(records)
    for record in records:
        row = {**around, **record} if around else record
        for key in translations:
            row = _spread(row, key)
        if by_language := next((key for key in translations if isinstance(row.get(key), dict)), None):
            yield from _rows_by_language(row, by_language, name, depth)
        elif any(isinstance(row.get(key), list) for key in sentences):
            yield from _rows_of_record(row, sentences, name, depth)
        else:
            yield row


def _rows_of_record(record: Record, keys: Sequence[str], name: str, depth: int) -> Iterator[Record]:
    """Yield a row for each sentence in the lists of a record, and one for a sentence beside them."""
    lists = {key: record[key] for key in keys if isinstance(record.get(key), list)}
    rest = {key: value for key, value in record.items() if key not in lists}
    text = next((key for key in rest if role_of_name(key) == "text" and isinstance(rest[key], str)), None)
    if text:
        yield rest
    for values in lists.values():
        for row in _rows(values, rest, name, depth - 1):
            is_plain = text is not None and set(row) - set(rest) == {"text"}
            yield {**rest, text: row["text"]} if text and is_plain else row


def _keys_of_sentences(records: Sequence[Record]) -> list[str]:
    """Return the keys at which records hold lists of sentences, and not of the words of one."""
    keys = []
    for key in dict.fromkeys(key for record in islice(records, _SAMPLE_ROWS) for key in record):
        lists = [record[key] for record in islice(records, _SAMPLE_ROWS) if isinstance(record.get(key), list)]
        values = [value for inner in lists for value in inner]
        if not values or not all(isinstance(value, str | dict) for value in values):
            continue
        is_named = key.casefold() in _SENTENCE_LISTS
        is_spaced = role_of_name(key) == "text" and any(
            " " in value for value in values if isinstance(value, str)
        )
        if is_named or is_spaced:
            keys.append(key)
    return keys


def _keys_of_translations(records: Sequence[Record]) -> list[str]:
    """Return the keys at which records hold an object of sentences by language."""
    pairs = (pair for record in islice(records, _SAMPLE_ROWS) for pair in record.items())
    objects = ((key, value) for key, value in pairs if isinstance(value, dict) and value)
    named = ((key, value) for key, value in objects if role_of_name(key) == "text" or key in _SENTENCE_LISTS)
    return list(dict.fromkeys(key for key, value in named if all(map(_is_language, value))))


def _spread(record: Record, key: str) -> Record:
    """Return a record with a key for each language (`text_de`) instead of an object of a sentence by language."""
    inner = record.get(key)
    if not isinstance(inner, dict) or any(isinstance(value, list | dict) for value in inner.values()):
        return record
    rest = {other: value for other, value in record.items() if other != key}
    return rest | {f"{key}_{language}": value for language, value in inner.items()}


def _rows_by_language(record: Record, key: str, name: str, depth: int) -> Iterator[Record]:
    """Yield a row for each sentence in an object of lists of sentences by language."""
    rest = {other: value for other, value in record.items() if other != key}
    for language, texts in record[key].items():
        values = [texts] if isinstance(texts, str) else texts
        yield from _rows(values, {**rest, "language": language}, name, depth - 1)


def _rows_of_object(value: Record, around: Record, name: str, depth: int) -> Iterator[Record]:
    if (table := _pandas_rows(value, name)) is not None:
        yield from _records(table, around, name, depth)
        return
    parts = {key: inner for key, inner in value.items() if isinstance(inner, list | dict) and inner}
    stated = {
        str(role_of_name(key)): inner
        for key, inner in value.items()
        if isinstance(inner, str) and role_of_name(key) in _INHERITED
    }
    rows = next((key for key in _ROW_LISTS if _holds(parts.get(key), dict, list)), None)
    if rows:
        yield from _rows(parts[rows], {**around, **stated}, name, depth - 1)
    elif has_role((key for key, inner in value.items() if isinstance(inner, str)), "text") or (
        stated and _keys_of_sentences([value])
    ):
        yield from _records([value], around, name, depth)
    elif not parts:
        is_plain = not any(isinstance(inner, list | dict) for inner in value.values())
        yield from _rows_of_plain(value, around) if is_plain else ()
    elif (only := _only_part(parts)) is not None:
        yield from _rows(parts[only], {**around, **stated}, name, depth - 1)
    elif len(parts) + len(stated) < sum(inner not in (None, [], {}) for inner in value.values()):
        # Numbers and texts beside the lists: settings or results, and no sentences.
        raise DataError(
            f"{shown(name)} is JSON without a list of rows; write one object a line, with the keys text and intent"
        )
    else:
        level = _level(parts)
        for key, inner in parts.items():
            intent = f"{around[level]}/{key}" if level == "intent" and level in around else key
            yield from _rows(inner, {**around, **stated, level: intent}, name, depth - 1)


def _rows_of_plain(value: Record, around: Record) -> Iterator[Record]:
    """Yield the rows of an object of texts and numbers: sentences by intent, intents by sentence, or a single row."""
    texts = [text for text in value.values() if isinstance(text, str)]
    is_sentence = sum(" " in key.strip() for key in value) * 2 > len(value)
    if is_sentence and 1 < len(set(texts)) < len(texts) == len(value):
        yield from ({**around, "text": key, "intent": intent} for key, intent in value.items())
    elif around and not any(map(role_of_name, value)):
        prefix = f"{around['intent']}/" if "intent" in around else ""
        yield from ({**around, "intent": prefix + key, "text": text} for key, text in value.items())
    else:
        yield {**around, **value}


def _only_part(parts: Record) -> str | None:
    """Return the key whose value holds all rows, if the keys are not what tells the rows apart."""
    usual = [
        key
        for key, inner in parts.items()
        if (key.casefold() in _ROW_LISTS or role_of_name(key) in ("text", "intent"))
        and (len(parts) == 1 or not _holds(inner, str))
    ]
    if usual:
        return usual[0]
    ((key, inner),) = [*parts.items()] if len(parts) == 1 else [("", None)]
    is_named = not key or _level(parts) != "intent" or _holds(inner, str)
    return None if is_named else key


def _level(parts: Record) -> str:
    """Return what the keys of an object are: split, language or intent."""
    words = [_WORD.findall(key.casefold()) for key in parts]
    if all(key and key[-1] in SPLIT_NAMES for key in words) and any(len(key) == 1 for key in words):
        return "split"
    return "language" if all(map(_is_language, parts)) else "intent"


def _is_language(key: str) -> bool:
    return is_known(stated_code(key) or "")


def _pandas_rows(value: Record, name: str) -> list[Record] | None:
    """Return the rows of what pandas writes for a frame, with names apart from rows, by column or by row; else None."""
    header, data, schema = value.get("columns"), value.get("data"), value.get("schema")
    if _holds(header, str) and _holds(data, list):
        if any(len(row) != len(header) for row in data):
            raise DataError(f"{shown(name)} has more or fewer cells in a row than columns; export it again")
        return [dict(zip(header, row, strict=True)) for row in data]
    if isinstance(schema, dict) and schema.get("primaryKey") == ["index"] and _holds(data, dict):
        return [{key: cell for key, cell in row.items() if key != "index"} for row in data]
    parts = list(value.values())
    if _all_of(parts, list) and len(parts) > 1 and has_role(value, "text"):
        is_even = len({len(column) for column in parts}) == 1
        return [dict(zip(value, row, strict=True)) for row in zip(*parts, strict=True)] if is_even else None
    return _rows_of_objects(value) if _all_of(parts, dict) else None


def _rows_of_objects(value: Mapping[str, Record]) -> list[Record] | None:
    """Return the rows of an object of columns or of rows, each an object; None if it is neither."""
    inner_keys = list(next(iter(value.values())))
    are_columns = has_role(value, "text") and len(value) > 1 and not all(map(_is_language, inner_keys))
    if are_columns or (_are_numbers(inner_keys) and not _are_numbers(value)):
        index = dict.fromkeys(key for column in value.values() for key in column)
        return [{label: column.get(key) for label, column in value.items()} for key in index]
    are_rows = _are_numbers(value) and not _are_numbers(inner_keys)
    texts = [key for key in inner_keys if role_of_name(key) == "text"]
    are_lists = any(isinstance(row.get(key), list | dict) for row in value.values() for key in texts)
    if are_lists or not (are_rows or texts):
        return None
    has_ids = not _are_numbers(value) and not has_role(inner_keys, "id")
    return [{"id": key, **row} if has_ids else row for key, row in value.items()]


def _holds(value: Any, *kinds: type) -> TypeGuard[list[Any]]:
    """Return whether a value is a list of values of these kinds, and not empty."""
    return isinstance(value, list) and bool(value) and all(isinstance(inner, kinds) for inner in value)


def _all_of(values: Sequence[Any], kind: type) -> bool:
    return bool(values) and all(isinstance(value, kind) and value for value in values)


def _are_numbers(keys: Iterable[str]) -> bool:
    return all(key.isdecimal() for key in keys)
