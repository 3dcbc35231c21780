"""Argilla's records: those of version 1 with an annotation, and those of fields, responses and suggestions."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from emu_core.formats.collections.annotators import (
    Annotations,
    intent_question,
    labels_of,
    sentence_key,
    stated,
)
from emu_core.formats.collections.document import Document
from emu_core.formats.collections.rows import Rows
from emu_core.formats.collections.values import listing, mapping, objects, text_of

_STATUSES = ("Default", "Validated", "Edited", "Discarded")  # of a record in version 1
_DISCARDED = "discarded"
_SUBMITTED = ("", "submitted")
_RESPONSES, _SUGGESTION, _USERS, _STATUS = ".responses", ".suggestion", ".users", ".status"
_OLD_SUGGESTION = "-suggestion"  # of version 1
_SAMPLE = 20


@dataclass(frozen=True)
class _Answer:
    """The labels that a user gives in answer to a question; a suggestion has no user."""

    question: str
    labels: list[str]
    user: str = ""
    status: str = ""


def is_old(document: Document) -> bool:
    """Return whether it has records of version 1."""
    return any(
        record.get("status") in _STATUSES and "annotation" in record
        for record in islice(document.json_objects, _SAMPLE)
    )


def read_old(document: Document, rows: Rows) -> None:
    """Read the annotations of records that are not discarded."""
    records = document.json_objects
    key = sentence_key(mapping(record.get("inputs")) for record in records) or ""
    annotations = Annotations()
    for number, record in enumerate(records):
        if text := text_of(record.get("text")) or text_of(mapping(record.get("inputs")).get(key)):
            annotations.see(number, text, stated(record, mapping(record.get("metadata"))))
            if record.get("status") == "Discarded":
                annotations.refuse(number, _DISCARDED)
            elif labels := labels_of(record.get("annotation")):
                annotations.label(number, "", labels)
    annotations.add_to(rows)


def is_new(document: Document) -> bool:
    """Return whether it has fields with responses or suggestions, each an object or with the keys of all in one."""
    return any(
        (
            isinstance(record.get("fields"), dict)
            and not record.keys().isdisjoint(("responses", "suggestions"))
        )
        or any(key.endswith(_RESPONSES) and f"{key}{_STATUS}" in record for key in record)
        or any(f"{key}{_OLD_SUGGESTION}" in record and isinstance(record[key], list) for key in record)
        for record in islice(document.json_objects, _SAMPLE)
    )


def read_new(document: Document, rows: Rows) -> None:
    """Read the responses that were submitted; suggestions only if there is no response in the file."""
    records = document.json_objects
    responses, suggestions = [list(_responses(record)) for record in records], False
    if not any(answer.labels for answers in responses for answer in answers):
        responses, suggestions = [list(_suggestions(record)) for record in records], True
    question = intent_question(
        (answer.question for answers in responses for answer in answers if answer.labels), rows
    )
    key = sentence_key(map(_fields, records)) or ""
    annotations = Annotations()
    for number, (record, answers) in enumerate(zip(records, responses, strict=True)):
        if text := text_of(_fields(record).get(key)):
            annotations.see(number, text, stated(record, mapping(record.get("metadata"))))
            for at, answer in enumerate(answers):
                if answer.status == _DISCARDED:
                    annotations.refuse(number, _DISCARDED)
                elif answer.status in _SUBMITTED and answer.question == question and answer.labels:
                    annotations.label(number, answer.user or str(at), answer.labels)
    annotations.add_to(rows)
    if suggestions and len(rows):
        rows.note("There is no response of an annotator: the intents are those that were suggested.")


def _fields(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the texts of a record; where all keys are in one object, those that say nothing about an answer."""
    if "fields" in record:
        return mapping(record["fields"])
    return {
        key: value
        for key, value in record.items()
        if not any(part in key for part in (_RESPONSES, _SUGGESTION, _OLD_SUGGESTION)) and key != "status"
    }


def _responses(record: Mapping[str, Any]) -> Iterator[_Answer]:
    responses = record.get("responses")
    for question, answers in mapping(responses).items():
        yield from _of_users(question, answers)
    for response in objects(responses):
        user, status = text_of(response.get("user_id")), text_of(response.get("status"))
        values = mapping(response.get("values"))
        for question, value in values.items():
            yield _Answer(question, labels_of(mapping(value).get("value", value)), user, status)
        if not values:
            yield _Answer("", [], user, status)
    for key, value in record.items():
        if key.endswith(_RESPONSES):
            users, statuses = listing(record.get(key + _USERS)), listing(record.get(key + _STATUS))
            for at, answer in enumerate(listing(value)):
                user, status = _text_at(users, at), _text_at(statuses, at)
                yield _Answer(key.removesuffix(_RESPONSES), labels_of(answer), user, status)
        elif f"{key}{_OLD_SUGGESTION}" in record:
            yield from _of_users(key, value)


def _of_users(question: str, answers: object) -> Iterator[_Answer]:
    for answer in objects(answers):
        user, status = text_of(answer.get("user_id")), text_of(answer.get("status"))
        yield _Answer(question, labels_of(answer.get("value")), user, status)


def _text_at(values: list[Any], at: int) -> str:
    return text_of(values[at]) if at < len(values) else ""


def _suggestions(record: Mapping[str, Any]) -> Iterator[_Answer]:
    suggestions = record.get("suggestions")
    pairs: Iterable[tuple[str, object]] = [
        *mapping(suggestions).items(),
        *((text_of(item.get("question_name")), item) for item in objects(suggestions)),
        *(
            (key.removesuffix(ending), value)
            for key, value in record.items()
            for ending in (_SUGGESTION, _OLD_SUGGESTION)
            if key.endswith(ending)
        ),
    ]
    for question, value in pairs:
        yield _Answer(question, labels_of(mapping(value).get("value", value)))
