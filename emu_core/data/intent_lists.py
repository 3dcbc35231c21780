"""Intents in a cell that is no plain label: a list of them, an object with a name, or what several annotators say.

A list of one intent is that intent; with several, a row belongs to none alone, unless repeats are votes. An object is
never a label: it has a name, or is refused.
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from emu_core.data.cleaning import cell_text
from emu_core.data.column_names import folded_name, role_of_name

SEVERAL_INTENTS = "several intents"
"""The reason for which a row with a list of two or more is not used."""

ANNOTATORS_DISAGREE = "annotators disagree"
"""The reason for which a row is not used whose annotators give two intents equally often."""

NO_NAME = "an object without a name instead of an intent"
"""The reason for which a row with an object is not used that does not name its intent."""

# An item of a list as Python, NumPy and pandas write it.
_ITEM = re.compile(r"""\s*(?:'([^']*)'|"([^"]*)")\s*(?:,|(?=['"])|$)""")
# What Python writes of NumPy's values and of numbers, but does not read.
_NUMPY = re.compile(r"\b(?:np\.)?(?:float|int|uint|bool|str|array)\w*\(([^()]*?)(?:,\s*dtype=[\w']+)?\)")
_NOT_FINITE = re.compile(r"(?<=[:,\[(])\s*-?(?:nan|inf)(?=\s*[,}\])])")
_NAMES = ("displayname", "name")  # of an intent, folded; Dialogflow's name is the path to it
_ANNOTATORS = frozenset(
    (
        *("user", "userid", "username", "annotator", "annotatorid", "annotatedby", "annotationapprover"),
        *("worker", "workerid", "rater", "raterid", "coder", "completedby", "createdby", "createdusername"),
    )
)
_STARTS = ("[", "{")
_QUOTES = re.compile("[\"']")
_MAX_LITERAL = 10_000  # characters


def single_intents(intents: "pd.Series[str]") -> tuple["pd.Series[str]", "pd.Series[str]"]:
    """Return the intents, each on its own, and why there is none on its own; "" where there is.

    A list of one (`["pay"]`) is that one and an empty list is "". Of an object (`{"name": "pay", "confidence": 0.9}`)
    the intent is its name, and of a list of what annotators say, the one that most of them give. A cell with several
    intents, or with an object that has no name, is unchanged.
    """
    single, reasons = dict[str, str](), dict[str, str]()
    for value in intents.unique():
        text = str(value).strip()
        if not text.startswith(_STARTS):
            continue
        if (items := listed_intents(text)) is not None:
            names, reason = intent_of(items)
        elif (decoded := _decoded(text)) is not None:
            try:
                names, reason = named_intents(decoded)
            except RecursionError:
                names, reason = [], NO_NAME
        else:
            continue
        if reason:
            reasons[value] = reason
        else:
            single[value] = "".join(names)
    unwrapped = intents.map(lambda value: single.get(value, value)).astype("str") if single else intents
    none = pd.Series("", index=intents.index, dtype="str")
    return unwrapped, intents.map(lambda value: reasons.get(value, "")).astype("str") if reasons else none


def listed_intents(value: str) -> list[str] | None:
    """Return the intents of a list in JSON, or as Python writes it; None if the text is no list of texts."""
    text = value.strip()
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        items = _quoted_items(text)
    if not isinstance(items, list) or any(isinstance(item, list | dict) for item in items):
        return None
    return [item for item in (cell_text(item).strip() for item in items) if item]


def intent_of(items: Sequence[str]) -> tuple[list[str], str]:
    """Return the intents of a list, and why they are none alone, or "". Where one is there twice, they are votes."""
    if len(set(items)) < len(items):
        return majority_of([item] for item in items)
    return list(items), SEVERAL_INTENTS if len(items) > 1 else ""


def named_intents(value: Mapping[str, Any] | Sequence[Any]) -> tuple[list[str], str]:
    """Return the intents that an object or a list of objects and lists names, and why it is none alone, or ""."""
    if isinstance(value, Mapping):
        return _of_object(value)
    items = [item for item in value if item not in (None, "", [], {})]
    if items and all(isinstance(item, Mapping) and _annotator_of(item) for item in items):
        return majority_of(_labels_by_annotator(items))
    names: dict[str, None] = {}
    for item in items:
        inner, reason = named_intents(item) if isinstance(item, Mapping | list) else ([cell_text(item)], "")
        if reason:
            return [], reason
        names.update(dict.fromkeys(inner))
    return list(names), SEVERAL_INTENTS if len(names) > 1 else ""


def majority_of(
    labels: Iterable[Iterable[str]], denied: Mapping[str, int] | None = None
) -> tuple[list[str], str]:
    """Return the labels that most annotators give, and why they are no intent alone, or "".

    Args:
        labels: those of each annotator who gave some.
        denied: how many annotators say that a sentence has not a label.
    """
    answers = [tuple(dict.fromkeys(given)) for given in labels]
    votes = Counter(frozenset(given) for given in answers)
    most, *others = votes.most_common(2) or [(frozenset[str](), 0)]
    against = max(
        [count for _, count in others] + [(denied or {}).get(label, 0) for label in most[0]], default=0
    )
    if votes and most[1] <= against:
        return [], ANNOTATORS_DISAGREE
    agreed = next((list(given) for given in answers if frozenset(given) == most[0]), [])
    return agreed, SEVERAL_INTENTS if len(agreed) > 1 else ""


def _labels_by_annotator(items: Iterable[Mapping[str, Any]]) -> Iterable[list[str]]:
    labels: dict[str, list[str]] = {}
    for item in items:
        said = {"label": item["value"]} if _of_object(item)[1] == NO_NAME and "value" in item else item
        labels.setdefault(_annotator_of(item), []).extend(_of_object(said)[0])
    return filter(None, labels.values())


def _annotator_of(item: Mapping[str, Any]) -> str:
    keys = (key for key in item if folded_name(key) in _ANNOTATORS)
    return next((str(item[key]) for key in keys if item[key] is not None), "")


def _of_object(value: Mapping[str, Any]) -> tuple[list[str], str]:
    """Return the intents that an object names, none if it is empty, and why they are no intent alone, or ""."""
    by_name = {folded_name(str(key)): inner for key, inner in reversed(list(value.items()))}
    named = [by_name[key] for key in _NAMES if key in by_name]
    named += [inner for key, inner in value.items() if role_of_name(str(key)) == "intent"]
    if not named:
        return [], NO_NAME if value else ""
    if isinstance(named[0], Mapping | list):
        return named_intents(named[0])
    return list(filter(None, [cell_text(named[0]).strip()])), ""


def _decoded(text: str) -> Mapping[str, Any] | list[Any] | None:
    """Return an object or a list, in JSON or as Python writes it; None for any other text."""
    if not text.endswith(("]", "}")):
        return None
    for read in (json.loads, _literal, _literal_of_numpy):
        try:
            value = read(text)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
        return value if isinstance(value, dict | list) else None
    return None


def _literal(text: str) -> Any:
    if len(text) > _MAX_LITERAL or not _QUOTES.search(text):
        raise ValueError(text)
    return ast.literal_eval(text)


def _literal_of_numpy(text: str) -> Any:
    return _literal(_NOT_FINITE.sub("None", _NUMPY.sub(r"\1", text)))


def _quoted_items(text: str) -> list[str] | None:
    if not text.endswith("]"):
        return None
    inner, at, items = text[1:-1].strip(), 0, []
    while at < len(inner):
        item = _ITEM.match(inner, at)
        if item is None:
            return None
        items.append(item[1] if item[1] is not None else item[2])
        at = item.end()
    return items
