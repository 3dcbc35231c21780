"""Sentences that people labelled in an annotation tool; the label of most of them counts."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from emu_core.data.column_names import COLUMN_NAMES, folded_name, role_of_name
from emu_core.data.intent_lists import majority_of
from emu_core.data.wording import listed, shown
from emu_core.formats.collections.rows import Rows, marked_text
from emu_core.formats.collections.values import listing, text_of

_SAMPLE = 200  # tasks that show which of their texts is the sentence
_ADDRESS = re.compile(r"(?:[a-z\d]+:/|/data)/\S*", re.IGNORECASE)
_STATED_ROLES = ("language", "split", "id")
Span = tuple[int, int, object]
"""Start, end and slot of a part of a sentence."""


@dataclass
class _Task:
    """A sentence, its slots, its other columns, and the labels that each annotator gave or denied it."""

    text: str
    columns: Mapping[str, str]
    spans: Sequence[Span] = ()
    labels: dict[str, dict[str, None]] = field(default_factory=dict)
    denied: Counter[str] = field(default_factory=Counter)
    reason: str = "without an annotation"


class Annotations:
    """The labels that annotators gave to sentences."""

    def __init__(self) -> None:
        self._tasks: dict[object, _Task] = {}

    def see(self, key: object, text: str, columns: Mapping[str, str]) -> None:
        """Add a sentence, if it is new; tasks with the same key are about one sentence."""
        self._tasks.setdefault(key, _Task(text, columns))

    def label(self, key: object, annotator: str, labels: Iterable[str], spans: Iterable[Span] = ()) -> None:
        """Add labels that an annotator gave to a sentence; none stands for a sentence without an intent."""
        task = self._tasks[key]
        task.labels.setdefault(annotator, {}).update(dict.fromkeys(filter(None, labels)))
        task.spans = task.spans or list(spans)

    def refuse(self, key: object, reason: str, labels: Iterable[str] = ()) -> None:
        """Say why an annotator gave no label, or denied some; the reason counts if nobody gives one."""
        task = self._tasks[key]
        task.reason = reason
        task.denied.update(labels)

    def add_to(self, rows: Rows) -> None:
        """Add a row for each sentence with the labels that most annotators give, and count the others by the reason."""
        for task in self._tasks.values():
            columns = {**task.columns, "annotated": marked_text(task.text, task.spans)}
            labels, reason = majority_of(task.labels.values(), task.denied)
            reason = reason if task.labels else task.reason
            if reason:
                rows.add_uncertain(reason, task.text, **columns)
            else:
                rows.add(task.text, labels, **columns)


def labels_of(value: object) -> list[str]:
    """Return the labels in an answer, a text or a list of texts; none for anything else, such as a rating."""
    answers = value if isinstance(value, list) else [value]
    return [label for label in answers if isinstance(label, str) and label.strip()]


def spans_of(value: object) -> list[Span]:
    """Return the spans in a list of `[start, end, slot]`."""
    return [
        (item[0], item[1], text_of(item[2]))
        for item in listing(value)
        if isinstance(item, list) and len(item) == 3 and all(type(end) is int for end in item[:2])
    ]


def stated(*records: Mapping[str, object]) -> dict[str, str]:
    """Return the language, the split and the id that keys of a record, or of its metadata, state."""
    columns: dict[str, str] = {}
    for key, value in (pair for record in records for pair in record.items()):
        role = role_of_name(key)
        if role in _STATED_ROLES and (text := text_of(value)):
            columns.setdefault(role, text)
    return columns


def sentence_key(records: Iterable[Mapping[str, object]]) -> str | None:
    """Return the key at which records hold sentences: one of the usual names, or the one with the most words."""
    words: Counter[str] = Counter()
    for record in islice(records, _SAMPLE):
        for key, value in record.items():
            if isinstance(value, str) and value and not _ADDRESS.fullmatch(value):
                words[key] += 1 + value.count(" ")
    return min(words, key=lambda key: (_rank(key, "text"), -words[key]), default=None)


def intent_question(questions: Iterable[str], rows: Rows) -> str:
    """Return the question whose answers are intents, by its name or else the one with the most answers.

    The audit names those whose answers are not read.
    """
    answers = Counter(questions)
    question, *others = sorted(answers, key=lambda name: (_rank(name, "intent"), -answers[name])) or [""]
    if others:
        rows.note(f"The intents are those of '{shown(question)}'; not read: {listed(map(shown, others), 4)}.")
    return question


def _rank(name: str, role: str) -> int:
    """Return how likely a column of a name has a role, 0 for the likeliest."""
    names = [folded_name(usual) for usual in COLUMN_NAMES[role].split()]
    return names.index(folded_name(name)) if folded_name(name) in names else len(names)
