"""What the keys of JSON objects say: which hold sentences, and which are intents, languages or splits."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeGuard

from emu_core.data.column_names import folded_name, has_role, role_of_name
from emu_core.data.languages import is_known, stated_code
from emu_core.data.splits import SPLIT_NAMES
from emu_core.formats.file_names import ALSO_WORDS

Record = Mapping[str, Any]

ROW_LISTS = ("data", "rows", "examples", "items", "records", "results", "instances", "samples", "entries")
# Folded names of lists of sentences, within the object of an intent and beside its name.
_SENTENCE_LISTS = (
    *("text", "utterances", "phrases", "trainingphrases", "patterns"),
    *("examples", "samples", "sampleutterances", "trainingexamples", "trainingutterances", "usersays"),
)
# The same, but beside other lists of sentences they may also be names of intents.
_ALSO_INTENTS = ("texts", "sentences", "queries", "questions", "variations")
# What is in the object of an intent beside its sentences.
_NO_SENTENCES = (
    *("answer", "answers", "response", "responses", "reply", "replies", "output", "outputs"),
    *("botsays", "botresponse", "botresponses", "botutterances", "botreplies"),
    *("entities", "slots", "parameters", "inputs", "context", "contexts", "metadata", "settings"),
)
_ANSWERS = ("answers", "responses", "replies", "outputs")
_NEVER_WORDS = (*_SENTENCE_LISTS, *_ALSO_INTENTS)  # lists at these names are not the words of one sentence
_NEVER_INTENTS = ("phrases", "trainingphrases", "patterns", "sampleutterances")
_OF_INTENTS = (*ROW_LISTS, "intents")
# What is beside splits and languages, and is neither.
_SETTINGS = (
    *("meta", "metadata", "info", "about", "config", "configuration", "settings", "version", "license"),
    *("labels", "classes", "intents", "languages", "locales", "splits", "columns", "features"),
    *("label2id", "id2label", "entities", "slots", "synonyms", "regexfeatures", "lookuptables"),
)
_NAMES = ("name", "displayname")
_SAMPLE_ROWS = 50
_WORD = re.compile(r"[^\W_]+")


def holds(value: Any, *kinds: type) -> TypeGuard[list[Any]]:
    """Return whether a value is a list of values of these kinds, and not empty."""
    return isinstance(value, list) and bool(value) and all(isinstance(inner, kinds) for inner in value)


def is_language_key(key: str) -> bool:
    """Return whether a key is a known language."""
    return is_known(stated_code(key) or "")


def level_of(parts: Record) -> str:
    """Return what the keys of an object are: split, language or intent."""
    words = [_WORD.findall(key.casefold()) for key in parts]
    if words and all(key and key[-1] in SPLIT_NAMES for key in words) and any(len(key) == 1 for key in words):
        return "split"
    return "language" if parts and all(map(is_language_key, parts)) else "intent"


def names_split(key: str) -> bool:
    """Return whether a key is the usual name of a split."""
    return key.casefold() in SPLIT_NAMES


def names_sentences(key: str) -> bool:
    """Return whether a key is a usual name of a sentence or of sentences."""
    return folded_name(key) in (*_SENTENCE_LISTS, *_ALSO_INTENTS) or role_of_name(key) == "text"


def _may_be_sentences(value: Any) -> bool:
    by_language = isinstance(value, dict) and bool(value) and all(map(is_language_key, value))
    is_list = isinstance(value, list) and all(
        isinstance(inner, str) or (isinstance(inner, dict) and not has_role(inner, "intent"))
        for inner in islice(value, _SAMPLE_ROWS)
    )
    return value is None or isinstance(value, str) or is_list or by_language


def keys_of_intent(value: Record) -> list[str]:
    """Return the keys at which the object of an intent holds sentences; none if its keys are intents themselves."""
    usual = [key for key in value if folded_name(key) in _SENTENCE_LISTS and _may_be_sentences(value[key])]
    if usual:
        return usual
    if len(value) > 1 and all(
        holds(inner, str) and folded_name(key) not in _NO_SENTENCES for key, inner in value.items()
    ):
        return []
    named = [key for key in value if names_sentences(key) and _may_be_sentences(value[key])]
    if not named and has_answers(value):
        return [key for key in value if names_split(key) and holds(value[key], str)]
    return named


def is_intent(value: Any) -> TypeGuard[Record]:
    """Return whether a value is the object of an intent, with its sentences at a usual name, and no row of a table."""
    if not isinstance(value, dict):
        return False
    keys = keys_of_intent(value)
    is_row = all(isinstance(value[key], str) for key in keys) and has_role(value, "intent")
    return bool(keys) and not is_row


def is_intent_alone(value: Record) -> bool:
    """Return whether an object has nothing but an intent with its sentences."""
    return (
        len(value) == 1
        and all(holds(inner, str) or is_intent(inner) for inner in value.values())
        and not has_role(value, "text")
    )


def holds_intents(value: Any, depth: int) -> bool:
    """Return whether some of the values of an object are objects of intents, or hold such."""
    return (
        isinstance(value, dict)
        and depth > 0
        and any(is_intent(inner) or holds_intents(inner, depth - 1) for inner in value.values())
    )


def has_answers(value: Record) -> bool:
    """Return whether an object has what is beside the sentences of an intent: answers, entities and the like."""
    return any(folded_name(key) in _NO_SENTENCES for key in value)


def has_lists_of_answers(value: Record) -> bool:
    """Return whether an object has a list at a name that no intent has, `answers` or the like."""
    return any(folded_name(key) in _ANSWERS and isinstance(inner, list) for key, inner in value.items())


def are_intents(value: Any, key: str) -> TypeGuard[dict[str, Any]]:
    """Return whether an object at the key `intents` has intents with sentences at usual names."""
    return folded_name(key) == "intents" and isinstance(value, dict) and any(map(is_intent, value.values()))


def keys_of_settings(value: Record) -> list[str]:
    """Return the keys beside splits, languages or intents that are none of them: settings, or lists of their names."""
    parts = {key: inner for key, inner in value.items() if isinstance(inner, list | dict) and inner}
    others = [key for key in parts if folded_name(key) in _SETTINGS]
    if others and level_of({key: inner for key, inner in parts.items() if key not in others}) != "intent":
        return others
    if len(parts) < sum(inner not in (None, [], {}) for inner in value.values()):
        return []
    objects = [inner for inner in parts.values() if isinstance(inner, dict)]
    names = {*parts, *(name for inner in objects for name in inner)}
    return [
        key
        for key in others
        if len(parts) > 1
        and holds(parts[key], str)
        and (all(map(is_language_key, parts[key])) or names.issuperset(parts[key]))
    ]


def key_of_name(records: Sequence[Record], sentences: Sequence[str]) -> str | None:
    """Return the key of what names the intent of each record, where each has one sentence, so that none is repeated."""
    lists = [record[key] for record in records for key in sentences if isinstance(record.get(key), list)]
    if not lists or sum(map(len, lists)) > len(records):
        return None
    if any(has_role(record, "intent") or has_role(record, "text") for record in records):
        return None
    keys = (key for key in records[0] if folded_name(key) in _NAMES)
    return next((key for key in keys if all(isinstance(record.get(key), str) for record in records)), None)


def _are_by_language(value: Any) -> bool:
    """Return whether a value holds texts by language, such as those of an intent."""
    return isinstance(value, dict) and all(
        is_language_key(key) and (isinstance(inner, str) or holds(inner, str)) for key, inner in value.items()
    )


def only_part(parts: Record) -> str | None:
    """Return the key whose value holds all rows, if the keys are not what tells the rows apart."""
    usual = [
        key
        for key, inner in parts.items()
        if (key.casefold() in ROW_LISTS or role_of_name(key) in ("text", "intent"))
        and (len(parts) == 1 or not holds(inner, str))
        and not (is_intent(inner) and folded_name(key) not in _OF_INTENTS)
    ]
    if usual:
        return usual[0]
    ((key, inner),) = [*parts.items()] if len(parts) == 1 else [("", None)]
    if folded_name(key) in _NEVER_INTENTS:
        return key
    is_named = not key or level_of(parts) != "intent" or holds(inner, str) or is_intent(inner)
    return None if is_named or _are_by_language(inner) else key


def keys_of_sentences(records: Sequence[Record]) -> list[str]:
    """Return the keys at which records, one or more, hold lists of sentences, and not of the words of one."""
    keys = []
    is_of_intent = all(
        has_role(record, "intent") and not has_role(record, "text") for record in records[:_SAMPLE_ROWS]
    )
    for key in dict.fromkeys(key for record in islice(records, _SAMPLE_ROWS) for key in record):
        if not (names_sentences(key) or (is_of_intent and names_split(key))):
            continue
        having = islice((record for record in records if isinstance(record.get(key), list)), _SAMPLE_ROWS)
        lists = [record[key] for record in having]
        values = [value for inner in lists for value in inner]
        if not values or not all(isinstance(value, str | dict) for value in values):
            continue
        is_spaced = any(" " in value for value in values if isinstance(value, str))
        if (
            is_spaced
            or names_split(key)
            or (folded_name(key) in _NEVER_WORDS and not _are_words(key, records))
        ):
            keys.append(key)
    return keys


def _are_words(key: str, records: Sequence[Record]) -> bool:
    """Return whether `text` is a list of the words of one sentence, each of which has a tag in another list."""
    having = list(islice((record for record in records if isinstance(record.get(key), list)), _SAMPLE_ROWS))
    tagged = (
        any(
            isinstance(tags, list) and len(tags) == len(record[key])
            for other, tags in record.items()
            if other != key and folded_name(other) not in _NO_SENTENCES
        )
        for record in having
    )
    return folded_name(key) == "text" and all(tagged) and any(len(record[key]) > 1 for record in having)


def keys_of_translations(records: Sequence[Record]) -> list[str]:
    """Return the keys at which records hold an object of sentences by language."""
    pairs = (pair for record in islice(records, _SAMPLE_ROWS) for pair in record.items())
    objects = ((key, value) for key, value in pairs if isinstance(value, dict) and value)
    named = ((key, value) for key, value in objects if names_sentences(key))
    return list(dict.fromkeys(key for key, value in named if all(map(is_language_key, value))))


def are_translations(value: Record) -> bool:
    """Return whether the keys of texts are languages, and not words such as "hi"."""
    return all(map(is_language_key, value)) and not all(key in ALSO_WORDS for key in value)


def are_column_names(names: Iterable[str]) -> bool:
    """Return whether names are those of columns: one of sentences, if not by a usual name, beside one of intents."""
    names = list(names)
    has_intents = any(role_of_name(name.removesuffix("s")) == "intent" for name in names)
    return has_role(names, "text") or (has_intents and any(map(names_sentences, names)))
