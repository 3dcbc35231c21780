"""Label Studio's exports: JSON with all annotations, JSON-MIN and CSV with a row for each."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from emu_core.data.column_names import role_of_name
from emu_core.formats.collections.annotators import (
    Annotations,
    Span,
    intent_question,
    labels_of,
    sentence_key,
    stated,
)
from emu_core.formats.collections.document import Document
from emu_core.formats.collections.rows import Rows
from emu_core.formats.collections.values import listing, mapping, objects, position, text_of
from emu_core.formats.tables import delimited
from emu_core.formats.tables.shapes import without_headers

_CANCELLED = "cancelled"
_TELLING = frozenset(("annotation_id", "annotator", "lead_time"))
_ABOUT = _TELLING | {"id", "created_at", "updated_at", "agreement"}
_OF_TASK = ("annotations", "completions", "predictions")  # completions were annotations until 2020
_SAMPLE = 20


def is_export(document: Document) -> bool:
    """Return whether it has tasks with data and annotations."""
    return any(True for _ in islice(_tasks(document.json), 1))


def read_export(document: Document, rows: Rows) -> None:
    """Read the choices; of several annotations, those marked as ground truth, or else all, must agree."""
    tasks = list(_tasks(document.json))
    text_key = sentence_key(mapping(task["data"]) for task in tasks) or ""
    answered = (name for task in tasks for annotation in _valid(task) for name, _ in _answered(annotation))
    question = intent_question(answered, rows)
    annotations = Annotations()
    for number, task in enumerate(tasks):
        data, valid = mapping(task["data"]), _valid(task)
        if text := text_of(data.get(text_key)):
            annotations.see(number, text, stated(data, mapping(task.get("meta"))))
            for at, annotation in enumerate(valid):
                values = (result.get("value") for result in objects(annotation.get("result")))
                if choices := [choice for name, choice in _answered(annotation) if name == question]:
                    annotations.label(number, str(at), choices, _spans(values, text))
            if objects(_annotations(task)) and not valid:
                annotations.refuse(number, _CANCELLED)
    annotations.add_to(rows)


def _tasks(value: object) -> Iterator[dict[str, Any]]:
    """Yield the tasks of an export, of a page of the server, or of a file for one annotation as in cloud storage."""
    tasks = mapping(value).get("tasks", value)
    for item in objects(tasks if isinstance(tasks, list) else [tasks]):
        is_annotation = "result" in item and "data" in mapping(item.get("task"))
        task = {"data": item["task"]["data"], "annotations": [item]} if is_annotation else item
        if isinstance(task.get("data"), dict) and not task.keys().isdisjoint(_OF_TASK):
            yield task


def _annotations(task: Mapping[str, Any]) -> Any:
    return task.get("annotations", task.get("completions"))


def _valid(task: Mapping[str, Any]) -> list[dict[str, Any]]:
    valid = [
        annotation
        for annotation in objects(_annotations(task))
        if not annotation.get("was_cancelled") and not annotation.get("skipped")
    ]
    return [annotation for annotation in valid if annotation.get("ground_truth")] or valid


def _answered(annotation: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the choices of an annotation, each with its question; those in a taxonomy as "travel/book"."""
    for result in objects(annotation.get("result")):
        value = mapping(result.get("value"))
        branches = ("/".join(labels_of(branch)) for branch in listing(value.get("taxonomy")))
        for choice in labels_of([*listing(value.get("choices")), *branches]):
            yield text_of(result.get("from_name")), choice


def _spans(values: Iterable[object], text: str) -> Iterator[Span]:
    """Yield the labelled parts of a text, but none that quotes another part: Label Studio counts in UTF-16."""
    for value in map(mapping, values):
        start, end = position(value.get("start")), position(value.get("end"))
        if (slots := labels_of(value.get("labels"))) and value.get("text") == text[
            max(start, 0) : max(end, 0)
        ]:
            yield start, end, slots[0]


def is_min(document: Document) -> bool:
    """Return whether it has a flat object for each annotation."""
    return any(record.keys() >= _TELLING for record in islice(document.json_objects, _SAMPLE))


def read_min(document: Document, rows: Rows) -> None:
    """Read the choices of every annotation, of which those of a task must agree."""
    _read_flat(document.json_objects, rows)


def is_csv(document: Document) -> bool:
    """Return whether it is a table with the columns of annotations."""
    header = re.findall(r"\w+", document.first_lines[0]) if len(document.first_lines) > 1 else []
    return set(header) >= _TELLING and document.json is None


def read_csv(document: Document, rows: Rows) -> None:
    """Read the choices of every annotation, of which those of a task must agree."""
    cells = without_headers(delimited.parse(document.text, document.path), document.path)
    rows.note(*cells.notes)
    _read_flat([dict(zip(cells.header, row, strict=True)) for row in zip(*cells.columns, strict=True)], rows)


def _read_flat(records: Sequence[Mapping[str, Any]], rows: Rows) -> None:
    data = [{key: value for key, value in record.items() if key not in _ABOUT} for record in records]
    text_key = sentence_key(
        {key: value for key, value in record.items() if role_of_name(key) != "intent"} for record in data
    )
    answers = [key for key in _answers(records, data) if key != text_key]
    question = intent_question((key for record in data for key in answers if record.get(key)), rows)
    annotations = Annotations()
    for record, cells in zip(records, data, strict=True):
        if text := text_of(cells.get(text_key or "")):
            key = text_of(record.get("id")) or text
            annotations.see(key, text, stated(cells))
            if labels := _listed_choices(cells.get(question)) or labels_of(cells.get(question)):
                values = (value for cell in cells.values() for value in listing(_decoded(cell)))
                annotations.label(key, text_of(record.get("annotation_id")), labels, _spans(values, text))
    annotations.add_to(rows)


def _answers(records: Sequence[Mapping[str, Any]], data: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the keys of answers: with lists of choices, named as an intent, or between the data and the annotator.

    Newer CSV files have their columns in the order of the alphabet. There, an answer has few values, and not only one.
    """
    keys = list(dict.fromkeys(key for record in data for key in record))
    with_choices = [key for key in keys if any(_listed_choices(record.get(key)) for record in data)]
    named = [key for key in keys if role_of_name(key) == "intent"]
    if with_choices or named:
        return list(dict.fromkeys([*with_choices, *named]))
    order = next((list(record) for record in records if record.keys() >= _TELLING), [])
    if "id" in order and order != sorted(order):
        return order[order.index("id") + 1 : order.index("annotator")]
    values = {key: [record[key] for record in data if isinstance(record.get(key), str)] for key in keys}
    return [key for key, texts in values.items() if 1 < len(set(texts)) <= len(texts) / 2]


def _listed_choices(answer: object) -> list[str]:
    """Return the choices in an answer with several, which is an object."""
    return labels_of(mapping(_decoded(answer)).get("choices"))


def _decoded(cell: object) -> object:
    """Return an object or a list, also one that a table holds as JSON."""
    if not isinstance(cell, str) or not cell.startswith(("{", "[")):
        return cell
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return None
