"""doccano's exports, with the formats of fastText and spaCy that it and others write, too."""

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

from emu_core.data.cleaning import BLANKS, cleaned
from emu_core.data.column_names import role_of_name
from emu_core.data.intent_lists import named_intents
from emu_core.formats.collections.annotators import Span, labels_of, spans_of, stated
from emu_core.formats.collections.document import LEAST_TELLING, Document
from emu_core.formats.collections.rows import Rows, marked_text
from emu_core.formats.collections.values import listing, mapping, objects, position, text_of
from emu_core.formats.tables import delimited
from emu_core.formats.tables.shapes import without_headers

_TEXTS = ("text", "data")
_LABELS = ("cats", "label", "labels")
_ANNOTATIONS, _START = "annotations", "start_offset"
_ENTITIES = ("entities", "label", "labels", _ANNOTATIONS)
_BETWEEN = "#"  # several labels in a cell
_FASTTEXT_LABEL = re.compile(r"(?:^|(?<=\s))__label__(\S+)\s*")
_LIKELY = 0.5  # the score from which a category of spaCy's holds
_SAMPLE = 50


def is_json(document: Document) -> bool:
    """Return whether it has sentences with lists of labels."""
    records = list(islice(document.json_objects, _SAMPLE))
    are_labelled = all(map(_is_labelled, records)) or all(map(_is_annotated, records))
    return bool(records) and are_labelled and any(map(_has_label, records))


def _is_labelled(record: Mapping[str, Any]) -> bool:
    others = [key for key in record if role_of_name(key) == "intent" and key not in _LABELS]
    return (
        not others and _text(record) is not None and any(isinstance(record.get(key), list) for key in _LABELS)
    )


def _is_annotated(record: Mapping[str, Any]) -> bool:
    """Return whether it has what annotators say of a sentence, as doccano exported it until version 1.4."""
    annotations = record.get(_ANNOTATIONS)
    is_plain = not any(role_of_name(key) == "intent" for key in record)
    return (
        is_plain
        and _text(record) is not None
        and isinstance(annotations, list)
        and all(isinstance(annotation, dict) and "label" in annotation for annotation in annotations)
    )


def _has_label(record: Mapping[str, Any]) -> bool:
    return bool(_labels(record) or _spans(record) or record.get(_ANNOTATIONS))


def read_json(document: Document, rows: Rows) -> None:
    """Read the labels of every sentence, with its entities; of several annotators, that of most of them."""
    for record in document.json_objects:
        if text := _text(record):
            columns = stated(record, mapping(record.get("meta")), mapping(record.get("metadata")))
            columns["annotated"] = marked_text(text, _spans(record))
            labels, reason = _labels(record), ""
            if not labels:
                given = (item for item in objects(record.get(_ANNOTATIONS)) if _START not in item)
                labels, reason = named_intents(list(given))
            if reason:
                rows.add_uncertain(reason, text, **columns)
            else:
                rows.add(text, labels, **columns)


def _text(record: Mapping[str, Any]) -> str | None:
    return next((record[key] for key in _TEXTS if isinstance(record.get(key), str)), None)


def _labels(record: Mapping[str, Any]) -> list[str]:
    return next(filter(None, (labels_of(record.get(key)) for key in _LABELS)), [])


def _spans(record: Mapping[str, Any]) -> list[Span]:
    """Return the entities, which are lists of start, end and label, or objects."""
    values = [value for key in _ENTITIES for value in listing(record.get(key))]
    return [*spans_of(values), *(_span(value) for value in objects(values) if _START in value)]


def _span(entity: Mapping[str, Any]) -> Span:
    return (
        position(entity.get(_START)),
        position(entity.get("end_offset")),
        text_of(entity.get("label")),
    )


def is_csv(document: Document) -> bool:
    """Return whether it is a table with the columns of doccano."""
    header = re.findall(r"\w+", document.first_lines[0]) if len(document.first_lines) > 1 else []
    return header in (["id", "data", "label"], *(["id", text, "label", "Comments"] for text in _TEXTS))


def read_csv(document: Document, rows: Rows) -> None:
    """Read the labels, of which a cell may join several that also occur alone."""
    cells = without_headers(delimited.parse(document.text, document.path), document.path)
    rows.note(*cells.notes)
    known = set(cells.columns[2])
    for id, text, label in zip(*cells.columns[:3], strict=True):
        parts = label.split(_BETWEEN)
        rows.add(text, parts if known.issuperset(parts) else label, id=id)


def is_fasttext(document: Document) -> bool:
    """Return whether its lines have labels such as `__label__greet`."""
    return document.is_mostly(_FASTTEXT_LABEL.search) or document.is_mostly(
        lambda line: _FASTTEXT_LABEL.match(line.strip(BLANKS)), LEAST_TELLING
    )


def read_fasttext(document: Document, rows: Rows) -> None:
    """Read the labels of every line, and the rest of it as the sentence."""
    for line in filter(cleaned, document.lines()):
        if labels := _FASTTEXT_LABEL.findall(line):
            rows.add(_FASTTEXT_LABEL.sub("", line).strip(), labels)
        else:
            rows.add_uncertain("lines without a label", line.strip())


def is_spacy(document: Document) -> bool:
    """Return whether it has sentences with a score for each category."""
    return any(
        isinstance(record.get("text"), str) and _scores(record)
        for record in islice(document.json_objects, _SAMPLE)
    )


def read_spacy(document: Document, rows: Rows) -> None:
    """Read the categories that hold, and the entities."""
    for record in document.json_objects:
        if isinstance(text := record.get("text"), str):
            labels = [name for name, score in _scores(record).items() if score > _LIKELY]
            spans = [*spans_of(record.get("entities")), *map(_span, objects(record.get("entities")))]
            rows.add(
                text,
                labels,
                annotated=marked_text(text, spans),
                **stated(record, mapping(record.get("meta"))),
            )


def _scores(record: Mapping[str, Any]) -> dict[str, float]:
    return {
        name: score for name, score in mapping(record.get("cats")).items() if isinstance(score, int | float)
    }
