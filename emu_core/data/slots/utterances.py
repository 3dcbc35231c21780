"""Slot-annotated utterances, in MASSIVE's bracket notation (`wake me up at [time : five am]`), paired by their id."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

import pandas as pd

from emu_core.data.labelled.sets import LabelledSet
from emu_core.data.languages import language_code
from emu_core.data.wording import counted, shown
from emu_core.errors import DataError

_BRACKET = re.compile(r"[\[\]]")


@dataclass(frozen=True)
class Slot:
    """One slot: `plain[start:end] == value` in the sentence without brackets."""

    name: str
    value: str
    start: int
    end: int


def parse_annotated(annotated: str) -> tuple[str, tuple[Slot, ...]]:
    """Split an annotated sentence into its plain text and its slots, in order.

    The name ends at the first colon; spaces beside the colon and the brackets are not part of name or value.

    Raises:
        DataError: a bracket is nested, not closed or not opened, or a slot has no name or no value.
    """
    plain: list[str] = []
    slots: list[Slot] = []
    length = position = 0
    opened: int | None = None
    for bracket in _BRACKET.finditer(annotated):
        at = bracket.start()
        piece = annotated[position:at]
        if bracket.group() == "[":
            if opened is not None:
                raise _fault(annotated, at, "a '[' stands inside another slot; slots can't be nested")
            opened = at
        else:
            if opened is None:
                raise _fault(annotated, at, "a ']' closes no slot; remove it or add its '['")
            name, colon, value = (part.strip() for part in piece.partition(":"))
            if not (name and colon):
                raise _fault(annotated, opened, "a slot has no name; write it as [name : value]")
            if not value:
                raise _fault(
                    annotated, opened, f"the slot '{shown(name)}' is empty; write it as [name : value]"
                )
            slots.append(Slot(name, value, length, length + len(value)))
            piece, opened = value, None
        plain.append(piece)
        length += len(piece)
        position = bracket.end()
    if opened is not None:
        raise _fault(annotated, opened, "a '[' is not closed; add its ']'")
    plain.append(annotated[position:])
    return "".join(plain), tuple(slots)


def _fault(annotated: str, at: int, fault: str) -> DataError:
    return DataError(f"at character {at + 1} of '{shown(annotated)}' {fault}")


@dataclass(frozen=True)
class Utterance:
    """One sentence with its slots; without any, all of it is template."""

    text: str
    slots: tuple[Slot, ...]
    intent: str
    id: str
    language: str

    @property
    def template(self) -> str:
        """The text with each slot's value replaced by the slot's name in brackets."""
        return self.filled([f"[{slot.name}]" for slot in self.slots]).text

    def filled(self, values: Sequence[str]) -> "Utterance":
        """Return the utterance with its slots' values replaced by others, as many."""
        parts: list[str] = []
        slots: list[Slot] = []
        at = length = 0
        for slot, value in zip(self.slots, values, strict=True):
            parts += [self.text[at : slot.start], value]
            start = length + slot.start - at
            length, at = start + len(value), slot.end
            slots.append(Slot(slot.name, value, start, length))
        return replace(self, text="".join([*parts, self.text[at:]]), slots=tuple(slots))


@dataclass(frozen=True)
class SlotPairs:
    """Utterances of two languages; those at the same position mean the same.

    Attributes:
        source: code of the first language.
        target: code of the second.
        first: N utterances of `source`.
        second: N utterances of `target`.
    """

    source: str
    target: str
    first: tuple[Utterance, ...]
    second: tuple[Utterance, ...]

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.first)


def utterances(labelled: LabelledSet, language: str) -> list[Utterance]:
    """Return a language's utterances with their slots, in the set's order; a row without annotation has no slot.

    Raises:
        DataError: the language is not in the set, brackets are wrong, or an annotation is not its row's text; it
            names the row.
    """
    frame = labelled.select(languages=[language]).frame
    return [
        _utterance(row, where)
        for where, row in zip(_places(labelled, frame), frame.to_dict("records"), strict=True)
    ]


def slot_pairs(labelled: LabelledSet, pairs: Sequence[tuple[str, str]]) -> list[SlotPairs]:
    """Pair the utterances of two languages that have the same id.

    Args:
        labelled: rows with `id` and, where they have slots, `annotated`.
        pairs: two language codes each.

    Raises:
        DataError: a pair names one language twice; a row has no id, or shares it with another row of its language;
            an id has a row in one language of a pair only; brackets are wrong; an annotation is not its row's text; a
            slot's name is used in one language of a pair only; no row of either language has a slot. All but the
            first and last name the row.
    """
    pairs = [(language_code(a) or a, language_code(b) or b) for a, b in pairs]
    for source, target in pairs:
        if source == target:
            raise DataError(f"the pair {source}-{target} is one language twice; pair it with another")
    by_language = {
        code: _by_id(labelled, code) for code in dict.fromkeys(code for pair in pairs for code in pair)
    }
    found = [
        _pair(source, target, by_language[source], by_language[target], labelled) for source, target in pairs
    ]
    if not any(one.slots for pair in found for one in (*pair.first, *pair.second)):
        raise DataError(
            f"no row of {labelled.name} has a slot: templates are learnt from them; add a column 'annotated' such as "
            "'wake me up at [time : five am]'"
        )
    return found


def _pair(
    source: str, target: str, first: dict[str, Utterance], second: dict[str, Utterance], labelled: LabelledSet
) -> SlotPairs:
    for code, other, own, theirs in ((source, target, first, second), (target, source, second, first)):
        if missing := [key for key in own if key not in theirs]:
            raise DataError(
                f"{_place_of(labelled, code, missing[0])}: the {code} sentence with id '{shown(missing[0])}' has no "
                f"{other} sentence of that id ({counted(len(missing), 'such row')}); add it, or remove the row"
            )
        names = {slot.name for one in theirs.values() for slot in one.slots}
        for key, one in own.items():
            for slot in one.slots:
                if slot.name not in names:
                    near = get_close_matches(slot.name, names, 1)
                    meant = f" (is it '{near[0]}'?)" if near else ""
                    raise DataError(
                        f"{_place_of(labelled, code, key)}: the slot '{shown(slot.name)}'{meant} is in no {other} "
                        "sentence; give a slot the same name in both languages, or remove its brackets"
                    )
    return SlotPairs(source, target, tuple(first.values()), tuple(second[key] for key in first))


def _by_id(labelled: LabelledSet, language: str) -> dict[str, Utterance]:
    frame = labelled.select(languages=[language]).frame
    found: dict[str, Utterance] = {}
    for where, row in zip(_places(labelled, frame), frame.to_dict("records"), strict=True):
        if not row["id"]:
            raise DataError(
                f"{where}: a sentence without id has no translation to be paired with; give translations the same id"
            )
        if row["id"] in found:
            raise DataError(
                f"{where}: the id '{shown(row['id'])}' is there twice in {language}; give each sentence of a language "
                "an id of its own"
            )
        found[row["id"]] = _utterance(row, where)
    return found


def _utterance(row: dict[str, str], where: str) -> Utterance:
    slots: tuple[Slot, ...] = ()
    if row["annotated"]:
        try:
            plain, slots = parse_annotated(row["annotated"])
        except DataError as error:
            raise DataError(f"{where}: {error}") from None
        if plain != row["text"]:
            raise DataError(
                f"{where}: the annotation '{shown(row['annotated'])}' without its brackets is '{shown(plain)}', and "
                f"the text is '{shown(row['text'])}'; make them the same"
            )
    return Utterance(row["text"], slots, row["intent"], row["id"], row["language"])


def _places(labelled: LabelledSet, part: pd.DataFrame) -> list[str]:
    """Return the place of each row of one language, counted among the set's rows of that language."""
    code = part["language"].iloc[0]
    return [f"{labelled.name}, {code} row {number:,}" for number in range(1, len(part) + 1)]


def _place_of(labelled: LabelledSet, language: str, key: str) -> str:
    frame = labelled.select(languages=[language]).frame
    return _places(labelled, frame)[frame["id"].tolist().index(key)]
