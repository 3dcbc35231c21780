"""The rows in a JSON value, whatever way its lists and objects hold them.

    [{"text": ..., "intent": ...}]  [[text, intent]]  [text]  {"data": any of these}
    {intent: [text]}  {split: [[text, intent]]}  {language: {intent: [text]}}
    [{"intent": ..., "examples": [text]}]  {intent: {"examples": [text], "answers": ...}}
    pandas' to_json, of any orient

Keys around the rows become their columns intent, split and language; what stands beside them there, such as
{"locale": "de", "data": [...]}, holds for all of them. In an object of an intent that has sentences at a usual name,
such as `phrases`, there are none elsewhere.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from emu_core.data.column_names import folded_name, has_role, role_of_name
from emu_core.data.wording import counted, shown
from emu_core.errors import DataError
from emu_core.formats.tables.cells import numbered
from emu_core.formats.tables.json_keys import (
    ROW_LISTS,
    Record,
    are_column_names,
    are_intents,
    are_translations,
    has_answers,
    has_lists_of_answers,
    holds,
    holds_intents,
    is_intent,
    is_intent_alone,
    is_language_key,
    key_of_name,
    keys_of_intent,
    keys_of_sentences,
    keys_of_settings,
    keys_of_translations,
    level_of,
    names_sentences,
    names_split,
    only_part,
)

_INHERITED = ("language", "split", "intent")
_MAX_DEPTH = 6


@dataclass(frozen=True)
class Walk:
    """A walk through a value, and the keys that are noticed on the way.

    Attributes:
        name: the file's name, for messages.
        unread: the names below which there are no sentences.
        splits: the names around rows that are taken for their splits.
        guessed: the names of columns that are taken for that of intents.
    """

    name: str
    unread: dict[str, None] = field(default_factory=dict)
    splits: dict[str, None] = field(default_factory=dict)
    guessed: dict[str, None] = field(default_factory=dict)


def rows_of_json(value: Any, walk: Walk) -> Iterator[Record]:
    """Yield the rows in a decoded value of lists, objects and texts. Raises DataError for values that are no rows."""
    return _rows(value, {}, walk, _MAX_DEPTH)


def _rows(value: Any, around: Record, walk: Walk, depth: int) -> Iterator[Record]:
    """Yield the rows in a value; `around` is what the objects around it state about all of them."""
    if isinstance(value, list):
        yield from _rows_of_list(value, around, walk, depth)
    elif isinstance(value, dict) and depth:
        yield from _rows_of_object(value, around, walk, depth)
    else:
        raise DataError(
            f"{shown(walk.name)} is JSON without a list of rows; write one object a line, with the keys text and intent"
        )


def _rows_of_list(values: list[Any], around: Record, walk: Walk, depth: int) -> Iterator[Record]:
    kinds = {type(value) for value in values}
    if kinds == {dict} and all(map(is_intent_alone, values)):
        for value in values:
            read = _rows_of_intents if any(map(is_intent, value.values())) else _rows_of_object
            yield from read(value, around, walk, depth)
    elif kinds == {dict}:
        yield from _records(values, around, walk, depth)
    elif kinds == {list}:
        yield from _records(_without_keys(values, walk.name), around, walk, depth)
    elif kinds == {str}:
        yield from ({**around, "text": value} for value in values)
    elif kinds:
        number = next((at for at, value in enumerate(values, 1) if not isinstance(value, dict)), 1)
        raise DataError(
            f"{shown(walk.name)}: value {number} is not an object; write each as an object with the keys text and "
            "intent"
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


def _records(records: Sequence[Record], around: Record, walk: Walk, depth: int) -> Iterator[Record]:
    """Yield records, and one for each sentence of those that hold a list of sentences."""
    sentences, translations = keys_of_sentences(records), keys_of_translations(records)
    name = key_of_name(records, sentences)
    for record in records:
        row = {**around, **record} if around else record
        if name:
            walk.guessed[name] = None
            row = {**row, "intent": record[name]}
        for key in translations:
            row = _spread(row, key)
        if by_language := next((key for key in translations if isinstance(row.get(key), dict)), None):
            yield from _rows_by_language(row, by_language, walk, depth)
        elif any(isinstance(row.get(key), list | str) for key in sentences):
            yield from _rows_of_record(row, sentences, walk, depth)
        else:
            yield row


def _rows_of_record(record: Record, keys: Sequence[str], walk: Walk, depth: int) -> Iterator[Record]:
    """Yield a row for each sentence in the lists of a record, and one for a sentence beside them."""
    lists = {key: _as_list(record[key]) for key in keys if isinstance(record.get(key), list | str)}
    rest = {key: value for key, value in record.items() if key not in lists}
    text = next((key for key in rest if role_of_name(key) == "text" and isinstance(rest[key], str)), None)
    if sum(map(len, lists.values())) + bool(text) > 1:
        rest = _without_id(rest)
    if text:
        yield rest
    for key, values in lists.items():
        for row in _rows(values, {**rest, **_split_at(key, walk)}, walk, depth - 1):
            is_plain = text is not None and set(row) - set(rest) == {"text"}
            yield {**rest, text: row["text"]} if text and is_plain else row


def _split_at(key: str, walk: Walk) -> Record:
    """Return what a key of sentences states, if it is the name of a split."""
    if not names_split(key):
        return {}
    walk.splits[key] = None
    return {"split": key}


def _as_list(value: Any) -> list[Any]:
    """Return a list as it is; a single sentence as a list."""
    return value if isinstance(value, list) else [value]


def _without_id(record: Record) -> dict[str, Any]:
    """Return what holds for several sentences: an id of one would say that they are translations of each other."""
    return {key: value for key, value in record.items() if role_of_name(key) != "id"}


def _spread(record: Record, key: str) -> Record:
    """Return a record with a key for each language (`text_de`) instead of an object of a sentence by language."""
    inner = record.get(key)
    if not isinstance(inner, dict) or any(isinstance(value, list | dict) for value in inner.values()):
        return record
    rest = {other: value for other, value in record.items() if other != key}
    kind = key if role_of_name(key) == "text" else "text"
    return rest | {f"{kind}_{language}": value for language, value in inner.items()}


def _rows_by_language(record: Record, key: str, walk: Walk, depth: int) -> Iterator[Record]:
    """Yield a row for each sentence in an object of lists of sentences by language."""
    rest = {other: value for other, value in record.items() if other != key}
    if any(len(_as_list(texts)) > 1 for texts in record[key].values()):
        rest = _without_id(rest)
    for language, texts in record[key].items():
        yield from _rows(_as_list(texts), {**rest, "language": language}, walk, depth - 1)


def _rows_of_intent(intent: Record, around: Record, walk: Walk, depth: int) -> Iterator[Record]:
    """Yield a row for each sentence of the object of an intent, with the texts and numbers beside them."""
    keys = keys_of_intent(intent)
    beside = {
        key: value
        for key, value in intent.items()
        if isinstance(value, str | int | float) and not (names_sentences(key) or role_of_name(key) == "id")
    }
    for key in keys:
        by_language = intent[key] if isinstance(intent[key], dict) else {"": intent[key] or []}
        for language, texts in by_language.items():
            stated = {"language": language} if language else {}
            stated |= _split_at(key, walk)
            yield from _rows(_as_list(texts), {**around, **beside, **stated}, walk, depth - 1)


def _rows_of_intents(intents: Record, around: Record, walk: Walk, depth: int) -> Iterator[Record]:
    """Yield the rows of intents by their names, of which some are objects with sentences at usual names.

    Of the others, lists of sentences beside them are intents, too, and objects are groups of intents.
    """
    level = level_of(intents)
    for key, inner in intents.items():
        within = {**around, level: _path(key, level, around)}
        if is_intent(inner) and "intent" in within:
            yield from _rows_of_intent(inner, within, walk, depth)
        elif holds(inner, str) or holds_intents(inner, depth - 1):
            yield from _rows(inner, within, walk, depth - 1)
        else:
            walk.unread[key] = None


def _with_lists(texts: Record) -> Record:
    """Return sentences by intent or language in lists, also where there is a single one beside lists."""
    if not any(holds(inner, str) for inner in texts.values()):
        return texts
    return {key: [inner] if isinstance(inner, str) else inner for key, inner in texts.items()}


def _path(key: str, level: str, around: Record) -> str:
    """Return the name of an intent within another one, or the key itself."""
    return f"{around[level]}/{key}" if level == "intent" and level in around else key


def _rows_of_object(value: Record, around: Record, walk: Walk, depth: int) -> Iterator[Record]:
    if (table := _pandas_rows(value, walk.name)) is not None:
        yield from _records(table, around, walk, depth)
    elif "intent" in around and keys_of_intent(value):
        yield from _rows_of_intent(value, around, walk, depth)
    else:
        by_language = all(map(is_language_key, value))
        yield from _rows_of_parts(_with_lists(value) if by_language else value, around, walk, depth)


def _rows_of_parts(value: Record, around: Record, walk: Walk, depth: int) -> Iterator[Record]:
    """Yield the rows in an object that is neither a table nor that of an intent."""
    settings = keys_of_settings(value)
    walk.unread.update(dict.fromkeys(settings))
    value = {key: inner for key, inner in value.items() if key not in settings}
    parts = {key: inner for key, inner in value.items() if isinstance(inner, list | dict) and inner}
    stated = {
        str(role_of_name(key)): inner
        for key, inner in value.items()
        if isinstance(inner, str) and role_of_name(key) in _INHERITED
    }
    rows = next((key for key in ROW_LISTS if holds(parts.get(key), dict, list)), None)
    if rows:
        yield from _rows(parts[rows], {**around, **stated}, walk, depth - 1)
    elif has_role((key for key, inner in value.items() if isinstance(inner, str)), "text") or (
        stated and keys_of_sentences([value])
    ):
        yield from _records([value], around, walk, depth)
    elif not parts:
        is_plain = not any(isinstance(inner, list | dict) for inner in value.values())
        yield from _rows_of_plain(value, around, walk) if is_plain else ()
    elif (only := only_part(parts)) is not None:
        yield from _rows_of_only_part(only, parts[only], {**around, **stated}, walk, depth - 1)
    elif has_answers(value) and keys_of_intent(value):
        yield from _rows_of_intent(value, {**around, **stated}, walk, depth)
    elif any(map(is_intent, parts.values())) and (level_of(parts) == "intent" or "intent" in around):
        yield from _rows_of_intents(parts, {**around, **stated}, walk, depth)
    elif has_lists_of_answers(value) and "intent" in around:
        walk.unread[str(around["intent"])] = None
    elif level_of(parts) == "intent" and len(parts) + len(stated) < sum(
        inner not in (None, [], {}) for inner in value.values()
    ):
        # Numbers and texts beside the lists: settings or results, and no sentences.
        raise DataError(
            f"{shown(walk.name)} has a text beside its lists of sentences; write it as a list of one, or take it out"
            if all(isinstance(inner, str) or holds(inner, str) for inner in value.values())
            else f"{shown(walk.name)} is JSON without a list of rows; write one object a line, with the keys text and "
            "intent"
        )
    else:
        level = level_of(parts)
        if level == "split":
            walk.splits.update(dict.fromkeys(parts))
        for key, inner in parts.items():
            yield from _rows(inner, {**around, **stated, level: _path(key, level, around)}, walk, depth - 1)


def _rows_of_only_part(key: str, value: Any, around: Record, walk: Walk, depth: int) -> Iterator[Record]:
    """Yield the rows of the value that holds all of them."""
    if are_intents(value, key):
        yield from _rows_of_intents(value, around, walk, depth)
    elif folded_name(key) == "intents" and holds(value, dict) and _are_named(value):
        yield from _rows([{**intent, "intent": intent["name"]} for intent in value], around, walk, depth)
    elif isinstance(value, dict) and role_of_name(key) == "intent":
        yield from _rows(dict(_with_lists(value)), around, walk, depth)
    else:
        yield from _rows(value, around, walk, depth)


def _are_named(intents: Sequence[Record]) -> bool:
    """Return whether objects of intents with sentences have a name, and nothing else that says which intent it is."""
    return all(
        isinstance(intent.get("name"), str) and not has_role(intent, "intent") for intent in intents
    ) and any(map(keys_of_intent, intents))


def _rows_of_plain(value: Record, around: Record, walk: Walk) -> Iterator[Record]:
    """Yield the rows of an object of texts and numbers: sentences by intent, intents by sentence, or a single row."""
    texts = [text for text in value.values() if isinstance(text, str)]
    is_sentence = sum(" " in key.strip() for key in value) * 2 > len(value)
    if is_sentence and 1 < len(set(texts)) < len(texts) == len(value):
        yield from ({**around, "text": key, "intent": intent} for key, intent in value.items())
    elif "intent" in around and "language" not in around and are_translations(value):
        yield from ({**around, "language": key, "text": text} for key, text in value.items())
    elif "intent" in around:
        walk.unread[str(around["intent"])] = None
    elif around and not any(map(role_of_name, value)):
        yield from ({**around, "intent": key, "text": text} for key, text in value.items())
    else:
        yield {**around, **value}


def _pandas_rows(value: Record, name: str) -> list[Record] | None:
    """Return the rows of what pandas writes for a frame, with names apart from rows, by column or by row; else None."""
    header, data, schema = value.get("columns"), value.get("data"), value.get("schema")
    if holds(header, str) and holds(data, list):
        if any(len(row) != len(header) for row in data):
            raise DataError(f"{shown(name)} has more or fewer cells in a row than columns; export it again")
        return [dict(zip(header, row, strict=True)) for row in data]
    if isinstance(schema, dict) and schema.get("primaryKey") == ["index"] and holds(data, dict):
        return [{key: cell for key, cell in row.items() if key != "index"} for row in data]
    parts = list(value.values())
    if _all_of(parts, list) and len(parts) > 1 and are_column_names(value):
        is_even = len({len(column) for column in parts}) == 1
        return [dict(zip(value, row, strict=True)) for row in zip(*parts, strict=True)] if is_even else None
    return _rows_of_objects(value) if _all_of(parts, dict) else None


def _rows_of_objects(value: Mapping[str, Record]) -> list[Record] | None:
    """Return the rows of an object of columns or of rows, each an object; None if it is neither."""
    inner_keys = list(next(iter(value.values())))
    are_columns = (
        has_role(value, "text")
        and len(value) > 1
        and not all(map(is_language_key, inner_keys))
        and not any(map(is_intent, value.values()))
    )
    if are_columns or (_are_numbers(inner_keys) and not _are_numbers(value)):
        index = dict.fromkeys(key for column in value.values() for key in column)
        return [{label: column.get(key) for label, column in value.items()} for key in index]
    are_rows = _are_numbers(value) and not _are_numbers(inner_keys)
    if not are_rows and any(holds(row[key], str) for row in value.values() for key in keys_of_intent(row)):
        return None  # intents with lists of sentences
    texts = [key for key in inner_keys if role_of_name(key) == "text"]
    are_lists = any(isinstance(row.get(key), list | dict) for row in value.values() for key in texts)
    if are_lists or not (are_rows or texts):
        return None
    if not are_rows and not has_role(inner_keys, "intent") and any(map(has_answers, value.values())):
        return None  # intents, each with a single sentence and an answer
    has_ids = not _are_numbers(value) and not has_role(inner_keys, "id")
    return [{"id": key, **row} if has_ids else row for key, row in value.items()]


def _all_of(values: Sequence[Any], kind: type) -> bool:
    return bool(values) and all(isinstance(value, kind) and value for value in values)


def _are_numbers(keys: Iterable[str]) -> bool:
    return all(key.isdecimal() for key in keys)
