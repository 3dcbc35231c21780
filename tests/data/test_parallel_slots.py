"""Utterances with slots, paired by id; what is wrong with them is said with its row."""

import pytest

from emu_core.data.demo import load_demo
from emu_core.data.sets import LabelledSet
from emu_core.data.slots.utterances import slot_pairs, utterances
from emu_core.errors import DataError
from tests.support.slot_set import slot_set

PAIR = [("en", "de")]


def changed(row: int, **values: str) -> LabelledSet:
    labelled = slot_set()
    frame = labelled.frame.copy()
    for column, value in values.items():
        frame.loc[row, column] = value
    return LabelledSet(frame, labelled.name)


def test_pairs_have_one_meaning_each() -> None:
    (pair,) = slot_pairs(slot_set(), PAIR)
    assert (pair.source, pair.target, len(pair)) == ("en", "de", 16)
    for first, second in zip(pair.first, pair.second, strict=True):
        assert (first.id, first.intent) == (second.id, second.intent)
        assert (first.language, second.language) == ("en", "de")
        assert [slot.value for slot in first.slots] == [slot.value for slot in second.slots]


def test_order_of_rows_does_not_matter() -> None:
    labelled = slot_set()
    turned = LabelledSet(labelled.frame.iloc[::-1].reset_index(drop=True), labelled.name)
    (pair,) = slot_pairs(turned, PAIR)
    assert all(a.id == b.id for a, b in zip(pair.first, pair.second, strict=True))


def test_a_template_names_its_slots() -> None:
    one = utterances(slot_set(), "en")[0]
    assert one.text == "where is pool"
    assert one.template == "where is [place]"


def test_the_demo_set_is_paired_in_every_language() -> None:
    demo = load_demo()
    pairs = slot_pairs(demo, [("en", code) for code in demo.languages if code != "en"])
    assert len(pairs) == 5
    assert all(len(pair) == len(pairs[0]) for pair in pairs)
    for pair in pairs:
        for one in (*pair.first, *pair.second):
            assert all(one.text[slot.start : slot.end] == slot.value for slot in one.slots)


@pytest.mark.parametrize(
    ("labelled", "message"),
    [
        (
            changed(2, annotated="where is [place : bar]"),
            r"slots, en row 2: the annotated sentence without its brackets is not the text",
        ),
        (changed(2, annotated="where is [place : hotel"), r"slots, en row 2: .*not closed"),
        (
            changed(3, id="where-sauna"),
            r"slots, en row 2: the en sentence with id 'where-hotel' has no de sentence",
        ),
        (changed(3, id=""), r"slots, de row 2: a sentence without id"),
        (changed(3, id="where-pool"), r"slots, de row 2: the id 'where-pool' is there twice in de"),
        (
            changed(3, annotated="[palce : hotel] is where"),
            r"slots, de row 2: the slot 'palce' \(is it 'place'\?\) is in no en sentence",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_row(labelled: LabelledSet, message: str) -> None:
    with pytest.raises(DataError, match=message):
        slot_pairs(labelled, PAIR)


def test_a_language_has_no_pair_with_itself() -> None:
    with pytest.raises(DataError, match="en-en is one language twice"):
        slot_pairs(slot_set(), [("en", "en")])


def test_a_set_without_slots_says_what_to_add() -> None:
    labelled = slot_set()
    bare = LabelledSet(labelled.frame.assign(annotated=""), labelled.name)
    with pytest.raises(DataError, match=r"no row of slots has a slot: .*annotated"):
        slot_pairs(bare, PAIR)


def test_codes_are_folded() -> None:
    (pair,) = slot_pairs(slot_set(), [("EN", "de-DE")])
    assert (pair.source, pair.target) == ("en", "de")
