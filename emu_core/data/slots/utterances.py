"""Slot-annotated utterances in MASSIVE's bracket notation (`wake me up at [time : five am]`), paired by id."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import chain, permutations, takewhile, zip_longest

from emu_core.data.languages import language_code
from emu_core.data.sets import LabelledSet
from emu_core.data.wording import counted, shown
from emu_core.errors import DataError

_SLOT = re.compile(r"\[([^\[\]]*)\]")


@dataclass(frozen=True)
class Slot:
    """One slot: `plain[start:end] == value` in the sentence without brackets."""

    name: str
    value: str
    start: int
    end: int


def parse_annotated(annotated: str) -> tuple[str, tuple[Slot, ...]]:
    """Return the plain text of an annotated sentence, and its slots in order.

    A slot's name ends at the first colon; spaces next to the colon and the brackets are ignored.

    Raises:
        DataError: a bracket is nested, not closed or not opened, or a slot has no name or no value.
    """
    pieces = _SLOT.split(annotated)  # text and the inside of a slot in turn
    plain, position = "", 0
    slots: list[Slot] = []
    for text, inside in zip_longest(pieces[::2], pieces[1::2]):
        if stray := re.search(r"[\[\]]", text):
            bracket = position + stray.start()
            if stray.group() == "]":
                raise _fault(annotated, bracket, "a ']' closes no slot; remove it or add its '['")
            if (inner := annotated.find("[", bracket + 1)) >= 0:
                raise _fault(annotated, inner, "a '[' is inside another slot; slots can't be nested")
            raise _fault(annotated, bracket, "a '[' is not closed; add its ']'")
        plain += text
        position += len(text)
        if inside is None:  # after the last text
            break
        name, colon, value = (part.strip() for part in inside.partition(":"))
        if not (name and colon):
            raise _fault(annotated, position, "a slot has no name; write it as [name : value]")
        if not value:
            raise _fault(
                annotated, position, f"the slot '{shown(name)}' is empty; write it as [name : value]"
            )
        slots.append(Slot(name, value, len(plain), len(plain) + len(value)))
        plain += value
        position += len(f"[{inside}]")
    return plain, tuple(slots)


def _fault(annotated: str, at: int, fault: str) -> DataError:
    return DataError(
        f"at character {at + 1} of the annotated sentence, of {len(annotated):,} characters, {fault}"
    )


@dataclass(frozen=True)
class Utterance:
    """A sentence with its slots; one without slots is all template."""

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
        """Return the utterance with other values in its slots, one for each."""
        text, copied_to = "", 0
        slots: list[Slot] = []
        for slot, value in zip(self.slots, values, strict=True):
            text += self.text[copied_to : slot.start]
            slots.append(Slot(slot.name, value, len(text), len(text) + len(value)))
            text += value
            copied_to = slot.end
        return replace(self, text=text + self.text[copied_to:], slots=tuple(slots))


@dataclass(frozen=True)
class SlotPairs:
    """Utterances of two languages; those at the same position mean the same."""

    source: str  # code of the first language
    target: str  # code of the second
    first: tuple[Utterance, ...]  # N utterances of `source`
    second: tuple[Utterance, ...]  # N utterances of `target`

    def __len__(self) -> int:
        return len(self.first)


def utterances(labelled: LabelledSet, language: str) -> list[Utterance]:
    """Return a language's utterances with their slots, in the set's order; a row without annotation has no slot.

    Raises:
        DataError: the language is not in the set, brackets are wrong, or an annotation is not its row's text; it
            names the row.
    """
    return [utterance for _, utterance in _located(labelled, language)]


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
    by_language = {code: _by_id(labelled, code) for code in dict.fromkeys(chain.from_iterable(pairs))}
    for code, other in chain.from_iterable(map(permutations, pairs)):
        _check_pair(by_language[code], by_language[other], code, other)
    all_pairs = []
    for source, target in pairs:
        first, second = by_language[source], by_language[target]
        translations = ((utterance, second[key][1]) for key, (_, utterance) in first.items())
        all_pairs.append(SlotPairs(source, target, *zip(*translations, strict=True)))
    if not any(utterance.slots for pair in all_pairs for utterance in (*pair.first, *pair.second)):
        raise DataError(
            f"no row of {labelled.name} has a slot: templates are learnt from them; add a column 'annotated' such as "
            "'wake me up at [time : five am]'"
        )
    return all_pairs


_ById = dict[str, tuple[str, Utterance]]  # id -> where its row is, in words, and its utterance


def _check_pair(utterances: _ById, translations: _ById, code: str, other: str) -> None:
    if missing := [key for key in utterances if key not in translations]:
        where, utterance = utterances[missing[0]]
        raise DataError(
            f"{where}: the {code} sentence with id '{shown(utterance.id)}' has no {other} sentence of that id "
            f"({counted(len(missing), 'such row')}); add it, or remove the row"
        )
    names = {slot.name for _, utterance in translations.values() for slot in utterance.slots}
    for where, utterance in utterances.values():
        for slot in utterance.slots:
            if slot.name not in names:
                similar = get_close_matches(slot.name, names, 1)
                hint = f" (is it '{similar[0]}'?)" if similar else ""
                raise DataError(
                    f"{where}: the slot '{shown(slot.name)}'{hint} is in no {other} sentence; give a slot the same "
                    "name in both languages, or remove its brackets"
                )


def _by_id(labelled: LabelledSet, language: str) -> _ById:
    utterances: _ById = {}
    for where, utterance in _located(labelled, language):
        if not utterance.id:
            raise DataError(
                f"{where}: a sentence without id has no translation to be paired with; give translations the same id"
            )
        if utterance.id in utterances:
            raise DataError(
                f"{where}: the id '{shown(utterance.id)}' is there twice in {language}; give each sentence of a "
                "language an id of its own"
            )
        utterances[utterance.id] = where, utterance
    return utterances


def _located(labelled: LabelledSet, language: str) -> Iterator[tuple[str, Utterance]]:
    """Yield the utterances of a language, each with its place among its rows in words."""
    rows = labelled.select(languages=[language]).frame
    for number, row in enumerate(rows.itertuples(index=False), 1):
        where = f"{labelled.name}, {row.language} row {number:,}"
        slots: tuple[Slot, ...] = ()
        if row.annotated:
            try:
                plain, slots = parse_annotated(row.annotated)
            except DataError as error:
                raise DataError(f"{where}: ", error) from None
            if plain != row.text:
                same = sum(
                    1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(plain, row.text, strict=False))
                )
                raise DataError(
                    f"{where}: the annotated sentence without its brackets is not the text (they differ from character "
                    f"{same + 1} on); make them the same"
                )
        yield where, Utterance(row.text, slots, row.intent, row.id, row.language)
